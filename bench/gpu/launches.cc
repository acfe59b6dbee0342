// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <vector>

#include "gpu/cuda_call.h"
#include "gpu/kernels.h"
#include "gpu/measurements.h"
#include "gpu/timing.h"

namespace penumbra::bench::gpu {
namespace {

constexpr std::uint32_t kLaunches = 1000;

/// A kernel of so many threads, each of which writes its number.
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
  /// Microseconds from the call until its end is known.
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

  /// That the numbers stand there; wipes them out.
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

}  // namespace

void measure_launches(const Options& options, Report& report) {
  for (const std::uint32_t threads : {1U, 4096U, 65'536U, 1U << 20}) {
    const Launch launch(threads);
    launch.check_both_ways();
    const auto series = interleave({{"launch until done", [&] { return launch.until_done(); }},
                                    {"graph until done", [&] { return launch.graph_until_done(); }},
                                    {"one launch behind the other", [&] { return launch.of_the_call(); }}},
                                   options.rounds);
    report.compare(fmt::format("launches of {} threads", threads), "us", series, "",
                   Place{{"E2", "starting a kernel", "threads"}, static_cast<double>(threads)});
  }
  report.checked("every thread of every launch wrote its number");
}

}  // namespace penumbra::bench::gpu
