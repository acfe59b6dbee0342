// SPDX-License-Identifier: Apache-2.0
//
// Stations of a switch on one core: the shader l2_lookup on every engine beside DPDK's rte_hash, by the table's size;
// and the function l2 as a whole, without ports, beside itself on the engine scalar.
#include "functions/l2/l2.h"

#include <fmt/format.h>
#include <rte_mbuf.h>

#include <algorithm>
#include <array>
#include <memory>
#include <numeric>
#include <thread>
#include <vector>

#include "base/random.h"
#include "bench.h"
#include "lookup_contender.h"
#include "penumbra/engine.h"
#include "pin.h"
#include "rivals/rte_hash.h"

namespace penumbra::bench {
namespace {

constexpr std::array<std::size_t, 4> kSizes{16'000, 250'000, 4'000'000, 67'000'000};  // the last one in 1 GiB
constexpr std::array<std::size_t, 2> kSwitchBatches{64, 4096};
constexpr std::size_t kSearches = std::size_t{1} << 22;
constexpr std::uint16_t kSwitchPorts = 4;
constexpr std::size_t kFrameSize = 64;
constexpr char kRival[] = "rte_hash bulk, hashes precomputed";

/// Different addresses for different numbers below 2^40, in VLAN 1.
std::uint64_t station_key(std::uint64_t number) {
  constexpr std::uint64_t kMask = (std::uint64_t{1} << 40) - 1;
  std::uint64_t x = number * 0x9E3779B97FU & kMask;
  x ^= x >> 20;
  return Station{1, {std::uint64_t{2} << 40 | x}}.key();
}
std::uint16_t port_of(std::uint64_t number) {
  return static_cast<std::uint16_t>(number % kSwitchPorts);
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

/// A switch that knows so many stations. They are told to it, as workers do.
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
      while (!function_->stations().tell(station_key(i), port_of(i), true)) std::this_thread::yield();
    }
    while (function_->stations().size() < stations) std::this_thread::yield();
  }

  l2::Switch& function() { return *function_; }

 private:
  NoReaders no_readers_;
  std::vector<PortInfo> ports_;
  std::unique_ptr<l2::Switch> function_;
};

/// An engine on a table, with a queue of its own.
class OnEngine {
 public:
  OnEngine(const std::string& engine, Table& table) : engine_(create_engine(engine)) {
    engine_->use_table(table);
    queue_ = engine_->open_queue();
    shader_ = engine_->find_shader(table.name());
    table_ = &table;
  }
  bool has_shader() const { return shader_ != nullptr; }
  bool fetches_ahead() const { return queue_->fetches_ahead(); }
  /// Waits for it.
  void run(Batch& batch) {
    batch.shader = shader_;
    batch.table = table_;
    if (queue_->submit(batch) == EngineQueue::Submitted::done) return;
    while (queue_->poll() == nullptr) {
    }
  }

 private:
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<EngineQueue> queue_;
  const Shader* shader_ = nullptr;
  const Table* table_ = nullptr;
};

/// What is searched: random stations, one of eight unknown.
struct Searches {
  Searches(std::size_t stations, std::uint64_t seed) {
    Random random(seed);
    for (std::size_t i = 0; i < kSearches; ++i) {
      const bool known = random.below(8) != 0;
      const std::uint64_t number = random.below(static_cast<std::uint32_t>(stations)) + (known ? 0 : stations);
      keys.push_back(station_key(number));
      right.push_back(known ? l2::Entry(port_of(number), 1).value() : StationTable::kUnknown);
    }
  }
  std::vector<std::uint64_t> keys;
  std::vector<std::uint16_t> right;
};

/// Looks all keys up and hands each batch's values to `use(offset, count, values)`.
class Searcher {
 public:
  Searcher() = default;
  Searcher(const Searcher&) = delete;
  Searcher& operator=(const Searcher&) = delete;
  virtual ~Searcher() = default;
  using Use = std::function<void(std::size_t at, std::size_t count, const std::uint16_t* values)>;
  virtual void search(const Searches& searches, std::size_t batch, const Use& use) = 0;
};

class EngineSearcher final : public Searcher {
 public:
  EngineSearcher(const std::string& engine, Table& table) : on_(engine, table) {}
  bool has_shader() const { return on_.has_shader(); }
  void search(const Searches& searches, std::size_t batch, const Use& use) override {
    std::array<std::uint16_t, LookupContender::kMostBatch> values;
    for_each_batch(searches.keys.size(), batch, [&](std::size_t at, std::size_t count) {
      batch_.items = static_cast<std::uint32_t>(count);
      batch_.inputs[0] = searches.keys.data() + at;
      batch_.outputs[0] = values.data();
      on_.run(batch_);
      use(at, count, values.data());
    });
  }

 private:
  OnEngine on_;
  Batch batch_;
};

class RivalSearcher final : public Searcher {
 public:
  RivalSearcher(HugeHeap& heap, std::size_t stations, const Searches& searches)
      : table_(heap, stations / 9 * 10, sizeof(std::uint64_t)) {  // full it would refuse the last ones
    for (std::size_t i = 0; i < stations; ++i) {
      const std::uint64_t key = station_key(i);
      table_.insert(&key, l2::Entry(port_of(i), 1).value());
    }
    for (const std::uint64_t& key : searches.keys) {
      hashes_.push_back(table_.hash(&key));
      pointers_.push_back(&key);
    }
  }
  void search(const Searches& searches, std::size_t batch, const Use& use) override {
    std::array<std::uint64_t, LookupContender::kMostBatch> found;
    std::array<std::uint16_t, LookupContender::kMostBatch> values;
    for_each_batch(searches.keys.size(), batch, [&](std::size_t at, std::size_t count) {
      for_each_batch(count, RteHash::kMostAtOnce, [&](std::size_t part, std::size_t some) {
        table_.find(pointers_.data() + at + part, hashes_.data() + at + part, some, found.data() + part);
      });
      for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<std::uint16_t>(found[i]);
      use(at, count, values.data());
    });
  }

