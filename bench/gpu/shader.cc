// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <bit>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include "cuda/kernels.h"
#include "gpu/bars.h"
#include "gpu/cuda_call.h"
#include "gpu/kernels.h"
#include "gpu/measurements.h"

namespace penumbra::bench::gpu {
namespace {

/// A copy on the GPU of a table's regions, and the view that points to them.
class GpuTable final : public TableMirror {
 public:
  void published(std::span<const std::byte> view, std::span<const TableRegion> regions) override {
    view_.assign(view.begin(), view.end());
    copies_.clear();
    for (const TableRegion& region : regions) {
      const auto& copy = copies_.emplace_back(region.bytes);
      check(cudaMemcpy(copy.data(), region.data, region.bytes, cudaMemcpyHostToDevice), "copying a table");
      const std::byte* const begin = copy.data();
      std::memcpy(view_.data() + region.pointer_offset, static_cast<const void*>(&begin), sizeof begin);
      if (region.bytes <= largest_.bytes) continue;
      largest_ = region;
      largest_copy_ = begin;
    }
  }
  void changed(std::size_t /*region*/, std::size_t /*offset*/, std::size_t /*bytes*/) override {}
  void committed() override {}

  const void* view() const { return view_.data(); }
  /// The largest region, here and there.
  const TableRegion& largest() const { return largest_; }
  const std::uint16_t* largest_copy() const { return reinterpret_cast<const std::uint16_t*>(largest_copy_); }

 private:
  std::vector<std::byte> view_;
  std::vector<DeviceArray<std::byte>> copies_;
  TableRegion largest_;
  const std::byte* largest_copy_ = nullptr;
};

constexpr std::uint32_t kItems = 1U << 26;  ///< so many that keys and answers are in no cache
constexpr std::uint32_t kReads = 1U << 27;
constexpr unsigned kTimes = 16;  ///< of them in a sample

/// The work's keys, again and again, on the GPU.
class ShaderOnGpu {
 public:
  explicit ShaderOnGpu(LookupWork& work)
      : work_(work),
        kernel_(cuda::kernels().find(work.penumbra_table().name())),
        keys_(kItems * work.key_bytes()),
        answers_(kItems * work.answer_bytes()) {
    if (kernel_ == nullptr) throw std::logic_error("no kernel of " + work.penumbra_table().name());
    const std::size_t bytes = work.size() * work.key_bytes();
    for (std::size_t at = 0; at < keys_.bytes(); at += bytes) {
      copy_now(keys_.data() + at, std::span<const std::byte>(work.key(0), bytes));
    }
    work_.penumbra_table().attach(table_);
  }
  ~ShaderOnGpu() { work_.penumbra_table().detach(table_); }
  ShaderOnGpu(const ShaderOnGpu&) = delete;
  ShaderOnGpu& operator=(const ShaderOnGpu&) = delete;

  void check_lookups() const {
    check(cudaMemset(answers_.data(), 0xA5, answers_.bytes()), "wiping out");
    lookups(1);
    std::vector<std::byte> found(work_.all_right().size());
    for (std::size_t at = 0; at < answers_.bytes(); at += found.size()) {
      copy_now(found.data(), answers_.span().subspan(at, found.size()));
      work_.check(0, found);
    }
  }
  void check_reads() const {
    constexpr std::uint32_t kFew = 1U << 22;
    const auto* const there = reinterpret_cast<const std::uint16_t*>(table_.largest().data);
    unsigned long long right = 0;
    for (std::uint32_t i = 0; i < kFew; ++i) right += there[random_place(i, mask())];
    if (reads(kFew, 1) != right) throw WrongAnswer("random reads on the GPU: their sum is not the host's");
  }
  /// All keys, `times` times.
  void lookups(unsigned times) const {
    cuda::Segment segment;
    segment.inputs[0] = keys_.data();
    segment.outputs[0] = answers_.data();
    segment.items = kItems;
    const cuda::Launch launch{.shader = kernel_, .view = table_.view(), .segments = {&segment, 1}};
    for (unsigned i = 0; i < times; ++i) {
      check(Variants<cuda::Kernel>::call_of(*kernel_).launch(launch, {}, stream_.get()), "launching");
    }
    stream_.wait();
  }
  /// So many reads, `times` times; returns the sum of all.
  unsigned long long reads(std::uint32_t count, unsigned times) const {
    check(cudaMemset(sum_.data(), 0, sum_.bytes()), "wiping out");
    for (unsigned i = 0; i < times; ++i) {
      check(launch_random_reads(table_.largest_copy(), mask(), count, sum_.data(), stream_.get()), "launching");
    }
    stream_.wait();
    unsigned long long sum = 0;
    copy_now(&sum, sum_.span());
    return sum;
  }
  /// Of the part of the table in which reads are drawn: as much of its largest region as is a power of two.
  std::size_t read_bytes() const { return std::bit_floor(table_.largest().bytes); }

 private:
  std::uint32_t mask() const { return static_cast<std::uint32_t>(read_bytes() / sizeof(std::uint16_t) - 1); }

  LookupWork& work_;
  const Shader* const kernel_;
  GpuTable table_;
  DeviceArray<std::byte> keys_, answers_;
  DeviceArray<unsigned long long> sum_{1};
  Stream stream_;
};

template <class Work>
double millions_a_second(double items, Work work) {
  const double begin = now();
  work();
  return kTimes * items / (now() - begin) * 1e-6;
}

void measure_shader(const Options& options, const Task& task, Report& report) {
  const ShaderOnGpu gpu(*task.work);
  gpu.check_lookups();
  gpu.check_reads();
  report.checked(fmt::format("every answer of the shader for {} on the GPU equals the oracle's", task.name));
  const auto series = interleave(
      {{"look-ups", [&gpu] { return millions_a_second(kItems, [&gpu] { gpu.lookups(kTimes); }); }},
       {"random reads", [&gpu] { return millions_a_second(kReads, [&gpu] { gpu.reads(kReads, kTimes); }); }}},
      options.rounds);
  const std::string what = fmt::format("{}: the shader on data already there, reads in {}, {:.2f} lines a look-up",
                                       task.name, size_name(gpu.read_bytes()), task.lines);
  const auto ratios = report.compare(what, "M/s", series, "random reads");
  task.by_the_shader->tell(report, ratios[0] * task.lines);
}

}  // namespace

void measure_shaders(const Options& options, Report& report) {
  const auto measure = [&](const Task& task) {
    report.input(task.name, task.description);
    measure_shader(options, task, report);
  };
  measure(ipv4_task(options));
  for (const Task& task : more_tasks(options)) measure(task);
}

}  // namespace penumbra::bench::gpu
