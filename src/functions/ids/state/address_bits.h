// SPDX-License-Identifier: Apache-2.0
//
// The bits of `xbits` and `hostbits`, which belong to addresses and to pairs of addresses.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "functions/ids/state/bit_store.h"

namespace penumbra::ids {

/// The ends of a packet.
struct PacketEnds {
  std::array<std::uint64_t, 2> source{}, destination{};
  bool is_v6 = false;
};

/// A table of fixed size. Each worker has its own. A bit that finds no room takes the place of one that has expired,
/// else of the one of kProbes bits that expires first.
class AddressBits {
 public:
  static constexpr std::size_t kProbes = 8;

  /// `entries` is rounded up to a power of two. `seed` makes the places of bits unpredictable.
  explicit AddressBits(std::size_t entries, std::uint64_t seed = 0);

  /// Returns true if the test holds at `now`, in microseconds. Several bits of one command are alternatives.
  bool test(const PreparedBits& command, const PacketEnds& ends, std::uint64_t now) const;
  /// Carries out set, unset or toggle. A bit that is set again expires later.
  void change(const PreparedBits& command, const PacketEnds& ends, std::uint64_t now);

  /// Returns how many bits were overwritten before they expired.
  std::uint64_t evicted() const { return evicted_; }

 private:
  struct Key {
    std::array<std::uint64_t, 2> first{}, second{};  ///< The lesser address of a pair comes first.
    std::uint64_t bit = 0;                           ///< With the version of IP and the kind of the owner.
    bool operator==(const Key&) const = default;
  };
  struct Entry {
    Key key;
    std::uint64_t end = 0;  ///< The last second in which the bit is set. 0: the entry is free.
  };
  static Key key_of(const PreparedBits& command, std::uint32_t bit, const PacketEnds& ends);
  std::size_t hash(const Key& key) const;
  const Entry* find(const Key& key, std::uint64_t second) const;
  void set(const Key& key, std::uint64_t second, std::uint64_t end);

  std::vector<Entry> entries_;
  std::uint64_t seed_;
  std::uint64_t evicted_ = 0;
};

}  // namespace penumbra::ids
