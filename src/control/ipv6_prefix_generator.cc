// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <functional>
#include <numeric>
#include <unordered_set>
#include <utility>

#include "control/prefix_generator.h"

namespace penumbra::control {
namespace {

constexpr unsigned kShortest = 19, kLongest = 128, kWord = 16;

/// Holds the numbers of prefixes of each length from /19 to /64 in the IPv6 part (160,147 prefixes) of a full table of
/// 2025. The source is the test data of the Go package github.com/gaissmai/bart. Its 83 longer prefixes all count as
/// /128.
constexpr std::array<std::uint32_t, 46> kIpv6LengthWeights = {
    1,    16,   3,   7,    8,    30,    8,   15,   20,   193,   4371, 650,  284,  22548, 2926, 2603,
    1043, 5996, 880, 1617, 1377, 13418, 903, 2301, 1001, 14365, 1553, 3039, 3153, 75488, 11,   3,
    0,    1,    0,   0,    1,    24,    0,   20,   0,    2,     0,    0,    0,    184};
constexpr std::uint32_t kHostRoutes = 83;

/// Number of prefixes in the same table by the first 16 bits, in hundreds. Other values have fewer than three hundred.
constexpr std::array<std::pair<std::uint16_t, std::uint16_t>, 46> kWordWeights = {
    {{0x2001, 202}, {0x2400, 36},  {0x2401, 53},  {0x2402, 75}, {0x2403, 13}, {0x2404, 25}, {0x2405, 23}, {0x2406, 19},
     {0x2407, 27},  {0x2408, 73},  {0x2409, 100}, {0x240A, 45}, {0x240E, 31}, {0x2600, 59}, {0x2602, 24}, {0x2603, 8},
     {0x2604, 32},  {0x2605, 25},  {0x2606, 22},  {0x2607, 25}, {0x2610, 5},  {0x2620, 29}, {0x2800, 32}, {0x2801, 8},
     {0x2803, 30},  {0x2804, 181}, {0x2806, 33},  {0x2A00, 32}, {0x2A01, 28}, {0x2A02, 77}, {0x2A03, 25}, {0x2A04, 19},
     {0x2A05, 14},  {0x2A06, 19},  {0x2A07, 9},   {0x2A09, 12}, {0x2A0A, 11}, {0x2A0B, 19}, {0x2A0C, 11}, {0x2A0D, 17},
     {0x2A0E, 18},  {0x2A0F, 12},  {0x2A10, 10},  {0x2A11, 6},  {0x2A12, 10}, {0x2C0F, 15}}};

/// Lists prefixes inside 2001::/16 that no Internet table covers or that no network owns (RFC 6890). They are protocol
/// assignments, which include the gateways, and documentation.
constexpr std::array<Ipv6Prefix, 2> kReserved = {{{{0x2001000000000000, 0}, 23}, {{0x20010DB800000000, 0}, 32}}};

// The following shares describe relations between prefixes, measured on the same table.
/// Share with a shorter prefix around them (up to /64; longer ones all have one).
constexpr double kWithinShare = 0.57;
constexpr double kNeighbourShare = 0.55;  ///< Share followed by another prefix of the same length.

struct PrefixHash {
  std::size_t operator()(Ipv6Prefix prefix) const { return hash(prefix); }
};

bool is_allotted(Ipv6Prefix prefix) {
  const auto word = static_cast<std::uint16_t>(prefix.address.high >> 48);
  if (std::ranges::find(kWordWeights, word, [](const auto& each) { return each.first; }) == kWordWeights.end()) {
    return false;
  }
  return std::ranges::none_of(kReserved, [prefix](Ipv6Prefix reserved) {
    return reserved.contains(prefix.address) || prefix.contains(reserved.address);
  });
}

/// Returns the next prefix of the same length.
Ipv6Prefix behind(Ipv6Prefix prefix) {
  if (prefix.length <= 64) {
    prefix.address.high += std::uint64_t{1} << (64 - prefix.length);
  } else {
    prefix.address.low += std::uint64_t{1} << (128 - prefix.length);
    if (prefix.address.low == 0) ++prefix.address.high;
  }
  return prefix;
}

/// Returns the number of prefixes of each length, in proportion to the weights. A length gets at most half of its room,
/// so that free places are found quickly. The remainder goes to /48.
std::array<std::uint32_t, kLongest + 1> share_out_ipv6(std::uint32_t count) {
  const std::uint64_t sum =
      std::accumulate(kIpv6LengthWeights.begin(), kIpv6LengthWeights.end(), std::uint64_t{kHostRoutes});
  std::array<std::uint32_t, kLongest + 1> counts{};
  for (std::size_t i = 0; i < kIpv6LengthWeights.size(); ++i) {
    const std::uint64_t room = (std::uint64_t{kWordWeights.size()} << (kShortest + i - kWord)) / 2;
    counts[kShortest + i] =
        static_cast<std::uint32_t>(std::min(count * std::uint64_t{kIpv6LengthWeights[i]} / sum, room));
  }
  counts[kLongest] = static_cast<std::uint32_t>(count * std::uint64_t{kHostRoutes} / sum);
  counts[48] += count - std::accumulate(counts.begin(), counts.end(), std::uint32_t{0});
  return counts;
}

class Ipv6PrefixMaker {
 public:
  explicit Ipv6PrefixMaker(Random& random) : random_(random) {
    std::uint32_t sum = 0;
    for (std::size_t i = 0; i < kWordWeights.size(); ++i) sums_[i] = sum += kWordWeights[i].second;
  }

