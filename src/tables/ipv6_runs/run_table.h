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

/// A version of the lookup structure. Elements and lines 0 to 2^16 - 1 are constant: number n gives one answer for all
/// addresses. The answer is next hop n - 1, or no route for number 0.
class Ipv6Runs::Version {
 public:
  /// Makes a version of `prefixes`, which must outlive the version. Throws std::length_error if lines or entries run
  /// out.
  Version(GracePeriods& grace_periods, const Ipv6Prefixes& prefixes);

  /// Publishes the version to `table`. Readers may then exist, and changes are announced.
  void publish_to(Table& table);
  /// Updates the version after one of the prefixes changed. Throws std::length_error before any change.
  void follow(Ipv6Prefix changed, bool was_there, bool is_there);
  std::size_t bytes() const;

 private:
  using Run = ipv6_runs::Run;
  using Line = ipv6_runs_line;
  using Element = std::uint32_t;

  /// A /24 with longer prefixes.
  struct Slot {
    std::size_t prefixes = 0;
    std::size_t laid_out_for = 0;  ///< number of prefixes when its order was chosen
  };
  /// An element of the root or of `entries` to replace.
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

  // The planned change.
  std::vector<Exchange> exchanges_;
  std::vector<Value> values_;
  std::vector<Run> painted_;  ///< new values of constant elements of the root
  Ipv6Prefix painted_region_;
  std::vector<Block> taken_lines_, taken_entries_;

  std::size_t announced_lines_, announced_entries_;  ///< capacity of the mirrors' copies
  TableChanges<Element> root_changes_, entry_changes_;
  TableChanges<Line> line_changes_;
  TableChanges<std::uint32_t> deeper_changes_;
};

}  // namespace penumbra
