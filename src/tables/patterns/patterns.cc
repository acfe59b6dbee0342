// SPDX-License-Identifier: Apache-2.0
#include "tables/patterns/patterns.h"

#include <algorithm>
#include <atomic>
#include <numeric>
#include <stdexcept>

#include "penumbra/bytes.h"
#include "penumbra/huge_memory.h"
#include "tables/patterns/automaton.h"

namespace penumbra {
namespace {

using patterns::Automaton;

constexpr std::uint32_t kDeep = 3;                        // depth from which moves are in the double array
constexpr std::uint32_t kNoState = ~0U;                   // check of an entry that is not used
constexpr std::size_t kMostMoves = std::size_t{1} << 23;  // bases have 23 bits
constexpr std::size_t kPairs = 65'536;

/// The moves of a state into deep states.
struct DeepMoves {
  std::uint32_t state = 0;
  std::vector<std::pair<std::uint8_t, std::uint32_t>> moves;  ///< Class and next state.
};

std::vector<DeepMoves> deep_moves(const Automaton& automaton) {
  std::vector<DeepMoves> all;
  for (std::uint32_t state = 0; state < automaton.states(); ++state) {
    DeepMoves own{state, {}};
    for (std::uint32_t c = 1; c < automaton.classes(); ++c) {
      const std::uint32_t next = automaton.next(state, c);
      if (automaton.depth(next) >= kDeep) own.moves.emplace_back(static_cast<std::uint8_t>(c), next);
    }
    if (!own.moves.empty()) all.push_back(std::move(own));
  }
  // States with many moves are placed first, while there is much free space.
  std::ranges::stable_sort(all, std::greater<>(), [](const DeepMoves& each) { return each.moves.size(); });
  return all;
}

/// Places states in the double array, so that no two moves have the same entry and no two states the same base.
class Placement {
 public:
  /// Returns a base for the moves. Throws std::length_error if the array would be too large.
  std::uint32_t place(const DeepMoves& state) {
    const std::uint32_t first_class = state.moves.front().first;
    // States with as many moves start where the last of them did not fail often. What they leave free is for smaller
    // ones, which come later.
    std::size_t& from = from_[std::min(state.moves.size(), from_.size() - 1)];
    std::size_t entry = next_free(std::max<std::size_t>(from, first_class + 1));
    for (unsigned tries = 0; !fits(state, entry); ++tries) {
      if (tries == kTries) from = entry;
      entry = tries < 2 * kTries ? next_free(entry + 1) : std::max(entry + 1, end_);
    }
    if (entry + 512 > kMostMoves) throw std::length_error("the patterns need too large an automaton");
    const std::size_t base = entry - first_class;
    grow(base + 512);
    is_base_[base] = true;
    for (const auto& [byte_class, next] : state.moves) {
      next_free_[base + byte_class] = static_cast<std::uint32_t>(base + byte_class + 1);
      end_ = std::max(end_, base + byte_class + 1);
    }
    return static_cast<std::uint32_t>(base);
  }
  /// Returns the number of entries that may be read: any class may be added to any base.
  std::size_t entries() const { return end_ + 256; }

 private:
  static constexpr unsigned kTries = 64;

  bool fits(const DeepMoves& state, std::size_t entry) {
    const std::size_t base = entry - state.moves.front().first;
    grow(base + 512);
    const auto is_free = [&](const auto& move) { return next_free_[base + move.first] == base + move.first; };
    return !is_base_[base] && std::ranges::all_of(state.moves, is_free);
  }
  /// Returns the first free entry from `entry` on. Entries that are taken lead to later ones, by shortened paths.
  std::size_t next_free(std::size_t entry) {
    grow(entry + 512);
    std::size_t found = entry;
    while (next_free_[found] != found) {
      found = next_free_[found];
      grow(found + 512);
    }
    while (next_free_[entry] != entry) entry = std::exchange(next_free_[entry], static_cast<std::uint32_t>(found));
    return found;
  }
  void grow(std::size_t size) {
    const std::size_t before = next_free_.size();
    if (before >= size) return;
    is_base_.resize(2 * size);
    next_free_.resize(2 * size);
    std::iota(next_free_.begin() + static_cast<std::ptrdiff_t>(before), next_free_.end(),
              static_cast<std::uint32_t>(before));
  }

