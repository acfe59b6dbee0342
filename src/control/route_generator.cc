// SPDX-License-Identifier: Apache-2.0
#include "control/route_generator.h"

#include <algorithm>
#include <array>
#include <bit>
#include <numeric>
#include <set>
#include <stdexcept>
#include <unordered_set>

#include "base/random.h"

namespace penumbra::control {
namespace {

constexpr unsigned kMinLength = 8;
constexpr unsigned kMaxLength = 32;

/// Prefixes of each length in the IPv4 part (901,899 prefixes) of a full table of 2025: the test data of the Go package
/// github.com/gaissmai/bart. It carries about 0.1% of routes longer than /24.
constexpr std::array<std::uint64_t, kMaxLength + 1> kLengthWeights = {
    0,    0,     0,     0,     0,     0,      0,     0,      16, 13, 38, 103, 299, 581, 1203, 2100, 13490,
    8235, 13798, 24870, 42611, 50750, 108623, 96510, 537698, 20, 3,  11, 18,  17,  3,   3,    886};

/// Of the same table: hundreds of prefixes that begin with each first octet, rounded up. 0: nothing there is routed.
constexpr std::array<std::uint16_t, 224> kOctetWeights = {
    0,   27,  25,  3,  1,  77, 6,  1,   22,  1,   0,   3,   19, 10,  43,  6,    //
    2,   13,  10,  1,  4,  1,  3,  98,  56,  1,   1,   49,  1,  1,   1,   44,   //
    3,   1,   14,  11, 39, 79, 55, 17,  5,   74,  16,  33,  4,  257, 79,  13,   //
    0,   35,  36,  10, 22, 1,  8,  11,  1,   4,   29,  21,  16, 44,  46,  28,   //
    86,  36,  78,  49, 36, 66, 32, 22,  55,  1,   48,  25,  13, 44,  35,  44,   //
    40,  31,  28,  24, 29, 56, 14, 37,  23,  61,  20,  112, 42, 43,  65,  69,   //
    27,  11,  22,  12, 3,  23, 52, 386, 78,  17,  24,  39,  18, 66,  38,  55,   //
    40,  31,  27,  40, 36, 62, 38, 33,  38,  21,  44,  43,  28, 39,  3,   0,    //
    21,  20,  18,  37, 18, 8,  30, 6,   16,  18,  48,  28,  20, 24,  28,  28,   //
    21,  9,   28,  28, 34, 33, 17, 24,  27,  9,   62,  25,  31, 22,  20,  34,   //
    37,  26,  52,  22, 27, 27, 19, 29,  60,  14,  77,  27,  45, 53,  29,  19,   //
    63,  105, 63,  51, 43, 60, 44, 37,  41,  327, 100, 94,  71, 91,  136, 32,   //
    142, 123, 104, 82, 58, 46, 81, 87,  118, 101, 139, 139, 64, 50,  58,  51,   //
    63,  70,  63,  43, 67, 62, 17, 2,   99,  48,  26,  13,  29, 17,  19,  44};  //

/// Where the gateways live: RFC 2544, for benchmarks only.
constexpr Ipv4Prefix kGateways{{0xC6120000}, 15};

/// What no table on the Internet covers (RFC 6890), beside the octets of weight 0.
constexpr std::array<Ipv4Prefix, 9> kSpecial = {{{{0x64400000}, 10},
                                                 {{0xA9FE0000}, 16},
                                                 {{0xAC100000}, 12},
                                                 {{0xC0000000}, 24},
                                                 {{0xC0000200}, 24},
                                                 {{0xC0A80000}, 16},
                                                 {{0xC6336400}, 24},
                                                 {{0xCB007100}, 24},
                                                 kGateways}};

// How prefixes lie to one another, measured on the same table.
constexpr double kInsideShare = 0.5;      ///< have a shorter prefix around them (up to /24; beyond, all have)
constexpr double kRunShare = 0.5;         ///< are followed by another one of the same length
constexpr double kRunShareLongest = 0.7;  ///< likewise of the /24s

/// True with this probability.
bool chance(Random& random, double probability) {
  return static_cast<double>(random.next() >> 11) < probability * 0x1p53;
}

bool is_routable(Ipv4Prefix prefix) {
  const std::uint32_t octet = prefix.address.value >> 24;
  if (octet >= kOctetWeights.size() || kOctetWeights[octet] == 0) return false;
  return std::none_of(kSpecial.begin(), kSpecial.end(), [prefix](Ipv4Prefix special) {
    return special.contains(prefix.address) || prefix.contains(special.address);
  });
}

/// How many prefixes of each length: in proportion to kLengthWeights, but never over half of the room there is, so that
/// free places are found quickly; what does not fit or is lost by rounding goes to /24.
std::array<std::uint32_t, kMaxLength + 1> share_out(std::uint32_t prefixes) {
  const auto sum = std::accumulate(kLengthWeights.begin(), kLengthWeights.end(), std::uint64_t{0});
  const auto octets =
      kOctetWeights.size() - static_cast<std::size_t>(std::count(kOctetWeights.begin(), kOctetWeights.end(), 0));
  std::array<std::uint32_t, kMaxLength + 1> counts{};
  for (unsigned length = kMinLength; length <= kMaxLength; ++length) {
    const std::uint64_t room = (std::uint64_t{octets} << (length - kMinLength)) / 2;
    counts[length] = static_cast<std::uint32_t>(std::min(prefixes * kLengthWeights[length] / sum, room));
  }
  counts[24] += prefixes - std::accumulate(counts.begin(), counts.end(), std::uint32_t{0});
  return counts;
}

class PrefixMaker {
 public:
  explicit PrefixMaker(Random& random) : random_(random) {
    std::partial_sum(kOctetWeights.begin(), kOctetWeights.end(), octet_sums_.begin(), std::plus<std::uint32_t>());
  }

