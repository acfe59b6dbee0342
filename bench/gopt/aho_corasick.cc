// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <array>
#include <string>
#include <string_view>
#include <unordered_set>

#include "aho_corasick.gopt.h"
#include "base/random.h"
#include "gopt/comparators/interchange.h"
#include "gopt/footprint.h"
#include "gopt/workload.h"
#include "penumbra/huge_memory.h"

namespace penumbra::bench {
namespace {

constexpr std::size_t kStateBytes = 256 * sizeof(std::uint32_t);
constexpr std::array<std::size_t, 3> kPatternBytes{8, 12, 16};
constexpr std::size_t kPatternsBytes = 8 + 12 + 16;  ///< Bytes of one pattern of each length.

struct Shape {
  std::size_t table_bytes = 0;
  std::uint32_t automata = 1;
  std::uint32_t least_payload = 64, most_payload = 192;  ///< Bytes.
  std::uint32_t innocent =
      0;  ///< Percentage of a payload's pieces that are random bytes; the rest are pieces of a pattern.
};

/// Several automata in one table of moves, one after the other, each for its own patterns.
class Automata {
 public:
  Automata(const Shape& shape, Random& random)
      : moves_(shape.table_bytes / sizeof(std::uint32_t)), patterns_(shape.automata) {
    // As many patterns as have states for certain: each byte needs at most one state.
    const std::size_t kinds = (shape.table_bytes / kStateBytes / shape.automata - 1) / kPatternsBytes;
    for (auto& patterns : patterns_) {
      for (std::size_t p = 0; p < kinds * kPatternBytes.size(); ++p) {
        std::string pattern(kPatternBytes[p % kPatternBytes.size()], '\0');
        for (char& each : pattern) each = static_cast<char>(random.next());
        patterns.push_back(std::move(pattern));
      }
      roots_.push_back(states());
      ends_.push_back(false);
      for (const std::string& pattern : patterns) insert(pattern);
      complete();
    }
  }

  const HugeArray<std::uint32_t>& moves() const { return moves_; }
  std::uint32_t states() const { return static_cast<std::uint32_t>(ends_.size()); }
  std::uint32_t root(std::uint32_t automaton) const { return roots_[automaton]; }
  const std::vector<std::string>& patterns(std::uint32_t automaton) const { return patterns_[automaton]; }

 private:
  std::uint32_t& move(std::uint32_t state, std::size_t byte) { return moves_[std::size_t{state} * 256 + byte]; }
  /// Inserts the pattern into the last automaton while it is a tree. State 0 means that a byte has no move; it is the
  /// child of no state.
  void insert(std::string_view pattern) {
    std::uint32_t state = roots_.back();
    for (const char each : pattern) {
      std::uint32_t& next = move(state, static_cast<std::uint8_t>(each));
      if (next == 0) {
        next = states();
        ends_.push_back(false);
      }
      state = next;
    }
    ends_[state] = true;
  }
  /// Converts the tree into an automaton, level by level. A state without its own move moves like its suffix: its
  /// longest proper suffix that is also a prefix of a pattern.
  void complete() {
    const std::uint32_t root = roots_.back();
    std::vector<std::uint32_t> order{root}, suffixes(states() - root, root);
    for (std::size_t at = 0; at < order.size(); ++at) {
      const std::uint32_t state = order[at];
      for (std::size_t byte = 0; byte < 256; ++byte) {
        std::uint32_t& next = move(state, byte);
        const std::uint32_t like_suffix = state == root ? root : move(suffixes[state - root], byte);
        if (next == 0) {
          next = like_suffix;
          continue;
        }
        const std::uint32_t suffix = like_suffix & ~AHO_CORASICK_MATCH;
        suffixes[next - root] = suffix;
        order.push_back(next);
        if (ends_[suffix]) ends_[next] = true;
        if (ends_[next]) next |= AHO_CORASICK_MATCH;
      }
    }
  }

  HugeArray<std::uint32_t> moves_;
  std::vector<std::vector<std::string>> patterns_;  ///< By automaton.
  std::vector<std::uint32_t> roots_;
  std::vector<bool> ends_;  ///< By state; true if a pattern ends there.
};

/// Counts by dictionary: looks up each pattern length at each byte.
std::uint32_t count_ends(std::string_view payload, const std::unordered_set<std::string_view>& dictionary) {
  std::uint32_t ends = 0;
  for (std::size_t end = 1; end <= payload.size(); ++end) {
    for (const std::size_t bytes : kPatternBytes) {
      if (bytes > end || !dictionary.contains(payload.substr(end - bytes, bytes))) continue;
      ++ends;
      break;
    }
  }
  return ends;
}

class AhoCorasick : public Workload {
 public:
  AhoCorasick(std::string workload, const Shape& shape, std::uint32_t item_count, std::uint32_t batch_items,
              std::uint64_t seed)
      : Workload(std::move(workload), item_count, batch_items), random_(seed), automata_(shape, random_) {
    std::vector<std::unordered_set<std::string_view>> oracle(shape.automata);
    for (std::uint32_t a = 0; a < shape.automata; ++a) {
      oracle[a].insert(automata_.patterns(a).begin(), automata_.patterns(a).end());
    }
    std::vector<std::uint32_t> answers(items);
    Footprint footprint(automata_.moves().bytes());
    for (std::uint32_t& answer : answers) {
      const std::uint32_t automaton = random_.below(shape.automata);
      const std::string payload = random_payload(shape, automata_.patterns(automaton));
      offsets_.push_back(static_cast<std::uint32_t>(bytes_.size()));
      lengths_.push_back(static_cast<std::uint32_t>(payload.size()));
      roots_.push_back(automata_.root(automaton));
      bytes_.insert(bytes_.end(), payload.begin(), payload.end());
      answer = count_ends(payload, oracle[automaton]);
      note_accesses(payload, automata_.root(automaton), footprint);
    }
    accesses = static_cast<double>(footprint.accesses()) / items;
    input = fmt::format(
        "patterns of 8, 12 or 16 random bytes, {} states in {}; {} payloads of {} to {} bytes, {}% of their pieces "
        "random "
        "bytes and the others (beginnings of) patterns, which read {} MiB of the table",
        automata_.states(), shape.automata == 1 ? "one automaton" : fmt::format("{} automata", shape.automata), items,
        shape.least_payload, shape.most_payload, shape.innocent, footprint.mebibytes());
    table = std::as_bytes(std::span(automata_.moves().data(), automata_.moves().size()));
    set_right(answers);
    view_ = {automata_.moves().data()};
    ways.push_back({"plain loop", {1}, [this](std::uint32_t first, std::uint32_t n, std::uint32_t /*size*/) {
                      scan(payloads(first), found_from<std::uint32_t>(first), n, 1);
                    }});
    ways.push_back({"gopt", kGoptWidths, [this](std::uint32_t first, std::uint32_t n, std::uint32_t size) {
                      scan(payloads(first), found_from<std::uint32_t>(first), n, size);
                    }});
  }

