// SPDX-License-Identifier: Apache-2.0
#include "tables/ipv6_lengths/ipv6_lengths.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <deque>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "penumbra/huge_memory.h"
#include "penumbra/table_changes.h"
#include "tables/ipv6_lengths/ipv6_lengths.shader.h"

namespace penumbra {
namespace {

using Slot = ipv6_lengths_slot;

constexpr unsigned kBaseBits = IPV6_LENGTHS_BASE_BITS;
constexpr unsigned kMostSteps = 7;
constexpr std::size_t kBaseRegion = 0, kSlotRegion = 1;
constexpr std::uint32_t kMostNumbers = std::uint32_t{1} << (64 - IPV6_LENGTHS_NUMBER_SHIFT);
constexpr unsigned kLeastIndexBits = 10;

/// The owner's field of a state is the length of the answer's prefix + 1, or 0 if there is no answer.
constexpr unsigned kCoverShift = 24;
constexpr std::uint64_t answer(unsigned length, std::uint16_t next_hop) {
  return std::uint64_t{length + 1} << kCoverShift | static_cast<std::uint16_t>(~next_hop);
}
constexpr std::uint64_t kNoAnswer = 0;
constexpr std::uint64_t kAnswerBits = std::uint64_t{0xFF} << kCoverShift | 0xFFFF;
constexpr unsigned cover_length(std::uint64_t state) {
  return state >> kCoverShift & 0xFF;
}
constexpr std::uint64_t with_byte(std::uint64_t state, unsigned shift, std::uint64_t byte) {
  return (state & ~(std::uint64_t{0xFF} << shift)) | byte << shift;
}

/// Returns the bit for a prefix of `length` bits below a slot of `slot_length` bits, which is shorter. The bits of a
/// slot tell the lengths of the prefixes below it. In a slot of less than 65 bits, bit L - 1 is length L, and bit 0 is
/// any length above 64. In a slot of 65 bits or more, bit L - 65 is length L.
constexpr std::uint64_t behind_bit(unsigned slot_length, unsigned length) {
  return std::uint64_t{1} << (slot_length < 65 && length > 64 ? 0 : (length - 1) % 64);
}

/// Returns the bits of the lengths from `length` to `longest`. Either both are above 64, or neither is.
constexpr std::uint64_t between(unsigned length, unsigned longest) {
  if (length == 65) return 1;
  return ~std::uint64_t{0} << ((length - 1) % 64) & ~std::uint64_t{0} >> (63 - (longest - 1) % 64);
}

/// The lengths at which a prefix has slots, in ascending order; the last is its own. Only for prefixes longer than
/// kBaseBits.
class Steps {
 public:
  explicit Steps(unsigned length) {
    unsigned shorter = kBaseBits;
    while (shorter < length) {
      const unsigned middle = ipv6_lengths_middle(shorter, longest_);
      if (length < middle) {
        longest_ = middle - 1;
      } else {
        steps_[count_++] = static_cast<std::uint8_t>(middle);
        shorter = middle;
      }
    }
  }
  std::span<const std::uint8_t> all() const { return {steps_.data(), count_}; }
  /// Returns the longest length to which a search may continue from a slot of this length.
  unsigned longest() const { return longest_; }

 private:
  std::array<std::uint8_t, kMostSteps> steps_{};
  std::size_t count_ = 0;
  unsigned longest_ = 128;
};

/// Calls `visit` for each length that a search from `length` tries until it finds a slot. The second argument is the
/// longest length of the rest of the search.
template <class Visit>
void for_each_step(unsigned length, Visit visit) {
  for (unsigned longest = Steps(length).longest(); length < longest;) {
    const unsigned middle = ipv6_lengths_middle(length, longest);
    visit(middle, longest);
    longest = middle - 1;
  }
}

/// Returns the steps of each length for the view.
std::array<std::uint64_t, 129> all_steps() {
  std::array<std::uint64_t, 129> steps{};
  for (unsigned length = kBaseBits; length < steps.size(); ++length) {
    unsigned shift = 0;
    for_each_step(length, [&](unsigned middle, unsigned) {
      steps[length] |= std::uint64_t{middle} << shift;
      shift += 8;
    });
  }
  return steps;
}

/// Returns the bits of the steps that may find a prefix below a slot of `length` bits.
std::uint64_t probes(unsigned length, std::uint64_t behind) {
  std::uint64_t probes = 0;
  std::uint64_t bit = 1;
  for_each_step(length, [&](unsigned middle, unsigned longest) {
    if ((behind & between(middle, longest)) != 0) probes |= bit;
    bit <<= 1;
  });
  return probes;
}

bool nested(Ipv6Prefix a, Ipv6Prefix b) {
  return a.length <= b.length ? a.contains(b.address) : b.contains(a.address);
}

}  // namespace

/// A complete table, in a hash table of fixed size.
class Ipv6Lengths::Version {
 public:
  Version(GracePeriods& grace_periods, const Ipv6Prefixes& prefixes)
      : grace_periods_(grace_periods), prefixes_(prefixes), index_bits_(index_bits_for(prefixes)) {}