  std::vector<Ipv4Prefix> make(std::uint32_t count) {
    prefixes_.reserve(count);
    const auto counts = share_out(count);
    for (unsigned length = kMinLength; length <= kMaxLength; ++length) add(length, counts[length]);
    return std::move(prefixes_);
  }

 private:
  void add(unsigned length, std::uint32_t count) {
    shorter_ = prefixes_.size();
    std::unordered_set<std::uint32_t> taken(count);
    const double run_share = length == 24 ? kRunShareLongest : kRunShare;
    unsigned failures = 0;
    while (taken.size() < count) {
      Ipv4Prefix prefix = start(length, failures);
      failures = is_routable(prefix) && !taken.contains(prefix.address.value) ? 0 : failures + 1;
      // A run of neighbouring prefixes, as an owner makes who cuts his block into pieces.
      while (taken.size() < count && is_routable(prefix) && taken.insert(prefix.address.value).second) {
        prefixes_.push_back(prefix);
        if (!chance(random_, run_share)) break;
        prefix.address.value += static_cast<std::uint32_t>(std::uint64_t{1} << (32 - length));
      }
    }
  }

  /// Where a run may begin: inside a shorter prefix or anywhere.
  Ipv4Prefix start(unsigned length, unsigned failures) {
    constexpr unsigned kPatience = 16;  // then the popular places are full: look everywhere
    Ipv4Prefix prefix{{static_cast<std::uint32_t>(random_.next())}, static_cast<std::uint8_t>(length)};
    if (failures < kPatience) {
      if (shorter_ > 0 && chance(random_, length > 24 ? 1.0 : kInsideShare)) {
        const Ipv4Prefix around = prefixes_[random_.below(static_cast<std::uint32_t>(shorter_))];
        prefix.address.value = around.address.value | (prefix.address.value & ~around.mask());
      } else {
        const auto octet = std::upper_bound(octet_sums_.begin(), octet_sums_.end(), random_.below(octet_sums_.back()));
        prefix.address.value =
            static_cast<std::uint32_t>(octet - octet_sums_.begin()) << 24 | prefix.address.value >> 8;
      }
    }
    prefix.address.value &= prefix.mask();
    return prefix;
  }

  Random& random_;
  std::array<std::uint32_t, kOctetWeights.size()> octet_sums_{};
  std::vector<Ipv4Prefix> prefixes_;
  std::size_t shorter_ = 0;  ///< so many of prefixes_ are shorter than those being added
};

class TableMaker {
 public:
  explicit TableMaker(const RouteGeneratorOptions& options) : options_(options), random_(options.seed) {}

  GeneratedTable make() {
    make_neighbours();
    make_targets();
    auto prefixes = PrefixMaker(random_).make(options_.prefixes);
    std::sort(prefixes.begin(), prefixes.end());
    auto& routes = table_.routes.routes;
    routes.reserve(prefixes.size());
    // Now and then a route takes the next gateway in turn, so that each one is used if there are routes enough.
    const std::size_t turn = std::max<std::size_t>(1, prefixes.size() / options_.next_hops);
    for (std::size_t i = 0; i < prefixes.size(); ++i) {
      const auto target = i % turn == 0 ? static_cast<std::uint32_t>(i / turn % options_.next_hops) : pick_target();
      const std::uint32_t metric = chance(random_, kMetricShare) ? 1 + random_.below(1000) : 0;
      routes.push_back({prefixes[i], metric, use(target)});
    }
    return std::move(table_);
  }