 private:
  RteHash table_;
  std::vector<std::uint32_t> hashes_;
  std::vector<const void*> pointers_;
};

using Searchers = std::vector<std::pair<std::string, std::unique_ptr<Searcher>>>;

void check_searchers(const Searchers& searchers, const Searches& searches) {
  for (const auto& [name, searcher] : searchers) {
    for (const std::size_t batch : kSwitchBatches) {
      searcher->search(searches, batch, [&](std::size_t at, std::size_t count, const std::uint16_t* values) {
        for (std::size_t i = 0; i < count; ++i) {
          if (values[i] == searches.right[at + i]) continue;
          throw WrongAnswer(fmt::format("{}: key {:x} has {}, right is {}", name, searches.keys[at + i], values[i],
                                        searches.right[at + i]));
        }
      });
    }
  }
}

double search_rate(Searcher& searcher, const Searches& searches, std::size_t batch) {
  const double begin = thread_time();
  searcher.search(searches, batch, [](std::size_t, std::size_t, const std::uint16_t* values) { keep(values); });
  return static_cast<double>(searches.keys.size()) / (thread_time() - begin) * 1e-6;
}

/// Frames from known stations of port 0 to known ones of the others, switched chunk by chunk on one engine.
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
  /// M packets a second. With `check` throws WrongAnswer for one that is not sent to its port.
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
    std::uint64_t to, from;  ///< the address in the upper 48 bits
    std::uint16_t port;      ///< where it must leave
  };
  struct alignas(64) Frame {
    std::array<std::uint8_t, kFrameSize> bytes{};
    rte_mbuf mbuf{};
  };

  /// As if they were received.
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

std::size_t index_of(std::span<const Series> series, const std::string& name) {
  const auto found = std::ranges::find(series, name, &Series::name);
  return static_cast<std::size_t>(found - series.begin());
}

void compare_searchers(const Searchers& searchers, const Searches& searches, const std::string& title, bool is_large,
                       const Options& options, Report& report) {
  for (const std::size_t batch : kSwitchBatches) {
    std::vector<Contender> turns;
    for (const auto& [name, searcher] : searchers) {
      turns.push_back({name, [&, of = searcher.get()] { return search_rate(*of, searches, batch); }});
    }
    const std::vector<Series> series = interleave(turns, options.rounds);
    const std::string what = fmt::format("{}, batches of {}", title, batch);
    const auto ratios = report.compare(what, "M lookups/s/core", series, kRival);
    const std::size_t gopt = index_of(series, kGoptWay);
    if (is_large && gopt < series.size()) report.bar("gopt / rte_hash bulk, " + what, ratios[gopt], 2.0, true);
  }
}

void compare_switching(l2::Switch& function, std::size_t stations, const std::string& title, bool is_large,
                       const Options& options, Report& report) {
  std::vector<std::pair<std::string, std::unique_ptr<Switching>>> ways;
  for (const EngineInfo& info : engines()) {
    if (!info.probe().available) continue;
    auto way = std::make_unique<Switching>(function, info.name, stations, options.seed);
    if (way->has_shader()) ways.emplace_back("penumbra " + info.name, std::move(way));
  }
  std::vector<Contender> turns;
  for (const auto& [name, way] : ways) {
    way->pass(true);
    turns.push_back({name, [of = way.get()] { return of->pass(false); }});
  }
  report.checked(fmt::format("{}: every frame leaves by the port of its destination", title));
  const std::vector<Series> series = interleave(turns, options.rounds);
  const std::string what = title + ", the function as a whole, chunks of 64";
  const auto ratios = report.compare(what, "M packets/s/core", series, kScalarWay);
  const std::size_t gopt = index_of(series, kGoptWay);
  if (is_large && gopt < series.size())
    report.bar("switching with gopt / with scalar, " + what, ratios[gopt], 1.8, true);
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
    const Searches searches(stations, options.seed);
    {
      constexpr std::size_t kBytesAKey = 56;  // buckets, keys and values, and the ring of free ones
      HugeHeap heap(fmt::format("rivals{}", stations), (std::size_t{64} << 20) + kBytesAKey * stations);
      Searchers searchers;
      for (const EngineInfo& info : engines()) {
        if (!info.probe().available) continue;
        auto searcher = std::make_unique<EngineSearcher>(info.name, *known.function().table());
        if (searcher->has_shader()) searchers.emplace_back("penumbra " + info.name, std::move(searcher));
      }
      searchers.emplace_back(kRival, std::make_unique<RivalSearcher>(heap, stations, searches));
      check_searchers(searchers, searches);
      report.checked(fmt::format("{}: every value of {} contenders is the right one", title, searchers.size()));
      compare_searchers(searchers, searches, title, is_large, options, report);
    }
    compare_switching(known.function(), stations, title, is_large, options, report);
  }
}

[[maybe_unused]] const bool kL2Benchmark =
    register_benchmark({.name = "l2",
                        .measures = "a switch's stations looked up on one core: every engine beside rte_hash",
                        .needs = "8 GB of memory",
                        .seconds = 240,
                        .takes_routes = false,
                        .run = &run_l2});

}  // namespace
}  // namespace penumbra::bench
