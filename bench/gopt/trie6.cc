// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <unordered_map>

#include "base/random.h"
#include "gopt/comparators/amac.h"
#include "gopt/comparators/group_prefetch.h"
#include "gopt/footprint.h"
#include "gopt/workload.h"
#include "penumbra/huge_memory.h"
#include "trie6.gopt.h"

namespace penumbra::bench {
namespace {

constexpr unsigned kShortest = 48, kLongest = 64;  ///< Prefix lengths in bits, those of the paper's measurement.

constexpr std::size_t kLeastNodes = kLongest / 8;  ///< Nodes for one prefix.

/// A prefix whose bits are the uppermost ones; the other bits are 0.
struct Prefix6 {
  std::uint64_t bits = 0;
  unsigned length = 0;
  std::uint32_t next_hop = 0;
};

std::uint64_t mask(unsigned length) {
  return ~std::uint64_t{0} << (64 - length);
}

/// Longest-prefix match by a dictionary for each length, the longest first.
class Dictionaries {
 public:
  void insert(const Prefix6& prefix) { of_length_[prefix.length - kShortest][prefix.bits] = prefix.next_hop; }
  std::uint32_t match(std::uint64_t bits) const {
    for (unsigned length = kLongest; length >= kShortest; --length) {
      const auto& dictionary = of_length_[length - kShortest];
      if (const auto found = dictionary.find(bits & mask(length)); found != dictionary.end()) return found->second;
    }
    return 0;
  }

 private:
  std::array<std::unordered_map<std::uint64_t, std::uint32_t>, kLongest - kShortest + 1> of_length_;
};

unsigned root_bytes(std::size_t bytes) {
  unsigned most = 1;
  while (most < 3 && (sizeof(std::uint32_t) << (8 * (most + 1))) <= bytes / 8) ++most;
  return most;
}

class Trie6 final : public Workload {
 public:
  Trie6(std::size_t bytes, std::uint32_t item_count, std::uint64_t seed)
      : Workload("IPv6 trie", item_count),
        root_bytes_(root_bytes(bytes)),
        root_entries_(std::size_t{1} << (8 * root_bytes_)),
        entries_(std::max(bytes / sizeof(std::uint32_t), root_entries_ + kLeastNodes * TRIE6_NODE_ENTRIES)) {
    Random random(seed);
    const std::vector<Prefix6> prefixes = random_prefixes(random);
    Dictionaries oracle;
    for (const Prefix6& prefix : prefixes) {
      insert(prefix);
      oracle.insert(prefix);
    }
    view_ = {entries_.data(), entries_.data() + root_entries_, root_bytes_};
    std::vector<std::uint32_t> answers(items);
    Footprint footprint(entries_.bytes());
    for (std::uint32_t& answer : answers) {
      const Prefix6& prefix = prefixes[random.below(static_cast<std::uint32_t>(prefixes.size()))];
      const std::uint64_t bits = prefix.bits | (random.next() & ~mask(prefix.length));
      addresses_.push_back(address(bits, random.next()));
      answer = oracle.match(bits);
      note_accesses(bits, footprint);
    }
    accesses = static_cast<double>(footprint.accesses()) / items;
    input =
        fmt::format("{} random prefixes of {} to {} bits, {} random addresses in them, which read {} MiB of the table",
                    prefixes.size(), kShortest, kLongest, items, footprint.mebibytes());
    table = std::as_bytes(std::span(entries_.data(), entries_.size()));
    set_right(answers);
    add_ways();
  }

 private:
  static trie6_address address(std::uint64_t upper, std::uint64_t lower) {
    trie6_address result{};
    for (unsigned byte = 0; byte < 8; ++byte) {
      result.byte[byte] = static_cast<std::uint8_t>(upper >> (56 - 8 * byte));
      result.byte[8 + byte] = static_cast<std::uint8_t>(lower >> (56 - 8 * byte));
    }
    return result;
  }
  static std::uint32_t byte_of(std::uint64_t bits, unsigned byte) { return bits >> (56 - 8 * byte) & 0xFF; }
  std::size_t root_index(std::uint64_t bits) const { return bits >> (64 - 8 * root_bytes_); }
  std::size_t node_index(std::uint32_t node, std::uint32_t byte) const {
    return root_entries_ + std::size_t{node - TRIE6_NODE} * TRIE6_NODE_ENTRIES + byte;
  }

  /// Returns as many prefixes as have nodes for certain, short ones first.
  std::vector<Prefix6> random_prefixes(Random& random) const {
    const std::size_t nodes = (entries_.size() - root_entries_) / TRIE6_NODE_ENTRIES;
    std::vector<Prefix6> prefixes;
    std::size_t taken = 0;
    for (unsigned length = kShortest;; length = length == kLongest ? kShortest : length + 1) {
      taken += (length + 7) / 8 - root_bytes_;
      if (taken > nodes) break;
      prefixes.push_back({random.next() & mask(length), length, random.below(1000) + 1});
    }
    std::ranges::sort(prefixes, {}, &Prefix6::length);
    return prefixes;
  }
  /// Inserts a prefix. All shorter prefixes must have been inserted before.
  void insert(const Prefix6& prefix) {
    std::size_t slot = root_index(prefix.bits);
    unsigned byte = root_bytes_;
    for (; 8 * byte < prefix.length; ++byte) {
      if (entries_[slot] < TRIE6_NODE) {
        const std::uint32_t node = TRIE6_NODE + nodes_++;
        std::fill_n(&entries_[node_index(node, 0)], +TRIE6_NODE_ENTRIES, entries_[slot]);
        entries_[slot] = node;
      }
      slot = node_index(entries_[slot], byte_of(prefix.bits, byte));
    }
    std::fill_n(&entries_[slot], std::size_t{1} << (8 * byte - prefix.length), prefix.next_hop);
  }
  void note_accesses(std::uint64_t bits, Footprint& footprint) {
    std::size_t slot = root_index(bits);
    footprint.add(slot * sizeof(std::uint32_t));
    for (unsigned byte = root_bytes_; entries_[slot] >= TRIE6_NODE; ++byte) {
      slot = node_index(entries_[slot], byte_of(bits, byte));
      footprint.add(slot * sizeof(std::uint32_t));
    }
  }

  void add_ways() {
    ways.push_back({"plain loop", {1}, [this](std::uint32_t first, std::uint32_t n, std::uint32_t /*size*/) {
                      trie6_match(view_, &addresses_[first], found_from<std::uint32_t>(first), n);
                    }});
    ways.push_back({"gopt", kGoptWidths, [this](std::uint32_t first, std::uint32_t n, std::uint32_t size) {
                      trie6_match_gopt(view_, &addresses_[first], found_from<std::uint32_t>(first), n, size);
                    }});
    ways.push_back(by_group_prefetching([this](std::uint32_t first) {
      return Trie6Groups{view_, &addresses_[first], found_from<std::uint32_t>(first)};
    }));
    ways.push_back(by_amac([this](std::uint32_t first) {
      return Trie6Amac{view_, &addresses_[first], found_from<std::uint32_t>(first)};
    }));
  }

  unsigned root_bytes_;
  std::size_t root_entries_;
  HugeArray<std::uint32_t> entries_;  ///< The root, followed by the nodes.
  std::uint32_t nodes_ = 0;
  std::vector<trie6_address> addresses_;
  trie6_view view_{};
};

}  // namespace

std::unique_ptr<Workload> make_trie6(std::size_t bytes, std::uint32_t items, std::uint64_t seed) {
  return std::make_unique<Trie6>(bytes, items, seed);
}

}  // namespace penumbra::bench