  /// Publishes the version to `table`. Readers may then exist, and changes are announced.
  void publish_to(Table& table) {
    table_ = &table;
    table.publish(
        view_,
        {{offsetof(ipv6_lengths_view, base), reinterpret_cast<const std::byte*>(base_.data()), base_.bytes()},
         {offsetof(ipv6_lengths_view, slots), reinterpret_cast<const std::byte*>(slots_.data()), slots_.bytes()},
         {offsetof(ipv6_lengths_view, steps), reinterpret_cast<const std::byte*>(steps_.data()), sizeof steps_}});
  }

  /// Returns true if one more prefix is sure to fit. Half of the slots stay empty, so that searches are short.
  bool has_room() const { return (used_ + kMostSteps) * 2 <= slots_.size() && next_number_ < kMostNumbers; }

  void insert(Ipv6Prefix prefix, std::uint16_t next_hop, bool is_new) {
    begin_change(prefix);
    const std::uint64_t own = answer(prefix.length, next_hop);
    if (prefix.length > kBaseBits && is_new) add_slots(prefix, own);
    paint(prefix, own);
    end_change(prefix);
  }

  /// Adds the prefixes of the table in order, before publication. No slot then has an answer that must change.
  void fill(Ipv6Prefix prefix, std::uint16_t next_hop) {
    const std::uint64_t own = answer(prefix.length, next_hop);
    if (prefix.length > kBaseBits) {
      add_slots(prefix, own);
    } else {
      paint_base(prefix, own);
    }
  }

  /// Removes a prefix that was already removed from the table's prefixes.
  void remove(Ipv6Prefix prefix) {
    begin_change(prefix);
    paint(prefix, prefix.length == 0 ? kNoAnswer : cover(prefix.address, prefix.length - 1U));
    if (prefix.length > kBaseBits) remove_slots(prefix);
    end_change(prefix);
  }

  std::size_t slots() const { return live_; }
  std::size_t bytes() const { return base_.bytes() + slots_.bytes(); }

 private:
  /// A change that a search may see in part until its grace period has elapsed.
  struct Recent {
    std::uint64_t token;
    Ipv6Prefix prefix;
  };
  static constexpr std::size_t kMostRecent = 64;  ///< maximum length of `recent_`, which is searched linearly

  /// Returns index bits so that the number of slots may grow by half before half of the table is in use.
  static unsigned index_bits_for(const Ipv6Prefixes& prefixes) {
    std::size_t most = 0;
    std::array<std::optional<Ipv6Prefix>, 129> last;
    for (const auto& [prefix, next_hop] : prefixes) {
      if (prefix.length <= kBaseBits) continue;
      const Steps steps(prefix.length);  // must outlive the span
      for (const unsigned length : steps.all()) {
        // The prefixes are in the order of address, so prefixes with common bits are adjacent and their slot is counted
        // once.
        const Ipv6Prefix each = Ipv6Prefix::around(prefix.address, length);
        if (std::exchange(last[length], each) != each) ++most;
      }
    }
    return std::max<unsigned>(kLeastIndexBits, std::bit_width(3 * most));
  }

  void begin_change(Ipv6Prefix prefix) {
    if (table_ == nullptr) return;
    while (!recent_.empty() && grace_periods_.elapsed(recent_.front().token, false)) recent_.pop_front();
    const auto last = std::find_if(recent_.rbegin(), recent_.rend(),
                                   [prefix](const Recent& recent) { return nested(recent.prefix, prefix); });
    auto keep = last.base();  // end of the changes to wait for
    if (recent_.size() - static_cast<std::size_t>(keep - recent_.begin()) >= kMostRecent)
      keep = recent_.begin() + kMostRecent;
    if (keep == recent_.begin()) return;
    grace_periods_.elapsed((keep - 1)->token, true);
    recent_.erase(recent_.begin(), keep);
  }
  void end_change(Ipv6Prefix prefix) {
    if (table_ == nullptr) return;
    recent_.push_back({grace_periods_.start(), prefix});
    slot_changes_.flush(*table_);
    base_changes_.flush(*table_);
  }

  std::uint64_t cover(Ipv6Address address, unsigned longest) const {
    const auto entry = prefixes_.match(address, longest);
    return entry ? answer(entry->prefix.length, entry->next_hop) : kNoAnswer;
  }