 protected:
  Payloads payloads(std::uint32_t first) const {
    return {bytes_.data(), &offsets_[first], &lengths_[first], &roots_[first]};
  }
  void scan(Payloads p, std::uint32_t* matches, std::uint32_t n, std::uint32_t width) const {
    if (width == 1) {
      aho_corasick_scan(view_, p.bytes, p.offset, p.length, p.root, matches, n);
    } else {
      aho_corasick_scan_gopt(view_, p.bytes, p.offset, p.length, p.root, matches, n, width);
    }
  }
  static void interchange(aho_corasick_view view, Payloads p, std::uint32_t* matches, std::uint32_t n,
                          std::uint32_t size) {
    with_size<PENUMBRA_BENCH_INTERCHANGED>(size,
                                           [&]<std::uint32_t Group> { scan_interchanged<Group>(view, p, matches, n); });
  }
  aho_corasick_view view() const { return view_; }

 private:
  std::string random_payload(const Shape& shape, const std::vector<std::string>& patterns) {
    const std::uint32_t length = shape.least_payload + random_.below(shape.most_payload - shape.least_payload + 1);
    std::string payload;
    while (payload.size() < length) {
      if (random_.below(100) < shape.innocent) {
        for (int byte = 0; byte < 16; ++byte) payload += static_cast<char>(random_.next());
      } else {
        const std::string& pattern = patterns[random_.below(static_cast<std::uint32_t>(patterns.size()))];
        payload += pattern.substr(0, random_.below(2) == 0 ? pattern.size() : 1 + random_.below(7));
      }
    }
    payload.resize(length);
    return payload;
  }
  void note_accesses(std::string_view payload, std::uint32_t state, Footprint& footprint) const {
    for (const char each : payload) {
      const std::size_t place = std::size_t{state} * 256 + static_cast<std::uint8_t>(each);
      footprint.add(place * sizeof(std::uint32_t));
      state = automata_.moves().data()[place] & ~AHO_CORASICK_MATCH;
    }
  }

  Random random_;
  Automata automata_;
  std::vector<std::uint8_t> bytes_;
  std::vector<std::uint32_t> offsets_, lengths_, roots_;
  aho_corasick_view view_{};
};

/// Many automata, as in an intrusion detection system, with the techniques of G-Opt's authors for them.
class Inspection final : public AhoCorasick {
 public:
  Inspection(const Shape& shape, std::uint32_t item_count, std::uint64_t seed)
      : AhoCorasick("inspection", shape, item_count, item_count, seed) {
    ways.push_back({"interchanged", kInterchanged, [this](std::uint32_t first, std::uint32_t n, std::uint32_t size) {
                      interchange(view(), payloads(first), found_from<std::uint32_t>(first), n, size);
                    }});
    add_sorted("sorted, plain loop", {1},
               [this](Payloads p, std::uint32_t* matches, std::uint32_t n, std::uint32_t) { scan(p, matches, n, 1); });
    add_sorted("sorted and interchanged", kInterchanged,
               [this](Payloads p, std::uint32_t* matches, std::uint32_t n, std::uint32_t size) {
                 interchange(view(), p, matches, n, size);
               });
    add_sorted(
        "sorted, gopt", kGoptWidths,
        [this](Payloads p, std::uint32_t* matches, std::uint32_t n, std::uint32_t size) { scan(p, matches, n, size); });
  }

 private:
  template <class Scan>
  void add_sorted(const char* way, std::vector<std::uint32_t> sizes, Scan scan) {
    ways.push_back({way, std::move(sizes), [this, scan](std::uint32_t first, std::uint32_t n, std::uint32_t size) {
                      scan_sorted(payloads(first), found_from<std::uint32_t>(first), n,
                                  [&](Payloads sorted, std::uint32_t* matches) { scan(sorted, matches, n, size); });
                    }});
  }
};

}  // namespace

std::unique_ptr<Workload> make_aho_corasick(std::size_t bytes, std::uint32_t items, std::uint64_t seed) {
  return std::make_unique<AhoCorasick>("Aho-Corasick", Shape{.table_bytes = bytes}, items, kBatch, seed);
}

std::unique_ptr<Workload> make_inspection(std::size_t bytes, std::uint32_t automata, std::uint32_t items,
                                          std::uint64_t seed) {
  const Shape shape{
      .table_bytes = bytes, .automata = automata, .least_payload = 40, .most_payload = 1400, .innocent = 90};
  return std::make_unique<Inspection>(shape, items, seed);
}

}  // namespace penumbra::bench
