// SPDX-License-Identifier: Apache-2.0
#include "shaders/ipv6_runs/version.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <stdexcept>
#include <string>

namespace penumbra {
namespace {

using ipv6_runs::for_each_part;
using ipv6_runs::lines_for;
using ipv6_runs::Piece;
using ipv6_runs::pieces_of_line;

constexpr std::size_t kConstants = std::size_t{1} << 16;
constexpr std::size_t kMostLines = std::size_t{1} << 25, kMostEntries = std::size_t{1} << 25;
constexpr std::size_t kRootRegion = 0, kEntryRegion = 1, kLineRegion = 2, kDeeperRegion = 3;
static_assert(sizeof(ipv6_runs_line) == 64 && Blocks::kMostOrder < 1U << IPV6_RUNS_ORDER_BITS);

std::uint32_t slot_number(Ipv6Address address) {
  return static_cast<std::uint32_t>(address.high >> (64 - IPV6_RUNS_ROOT_BITS));
}
Ipv6Prefix slot_around(Ipv6Address address) {
  return Ipv6Prefix::around(address, IPV6_RUNS_ROOT_BITS);
}
std::uint32_t first_of(std::uint32_t element) {
  return ipv6_runs_first(element);
}
bool is_node(std::uint32_t entry) {
  return ipv6_runs_order(entry) == IPV6_RUNS_NODE;
}
bool leads_to_entries(std::uint32_t entry) {
  return ipv6_runs_order(entry) > IPV6_RUNS_NODE;
}
std::uint32_t entry_of(std::uint32_t line, bool node) {
  return line << IPV6_RUNS_ORDER_BITS | (node ? IPV6_RUNS_NODE : 0);
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
/// Of as many elements.
unsigned order_for(std::size_t count) {
  return static_cast<unsigned>(std::bit_width(count - 1));
}

/// The first prefix behind a /24 with all that lies in it.
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
      announced_lines_(2 * kConstants),
      announced_entries_(2 * kConstants),
      root_changes_(kRootRegion),
      entry_changes_(kEntryRegion),
      line_changes_(kLineRegion),
      deeper_changes_(kDeeperRegion) {
  for (auto it = prefixes.begin(); it != prefixes.end();) {
    const auto& [prefix, next_hop] = *it;
    if (prefix.length <= IPV6_RUNS_ROOT_BITS) {  // what lies in it comes later
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

/// The element that gives one answer for all.
Ipv6Runs::Version::Element Ipv6Runs::Version::constant(std::uint16_t value) {
  if (value == 0) return 0;
  const std::uint32_t number = std::uint32_t{static_cast<std::uint16_t>(~value)} + 1;
  const Element element = element_of({number, 0});
  if (entries_[number] == 0) {
    std::ranges::fill(lines_[number].leaf.value, value);
    note_line(number);
    entries_[number] = element;
    note_entry(number);
  }
  return element;
}

/// Makes lines of the runs; the entry that leads to them.
Ipv6Runs::Version::Element Ipv6Runs::Version::lay_out(std::span<const Run> runs, Ipv6Prefix region) {
  if (runs.size() == 1) return constant(runs[0].value);
  return lay_out(ipv6_runs::pieces_of(runs, region), ipv6_runs::unit_begin(region.length));
}

/// Likewise of pieces whose units begin at bit `at`.
Ipv6Runs::Version::Element Ipv6Runs::Version::lay_out(std::span<const Piece> pieces, unsigned at) {
  const std::size_t lines = lines_for(pieces.size());
  if (lines > IPV6_RUNS_LINES_OF_A_NODE) return lay_out_further(pieces, at);
  if (lines == 1) {
    const std::uint32_t number = take(line_blocks_, 0, taken_lines_).first;
    fill(number, pieces, at);
    return entry_of(number, false);
  }
  const std::uint32_t number = take(line_blocks_, order_for(1 + lines), taken_lines_).first;
  Line node;
  std::ranges::fill(node.last, ~std::uint32_t{0});
  for (std::uint32_t i = 0; i < lines; ++i) {
    const std::span<const Piece> its = pieces_of_line(pieces, i);
    if (i > 0) node.last[i - 1] = its.front().unit - 1;
    fill(number + 1 + i, its, at);
  }
  write_line(number, node);
  return entry_of(number, true);
}

/// Of more than a node has: a line of what stands elsewhere.
Ipv6Runs::Version::Element Ipv6Runs::Version::lay_out_further(std::span<const Piece> pieces, unsigned at) {
  std::vector<Piece> parts;
  const std::size_t each = (pieces.size() + IPV6_RUNS_OF_A_LINE - 1) / IPV6_RUNS_OF_A_LINE;
  for (; !pieces.empty(); pieces = pieces.subspan(parts.back().further.size())) {
    parts.push_back({pieces.front().unit, 0, {}, pieces.first(std::min(each, pieces.size()))});
  }
  return lay_out(parts, at);
}

/// Writes a line that no reader is in.
void Ipv6Runs::Version::fill(std::uint32_t number, std::span<const Piece> pieces, unsigned at) {
  Line line{};
  const auto leading_on = static_cast<std::size_t>(std::ranges::count_if(pieces, &Piece::leads_on));
  std::uint32_t entry = 0;
  if (leading_on > 0) entry = deeper_[number] = take(entry_blocks_, order_for(leading_on), taken_entries_).first;
  std::size_t run = IPV6_RUNS_OF_A_LINE - pieces.size();
  for (const Piece& piece : pieces) {
    if (run > 0 && &piece != &pieces.front()) line.leaf.start[run - 1] = piece.unit;
    line.leaf.value[run] = piece.value;
    if (piece.leads_on()) {
      line.leaf.value[run] = static_cast<std::uint16_t>(entry - deeper_[number] + 1);
      if (piece.further.empty()) {
        entries_[entry] =
            lay_out(piece.deeper, Ipv6Prefix::around(piece.deeper.back().start, at + IPV6_RUNS_UNIT_BITS));
      } else {
        line.leaf.value[run] += IPV6_RUNS_OF_A_LINE;
        entries_[entry] = lay_out(piece.further, at);
      }
      note_entry(entry++);
    }
    ++run;
  }
  write_line(number, line);
}

void Ipv6Runs::Version::write_line(std::uint32_t number, const Line& line) {
  lines_[number] = line;
  note_line(number);
}

Ipv6Runs::Version::Element Ipv6Runs::Version::lay_out_slot(Ipv6Prefix slot) {
  return lay_out_entries(ipv6_runs::runs_in(prefixes_, slot), slot, true);
}

/// Of a slot, or of a part of one where much stands.
Ipv6Runs::Version::Element Ipv6Runs::Version::lay_out_entries(std::span<const Run> runs, Ipv6Prefix region,
                                                              bool of_root) {
  const Block block = take(entry_blocks_, ipv6_runs::entry_order(runs, region, of_root), taken_entries_);
  std::uint32_t entry = block.first;
  for_each_part(runs, region, block.order, [&](Ipv6Prefix part, std::span<const Run> its) {
    entries_[entry] = of_root ? lay_out_part(its, part) : lay_out(its, part);
    note_entry(entry++);
  });
  return element_of(block);
}

/// Of a part of a slot.
Ipv6Runs::Version::Element Ipv6Runs::Version::lay_out_part(std::span<const Run> runs, Ipv6Prefix part) {
  return ipv6_runs::fit_node(runs.size()) ? lay_out(runs, part) : lay_out_entries(runs, part, false);
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
    plan_region(prefix);
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

/// Of what lies in one slot that has entries of its own.
void Ipv6Runs::Version::plan_region(Ipv6Prefix region) {
  plan_entries(root_[slot_number(region.address)], true, slot_around(region.address), region);
}

/// Of those among the entries of `around` that the region meets. `element` leads to them.
void Ipv6Runs::Version::plan_entries(Element element, bool of_root, Ipv6Prefix around, Ipv6Prefix region) {
  const unsigned bits = around.length + ipv6_runs_order(element);
  if (region.length < around.length) region = around;
  const Ipv6Prefix met = Ipv6Prefix::around(region.address, std::min<unsigned>(region.length, bits));
  const std::uint32_t unit = ipv6_runs_unit({met.address.high, 0}, IPV6_RUNS_ROOT_BITS);
  std::uint32_t entry = ipv6_runs_entry(element, unit << (around.length - IPV6_RUNS_ROOT_BITS));
  const std::vector<Run> runs = ipv6_runs::runs_in(prefixes_, met);
  for_each_part(runs, met, bits - met.length, [&](Ipv6Prefix part, std::span<const Run> its) {
    Element& each = entries_[entry++];
    if (leads_to_entries(each) && !ipv6_runs::fit_node(2 * its.size())) {
      plan_entries(each, false, part, region);
    } else if (!plan_values(each, its, part)) {
      exchanges_.push_back({&each, of_root ? lay_out_part(its, part) : lay_out(its, part)});
    }
  });
}

/// Whether the lines that are there serve with other values.
bool Ipv6Runs::Version::plan_values(Element entry, std::span<const Run> runs, Ipv6Prefix part) {
  if (is_constant(entry) || leads_to_entries(entry) || runs.size() == 1) return false;
  const std::vector<Piece> pieces = ipv6_runs::pieces_of(runs, part);
  if (!serves(entry, pieces)) return false;
  const std::size_t planned = values_.size();
  const std::uint32_t first = first_of(entry) + (is_node(entry) ? 1 : 0);
  for (std::uint32_t i = 0; i < lines_for(pieces.size()); ++i) {
    if (plan_values_of_line(first + i, pieces_of_line(pieces, i))) continue;
    values_.resize(planned);
    return false;
  }
  return true;
}

/// Whether there are lines for the pieces and each has its own.
bool Ipv6Runs::Version::serves(Element entry, std::span<const Piece> pieces) const {
  const std::size_t lines = lines_for(pieces.size());
  if (!is_node(entry)) return lines == 1;
  if (lines == 1 || lines > IPV6_RUNS_LINES_OF_A_NODE) return false;
  const std::span<const std::uint32_t> last = lines_[first_of(entry)].last;
  for (std::size_t i = 1; i < lines; ++i) {
    if (last[i - 1] != pieces_of_line(pieces, i).front().unit - 1) return false;
  }
  return last[lines - 1] == ~std::uint32_t{0};
}

bool Ipv6Runs::Version::plan_values_of_line(std::uint32_t number, std::span<const Piece> pieces) {
  const ipv6_runs_leaf& leaf = lines_[number].leaf;
  if (std::ranges::any_of(pieces, &Piece::leads_on) || std::ranges::any_of(leaf.value, leads_deeper)) return false;
  const std::size_t unused = IPV6_RUNS_OF_A_LINE - pieces.size();
  for (std::size_t run = 0; run < IPV6_RUNS_OF_A_LINE; ++run) {
    if (run > 0 && leaf.start[run - 1] != (run <= unused ? 0 : pieces[run - unused].unit)) return false;
    if (run >= unused && leaf.value[run] != pieces[run - unused].value) {
      values_.push_back({number, static_cast<std::uint16_t>(run), pieces[run - unused].value});
    }
  }
  return true;
}

/// Takes back what was made for the change.
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
  flush();  // before what leads there, for a mirror that copies at once
  for (const Value& value : values_) {
    std::atomic_ref(lines_[value.line].leaf.value[value.run]).store(value.after, std::memory_order_relaxed);
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
      retire_entries(each.after, token);
    } else {
      retire_lines(each.after, token);
    }
  }
  forget_plan();
  announce();
}

/// The constant elements of the root.
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

/// Release, so that who sees an element sees what it leads to. Returns what it was.
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

void Ipv6Runs::Version::retire_entries(Element element, std::uint64_t token) {
  if (is_constant(element)) return;
  const Block block{first_of(element), ipv6_runs_order(element)};
  for (std::uint32_t i = 0; i < 1U << block.order; ++i) retire_lines(entries_[block.first + i], token);
  entry_blocks_.retire(block, token);
}

/// What an entry leads to.
void Ipv6Runs::Version::retire_lines(Element entry, std::uint64_t token) {
  if (is_constant(entry)) return;
  if (leads_to_entries(entry)) return retire_entries(entry, token);
  const std::uint32_t number = first_of(entry);
  const auto lines = is_node(entry) ? 1 + ipv6_runs_find_line(lines_[number].last, ~std::uint32_t{0}) : 0;
  for (std::uint32_t i = lines == 0 ? 0 : 1; i <= lines; ++i) retire_what_leads_on(number + i, token);
  line_blocks_.retire({number, order_for(1 + lines)}, token);
}

void Ipv6Runs::Version::retire_what_leads_on(std::uint32_t number, std::uint64_t token) {
  const auto count = static_cast<std::size_t>(std::ranges::count_if(lines_[number].leaf.value, leads_deeper));
  if (count == 0) return;
  for (std::size_t i = 0; i < count; ++i) retire_lines(entries_[deeper_[number] + i], token);
  entry_blocks_.retire({deeper_[number], order_for(count)}, token);
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

/// Tells mirrors of the changes, or of the whole again when there is more than they have copies of.
void Ipv6Runs::Version::announce() {
  flush();
  if (line_blocks_.end() > announced_lines_ || entry_blocks_.end() > announced_entries_) publish_to(*table_);
}

}  // namespace penumbra
