// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "penumbra/huge_memory.h"
#include "penumbra/table.h"
#include "penumbra/table_changes.h"
#include "tables/blocks/blocks.h"
#include "tables/ipv6/ipv6_prefixes.h"
#include "tables/ipv6_runs/ipv6_runs.h"
#include "tables/ipv6_runs/ipv6_runs.shader.h"
#include "tables/ipv6_runs/run_list.h"

namespace penumbra {

/// One version of the lookup structure. Elements and lines 0 to 2^16 - 1 are constant: those of number n give one
/// answer for all, the n-th next hop counted from 1, or none.
class Ipv6Runs::Version {
 public:
  /// Of what is in `prefixes`, which outlives it. Throws std::length_error.
  Version(GracePeriods& grace_periods, const Ipv6Prefixes& prefixes);

  /// From now on readers may be about and changes are announced.
  void publish_to(Table& table);
  /// Comes in line with the prefixes, after one was changed. Throws std::length_error before it has changed anything.
  void follow(Ipv6Prefix changed, bool was_there, bool is_there);
  std::size_t bytes() const;

 private:
  using Run = ipv6_runs::Run;
  using Line = ipv6_runs_line;
  using Element = std::uint32_t;

  /// What a /24 with longer prefixes has of them.
  struct Slot {
    std::size_t prefixes = 0;
    std::size_t laid_out_for = 0;  ///< what it had of them when its order was chosen
  };
  /// An element of the root or of `entries` that is to be exchanged.
  struct Exchange {
    Element* element;
    Element after;
  };
  struct Value {
    std::uint32_t line;
    std::uint16_t run, after;
  };

  Element constant(std::uint16_t value);
  Element lay_out(std::span<const Run> runs, Ipv6Prefix region, unsigned least_order = 0);
  void fill(std::uint32_t number, std::span<const Run> runs, Ipv6Prefix part);
  Element lay_out_slot(Ipv6Prefix slot);

  void plan_long(Ipv6Prefix prefix, bool was_there, bool is_there);
  void plan_short(Ipv6Prefix prefix);
  void plan_region(Ipv6Prefix region);
  bool plan_values(Element element, std::span<const Run> runs, Ipv6Prefix part);
  bool plan_values_of_line(std::uint32_t number, const ipv6_runs::Pieces& pieces);
  void give_up();
  void forget_plan();

  void carry_out();
  void paint();
  Element exchange(Element& element, Element after);
  void retire_slot(Element element, std::uint64_t token);
  void retire_lines(Element element, std::uint64_t token);
  static Block take(Blocks& from, unsigned order, std::vector<Block>& taken);

  void note_line(std::size_t number);
  void note_entry(std::size_t number);
  void flush();
  void announce();

  GracePeriods& grace_periods_;
  const Ipv6Prefixes& prefixes_;
  Table* table_ = nullptr;
  HugeArray<Element> root_, entries_;
  HugeArray<Line> lines_;
  HugeArray<std::uint32_t> deeper_;
  const ipv6_runs_view view_;
  Blocks line_blocks_, entry_blocks_;
  std::size_t generosity_;
  std::unordered_map<std::uint32_t, Slot> slots_;  ///< by number in the root

  // The change that is being made.
  std::vector<Exchange> exchanges_;
  std::vector<Value> values_;
  std::vector<Run> painted_;  ///< what constant elements of the root become
  Ipv6Prefix painted_region_;
  std::vector<Block> taken_lines_, taken_entries_;

  std::size_t announced_lines_, announced_entries_;  ///< that mirrors have room for
  TableChanges<Element> root_changes_, entry_changes_;
  TableChanges<Line> line_changes_;
  TableChanges<std::uint32_t> deeper_changes_;
};

}  // namespace penumbra
