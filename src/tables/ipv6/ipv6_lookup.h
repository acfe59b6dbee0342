// SPDX-License-Identifier: Apache-2.0
//
// The owner of an IPv6 forwarding table, for any lookup structure. The owner takes prefixes with next hops, and a
// shader of the structure (shader_name()) finds the longest match. All shaders have one signature:
//
//   void NAME(struct NAME_view view, const struct ipv6_address* address, uint16_t* next_hop, uint32_t n)
//
// These shaders write Ipv6Lookup::kNoRoute for an address that no prefix covers, so that the structures are
// interchangeable.
//
// Changes are made in place while readers run. Every lookup returns the answer from before or after a change.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "penumbra/ip.h"
#include "penumbra/ipv6_address.h"
#include "penumbra/table.h"
#include "tables/ipv6/ipv6_prefixes.h"

namespace penumbra {

/// An IPv6 table of up to kMaxPrefixes prefixes. One thread calls all functions. Lookups on any thread go through
/// table() and an engine. A change that throws leaves the content as it was.
class Ipv6Lookup {
 public:
  static constexpr std::size_t kMaxPrefixes = 1'048'576;
  static constexpr std::size_t kMaxNextHops = 32'768;  ///< next hops are 0 to kMaxNextHops - 1
  static constexpr std::uint16_t kNoRoute = 0xFFFF;    ///< answer of a lookup that no prefix covers

  using Entry = Ipv6Entry;

  /// No reader may exist any more.
  virtual ~Ipv6Lookup() = default;
  Ipv6Lookup(const Ipv6Lookup&) = delete;
  Ipv6Lookup& operator=(const Ipv6Lookup&) = delete;

  /// Adds a prefix or replaces its next hop. Returns true if the prefix is new. The change takes effect immediately for
  /// engines on host memory and at commit() for other engines. May wait for a grace period. Throws std::length_error at
  /// a limit, and std::invalid_argument for a prefix with bits past its length.
  bool insert(Ipv6Prefix prefix, std::uint16_t next_hop);
  /// Removes a prefix. Returns true if it was present. Takes effect like insert().
  bool remove(Ipv6Prefix prefix);
  /// Replaces the whole content at once. The last of several entries with the same prefix counts. Readers see either
  /// the old or the new content. Waits for a grace period to free the old content. Throws like insert().
  void load(std::span<const Entry> entries);
  /// Marks the end of a group of changes. Must follow insert() and remove(), but not load().
  void commit() { table_.commit(); }

  /// Returns the next hop of exactly this prefix.
  std::optional<std::uint16_t> find(Ipv6Prefix prefix) const;
  /// Returns the longest prefix that covers the address.
  std::optional<Entry> match(Ipv6Address address) const { return prefixes_.match(address, 128); }
  /// Calls `visit` for each prefix, in the order of address, then length. `visit` must not change the table.
  void for_each(const std::function<void(const Entry&)>& visit) const;

  std::size_t size() const { return prefixes_.size(); }  ///< number of prefixes
  /// Returns the address space of the lookup structure and of the prefixes. Untouched pages use no memory.
  std::size_t memory_bytes() const { return prefixes_.memory_bytes() + lookup_bytes(); }
  /// Returns the part of memory_bytes() that lookups read.
  virtual std::size_t lookup_bytes() const = 0;

  /// Returns the table that engines read.
  Table& table() { return table_; }
  const Table& table() const { return table_; }
  /// Returns the name of the shader that reads the table.
  const std::string& shader_name() const { return table_.name(); }

 protected:
  Ipv6Lookup(GracePeriods& grace_periods, const char* shader) : grace_periods_(grace_periods), table_(shader) {}

  GracePeriods& grace_periods() { return grace_periods_; }
  const Ipv6Prefixes& prefixes() const { return prefixes_; }

 private:
  /// Updates the structure after `prefix` was added to prefixes(), or got another next hop. May throw std::length_error
  /// before any change.
  virtual void put(Ipv6Prefix prefix, std::uint16_t next_hop, bool is_new) = 0;
  /// Updates the structure after `prefix` with `next_hop` was removed from prefixes(). Throws only std::bad_alloc and
  /// std::system_error, before any change.
  virtual void take(Ipv6Prefix prefix, std::uint16_t next_hop) = 0;
  /// Makes and publishes a structure from prefixes() alone, and frees the previous structure after a grace period.
  /// Throws like put().
  virtual void rebuild() = 0;

  GracePeriods& grace_periods_;
  Table table_;
  Ipv6Prefixes prefixes_;
};

}  // namespace penumbra
