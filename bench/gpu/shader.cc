// SPDX-License-Identifier: Apache-2.0
#include <cstring>
#include <stdexcept>
#include <vector>

#include "gpu/bars.h"
#include "gpu/cuda_call.h"
#include "gpu/ipv4_work.h"
#include "gpu/kernels.h"
#include "gpu/measurements.h"

namespace penumbra::bench::gpu {
namespace {

/// A copy on the GPU of a table's regions, and the view that points to them.
class GpuTable final : public TableMirror {
 public:
  void published(std::span<const std::byte> view, std::span<const TableRegion> regions) override {
    if (view.size() != sizeof view_) throw std::invalid_argument("the table's view is not ipv4_dir24_8's");
    std::memcpy(static_cast<void*>(&view_), view.data(), sizeof view_);
    for (const TableRegion& region : regions) {
      const auto& copy = copies_.emplace_back(region.bytes);
      check(cudaMemcpy(copy.data(), region.data, region.bytes, cudaMemcpyHostToDevice), "copying a table");
      const std::byte* const begin = copy.data();
      std::memcpy(reinterpret_cast<std::byte*>(&view_) + region.pointer_offset, static_cast<const void*>(&begin),
                  sizeof begin);
    }
  }
  void changed(std::size_t /*region*/, std::size_t /*offset*/, std::size_t /*bytes*/) override {}
  void committed() override {}

  const dir24_8_view& view() const { return view_; }

 private:
  dir24_8_view view_{};
  std::vector<DeviceArray<std::byte>> copies_;
};

constexpr std::uint32_t kItems = 1U << 26;  ///< so many that addresses and answers are in no cache
constexpr std::uint32_t kReads = 1U << 27;
constexpr unsigned kTimes = 16;  ///< of them in a sample
constexpr std::uint32_t kTbl24Mask = (1U << 24) - 1;

/// The work's addresses, again and again, on the GPU.
class ShaderOnGpu {
 public:
  explicit ShaderOnGpu(Ipv4Work& work) : work_(work) {
    for (std::size_t at = 0; at < kItems; at += work.addresses.size()) {
      copy_now(addresses_.data() + at, work.addresses);
    }
    work_.table.table().attach(table_);
  }
  ~ShaderOnGpu() { work_.table.table().detach(table_); }
  ShaderOnGpu(const ShaderOnGpu&) = delete;
  ShaderOnGpu& operator=(const ShaderOnGpu&) = delete;

  void check_lookups() const {
    check(cudaMemset(next_hops_.data(), 0xA5, next_hops_.bytes()), "wiping out");
    lookups(1);
    std::vector<std::uint16_t> found(work_.right.size());
    for (std::size_t at = 0; at < kItems; at += found.size()) {
      copy_now(found.data(), next_hops_.span().subspan(at, found.size()));
      if (found != work_.right) throw WrongAnswer("the IPv4 shader on the GPU: an answer is not the oracle's");
    }
  }
  void check_reads() const {
    constexpr std::uint32_t kFew = 1U << 22;
    const auto* const tbl24 = static_cast<const dir24_8_view*>(work_.table.table().view())->tbl24;
    unsigned long long right = 0;
    for (std::uint32_t i = 0; i < kFew; ++i) right += tbl24[random_place(i, kTbl24Mask)];
    if (reads(kFew, 1) != right) throw WrongAnswer("random reads on the GPU: their sum is not the host's");
  }
  /// All addresses, `times` times.
  void lookups(unsigned times) const {
    for (unsigned i = 0; i < times; ++i) {
      check(launch_ipv4(table_.view(), addresses_.data(), next_hops_.data(), kItems, stream_.get()), "launching");
    }
    stream_.wait();
  }
  /// So many reads, `times` times; returns the sum of all.
  unsigned long long reads(std::uint32_t count, unsigned times) const {
    check(cudaMemset(sum_.data(), 0, sum_.bytes()), "wiping out");
    for (unsigned i = 0; i < times; ++i) {
      check(launch_random_reads(table_.view().tbl24, kTbl24Mask, count, sum_.data(), stream_.get()), "launching");
    }
    stream_.wait();
    unsigned long long sum = 0;
    copy_now(&sum, sum_.span());
    return sum;
  }

 private:
  Ipv4Work& work_;
  GpuTable table_;
  DeviceArray<std::uint32_t> addresses_{kItems};
  DeviceArray<std::uint16_t> next_hops_{kItems};
  DeviceArray<unsigned long long> sum_{1};
  Stream stream_;
};

template <class Work>
double millions_a_second(double items, Work work) {
  const double begin = now();
  work();
  return kTimes * items / (now() - begin) * 1e-6;
}

}  // namespace

void measure_shader(const Options& options, Ipv4Work& work, Report& report) {
  const ShaderOnGpu gpu(work);
  gpu.check_lookups();
  gpu.check_reads();
  report.checked("E11: every answer of the IPv4 shader on the GPU equals the oracle's");
  const auto series = interleave(
      {{"look-ups", [&gpu] { return millions_a_second(kItems, [&gpu] { gpu.lookups(kTimes); }); }},
       {"random reads", [&gpu] { return millions_a_second(kReads, [&gpu] { gpu.reads(kReads, kTimes); }); }}},
      options.rounds);
  const auto ratios =
      report.compare("E11 IPv4 shader on data already there, a table of 32 MiB", "M/s", series, "random reads");
  kShaderRate.tell(report, ratios[0]);
}

}  // namespace penumbra::bench::gpu
