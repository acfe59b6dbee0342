// SPDX-License-Identifier: Apache-2.0
#include "tables/rules_fast/plan.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "base/random.h"
#include "tables/rules_fast/copies.h"

namespace penumbra::rules_fast {
namespace {

constexpr std::size_t kSample = 4096;  // approximate number of rules for the final rating of bits
constexpr std::size_t kGlance = 256;   // number of rules for the preliminary rating
// Total number of rules that the final ratings read.
constexpr std::size_t kPassedOver = 1 << 20, kPassedOverInHaste = 1 << 18;
constexpr std::size_t kCommonMasks = 24;                  // maximum number of masks to try
constexpr std::size_t kPairedMasks = 12;                  // number of masks that are also tried in pairs
constexpr std::array<unsigned, 4> kDropped{0, 4, 8, 16};  // numbers of lowest address bits to drop

std::uint64_t digest_of(const RuleWords& words) {
  std::uint64_t digest = 0;
  for (const std::uint64_t word : words) digest = (std::rotl(digest, 23) ^ word) * 0x9E3779B97F4A7C15U;
  return Random::mixed(digest);
}

unsigned bits_of(const RuleWords& words) {
  unsigned bits = 0;
  for (const std::uint64_t word : words) bits += static_cast<unsigned>(std::popcount(word));
  return bits;
}

/// An address field, source or destination, by its words and bits.
struct Address {
  std::size_t first_word, words;
  std::uint64_t bits;
};
std::array<Address, 2> addresses_of(RuleFields fields) {
  constexpr std::uint64_t kUpper = 0xFFFFFFFF00000000U, kAll = ~std::uint64_t{0};
  switch (fields) {
    case RuleFields::ipv4:
      return {{{0, 1, kUpper}, {0, 1, ~kUpper}}};
    case RuleFields::ipv6:
      return {{{0, 2, kAll}, {2, 2, kAll}}};
    case RuleFields::openflow:
      break;
  }
  return {{{2, 1, kUpper}, {2, 1, ~kUpper}}};
}

/// Clears the lowest set bits of an address in a mask.
void drop_lowest(RuleWords& mask, const Address& address, unsigned count) {
  for (std::size_t word = address.first_word + address.words; word-- > address.first_word;) {
    for (; count > 0 && (mask[word] & address.bits) != 0; --count) {
      const std::uint64_t bits = mask[word] & address.bits;
      mask[word] &= ~(bits & (~bits + 1));
    }
  }
}

std::vector<RuleWords> candidates(std::span<const RuleMatch* const> rules, RuleFields fields) {
  std::map<RuleWords, std::size_t> counts;
  for (const RuleMatch* rule : rules) ++counts[rule->mask];
  std::vector<std::pair<std::size_t, RuleWords>> common;
  common.reserve(counts.size());
  for (const auto& [mask, count] : counts) common.emplace_back(count, mask);
  std::ranges::sort(common, std::greater<>());
  if (common.size() > kCommonMasks) common.resize(kCommonMasks);
  std::set<RuleWords> found{RuleWords{}};
  const auto addresses = addresses_of(fields);
  for (std::size_t i = 0; i < common.size(); ++i) {
    for (std::size_t j = 0; j <= i; ++j) {
      if (i >= kPairedMasks && j != i) continue;
      const auto &one = common[i], &other = common[j];
      RuleWords both{};
      for (std::size_t word = 0; word < kRuleWords; ++word) both[word] = one.second[word] & other.second[word];
      for (const unsigned of_source : kDropped) {
        for (const unsigned of_destination : kDropped) {
          RuleWords bits = both;
          drop_lowest(bits, addresses[0], of_source);
          drop_lowest(bits, addresses[1], of_destination);
          found.insert(bits);
        }
      }
    }
  }
  return {found.begin(), found.end()};
}

/// The number of rules with each value of the chosen bits.
class Meetings {
 public:
  explicit Meetings(std::size_t most) : counts_(std::bit_ceil(most * 2)) {}

  void clear() { ++round_; }
  std::uint32_t& operator[](std::uint64_t digest) {
    std::size_t at = digest & (counts_.size() - 1);
    while (counts_[at].round == round_ && counts_[at].digest != digest) at = (at + 1) & (counts_.size() - 1);
    if (counts_[at].round != round_) counts_[at] = {.digest = digest, .round = round_, .count = 0};
    return counts_[at].count;
  }