  std::vector<bool> is_base_;
  std::vector<std::uint32_t> next_free_;  ///< The entry itself if it is free, else a later one.
  std::array<std::size_t, 16> from_ = [] {
    std::array<std::size_t, 16> all{};
    all.fill(1);
    return all;
  }();  ///< Where the search starts, by number of moves.
  std::size_t end_ = 1;
};

/// The prefilter by the first bytes of patterns.
class Prefilter {
 public:
  explicit Prefilter(std::span<const std::string> patterns) {
    std::vector<std::vector<Bytes>> by_first(256);
    for (const std::string& pattern : patterns) {
      const Bytes bytes = first_of(pattern);
      const std::uint32_t word = load<std::uint32_t>(bytes.data());
      const bool is_short = pattern.size() < bytes.size();
      const std::uint32_t slot = is_short ? patterns_short_slot(word) : patterns_prefix_slot(word);
      prefix[slot / 32] |= 1U << slot % 32;
      if (is_short) {
        add(bytes, kShortBucket, 3);
        for (std::size_t byte = 0; byte < 256; ++byte) column[std::size_t{3} * 256 + byte] |= kShortBucket;
      } else {
        by_first[bytes[0]].push_back(bytes);
      }
    }
    for (std::vector<Bytes>& each : by_first) {
      std::ranges::sort(each);
      each.erase(std::unique(each.begin(), each.end()), each.end());
    }
    // Patterns with the same first byte share a bucket, so that a byte is in few buckets of the first column.
    std::ranges::stable_sort(by_first, std::greater<>(), [](const auto& each) { return each.size(); });
    std::array<std::size_t, 7> sizes{};
    for (const std::vector<Bytes>& each : by_first) {
      const auto bucket = static_cast<std::size_t>(std::ranges::min_element(sizes) - sizes.begin());
      sizes[bucket] += each.size();
      for (const Bytes& bytes : each) add(bytes, static_cast<std::uint8_t>(1U << bucket), bytes.size());
    }
  }

  std::array<std::uint8_t, std::size_t{PATTERNS_COLUMNS} * 256> column{};
  std::array<std::uint32_t, ((1U << PATTERNS_PREFIX_BITS) + (1U << PATTERNS_SHORT_BITS)) / 32> prefix{};

 private:
  using Bytes = std::array<std::uint8_t, PATTERNS_COLUMNS>;
  static constexpr std::uint8_t kShortBucket = 0x80;  ///< Of patterns of three bytes, whose fourth byte is any.

  static Bytes first_of(const std::string& pattern) {
    Bytes bytes{};
    for (std::size_t i = 0; i < std::min(bytes.size(), pattern.size()); ++i) {
      bytes[i] = patterns::folded(static_cast<std::uint8_t>(pattern[i]));
    }
    return bytes;
  }
  void add(const Bytes& bytes, std::uint8_t bucket, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint8_t byte = bytes[i];
      column[i * 256 + byte] |= bucket;
      if (byte >= 'a' && byte <= 'z') column[i * 256 + byte - ('a' - 'A')] |= bucket;
    }
  }
};

}  // namespace

struct Patterns::Memory {
  HugeArray<patterns_move> moves;
  HugeArray<std::uint32_t> found, pairs;
  Prefilter prefilter;
  std::array<std::uint8_t, 256> byte_class{};
  std::vector<std::uint32_t> begins, members;  ///< The sets, as Automaton has them.
  patterns_view view{};

