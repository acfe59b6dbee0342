// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "gpu/arithmetic.h"
#include "gpu/chain_table.h"
#include "gpu/core_team.h"
#include "gpu/measurements.h"
#include "gpu/timing.h"
#include "pin.h"

namespace penumbra::bench::gpu {
namespace {

constexpr std::size_t kTable = std::size_t{1} << 30;
constexpr std::uint32_t kSmallBatch = 8192, kLargeBatch = 1U << 18;
constexpr std::uint32_t kOfACore = 1U << 14, kCoreBatch = 1024;
constexpr std::array<std::uint32_t, 8> kWork{1, 2, 3, 4, 6, 8, 12, 16};
constexpr unsigned kStreams = 4;

/// Work that is done `times` times per item, on the GPU and on a core.
struct Kind {
  std::string unit;
  std::function<cudaError_t(std::uint32_t times, const std::uint32_t* in, std::uint32_t* out, std::uint32_t items,
                            cudaStream_t stream)>
      on_gpu;
  std::function<void(std::uint32_t times, const std::uint32_t* in, std::uint32_t* out, std::uint32_t items)> on_core;
  std::function<std::uint32_t(std::uint32_t times, std::uint32_t item)> oracle;
};

void check_answers(const std::string& who, const Kind& kind, std::uint32_t times, std::span<const std::uint32_t> in,
                   std::span<const std::uint32_t> out) {
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (out[i] == kind.oracle(times, in[i])) continue;
    throw WrongAnswer(fmt::format("{} {} on the {}: answer {} is wrong", times, kind.unit, who, i));
  }
}

/// Batches from host memory and back to it over several streams. The answers are a stream's next items, so that no
/// batch finds in a cache what the last one has read.
class Offloaded {
 public:
  Offloaded(std::uint32_t batch, std::span<const std::uint32_t> items) : batch_(batch) {
    for (unsigned i = 0; i < kStreams; ++i) {
      Lane& lane = lanes_.emplace_back(batch);
      std::copy_n(items.begin() + std::ptrdiff_t{batch} * i, batch, lane.in.data());
    }
  }

  void check(const Kind& kind, std::uint32_t times) {
    for (Lane& lane : lanes_) {
      std::ranges::fill(lane.out.span(), ~0U);
      give(lane, kind, times);
    }
    for (Lane& lane : lanes_) {
      lane.stream.wait();
      check_answers("GPU", kind, times, lane.in.span(), lane.out.span());
    }
  }
  /// Returns the million items per second.
  double rate(const Kind& kind, std::uint32_t times) {
    std::uint64_t batches = 0;
    const double begin = now();
    while (now() - begin < kSampleSeconds) {
      Lane& lane = lanes_[batches++ % kStreams];
      lane.stream.wait();
      std::swap(lane.in, lane.out);
      give(lane, kind, times);
    }
    for (Lane& lane : lanes_) lane.stream.wait();
    return static_cast<double>(batches * batch_) / (now() - begin) * 1e-6;
  }

 private:
  struct Lane {
    explicit Lane(std::uint32_t batch) : in(batch), out(batch), gpu_in(batch), gpu_out(batch) {}
    SharedArray<std::uint32_t> in, out;
    DeviceArray<std::uint32_t> gpu_in, gpu_out;
    Stream stream;
  };

  void give(Lane& lane, const Kind& kind, std::uint32_t times) const {
    lane.stream.copy(lane.gpu_in.data(), lane.in.data(), lane.in.bytes());
    gpu::check(kind.on_gpu(times, lane.gpu_in.data(), lane.gpu_out.data(), batch_, lane.stream.get()), "launching");
    lane.stream.copy(lane.out.data(), lane.gpu_out.data(), lane.out.bytes());
  }

  std::uint32_t batch_;
  std::vector<Lane> lanes_;
};

/// Each core has separate items; the answers are its next items.
class OnCores {
 public:
  explicit OnCores(std::span<const std::uint32_t> items) {
    for (unsigned core = 0; core < core_count(); ++core) {
      const auto own = items.subspan(std::size_t{kOfACore} * core, kOfACore);
      lanes_.push_back({{own.begin(), own.end()}, std::vector<std::uint32_t>(kOfACore)});
    }
  }

  void check(const Kind& kind, std::uint32_t times) {
    run_team(core_count(), [&](unsigned core) { pass(kind, times, core); });
    for (const Lane& lane : lanes_) check_answers("cores", kind, times, lane.out, lane.in);
  }
  double rate(const Kind& kind, std::uint32_t times, unsigned cores) {
    return team_rate(cores, kSampleSeconds, [&](unsigned core) { return pass(kind, times, core); });
  }

 private:
  struct Lane {
    std::vector<std::uint32_t> in, out;
  };