  /// Returns the slot of `bits`, even if it is unused now, or the empty slot where it would be. `number` is the number
  /// of the first 65 bits if there are more.
  std::size_t place_of(Ipv6Prefix bits, std::uint64_t number) const {
    const auto [high, low] = bits.address;
    const std::uint64_t key = ipv6_lengths_key(high, low, bits.length);
    const std::uint64_t code = ipv6_lengths_code(low, bits.length);
    if (bits.length <= IPV6_LENGTHS_SPLIT) number = 0;
    const std::size_t first = ipv6_lengths_place(key, code, number, index_bits_);
    for (std::size_t tries = 0;; ++tries) {
      const std::size_t place = ipv6_lengths_next(first, tries, index_bits_);
      const Slot& slot = slots_[place];
      if (slot.state == 0) return place;
      const bool has_number = bits.length == IPV6_LENGTHS_SPLIT || (slot.state & IPV6_LENGTHS_NUMBER) == number;
      if (codes_[place] == code && slot.key == key && has_number) return place;
    }
  }

  /// Returns the number field of the first 65 bits. Returns 0 if the prefix is shorter or its first 65 bits have no
  /// slot.
  std::uint64_t number_of(Ipv6Prefix prefix) const {
    if (prefix.length < IPV6_LENGTHS_SPLIT) return 0;
    return slots_[place_of(Ipv6Prefix::around(prefix.address, IPV6_LENGTHS_SPLIT), 0)].state & IPV6_LENGTHS_NUMBER;
  }

  /// Adds the slot of the prefix, then its markers from the longest to the shortest, so that each marker leads to
  /// present slots.
  void add_slots(Ipv6Prefix prefix, std::uint64_t own) {
    std::uint64_t number = number_of(prefix);
    if (prefix.length >= IPV6_LENGTHS_SPLIT && number == 0)
      number = std::uint64_t{next_number_++} << IPV6_LENGTHS_NUMBER_SHIFT;
    const Steps steps(prefix.length);
    for (std::size_t i = steps.all().size(); i-- > 0;) {
      const unsigned length = steps.all()[i];
      const Ipv6Prefix bits = Ipv6Prefix::around(prefix.address, length);
      const std::size_t place = place_of(bits, number);
      Slot& slot = slots_[place];
      const std::uint64_t behind = length < prefix.length ? behind_bit(length, prefix.length) : 0;
      if (users_[place]++ == 0) {
        ++live_;
        if (slot.state == 0) ++used_;
        store(slot.key, ipv6_lengths_key(bits.address.high, bits.address.low, length));
        const std::uint64_t code = ipv6_lengths_code(bits.address.low, length);
        codes_[place] = static_cast<std::uint8_t>(code);
        behind_[place] = behind;
        const std::uint64_t its_answer = behind == 0 ? own : cover(bits.address, length);
        const std::uint64_t its_number = length < IPV6_LENGTHS_SPLIT ? 0 : number;
        store(slot.state, its_number | probes(length, behind) << IPV6_LENGTHS_PROBES_SHIFT |
                              code << IPV6_LENGTHS_CODE_SHIFT | its_answer);
      } else {
        add_behind(slot.state, behind_[place], length, behind);
      }
      changed(place);
    }
    const std::size_t base = base_place(prefix.address);
    add_behind(base_[base], base_behind_[base], kBaseBits, behind_bit(kBaseBits, prefix.length));
    base_changed(base);
  }

  static void add_behind(std::uint64_t& state, std::uint64_t& all, unsigned length, std::uint64_t behind) {
    if ((all & behind) == behind) return;
    all |= behind;
    store(state, with_byte(state, IPV6_LENGTHS_PROBES_SHIFT, probes(length, all)));
  }

  /// Removes in the opposite order, so that no marker leads to a missing slot.
  void remove_slots(Ipv6Prefix prefix) {
    const std::uint64_t number = number_of(prefix);
    const Steps steps(prefix.length);
    for (const unsigned length : steps.all()) {
      const std::size_t place = place_of(Ipv6Prefix::around(prefix.address, length), number);
      if (--users_[place] > 0) continue;
      --live_;
      std::uint64_t& state = slots_[place].state;
      store(state, with_byte(state, IPV6_LENGTHS_CODE_SHIFT, IPV6_LENGTHS_GONE));
      changed(place);
    }
  }

