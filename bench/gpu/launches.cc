// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <array>
#include <numeric>
#include <vector>

#include "gpu/cuda_call.h"
#include "gpu/kernels.h"
#include "gpu/measurements.h"
#include "gpu/timing.h"

namespace penumbra::bench::gpu {
namespace {

constexpr std::uint32_t kLaunches = 1000;

/// A kernel of `threads` threads, each of which writes its number.
class Launch {
 public:
  explicit Launch(std::uint32_t threads) : threads_(threads), out_(threads), graph_(stream_, [this] { start(); }) {}

  void start() const { check(launch_count(out_.data(), threads_, kFirst, stream_.get()), "launching"); }
  void check_both_ways() const {
    start();
    check_numbers();
    graph_.launch(stream_);
    check_numbers();
  }
  /// Returns the microseconds from the call until the end is known.
  double until_done() const {
    return microseconds_each(kLaunches, [this] {
      start();
      stream_.wait();
    });
  }
  double of_the_call() const {
    const double each = microseconds_each(kLaunches, [this] { start(); });
    stream_.wait();
    return each;
  }
  double graph_until_done() const {
    return microseconds_each(kLaunches, [this] {
      graph_.launch(stream_);
      stream_.wait();
    });
  }

 private:
  static constexpr std::uint32_t kFirst = 12345;

  /// Checks the written numbers, and clears them.
  void check_numbers() const {
    stream_.wait();
    std::vector<std::uint32_t> found(threads_);
    copy_now(found.data(), out_.span());
    for (std::uint32_t i = 0; i < threads_; ++i) {
      if (found[i] != kFirst + i) throw WrongAnswer(fmt::format("a launch of {} threads: thread {}", threads_, i));
    }
    check(cudaMemset(out_.data(), 0, out_.bytes()), "wiping out");
  }

  std::uint32_t threads_;
  DeviceArray<std::uint32_t> out_;
  Stream stream_;
  Graph graph_;
};

/// A batch like those of the engine `cuda`: other addresses each time, and a flag that shows the answer.
class FlaggedLaunch {
 public:
  FlaggedLaunch() {
    std::iota(in_.span().begin(), in_.span().end(), 5);
    flag_[0] = 0;
    check(cudaGraphCreate(&graph_, 0), "making a graph");
    next();
    const cudaKernelNodeParams node = describe();
    check(cudaGraphAddKernelNode(&node_, graph_, nullptr, 0, &node), "making a graph");
    check(cudaGraphInstantiate(&ready_, graph_, 0), "making a graph");
  }
  ~FlaggedLaunch() {
    cudaGraphExecDestroy(ready_);
    cudaGraphDestroy(graph_);
  }
  FlaggedLaunch(const FlaggedLaunch&) = delete;
  FlaggedLaunch& operator=(const FlaggedLaunch&) = delete;

  void check_both_ways() {
    launch();
    check_answers();
    launch_graph();
    check_answers();
  }
  double by_launch() {
    return microseconds_each(kLaunches, [this] { launch(); });
  }
  double by_graph() {
    return microseconds_each(kLaunches, [this] { launch_graph(); });
  }

 private:
  static constexpr std::uint32_t kLookAfter =
      1 << 20;  ///< Turns without an answer before a check if the kernel has failed.
  static constexpr std::uint32_t kPlaces = 16;
  static constexpr std::size_t kNumbers = std::size_t{kPlaces} * FlaggedBatch::kItems;

  void next() {
    ++batch_.number;
    const std::size_t place = std::size_t{batch_.number % kPlaces} * FlaggedBatch::kItems;
    batch_.in = in_.data() + place;
    batch_.out = out_.data() + place;
    batch_.flag = flag_.data();
  }
  cudaKernelNodeParams describe() {
    cudaKernelNodeParams node{};
    node.func = const_cast<void*>(flagged_kernel());
    node.gridDim = dim3(1);
    node.blockDim = dim3(FlaggedBatch::kItems);
    node.kernelParams = arguments_.data();
    return node;
  }
  void launch() {
    next();
    check(launch_flagged(batch_, stream_.get()), "launching");
    wait();
  }
  void launch_graph() {
    next();
    const cudaKernelNodeParams node = describe();
    check(cudaGraphExecKernelNodeSetParams(ready_, node_, &node), "changing a graph");
    check(cudaGraphLaunch(ready_, stream_.get()), "launching a graph");
    wait();
  }
  void wait() const {
    for (std::uint32_t turns = 1; __atomic_load_n(flag_.data(), __ATOMIC_ACQUIRE) != batch_.number; ++turns) {
      __builtin_ia32_pause();
      if (turns % kLookAfter == 0 && cudaStreamQuery(stream_.get()) != cudaErrorNotReady) stream_.wait();
    }
  }
  /// Checks the answers of the last batch, and clears them.
  void check_answers() const {
    for (std::uint32_t i = 0; i < FlaggedBatch::kItems; ++i) {
      if (batch_.out[i] != answer(batch_.in[i])) throw WrongAnswer(fmt::format("a flagged launch: answer {}", i));
      batch_.out[i] = 0;
    }
  }

  SharedArray<std::uint32_t> in_{kNumbers}, out_{kNumbers}, flag_{1};
  FlaggedBatch batch_{};
  std::array<void*, 1> arguments_{&batch_};
  Stream stream_;
  cudaGraph_t graph_ = nullptr;
  cudaGraphNode_t node_ = nullptr;
  cudaGraphExec_t ready_ = nullptr;
};

}  // namespace

void measure_launches(const Options& options, Report& report) {
  report.input("kernels",
               fmt::format("each thread writes its number; with a flag: {} numbers from the host's memory and "
                           "their answers back to it",
                           FlaggedBatch::kItems));
  for (const std::uint32_t threads : {1U, 4096U, 65'536U, 1U << 20}) {
    const Launch launch(threads);
    launch.check_both_ways();
    const auto series = interleave({{"launch until done", [&] { return launch.until_done(); }},
                                    {"graph until done", [&] { return launch.graph_until_done(); }},
                                    {"one launch after the other", [&] { return launch.of_the_call(); }}},
                                   options.rounds);
    report.compare(fmt::format("launches of {} threads", threads), "us", series, "",
                   Place{{"E2", "starting a kernel", "threads"}, static_cast<double>(threads)});
  }
  FlaggedLaunch flagged;
  flagged.check_both_ways();
  const auto series =
      interleave({{"launch until its flag is seen", [&] { return flagged.by_launch(); }},
                  {"graph with other parameters until its flag is seen", [&] { return flagged.by_graph(); }}},
                 options.rounds);
  report.compare(fmt::format("launches for {} numbers in shared memory", FlaggedBatch::kItems), "us", series, "");
  report.checked("every thread of a launch of each size wrote its number; every number of a flagged one was answered");
}

}  // namespace penumbra::bench::gpu
