// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "functions/forwarding/structure_memory.h"
#include "tables/ipv6/ipv6_lookup.h"

namespace penumbra::ipv6 {

/// Implements the table of Fib for IPv6: an Ipv6Lookup of any structure.
class LookupTable {
 public:
  using Entry = Ipv6Lookup::Entry;
  static constexpr std::uint16_t kNoRoute = Ipv6Lookup::kNoRoute;

  explicit LookupTable(std::unique_ptr<Ipv6Lookup> lookup) : lookup_(std::move(lookup)) {}

  // These functions behave as those of Ipv6Lookup.
  bool insert(Ipv6Prefix prefix, std::uint16_t next_hop) { return lookup_->insert(prefix, next_hop); }
  bool remove(Ipv6Prefix prefix) { return lookup_->remove(prefix); }
  void load(std::span<const Entry> entries) { lookup_->load(entries); }
  void commit() { lookup_->commit(); }
  std::optional<std::uint16_t> find(Ipv6Prefix prefix) const { return lookup_->find(prefix); }
  std::optional<Entry> match(Ipv6Address address) const { return lookup_->match(address); }
  void for_each(const std::function<void(const Entry&)>& visit) const { lookup_->for_each(visit); }
  std::size_t size() const { return lookup_->size(); }
  Table& table() { return lookup_->table(); }
  std::vector<forwarding::StructureMemory> memory() const {
    return {{lookup_->shader_name(), lookup_->size(), lookup_->memory_bytes()}};
  }

 private:
  std::unique_ptr<Ipv6Lookup> lookup_;
};

}  // namespace penumbra::ipv6
