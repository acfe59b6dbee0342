// SPDX-License-Identifier: Apache-2.0
#include "tables/ipv6_runs/run_table.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <stdexcept>
#include <string>

namespace penumbra {
namespace {

using ipv6_runs::for_each_part;
using ipv6_runs::Pieces;

constexpr std::size_t kConstants = std::size_t{1} << 16;
constexpr std::size_t kMostLines = std::size_t{1} << 25, kMostEntries = std::size_t{1} << 25;
/// Bounds of the cost, in lines, of a run that needs more than one line. A large table uses a low cost, so that all its
/// lines fit.
constexpr std::size_t kLeastGenerosity = 4, kMostGenerosity = 64;
constexpr std::size_t kRootRegion = 0, kEntryRegion = 1, kLineRegion = 2, kDeeperRegion = 3;
static_assert(sizeof(ipv6_runs_line) == 64 && Blocks::kMostOrder < 1U << IPV6_RUNS_ORDER_BITS);

std::uint32_t slot_number(Ipv6Address address) {
  return static_cast<std::uint32_t>(address.high >> (64 - IPV6_RUNS_ROOT_BITS));
}
Ipv6Prefix slot_around(Ipv6Address address) {
  return Ipv6Prefix::around(address, IPV6_RUNS_ROOT_BITS);
}
std::uint32_t first_of(std::uint32_t element) {
  return element >> IPV6_RUNS_ORDER_BITS;
}
std::uint32_t element_of(Block block) {
  return block.first << IPV6_RUNS_ORDER_BITS | block.order;
}
bool is_constant(std::uint32_t element) {
  return first_of(element) < kConstants;
}
bool leads_deeper(std::uint16_t value) {
  return value != 0 && value < IPV6_RUNS_DEEPER;
}
/// Returns the order of a block of `count` entries.
unsigned order_for(std::size_t count) {
  return static_cast<unsigned>(std::bit_width(count - 1));
}

/// Returns the first prefix after a /24 and all prefixes inside it.
Ipv6Prefixes::Iterator behind(const Ipv6Prefixes& prefixes, Ipv6Prefix slot) {
  const std::uint64_t next = slot.address.high + (std::uint64_t{1} << (64 - IPV6_RUNS_ROOT_BITS));
  return next == 0 ? prefixes.end() : prefixes.first_in({{next, 0}, 0});
}

}  // namespace

Ipv6Runs::Version::Version(GracePeriods& grace_periods, const Ipv6Prefixes& prefixes)
    : grace_periods_(grace_periods),
      prefixes_(prefixes),
      root_(std::size_t{1} << IPV6_RUNS_ROOT_BITS),
      entries_(kMostEntries),
      lines_(kMostLines),
      deeper_(kMostLines),
      view_{root_.data(), entries_.data(), lines_.data(), deeper_.data()},
      line_blocks_(grace_periods, kConstants, kMostLines),
      entry_blocks_(grace_periods, kConstants, kMostEntries),
      generosity_(
          std::clamp(kMostLines / 4 / std::max<std::size_t>(prefixes.size(), 1), kLeastGenerosity, kMostGenerosity)),
      announced_lines_(2 * kConstants),
      announced_entries_(2 * kConstants),
      root_changes_(kRootRegion),
      entry_changes_(kEntryRegion),
      line_changes_(kLineRegion),
      deeper_changes_(kDeeperRegion) {
  for (auto it = prefixes.begin(); it != prefixes.end();) {
    const auto& [prefix, next_hop] = *it;
    if (prefix.length <= IPV6_RUNS_ROOT_BITS) {  // longer prefixes inside follow later
      std::fill_n(&root_[slot_number(prefix.address)], std::size_t{1} << (IPV6_RUNS_ROOT_BITS - prefix.length),
                  constant(ipv6_runs::value_of(next_hop)));
      ++it;
    } else {
      const Ipv6Prefix slot = slot_around(prefix.address);
      const auto end = behind(prefixes, slot);
      const auto count = static_cast<std::size_t>(std::distance(it, end));
      slots_[slot_number(slot.address)] = {count, count};
      root_[slot_number(slot.address)] = lay_out_slot(slot);
      it = end;
    }
  }
  taken_lines_.clear();
  taken_entries_.clear();
}

void Ipv6Runs::Version::publish_to(Table& table) {
  table_ = &table;
  while (announced_lines_ < line_blocks_.end()) announced_lines_ *= 2;
  while (announced_entries_ < entry_blocks_.end()) announced_entries_ *= 2;
  const auto region = [](std::size_t pointer_offset, const auto* data, std::size_t elements) {
    return TableRegion{pointer_offset, reinterpret_cast<const std::byte*>(data), elements * sizeof *data};
  };
  table.publish(view_, {region(offsetof(ipv6_runs_view, root), root_.data(), root_.size()),
                        region(offsetof(ipv6_runs_view, entries), entries_.data(), announced_entries_),
                        region(offsetof(ipv6_runs_view, lines), lines_.data(), announced_lines_),
                        region(offsetof(ipv6_runs_view, deeper), deeper_.data(), announced_lines_)});
}

void Ipv6Runs::Version::follow(Ipv6Prefix changed, bool was_there, bool is_there) {
  try {
    if (changed.length > IPV6_RUNS_ROOT_BITS) {
      plan_long(changed, was_there, is_there);
    } else {
      plan_short(changed);
    }
  } catch (...) {
    give_up();
    throw;
  }
  carry_out();
}

std::size_t Ipv6Runs::Version::bytes() const {
  return root_.bytes() + entry_blocks_.end() * sizeof(Element) +
         line_blocks_.end() * (sizeof(Line) + sizeof(std::uint32_t));
}

/// Returns the element of a slot that gives one answer for all addresses.
Ipv6Runs::Version::Element Ipv6Runs::Version::constant(std::uint16_t value) {
  if (value == 0) return 0;
  const std::uint32_t number = std::uint32_t{static_cast<std::uint16_t>(~value)} + 1;
  const Element element = element_of({number, 0});
  if (entries_[number] == 0) {
    std::ranges::fill(lines_[number].value, value);
    note_line(number);
    entries_[number] = element;
    note_entry(number);
  }
  return element;
}

/// Makes lines for the runs. Returns the element that leads to them.
Ipv6Runs::Version::Element Ipv6Runs::Version::lay_out(std::span<const Run> runs, Ipv6Prefix region,
                                                      unsigned least_order) {
  if (runs.size() == 1) return constant(runs[0].value);
  const Block block =
      take(line_blocks_, ipv6_runs::line_order(runs, region, generosity_, least_order).order, taken_lines_);
  std::uint32_t line = block.first;
  for_each_part(runs, region, block.order, [&](Ipv6Prefix part, std::span<const Run> its) { fill(line++, its, part); });
  return element_of(block);
}

/// Writes a line that no reader accesses.
void Ipv6Runs::Version::fill(std::uint32_t number, std::span<const Run> runs, Ipv6Prefix part) {
  const Pieces pieces(runs, part);
  Line line{};
  if (!pieces.fit()) {
    const Block block = take(entry_blocks_, 0, taken_entries_);
    deeper_[number] = block.first;
    entries_[block.first] = lay_out(runs, part, 1);
    note_entry(block.first);
    line.value[IPV6_RUNS_OF_A_LINE - 1] = IPV6_RUNS_WHOLE_LINE;
  } else {
    if (pieces.deeper > 0) deeper_[number] = take(entry_blocks_, order_for(pieces.deeper), taken_entries_).first;
    std::size_t run = IPV6_RUNS_OF_A_LINE - pieces.count;
    std::uint16_t deeper = 0;
    for (const Pieces::Piece& piece : std::span(pieces.piece).first(pieces.count)) {
      if (run > 0) line.start[run - 1] = piece.unit;
      line.value[run] = piece.value;
      if (!piece.deeper.empty()) {
        const std::uint32_t entry = deeper_[number] + deeper++;
        const Ipv6Prefix unit =
            Ipv6Prefix::around(piece.deeper.back().start, ipv6_runs::unit_begin(part.length) + IPV6_RUNS_UNIT_BITS);
        entries_[entry] = lay_out(piece.deeper, unit);
        note_entry(entry);
        line.value[run] = deeper;
      }
      ++run;
    }
  }
  lines_[number] = line;
  note_line(number);
}

Ipv6Runs::Version::Element Ipv6Runs::Version::lay_out_slot(Ipv6Prefix slot) {
  const std::vector<Run> runs = ipv6_runs::runs_in(prefixes_, slot);
  const Block block = take(entry_blocks_, ipv6_runs::slot_order(runs, slot, generosity_), taken_entries_);
  std::uint32_t entry = block.first;
  for_each_part(runs, slot, block.order, [&](Ipv6Prefix part, std::span<const Run> its) {
    entries_[entry] = lay_out(its, part);
    note_entry(entry++);
  });
  return element_of(block);
}

void Ipv6Runs::Version::plan_long(Ipv6Prefix prefix, bool was_there, bool is_there) {
  const std::uint32_t number = slot_number(prefix.address);
  const Ipv6Prefix around = slot_around(prefix.address);
  const auto known = slots_.find(number);
  Slot slot = known == slots_.end() ? Slot{} : known->second;
  slot.prefixes += std::size_t{is_there} - std::size_t{was_there};
  if (slot.prefixes == 0) {
    exchanges_.push_back(
        {&root_[number], constant(ipv6_runs::value_of(prefixes_.match(around.address, around.length)))});
  } else if (slot.prefixes > 2 * slot.laid_out_for || 4 * slot.prefixes < slot.laid_out_for) {
    exchanges_.push_back({&root_[number], lay_out_slot(around)});
    slot.laid_out_for = slot.prefixes;
  } else {
    const unsigned bits = around.length + ipv6_runs_order(root_[number]);
    plan_region(Ipv6Prefix::around(prefix.address, std::min<unsigned>(bits, prefix.length)));
  }
  if (slot.prefixes == 0) {
    slots_.erase(number);
  } else {
    slots_[number] = slot;
  }
}

void Ipv6Runs::Version::plan_short(Ipv6Prefix prefix) {
  for (auto it = prefixes_.first_in(prefix); it != prefixes_.end() && prefix.contains(it->first.address);) {
    if (it->first.length <= IPV6_RUNS_ROOT_BITS) {
      ++it;
      continue;
    }
    const Ipv6Prefix slot = slot_around(it->first.address);
    plan_region(slot);
    it = behind(prefixes_, slot);
  }
  painted_region_ = prefix;
  painted_ = ipv6_runs::runs_in(prefixes_, prefix, IPV6_RUNS_ROOT_BITS);
}

/// Plans the changes of a region within one slot that has elements of its own.
void Ipv6Runs::Version::plan_region(Ipv6Prefix region) {
  const Element element = root_[slot_number(region.address)];
  std::uint32_t entry = ipv6_runs_next(element, ipv6_runs_unit({region.address.high, 0}, IPV6_RUNS_ROOT_BITS));
  const std::vector<Run> runs = ipv6_runs::runs_in(prefixes_, region);
  for_each_part(runs, region, IPV6_RUNS_ROOT_BITS + ipv6_runs_order(element) - region.length,
                [&](Ipv6Prefix part, std::span<const Run> its) {
                  Element& each = entries_[entry++];
                  if (!plan_values(each, its, part)) exchanges_.push_back({&each, lay_out(its, part)});
                });
}

/// Returns true if new values in the existing lines suffice, and plans them.
bool Ipv6Runs::Version::plan_values(Element element, std::span<const Run> runs, Ipv6Prefix part) {
  if (is_constant(element) || runs.size() == 1) return false;
  const std::size_t planned = values_.size();
  std::uint32_t number = first_of(element);
  bool serve = true;
  for_each_part(runs, part, ipv6_runs_order(element), [&](Ipv6Prefix its_part, std::span<const Run> its) {
    if (serve) serve = plan_values_of_line(number++, Pieces(its, its_part));
  });
  if (!serve) values_.resize(planned);
  return serve;
}

bool Ipv6Runs::Version::plan_values_of_line(std::uint32_t number, const Pieces& pieces) {
  const Line& line = lines_[number];
  if (!pieces.fit() || pieces.deeper > 0 || std::ranges::any_of(line.value, leads_deeper)) return false;
  const std::size_t unused = IPV6_RUNS_OF_A_LINE - pieces.count;
  for (std::size_t run = 0; run < IPV6_RUNS_OF_A_LINE; ++run) {
    const Pieces::Piece piece = run < unused ? Pieces::Piece{} : pieces.piece[run - unused];
    if (run > 0 && line.start[run - 1] != piece.unit) return false;
    if (run >= unused && line.value[run] != piece.value) {
      values_.push_back({number, static_cast<std::uint16_t>(run), piece.value});
    }
  }
  return true;
}

/// Frees the blocks that were allocated for the change.
void Ipv6Runs::Version::give_up() {
  for (const Block block : taken_lines_) line_blocks_.give_back(block);
  for (const Block block : taken_entries_) entry_blocks_.give_back(block);
  forget_plan();
}

void Ipv6Runs::Version::forget_plan() {
  exchanges_.clear();
  values_.clear();
  painted_.clear();
  taken_lines_.clear();
  taken_entries_.clear();
}

void Ipv6Runs::Version::carry_out() {
  flush();  // new lines before the elements that lead to them, for a mirror that copies immediately
  for (const Value& value : values_) {
    std::atomic_ref(lines_[value.line].value[value.run]).store(value.after, std::memory_order_relaxed);
    note_line(value.line);
  }
  std::vector<Exchange> before;
  for (const Exchange& each : exchanges_) {
    if (*each.element != each.after) before.push_back({each.element, exchange(*each.element, each.after)});
  }
  paint();
  const std::uint64_t token = grace_periods_.start();
  for (const Exchange& each : before) {
    if (each.element >= root_.begin() && each.element < root_.end()) {
      retire_slot(each.after, token);
    } else {
      retire_lines(each.after, token);
    }
  }
  forget_plan();
  announce();
}

/// Writes the constant elements of the root.
void Ipv6Runs::Version::paint() {
  for (std::size_t i = 0; i < painted_.size(); ++i) {
    const std::uint32_t last =
        i + 1 < painted_.size() ? slot_number(painted_[i + 1].start) - 1 : slot_number(painted_region_.last());
    const Element after = constant(painted_[i].value);
    for (std::uint32_t number = slot_number(painted_[i].start); number <= last; ++number) {
      if (is_constant(root_[number]) && root_[number] != after) exchange(root_[number], after);
    }
  }
}

/// Stores with release, so that a reader that sees an element sees the memory that it refers to. Returns the previous
/// element.
Ipv6Runs::Version::Element Ipv6Runs::Version::exchange(Element& element, Element after) {
  const Element before = element;
  std::atomic_ref(element).store(after, std::memory_order_release);
  if (&element >= root_.begin() && &element < root_.end()) {
    root_changes_.add(*table_, static_cast<std::size_t>(&element - root_.begin()));
  } else {
    note_entry(static_cast<std::size_t>(&element - entries_.begin()));
  }
  return before;
}

void Ipv6Runs::Version::retire_slot(Element element, std::uint64_t token) {
  if (is_constant(element)) return;
  const Block block{first_of(element), ipv6_runs_order(element)};
  for (std::uint32_t i = 0; i < 1U << block.order; ++i) retire_lines(entries_[block.first + i], token);
  entry_blocks_.retire(block, token);
}

void Ipv6Runs::Version::retire_lines(Element element, std::uint64_t token) {
  if (is_constant(element)) return;
  const Block block{first_of(element), ipv6_runs_order(element)};
  for (std::uint32_t number = block.first; number < block.first + (1U << block.order); ++number) {
    const Line& line = lines_[number];
    const auto count = static_cast<std::size_t>(std::ranges::count_if(line.value, leads_deeper));
    if (count == 0) continue;
    for (std::size_t i = 0; i < count; ++i) retire_lines(entries_[deeper_[number] + i], token);
    entry_blocks_.retire({deeper_[number], order_for(count)}, token);
  }
  line_blocks_.retire(block, token);
}

Block Ipv6Runs::Version::take(Blocks& from, unsigned order, std::vector<Block>& taken) {
  taken.push_back(from.take(order));
  return taken.back();
}

void Ipv6Runs::Version::note_line(std::size_t number) {
  if (table_ == nullptr || number >= announced_lines_) return;
  line_changes_.add(*table_, number);
  deeper_changes_.add(*table_, number);
}
void Ipv6Runs::Version::note_entry(std::size_t number) {
  if (table_ != nullptr && number < announced_entries_) entry_changes_.add(*table_, number);
}

void Ipv6Runs::Version::flush() {
  deeper_changes_.flush(*table_);
  line_changes_.flush(*table_);
  entry_changes_.flush(*table_);
  root_changes_.flush(*table_);
}

/// Announces the changes to mirrors, or publishes the table again if it has outgrown their copies.
void Ipv6Runs::Version::announce() {
  flush();
  if (line_blocks_.end() > announced_lines_ || entry_blocks_.end() > announced_entries_) publish_to(*table_);
}

}  // namespace penumbra