  std::vector<Ipv6Prefix> make(std::uint32_t count) {
    prefixes_.reserve(count);
    const auto counts = share_out_ipv6(count);
    for (unsigned length = kShortest; length <= kLongest; ++length) add(length, counts[length]);
    return std::move(prefixes_);
  }

 private:
  void add(unsigned length, std::uint32_t count) {
    shorter_ = prefixes_.size();
    std::unordered_set<Ipv6Prefix, PrefixHash> taken(count);
    while (taken.size() < count) {
      Ipv6Prefix prefix = start(length);
      // Adds a run of neighbouring prefixes, as when an owner splits a block.
      while (taken.size() < count && is_allotted(prefix) && taken.insert(prefix).second) {
        prefixes_.push_back(prefix);
        if (!chance(random_, kNeighbourShare)) break;
        prefix = behind(prefix);
      }
    }
  }

  /// Returns the first prefix of a run: inside a shorter prefix or anywhere.
  Ipv6Prefix start(unsigned length) {
    Ipv6Address address{random_.next(), random_.next()};
    if (shorter_ > 0 && chance(random_, length > 64 ? 1.0 : kWithinShare)) {
      const Ipv6Prefix around = prefixes_[random_.below(static_cast<std::uint32_t>(shorter_))];
      const Ipv6Address mask = around.mask();
      address.high = around.address.high | (address.high & ~mask.high);
      address.low = around.address.low | (address.low & ~mask.low);
    } else {
      const auto word = std::ranges::upper_bound(sums_, random_.below(sums_.back())) - sums_.begin();
      address.high = std::uint64_t{kWordWeights[static_cast<std::size_t>(word)].first} << 48 | address.high >> kWord;
    }
    return Ipv6Prefix::around(address, length);
  }

  Random& random_;
  std::array<std::uint32_t, kWordWeights.size()> sums_{};
  std::vector<Ipv6Prefix> prefixes_;
  std::size_t shorter_ = 0;  ///< The first `shorter_` elements of prefixes_ are shorter than the current length.
};

}  // namespace

template <>
std::vector<Ipv6Prefix> generate_prefixes<Ipv6>(Random& random, std::uint32_t count) {
  return Ipv6PrefixMaker(random).make(count);
}

}  // namespace penumbra::control