  /// Swaps the answers with the items.
  std::uint64_t pass(const Kind& kind, std::uint32_t times, unsigned core) {
    Lane& lane = lanes_[core];
    for (std::size_t at = 0; at < kOfACore; at += kCoreBatch) {
      kind.on_core(times, &lane.in[at], &lane.out[at], kCoreBatch);
    }
    lane.in.swap(lane.out);
    return kOfACore;
  }

  std::vector<Lane> lanes_;
};

/// Returns the number of chains in flight that is fastest on one core.
std::uint32_t best_in_flight(const HostChains& table, std::span<const std::uint32_t> items) {
  CoreChains chains(items.first(kCoreBatch));
  std::uint32_t best = 1;
  double most = 0;
  for (const std::uint32_t in_flight : {8U, 16U, 24U, 32U, 48U, 64U}) {
    const double rate = team_rate(1, kSampleSeconds, [&](unsigned) { return chains.pass(table.view(8), in_flight); });
    if (rate > most) best = in_flight;
    most = std::max(most, rate);
  }
  return best;
}

/// Measures the contenders for every amount of work, and reports from which amount on the GPU is faster.
void measure(const Kind& kind, std::span<const std::uint32_t> items, const Options& options, Report& report) {
  OnCores on_cores(items);
  Offloaded small(kSmallBatch, items), large(kLargeBatch, items);
  const std::vector<unsigned> teams = team_sizes({2, 4, 8, 16}, core_count());
  std::vector<RatesByWork> rates;
  for (const std::uint32_t times : kWork) {
    on_cores.check(kind, times);
    small.check(kind, times);
    large.check(kind, times);
    std::vector<Contender> turns;
    turns.push_back({fmt::format("GPU, batches of {}", kSmallBatch), [&] { return small.rate(kind, times); }});
    turns.push_back({fmt::format("GPU, batches of {}", kLargeBatch), [&] { return large.rate(kind, times); }});
    for (const unsigned cores : teams) {
      turns.push_back({fmt::format("{} core{}", cores, cores == 1 ? "" : "s"),
                       [&, cores] { return on_cores.rate(kind, times, cores); }});
    }
    const std::vector<Series> series = interleave(turns, options.rounds);
    report.compare(fmt::format("{} {} an item", times, kind.unit), "M items/s", series, "1 core",
                   Place{{"E5", kind.unit + " of items from the host's memory and back to it", kind.unit + " an item"},
                         static_cast<double>(times)});
    rates.resize(series.size());
    for (std::size_t i = 0; i < series.size(); ++i) {
      rates[i].name = series[i].name;
      rates[i].rates.push_back(spread(series[i].samples).median);
    }
  }
  report.checked(fmt::format("every answer for {} equals the oracle's", kind.unit));
  for (const RatesByWork& gpu : std::span(rates).first(2)) {
    report.note(describe_crossovers(gpu, std::span(rates).subspan(2), kWork, kind.unit));
  }
}

}  // namespace

void measure_offload(const Options& options, Report& report) {
  const std::uint32_t count = std::max(kStreams * kLargeBatch, kOfACore * core_count());
  const std::vector<std::uint32_t> items = chain_starts(kTable, count, options.seed);
  {
    const HostChains host(kTable, options.seed);
    const GpuChains gpu(kTable, options.seed);
    const Permutation next = chain_permutation(kTable, options.seed);
    const std::uint32_t in_flight = best_in_flight(host, items);
    report.input("accesses", fmt::format("a permutation of all cache lines of a table of {}, from lines drawn evenly, "
                                         "seed {}; {} chains in flight on a core",
                                         size_name(kTable), options.seed, in_flight));
    measure({"accesses",
             [&](std::uint32_t times, const std::uint32_t* in, std::uint32_t* out, std::uint32_t n,
                 cudaStream_t stream) { return launch_chase(gpu.view(times), in, out, n, stream); },
             [&](std::uint32_t times, const std::uint32_t* in, std::uint32_t* out, std::uint32_t n) {
               chase_on_core(host.view(times), in, out, n, in_flight);
             },
             [&](std::uint32_t times, std::uint32_t item) { return next.follow(item, times); }},
            items, options, report);
  }
  report.input("hashes", fmt::format("of words drawn evenly, seed {}", options.seed));
  measure({"hashes",
           [](std::uint32_t times, const std::uint32_t* in, std::uint32_t* out, std::uint32_t n, cudaStream_t stream) {
             return launch_hashes({times}, in, out, n, stream);
           },
           [](std::uint32_t times, const std::uint32_t* in, std::uint32_t* out, std::uint32_t n) {
             hashes({times}, in, out, n);
           },
           [](std::uint32_t times, std::uint32_t item) {
             for (std::uint32_t i = 0; i < times; ++i) item = hashes_of_word(item);
             return item;
           }},
          items, options, report);
}

}  // namespace penumbra::bench::gpu