 private:
  static constexpr double kMetricShare = 0.005;
  static constexpr std::uint32_t kMultipaths = 64;
  static constexpr std::uint32_t kUnused = ~std::uint32_t{0};

  void make_neighbours() {
    const auto ports = static_cast<std::uint32_t>(options_.ports.size());
    const std::uint32_t network = (kGateways.last().value - kGateways.address.value + 1) / std::bit_ceil(ports);
    table_.neighbours.reserve(options_.next_hops);
    for (std::uint32_t i = 0; i < options_.next_hops; ++i) {
      const std::uint32_t port = i % ports;
      const Ipv4Address address{kGateways.address.value + port * network + 2 + i / ports};
      table_.neighbours.push_back({address, options_.ports[port], MacAddress{0x020000010000U + i}});
    }
  }

  /// Everything a route may lead to: each gateway alone, then the nowheres, then the multipaths.
  void make_targets() {
    targets_.reserve(options_.next_hops + 2 + kMultipaths);
    for (std::uint32_t i = 0; i < options_.next_hops; ++i) {
      targets_.push_back({RouteTarget::Kind::unicast, {next_hop(i)}});
    }
    targets_.push_back({RouteTarget::Kind::blackhole, {}});
    targets_.push_back({RouteTarget::Kind::unreachable, {}});
    first_multipath_ = targets_.size();
    for (std::uint32_t i = 0; i < kMultipaths && options_.next_hops > 1; ++i) {
      RouteTarget target;
      const std::uint32_t hops = std::min(2 + random_.below(3), options_.next_hops);
      const std::uint32_t first = random_.below(options_.next_hops);
      for (std::uint32_t hop = 0; hop < hops; ++hop) {
        target.next_hops.push_back(next_hop((first + hop) % options_.next_hops));
        target.next_hops.back().weight = static_cast<std::uint16_t>(1 + random_.below(4));
      }
      if (std::find(targets_.begin(), targets_.end(), target) == targets_.end()) targets_.push_back(std::move(target));
    }
    numbers_.assign(targets_.size(), kUnused);
  }

  NextHop next_hop(std::uint32_t gateway) const {
    return {.gateway = table_.neighbours[gateway].address, .port = table_.neighbours[gateway].port};
  }

  std::uint32_t pick_target() {
    const std::size_t multipaths = targets_.size() - first_multipath_;
    if (chance(random_, options_.blackhole_share)) return options_.next_hops;
    if (chance(random_, options_.unreachable_share)) return options_.next_hops + 1;
    if (multipaths > 0 && chance(random_, options_.multipath_share)) {
      return static_cast<std::uint32_t>(first_multipath_) + random_.below(static_cast<std::uint32_t>(multipaths));
    }
    // The first gateways carry most routes, as transit providers do.
    return random_.below(random_.below(options_.next_hops) + 1);
  }

  /// The number of a target in the table; unused ones have none.
  std::uint32_t use(std::uint32_t target) {
    if (numbers_[target] == kUnused) {
      numbers_[target] = static_cast<std::uint32_t>(table_.routes.targets.size());
      table_.routes.targets.push_back(targets_[target]);
    }
    return numbers_[target];
  }

  const RouteGeneratorOptions& options_;
  Random random_;
  GeneratedTable table_;
  std::vector<RouteTarget> targets_;
  std::size_t first_multipath_ = 0;
  std::vector<std::uint32_t> numbers_;  ///< of each of targets_
};

void check(const RouteGeneratorOptions& options) {
  using Options = RouteGeneratorOptions;
  const auto require = [](bool holds, const std::string& what) {
    if (!holds) throw std::invalid_argument(what);
  };
  const auto between = [&require](const std::string& what, std::size_t value, std::size_t most) {
    require(value >= 1 && value <= most,
            what + " must be from 1 to " + std::to_string(most) + ", not " + std::to_string(value));
  };
  between("the number of prefixes", options.prefixes, Options::kMaxPrefixes);
  between("the number of next hops", options.next_hops, Options::kMaxNextHops);
  between("the number of ports", options.ports.size(), Options::kMaxPorts);
  const std::set<std::string> names(options.ports.begin(), options.ports.end());
  require(names.size() == options.ports.size(), "two ports have the same name");
  for (const double share : {options.multipath_share, options.blackhole_share, options.unreachable_share}) {
    require(share >= 0 && share <= 1, "a share must be from 0 to 1");
  }
}

}  // namespace

GeneratedTable generate_routes(const RouteGeneratorOptions& options) {
  check(options);
  return TableMaker(options).make();
}

}  // namespace penumbra::control