  Memory(std::span<const std::string> patterns, std::uint32_t generation) : pairs(kPairs), prefilter(patterns) {
    const Automaton automaton(patterns);
    std::vector<std::uint32_t> base(automaton.states(), 0);
    const std::vector<DeepMoves> all = deep_moves(automaton);
    Placement placement;
    for (const DeepMoves& each : all) base[each.state] = placement.place(each);
    moves = HugeArray<patterns_move>(placement.entries());
    found = HugeArray<std::uint32_t>(placement.entries());
    for (patterns_move& move : moves) move.check = kNoState;
    for (const DeepMoves& each : all) {
      for (const auto& [byte_class_of, next] : each.moves) {
        const std::uint32_t entry = base[each.state] + byte_class_of, set = automaton.set_of(next);
        moves[entry] = {base[each.state], base[next] | (set != Automaton::kNoSet ? PATTERNS_MATCH : 0)};
        found[entry] = set != Automaton::kNoSet ? set : 0;
      }
    }
    byte_class = automaton.byte_class();
    for (std::uint32_t first = 0; first < 256; ++first) {
      const std::uint32_t state = automaton.next(0, byte_class[first]);
      for (std::uint32_t second = 0; second < 256; ++second) {
        pairs[first | second << 8] = base[automaton.next(state, byte_class[second])];
      }
    }
    begins = automaton.begins();
    members = automaton.members();
    view = {
        moves.data(), found.data(), pairs.data(), byte_class.data(), prefilter.column.data(), prefilter.prefix.data(),
        generation};
  }
};

Patterns::Patterns(std::span<const std::string> patterns) {
  static std::atomic<std::uint32_t> generations{0};
  for (std::size_t i = 0; i < patterns.size(); ++i) {
    if (patterns[i].size() >= kLeastBytes) continue;
    throw std::invalid_argument("pattern " + std::to_string(i) + " has fewer than " + std::to_string(kLeastBytes) +
                                " bytes");
  }
  memory_ = std::make_unique<Memory>(patterns, ++generations);
}

Patterns::~Patterns() = default;

const patterns_view& Patterns::view() const {
  return memory_->view;
}

std::span<const std::uint32_t> Patterns::patterns_of(std::uint32_t set) const {
  const std::uint32_t begin = memory_->begins[set];
  return std::span(memory_->members).subspan(begin, memory_->begins[set + 1] - begin);
}

std::size_t Patterns::bytes() const {
  return memory_->moves.bytes() + memory_->found.bytes() + memory_->pairs.bytes() + memory_->byte_class.size() +
         sizeof(Prefilter);
}

std::uint32_t Patterns::search_part(std::span<const std::uint8_t> text, std::uint32_t before,
                                    patterns_found& found) const {
  const std::uint64_t position = 0;
  const auto length = static_cast<std::uint32_t>(text.size());
  std::uint32_t after = 0;
  patterns_search(memory_->view, &before, {text.data(), &position, &length}, &after, &found, 1);
  return after;
}

PatternTable::PatternTable(GracePeriods& readers) : readers_(readers) {
  publish(std::make_shared<const Patterns>(std::span<const std::string>()));
}

void PatternTable::publish(std::shared_ptr<const Patterns> patterns) {
  const Patterns::Memory& memory = *patterns->memory_;
  const auto region = [](std::size_t offset, const void* data, std::size_t bytes) {
    return TableRegion{offset, static_cast<const std::byte*>(data), bytes};
  };
  table_.publish(
      memory.view,
      {region(offsetof(patterns_view, move), memory.moves.data(), memory.moves.bytes()),
       region(offsetof(patterns_view, found), memory.found.data(), memory.found.bytes()),
       region(offsetof(patterns_view, pair), memory.pairs.data(), memory.pairs.bytes()),
       region(offsetof(patterns_view, byte_class), memory.byte_class.data(), memory.byte_class.size()),
       region(offsetof(patterns_view, column), memory.prefilter.column.data(), sizeof memory.prefilter.column),
       region(offsetof(patterns_view, prefix), memory.prefilter.prefix.data(), sizeof memory.prefilter.prefix)});
  std::swap(current_, patterns);
  if (patterns != nullptr) former_.emplace_back(std::move(patterns), readers_.start());
  while (former_.size() > 1) {
    readers_.elapsed(former_.front().second, true);
    former_.erase(former_.begin());
  }
}

}  // namespace penumbra
