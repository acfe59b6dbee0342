// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <functional>
#include <numeric>
#include <unordered_set>

#include "control/prefix_generator.h"

namespace penumbra::control {
namespace {

constexpr unsigned kMinLength = 8;
constexpr unsigned kMaxLength = 32;

/// Holds the numbers of prefixes of each length in the IPv4 part (901,899 prefixes) of a full table of 2025. The source
/// is the test data of the Go package github.com/gaissmai/bart. About 0.1% of its routes are longer than /24.
constexpr std::array<std::uint64_t, kMaxLength + 1> kLengthWeights = {
    0,    0,     0,     0,     0,     0,      0,     0,      16, 13, 38, 103, 299, 581, 1203, 2100, 13490,
    8235, 13798, 24870, 42611, 50750, 108623, 96510, 537698, 20, 3,  11, 18,  17,  3,   3,    886};

/// Number of prefixes in the same table by first octet, in hundreds, rounded up. 0: nothing in the octet is routed.
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

/// Lists prefixes that no Internet table covers (RFC 6890), in addition to the octets of weight 0.
constexpr std::array<Ipv4Prefix, 9> kSpecial = {{{{0x64400000}, 10},
                                                 {{0xA9FE0000}, 16},
                                                 {{0xAC100000}, 12},
                                                 {{0xC0000000}, 24},
                                                 {{0xC0000200}, 24},
                                                 {{0xC0A80000}, 16},
                                                 {{0xC6336400}, 24},
                                                 {{0xCB007100}, 24},
                                                 kIpv4Gateways}};

// The following shares describe relations between prefixes, measured on the same table.
/// Share with a shorter prefix around them (up to /24; longer ones all have one).
constexpr double kInsideShare = 0.5;
constexpr double kRunShare = 0.5;         ///< Share followed by another prefix of the same length.
constexpr double kRunShareLongest = 0.7;  ///< The same share of the /24s.

bool is_routable(Ipv4Prefix prefix) {
  const std::uint32_t octet = prefix.address.value >> 24;
  if (octet >= kOctetWeights.size() || kOctetWeights[octet] == 0) return false;
  return std::none_of(kSpecial.begin(), kSpecial.end(), [prefix](Ipv4Prefix special) {
    return special.contains(prefix.address) || prefix.contains(special.address);
  });
}

/// Returns the number of prefixes of each length, in proportion to kLengthWeights. A length gets at most half of its
/// room, so that free places are found quickly. The remainder goes to /24.
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
      // Adds a run of neighbouring prefixes, as when an owner splits a block.
      while (taken.size() < count && is_routable(prefix) && taken.insert(prefix.address.value).second) {
        prefixes_.push_back(prefix);
        if (!chance(random_, run_share)) break;
        prefix.address.value += static_cast<std::uint32_t>(std::uint64_t{1} << (32 - length));
      }
    }
  }

  /// Returns the first prefix of a run: inside a shorter prefix or anywhere.
  Ipv4Prefix start(unsigned length, unsigned failures) {
    // After this many failures the popular places are full, and any place is taken.
    constexpr unsigned kPatience = 16;
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
  std::size_t shorter_ = 0;  ///< The first `shorter_` elements of prefixes_ are shorter than the current length.
};

}  // namespace

template <>
std::vector<Ipv4Prefix> generate_prefixes<Ipv4>(Random& random, std::uint32_t count) {
  return PrefixMaker(random).make(count);
}

}  // namespace penumbra::control