  /// Replaces the answers of all slots in `prefix` that no longer prefix covers.
  void paint(Ipv6Prefix prefix, std::uint64_t its_answer) {
    if (prefix.length <= kBaseBits) paint_base(prefix, its_answer);
    paint_slot(prefix, prefix, its_answer);
    for (auto inner = prefixes_.first_in(prefix); inner != prefixes_.end(); ++inner) {
      if (!prefix.contains(inner->first.address)) break;
      paint_slot(inner->first, prefix, its_answer);
    }
  }
  void paint_base(Ipv6Prefix prefix, std::uint64_t its_answer) {
    const std::size_t begin = base_place(prefix.address);
    const std::size_t end = begin + (std::size_t{1} << (kBaseBits - prefix.length));
    for (std::size_t place = begin; place < end; ++place) {
      if (repaint(base_[place], prefix.length, its_answer)) base_changed(place);
    }
  }
  /// Replaces the answers of the slots of one prefix inside `prefix` in the same way.
  void paint_slot(Ipv6Prefix inner, Ipv6Prefix prefix, std::uint64_t its_answer) {
    if (inner.length <= kBaseBits) return;
    const std::uint64_t number = number_of(inner);
    const Steps steps(inner.length);
    for (const unsigned length : steps.all()) {
      if (length < prefix.length) continue;
      const std::size_t place = place_of(Ipv6Prefix::around(inner.address, length), number);
      if (repaint(slots_[place].state, prefix.length, its_answer)) changed(place);
    }
  }
  static bool repaint(std::uint64_t& state, unsigned length, std::uint64_t its_answer) {
    if (cover_length(state) > length + 1 || (state & kAnswerBits) == its_answer) return false;
    store(state, (state & ~kAnswerBits) | its_answer);
    return true;
  }

  static std::size_t base_place(Ipv6Address address) { return address.high >> (64 - kBaseBits); }
  /// Stores with release, so that a reader that sees the state of a slot sees the rest of the slot.
  static void store(std::uint64_t& word, std::uint64_t value) {
    std::atomic_ref(word).store(value, std::memory_order_release);
  }
  void changed(std::size_t place) {
    if (table_ != nullptr) slot_changes_.add(*table_, place);
  }
  void base_changed(std::size_t place) {
    if (table_ != nullptr) base_changes_.add(*table_, place);
  }

  GracePeriods& grace_periods_;
  const Ipv6Prefixes& prefixes_;
  Table* table_ = nullptr;
  unsigned index_bits_;
  HugeArray<std::uint64_t> base_{std::size_t{1} << kBaseBits};
  HugeArray<Slot> slots_{std::size_t{1} << index_bits_};
  alignas(64) const std::array<std::uint64_t, 129> steps_ = all_steps();
  const ipv6_lengths_view view_{base_.data(), slots_.data(), steps_.data(), index_bits_};
  TableChanges<std::uint64_t> base_changes_{kBaseRegion};
  TableChanges<Slot> slot_changes_{kSlotRegion};

  std::vector<std::uint32_t> users_ = std::vector<std::uint32_t>(slots_.size());  ///< prefixes that need each slot
  HugeArray<std::uint64_t> base_behind_{std::size_t{1} << kBaseBits};  ///< behind_bit()s of the prefixes below each
  HugeArray<std::uint64_t> behind_{std::size_t{1} << index_bits_};
  HugeArray<std::uint8_t> codes_{std::size_t{1} << index_bits_};  ///< current or former codes of the slots
  std::uint32_t next_number_ = 1;
  std::size_t live_ = 0;  ///< number of slots that prefixes need
  std::size_t used_ = 0;  ///< number of slots that are not empty
  std::deque<Recent> recent_;
};

Ipv6Lengths::Ipv6Lengths(GracePeriods& grace_periods)
    : Ipv6Lookup(grace_periods, "ipv6_lengths"), version_(std::make_unique<Version>(grace_periods, prefixes())) {
  version_->publish_to(table());
}

Ipv6Lengths::~Ipv6Lengths() = default;

void Ipv6Lengths::put(Ipv6Prefix prefix, std::uint16_t next_hop, bool is_new) {
  if (!version_->has_room()) return rebuild();
  version_->insert(prefix, next_hop, is_new);
}

void Ipv6Lengths::take(Ipv6Prefix prefix, std::uint16_t /*next_hop*/) {
  version_->remove(prefix);
}

void Ipv6Lengths::rebuild() {
  auto next = std::make_unique<Version>(grace_periods(), prefixes());
  for (const auto& [prefix, next_hop] : prefixes()) next->fill(prefix, next_hop);
  next->publish_to(table());
  const std::unique_ptr<Version> old = std::exchange(version_, std::move(next));
  grace_periods().elapsed(grace_periods().start(), true);
}

std::size_t Ipv6Lengths::slots() const {
  return version_->slots();
}

std::size_t Ipv6Lengths::lookup_bytes() const {
  return version_->bytes();
}

}  // namespace penumbra
