// SPDX-License-Identifier: Apache-2.0
//
// The owner of an IPv6 forwarding table, whichever lookup structure it has: prefixes with next hops in, longest-prefix
// matches out, by a shader of the structure's own (shader_name()). All such shaders have one signature:
//
//   void NAME(struct NAME_view view, const struct ipv6_address* address, uint16_t* next_hop, uint32_t n)
//
// and write Ipv6Lookup::kNoRoute for an address that no prefix covers, so that one can stand for another.
//
// Changes are made in place while readers run: every lookup gives the answer from before a change or from after it.
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

/// An IPv6 table of up to kMaxPrefixes prefixes. One thread changes and asks it; lookups on any thread go through
/// table() and an engine. A change that throws has changed nothing.
class Ipv6Lookup {
 public:
  static constexpr std::size_t kMaxPrefixes = 1'048'576;
  static constexpr std::size_t kMaxNextHops = 32'768;  ///< next hops are 0 to kMaxNextHops - 1
  static constexpr std::uint16_t kNoRoute = 0xFFFF;    ///< what a lookup gives that no prefix covers

  using Entry = Ipv6Entry;

  /// No reader may be left.
  virtual ~Ipv6Lookup() = default;
  Ipv6Lookup(const Ipv6Lookup&) = delete;
  Ipv6Lookup& operator=(const Ipv6Lookup&) = delete;

  /// Adds a prefix, or gives it another next hop; returns whether it is new. Takes effect at once for engines on host
  /// memory, with commit() for others. May wait for a grace period. Throws std::length_error at a limit,
  /// std::invalid_argument for a prefix with bits past its length.
  bool insert(Ipv6Prefix prefix, std::uint16_t next_hop);
  /// Takes a prefix out; returns whether it was there. Takes effect like insert().
  bool remove(Ipv6Prefix prefix);
  /// Replaces the whole content at once; of entries with the same prefix the last counts. Readers see the old content
  /// or the new. Waits for a grace period to free the old. Throws like insert().
  void load(std::span<const Entry> entries);
  /// Announces that the changes so far belong together: to be called after insert() and remove(), not after load().
  void commit() { table_.commit(); }

  /// The next hop of exactly this prefix.
  std::optional<std::uint16_t> find(Ipv6Prefix prefix) const;
  /// The longest prefix that covers the address.
  std::optional<Entry> match(Ipv6Address address) const { return prefixes_.match(address, 128); }
  /// Every prefix, by address, shorter ones first. `visit` must not change the table.
  void for_each(const std::function<void(const Entry&)>& visit) const;

  std::size_t size() const { return prefixes_.size(); }  ///< prefixes
  /// Address space of the lookup structure and of the prefixes; what is untouched costs no memory.
  std::size_t memory_bytes() const { return prefixes_.memory_bytes() + lookup_bytes(); }
  /// Of that, what lookups read.
  virtual std::size_t lookup_bytes() const = 0;

  /// What engines read.
  Table& table() { return table_; }
  const Table& table() const { return table_; }
  /// The shader that reads it.
  const std::string& shader_name() const { return table_.name(); }

 protected:
  Ipv6Lookup(GracePeriods& grace_periods, const char* shader) : grace_periods_(grace_periods), table_(shader) {}

  GracePeriods& grace_periods() { return grace_periods_; }
  const Ipv6Prefixes& prefixes() const { return prefixes_; }

 private:
  /// Brings the structure in line with prefixes(), where this prefix is new or leads elsewhere. May throw
  /// std::length_error before it has changed anything.
  virtual void put(Ipv6Prefix prefix, std::uint16_t next_hop, bool is_new) = 0;
  /// Likewise where this prefix, which led to `next_hop`, is gone. Throws nothing but std::bad_alloc and
  /// std::system_error, before it has changed anything.
  virtual void take(Ipv6Prefix prefix, std::uint16_t next_hop) = 0;
  /// Publishes a structure made from prefixes() alone, and frees the one before after a grace period. Throws like
  /// put().
  virtual void rebuild() = 0;

  GracePeriods& grace_periods_;
  Table table_;
  Ipv6Prefixes prefixes_;
};

}  // namespace penumbra