 private:
  struct Count {
    std::uint64_t digest = 0;
    std::uint32_t round = 0, count = 0;
  };
  std::vector<Count> counts_;
  std::uint32_t round_ = 1;
};

/// Rates choices of bits for the same rules.
class Judge {
 public:
  Judge(std::span<const RuleMatch* const> rules, RuleFields fields)
      : rules_(rules),
        words_(words_of(fields)),
        slices_(rules.size() / kSample + 1),
        meetings_(kMostSampled + kMostCopies) {
    Random random(rules.size());
    for (std::size_t i = 0; i < std::min(kGlance, rules.size()); ++i) {
      glance_.push_back(rules.size() <= kGlance ? rules[i]
                                                : rules[random.below(static_cast<std::uint32_t>(rules.size()))]);
    }
  }

  /// Estimates from a few rules the share of rules with few copies and an uncrowded leaf.
  double glance(const RuleWords& bits) {
    const double share = static_cast<double>(glance_.size()) / static_cast<double>(rules_.size());
    return judged(glance_, bits, 1, 1 + static_cast<std::uint32_t>(share * (kLeafRules - 1)));
  }

  /// Estimates from one slice of the bits' values the share of rules that find a place in leaves.
  double placed(const RuleWords& bits) { return judged(rules_, bits, slices_, kLeafRules); }

 private:
  static constexpr std::size_t kMostSampled = kSample * 4;

  double judged(std::span<const RuleMatch* const> rules, const RuleWords& bits, std::size_t slices,
                std::uint32_t most_in_a_leaf) {
    const auto is_in_slice = [slices](std::uint64_t digest) { return slices == 1 || (digest >> 32) % slices == 0; };
    meetings_.clear();
    std::size_t sampled_copies = 0, end = 0;
    for (; end < rules.size() && sampled_copies < kMostSampled; ++end) {
      for_each_copy(*rules[end], words_, bits, [&](const RuleWords& copy) {
        const std::uint64_t digest = digest_of(copy);
        if (!is_in_slice(digest)) return;
        ++meetings_[digest];
        ++sampled_copies;
      });
    }
    double placed = 0;
    for (const RuleMatch* rule : rules.first(end)) {
      unsigned copies = 0, sampled = 0, crowded = 0;
      for_each_copy(*rule, words_, bits, [&](const RuleWords& copy) {
        const std::uint64_t digest = digest_of(copy);
        ++copies;
        if (!is_in_slice(digest)) return;
        ++sampled;
        crowded += meetings_[digest] > most_in_a_leaf ? 1 : 0;
      });
      if (sampled != 0 && crowded == 0) placed += static_cast<double>(sampled) / copies;
    }
    return placed * static_cast<double>(slices) / static_cast<double>(rules.size());
  }

  const std::span<const RuleMatch* const> rules_;
  const std::size_t words_;
  const std::size_t slices_;
  std::vector<const RuleMatch*> glance_;
  Meetings meetings_;
};

}  // namespace

RuleWords choose_bits(std::span<const RuleMatch* const> rules, RuleFields fields, Care care) {
  struct Candidate {
    double placed;
    unsigned bits;
    RuleWords mask;
  };
  Judge judge(rules, fields);
  std::vector<Candidate> tried;
  for (const RuleWords& bits : candidates(rules, fields)) tried.push_back({judge.glance(bits), bits_of(bits), bits});
  // If two candidates place equally many rules, fewer keys reach the leaves of the candidate with more bits.
  const auto is_better = [](const Candidate& a, const Candidate& b) {
    return std::pair(a.placed, a.bits) > std::pair(b.placed, b.bits);
  };
  const std::size_t passed_over = care == Care::thorough ? kPassedOver : kPassedOverInHaste;
  const std::size_t finalists = std::clamp<std::size_t>(passed_over / rules.size(), 4, 64);
  std::ranges::sort(tried, is_better);
  if (tried.size() > finalists) tried.resize(finalists);
  for (Candidate& candidate : tried) candidate.placed = judge.placed(candidate.mask);
  return std::ranges::min_element(tried, is_better)->mask;
}

}  // namespace penumbra::rules_fast
