// SPDX-License-Identifier: Apache-2.0
//
// Measures stations of a switch on one core: the shader l2_lookup on every engine, and DPDK's rte_hash, by the table's
// size. Also compares the function l2 as a whole, without ports, with itself on the engine scalar.
#include "functions/l2/l2.h"

#include <fmt/format.h>
#include <rte_mbuf.h>

#include <algorithm>
#include <array>
#include <memory>
#include <thread>
#include <vector>

#include "base/random.h"
#include "bench.h"
#include "numbered_station.h"
#include "pin.h"
#include "searching.h"

namespace penumbra::bench {
namespace {

constexpr std::array<std::size_t, 4> kSizes{16'000, 250'000, 4'000'000, 67'000'000};  // The last size takes 1 GiB.
constexpr std::size_t kSearches = std::size_t{1} << 22;
constexpr std::uint16_t kSwitchPorts = 4;
constexpr std::size_t kFrameSize = 64;

std::uint64_t station_key(std::uint64_t number) {
  return numbered_station(number).key();
}
std::uint16_t port_of(std::uint64_t number) {
  return static_cast<std::uint16_t>(number % kSwitchPorts);
}

/// Returns the table's entry for a station when nothing ages.
std::uint16_t entry_of(std::uint64_t number) {
  return l2::Entry(port_of(number), 1).value();
}

std::vector<PortInfo> switch_ports() {
  std::vector<PortInfo> ports(kSwitchPorts);
  for (std::uint16_t i = 0; i < kSwitchPorts; ++i) {
    ports[i].name = fmt::format("p{}", i);
    ports[i].index = i;
    ports[i].mac = {0x060000000000U + i};
  }
  return ports;
}

/// A switch that knows `stations` stations. The switch learns the stations as from workers.
class KnowingSwitch {
 public:
  explicit KnowingSwitch(std::size_t stations) : ports_(switch_ports()) {
    l2::Configuration configuration = l2::read_configuration(ConfigNode::parse("{}", "l2", "."), ports_);
    configuration.ageing = 0;
    configuration.max_stations = StationTable::kMost;
    function_ = std::make_unique<l2::Switch>(std::move(configuration),
                                             FunctionContext{.ports = ports_, .grace_periods = no_readers_});
    function_->bind(ports_);
    for (std::size_t i = 0; i < stations; ++i) {
      while (!function_->stations().tell(0, station_key(i), port_of(i), true)) std::this_thread::yield();
    }
    while (function_->stations().size() < stations) std::this_thread::yield();
  }

  l2::Switch& function() { return *function_; }

 private:
  NoReaders no_readers_;
  std::vector<PortInfo> ports_;
  std::unique_ptr<l2::Switch> function_;
};

using StationSearches = SearchesOf<std::uint64_t, std::uint16_t>;

/// Makes searches of random stations, one in eight unknown.
StationSearches station_searches(std::size_t stations, std::uint64_t seed) {
  Random random(seed);
  StationSearches searches(kSearches);
  for (std::size_t i = 0; i < kSearches; ++i) {
    const bool known = random.below(8) != 0;
    const std::uint64_t number = random.below(static_cast<std::uint32_t>(stations)) + (known ? 0 : stations);
    searches.keys[i] = station_key(number);
    searches.right[i] = known ? entry_of(number) : StationTable::kUnknown;
  }
  return searches;
}

/// Switches frames from known stations of port 0 to known stations of the other ports, chunk by chunk, on one engine.
class Switching {
 public:
  Switching(l2::Switch& function, const std::string& engine, std::size_t stations, std::uint64_t seed)
      : function_(function), on_(engine, *function.table()), frames_(Chunk::kCapacity) {
    Random random(seed);
    const auto group = static_cast<std::uint32_t>(stations / kSwitchPorts);
    for (std::size_t i = 0; i < kSearches / 2; ++i) {
      const std::uint64_t from = std::uint64_t{random.below(group)} * kSwitchPorts;
      const std::uint64_t to = std::uint64_t{random.below(group)} * kSwitchPorts + 1 + random.below(kSwitchPorts - 1);
      headers_.push_back({station_key(to) << 16, station_key(from) << 16, port_of(to)});
    }
    for (auto& [bytes, mbuf] : frames_) {
      mbuf.buf_addr = bytes.data();
      mbuf.data_len = kFrameSize;
      mbuf.pkt_len = kFrameSize;
    }
    chunk_->rx_port = 0;
    chunk_->fetch_ahead = on_.fetches_ahead();
  }

