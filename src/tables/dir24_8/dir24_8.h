// SPDX-License-Identifier: Apache-2.0
//
// The owner of an IPv4 forwarding table: it takes prefixes with next hops, and the shader `ipv4_dir24_8`
// (dir24_8.shader.h) finds the longest match.
//
// Changes are made in place while readers run. A change rewrites entries one at a time, and one entry decides the
// answer of an address. Every lookup therefore returns the answer from before or after the change. The only
// indirection, from tbl24 to a group, is safe because a group is filled before it is linked. An unlinked group is
// reused only after a grace period.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>

#include "penumbra/ip.h"
#include "penumbra/table.h"

namespace penumbra {

/// An IPv4 table of up to kMaxPrefixes prefixes. One thread calls all functions. Lookups on any thread go through
/// table() and an engine. A change that throws leaves the content as it was.
class Dir24_8 {
 public:
  static constexpr std::size_t kMaxPrefixes = 4'194'304;
  static constexpr std::size_t kMaxGroups = 32'767;    ///< maximum number of /24s with prefixes longer than 24 bits
  static constexpr std::size_t kMaxNextHops = 32'768;  ///< next hops are 0 to kMaxNextHops - 1
  static constexpr std::uint16_t kNoRoute = 0xFFFF;    ///< answer of a lookup that no prefix covers

  struct Entry {
    Ipv4Prefix prefix;
    std::uint16_t next_hop = 0;
    bool operator==(const Entry&) const = default;
  };

  /// Makes and publishes an empty table. `grace_periods` must outlive the table.
  explicit Dir24_8(GracePeriods& grace_periods);
  /// No reader may exist any more.
  ~Dir24_8();
  Dir24_8(const Dir24_8&) = delete;
  Dir24_8& operator=(const Dir24_8&) = delete;

  /// Adds a prefix or replaces its next hop. Returns true if the prefix is new. The change takes effect immediately for
  /// engines on host memory and at commit() for other engines. May wait for a grace period if groups run short. Throws
  /// std::length_error at a limit, and std::invalid_argument for a prefix with bits past its length.
  bool insert(Ipv4Prefix prefix, std::uint16_t next_hop);
  /// Removes a prefix. Returns true if it was present. Takes effect like insert().
  bool remove(Ipv4Prefix prefix);
  /// Replaces the whole content at once. The last of several entries with the same prefix counts. Readers see either
  /// the old or the new content. Waits for a grace period to free the old content. Throws like insert().
  void load(std::span<const Entry> entries);
  /// Marks the end of a group of changes. Must follow insert() and remove(), but not load().
  void commit() { table_.commit(); }

  /// Returns the next hop of exactly this prefix.
  std::optional<std::uint16_t> find(Ipv4Prefix prefix) const;
  /// Returns the longest prefix that covers the address.
  std::optional<Entry> match(Ipv4Address address) const;
  /// Calls `visit` for each prefix, in the order of address, then length. `visit` must not change the table.
  void for_each(const std::function<void(const Entry&)>& visit) const;

  std::size_t size() const;          ///< number of prefixes
  std::size_t groups() const;        ///< number of second-level groups in use
  std::size_t memory_bytes() const;  ///< address space of lookup tables and prefixes; untouched pages use no memory

  /// Returns the table that engines read.
  Table& table() { return table_; }

 private:
  class Snapshot;

  GracePeriods& grace_periods_;
  Table table_{"ipv4_dir24_8"};
  std::unique_ptr<Snapshot> snapshot_;
};

}  // namespace penumbra
