// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <bit>

#include "base/random.h"
#include "gopt/footprint.h"
#include "gopt/workload.h"
#include "names.gopt.h"
#include "penumbra/huge_memory.h"

namespace penumbra::bench {
namespace {

class Names final : public Workload {
 public:
  Names(std::size_t bytes, std::uint32_t item_count, std::uint64_t seed)
      : Workload("names", item_count),
        seed_(seed),
        buckets_(std::bit_floor(bytes / sizeof(names_bucket))),
        prefixes_(static_cast<std::uint32_t>(buckets_.size() + buckets_.size() / 2)) {
    view_ = {buckets_.data(), buckets_.size() - 1};
    std::vector<bool> is_there(prefixes_);
    std::uint32_t left_out = 0;
    for (std::uint32_t p = 0; p < prefixes_; ++p) {
      is_there[p] = insert(p);
      left_out += is_there[p] ? 0 : 1;
    }
    Random random(seed + 1);
    std::vector<std::uint32_t> answers(items);
    Footprint footprint(buckets_.bytes());
    for (std::uint32_t& answer : answers) {
      // No other prefix matches: two names practically never share 64 random bits.
      const std::uint32_t p = random.below(prefixes_);
      names_name asked = prefix(p);
      for (std::uint32_t c = length(p); c < NAMES_COMPONENTS; ++c) asked.component[c] = random.next();
      names_.push_back(asked);
      answer = is_there[p] ? port(p) : static_cast<std::uint32_t>(NAMES_NO_PORT);
      for (std::uint32_t c = NAMES_COMPONENTS; c >= (is_there[p] ? length(p) : 1); --c) {
        footprint.add((names_hash(&asked, c) & view_.mask) * sizeof(names_bucket));
      }
    }
    accesses = static_cast<double>(footprint.accesses()) / items;
    input = fmt::format(
        "{} prefixes of one to {} random components ({:.1f}% more found their buckets full); {} names that extend them",
        prefixes_ - left_out, +NAMES_COMPONENTS, 100.0 * left_out / prefixes_, items);
    table = std::as_bytes(std::span(buckets_.data(), buckets_.size()));
    set_right(answers);
    ways.push_back({"plain loop", {1}, [this](std::uint32_t first, std::uint32_t n, std::uint32_t /*size*/) {
                      names_find(view_, &names_[first], found_from<std::uint32_t>(first), n);
                    }});
    ways.push_back({"gopt", kGoptWidths, [this](std::uint32_t first, std::uint32_t n, std::uint32_t size) {
                      names_find_gopt(view_, &names_[first], found_from<std::uint32_t>(first), n, size);
                    }});
  }

 private:
  /// Prefix p is not stored; it follows from its number.
  static std::uint32_t length(std::uint32_t p) { return p % NAMES_COMPONENTS + 1; }
  static std::uint32_t port(std::uint32_t p) { return p % 250 + 1; }
  names_name prefix(std::uint32_t p) const {
    names_name result{};
    for (std::uint32_t c = 0; c < length(p); ++c) {
      result.component[c] = Random::mixed(seed_ + (std::uint64_t{p} << 8) + c);
    }
    return result;
  }
  /// Returns false if the bucket is full.
  bool insert(std::uint32_t p) {
    const names_name inserted = prefix(p);
    const std::uint64_t hash = names_hash(&inserted, length(p));
    for (names_slot& slot : buckets_[hash & view_.mask].slot) {
      if (slot.port != NAMES_NO_PORT) continue;
      slot = {hash, port(p), 0};
      return true;
    }
    return false;
  }

  std::uint64_t seed_;
  HugeArray<names_bucket> buckets_;
  std::uint32_t prefixes_;
  std::vector<names_name> names_;
  names_view view_{};
};

}  // namespace

std::unique_ptr<Workload> make_names(std::size_t bytes, std::uint32_t items, std::uint64_t seed) {
  return std::make_unique<Names>(bytes, items, seed);
}

}  // namespace penumbra::bench
