// SPDX-License-Identifier: Apache-2.0
//
// The owner of an IPv4 forwarding table: prefixes with next hops in, longest-prefix matches out, by the shader
// `ipv4_dir24_8` (dir24_8.shader.h).
//
// Changes are made in place while readers run. Each rewrites entries one at a time, and each entry decides the answer
// of whole addresses, so that every lookup gives the answer from before the change or from after it. The one
// indirection, from tbl24 to a group, is safe because a group is filled before it is linked, and once unlinked is
// filled anew only after a grace period.
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

/// An IPv4 table of up to kMaxPrefixes prefixes. One thread changes and asks it; lookups on any thread go through
/// table() and an engine. A change that throws has changed nothing.
class Dir24_8 {
 public:
  static constexpr std::size_t kMaxPrefixes = 4'194'304;
  static constexpr std::size_t kMaxGroups = 32'767;    ///< /24s that have prefixes longer than 24 bits
  static constexpr std::size_t kMaxNextHops = 32'768;  ///< next hops are 0 to kMaxNextHops - 1
  static constexpr std::uint16_t kNoRoute = 0xFFFF;    ///< what a lookup gives that no prefix covers

  struct Entry {
    Ipv4Prefix prefix;
    std::uint16_t next_hop = 0;
    bool operator==(const Entry&) const = default;
  };

  /// An empty table, published. `grace_periods` outlives it.
  explicit Dir24_8(GracePeriods& grace_periods);
  /// No reader may be left.
  ~Dir24_8();
  Dir24_8(const Dir24_8&) = delete;
  Dir24_8& operator=(const Dir24_8&) = delete;

  /// Adds a prefix, or gives it another next hop; returns whether it is new. Takes effect at once for engines on host
  /// memory, with commit() for others. May wait for a grace period when groups run short. Throws std::length_error at
  /// a limit, std::invalid_argument for a prefix with bits past its length.
  bool insert(Ipv4Prefix prefix, std::uint16_t next_hop);
  /// Takes a prefix out; returns whether it was there. Takes effect like insert().
  bool remove(Ipv4Prefix prefix);
  /// Replaces the whole content at once; of entries with the same prefix the last counts. Readers see the old content
  /// or the new. Waits for a grace period to free the old. Throws like insert().
  void load(std::span<const Entry> entries);
  /// Announces that the changes so far belong together: to be called after insert() and remove(), not after load().
  void commit() { table_.commit(); }

  /// The next hop of exactly this prefix.
  std::optional<std::uint16_t> find(Ipv4Prefix prefix) const;
  /// The longest prefix that covers the address.
  std::optional<Entry> match(Ipv4Address address) const;
  /// Every prefix, by address, shorter ones first. `visit` must not change the table.
  void for_each(const std::function<void(const Entry&)>& visit) const;

  std::size_t size() const;          ///< prefixes
  std::size_t groups() const;        ///< second-level groups in use
  std::size_t memory_bytes() const;  ///< address space of lookup tables and prefixes; what is untouched costs no memory

  /// What engines read.
  Table& table() { return table_; }

 private:
  class Snapshot;

  GracePeriods& grace_periods_;
  Table table_{"ipv4_dir24_8"};
  std::unique_ptr<Snapshot> snapshot_;
};

}  // namespace penumbra