  bool has_shader() const { return on_.has_shader(); }
  const std::string& name() const { return on_.name(); }
  /// Returns M packets per second. With `check`, throws WrongAnswer if a packet is not sent to its port.
  double pass(bool check) {
    const double begin = thread_time();
    for_each_batch(headers_.size(), Chunk::kCapacity, [&](std::size_t at, std::size_t count) {
      fill(at, count);
      function_.pre_shade(*chunk_);
      on_.run(chunk_->batch);
      function_.post_shade(*chunk_);
      keep(chunk_->verdicts.data());
      for (std::size_t i = 0; check && i < count; ++i) {
        if (chunk_->verdicts[i] == Verdict::send(headers_[at + i].port)) continue;
        throw WrongAnswer("a frame does not leave by the port of its destination");
      }
    });
    return static_cast<double>(headers_.size()) / (thread_time() - begin) * 1e-6;
  }

 private:
  struct Header {
    std::uint64_t to, from;  ///< The address is in the upper 48 bits.
    std::uint16_t port;      ///< Port by which it must leave.
  };
  struct alignas(64) Frame {
    std::array<std::uint8_t, kFrameSize> bytes{};
    rte_mbuf mbuf{};
  };

  /// Fills the chunk as if the frames had been received.
  void fill(std::size_t at, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      std::uint8_t* const bytes = frames_[i].bytes.data();
      store(bytes, __builtin_bswap64(headers_[at + i].to));
      store(bytes + 6, __builtin_bswap64(headers_[at + i].from));
      store(bytes + 12, __builtin_bswap16(std::uint16_t{0x0800}));
      chunk_->packets[i] = &frames_[i].mbuf;
    }
    chunk_->size = static_cast<std::uint16_t>(count);
    std::fill_n(chunk_->verdicts.begin(), count, Verdict{});
    chunk_->columns.clear();
  }

  l2::Switch& function_;
  OnEngine on_;
  std::vector<Frame> frames_;
  std::vector<Header> headers_;
  std::unique_ptr<Chunk> chunk_ = std::make_unique<Chunk>();
};

void compare_switching(l2::Switch& function, std::size_t stations, const std::string& title, bool is_large,
                       const Options& options, Report& report) {
  std::vector<std::unique_ptr<Switching>> ways;
  for (const EngineInfo* info : engines_here()) {
    auto way = std::make_unique<Switching>(function, info->name, stations, options.seed);
    if (way->has_shader()) ways.push_back(std::move(way));
  }
  std::vector<Contender> turns;
  turns.reserve(ways.size());
  for (const auto& way : ways) {
    way->pass(true);
    turns.push_back({way->name(), [of = way.get()] { return of->pass(false); }});
  }
  report.checked(fmt::format("{}: every frame leaves by the port of its destination", title));
  const std::vector<Series> series = interleave(turns, options.rounds);
  const std::string what = title + ", the function as a whole, chunks of 64";
  const auto ratios =
      report.compare(what, "M packets/s/core", series, kScalarWay,
                     Place{{"E22", "the switch as a whole", "stations"}, static_cast<double>(stations)});
  const auto gopt = ratio_of(series, ratios, kGoptWay);
  if (is_large && gopt) report.bar("switching with gopt / with scalar, " + what, *gopt, 1.8, true);
}

void run_l2(const Options& options, Report& report) {
  pin_to_first_core();
  report.note("each frame is two lookups, of its destination and of its source; frames are in the core's caches");
  for (const std::size_t stations : kSizes) {
    const bool is_large = stations == kSizes.back();
    KnowingSwitch known(stations);
    const std::size_t bytes = known.function().stations().memory_bytes();
    const std::string title = fmt::format("{} stations, {}", stations, size_name(bytes));
    report.input(title, "made of consecutive numbers; searched at random, one of eight unknown");
    const StationSearches searches = station_searches(stations, options.seed);
    {
      constexpr std::size_t kBytesAKey = 56;  // Buckets, keys and values, and the ring of free ones.
      HugeHeap heap(fmt::format("rivals{}", stations), (std::size_t{64} << 20) + kBytesAKey * stations);
      SearchersOf<std::uint64_t, std::uint16_t> searchers;
      add_engines(*known.function().table(), searchers);
      auto rival = std::make_unique<RivalSearcher<std::uint64_t, std::uint16_t, std::uint64_t>>(
          heap, stations / 9 * 10, searches);  // A full rte_hash would refuse the last keys.
      for (std::size_t i = 0; i < stations; ++i) rival->insert(station_key(i), entry_of(i));
      searchers.push_back(std::move(rival));
      compare_searchers(searchers, searches, title, "stations", stations, is_large, options.rounds, report);
    }
    compare_switching(known.function(), stations, title, is_large, options, report);
  }
}

[[maybe_unused]] const bool kL2Benchmark =
    register_benchmark({.name = "l2",
                        .measurements = {"E22"},
                        .measures = "a switch's stations looked up on one core: every engine compared with rte_hash",
                        .needs = "8 GB of memory",
                        .cost = {94, 1},
                        .takes_routes = false,
                        .run = &run_l2});

}  // namespace
}  // namespace penumbra::bench
