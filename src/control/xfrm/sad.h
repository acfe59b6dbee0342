// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <unordered_map>
#include <vector>

#include "control/xfrm/model.h"

namespace penumbra::control::xfrm {

/// Holds the security associations with the rules of Linux's XFRM: an SA is found by destination, SPI, protocol and
/// family, and by a mark that it matches. One thread uses it. Methods that refuse a request throw Refused.
class Sad {
 public:
  using ByNumber = std::map<std::uint64_t, Sa>;

  /// Returns the SA that `id` identifies for packets with `mark`, or null.
  Sa* find(const SaId& id, std::uint32_t mark);
  /// Returns the SA of a number, or null.
  Sa* find(std::uint64_t number);
  /// Returns the SA of an id and of exactly this mark and mask, or null.
  Sa* find_exact(const SaId& id, const Mark& mark);

  /// Adds an SA. A larval SA without SPI that waited for it disappears. Throws Refused with EEXIST if there is such an
  /// SA, larval or not.
  Sa& add(Sa sa);
  /// Gives a larval SA its keys, or changes limits and encapsulation of another SA, whose keys and sequence numbers
  /// stay. Throws Refused with ESRCH if there is no such SA, and with EINVAL if the encapsulation begins or ends.
  Sa& update(Sa sa);
  /// Reserves an SPI from `least` to `most` for the SA that `wanted` describes, and returns the larval SA. A larval SA
  /// without SPI that fits is taken. Throws Refused with ENOENT if no SPI is free.
  Sa& allocate_spi(const Sa& wanted, std::uint32_t least, std::uint32_t most);
  /// Adds a larval SA without SPI, for an ACQUIRE. Returns null if one that fits waits already.
  Sa* acquire(Sa wanted);
  /// Gives an SA of this SAD another id and source. It keeps the rest, and becomes the newest. Nobody has the id.
  /// A dump in progress may not list it.
  Sa& move(const Sa& sa, SaSettings settings);
  /// Removes and returns an SA of this SAD.
  Sa remove(const Sa& sa);
  /// Removes all SAs of a protocol (255: any IPsec protocol) and returns their count.
  std::size_t flush(std::uint8_t protocol);

  /// Returns how many larval SAs without SPI there are.
  std::size_t waiting() const { return without_spi_.size(); }
  /// Returns all SAs by number. Linux lists the newest first.
  const ByNumber& all() const { return by_number_; }
  ByNumber& all() { return by_number_; }

 private:
  struct Hash {
    std::size_t operator()(const SaId& id) const;
  };

  Sa& insert(Sa sa);
  void erase(std::uint64_t number);
  Sa* find_larval(const SaSettings& wanted);
  std::uint32_t free_spi(const SaSettings& wanted, std::uint32_t least, std::uint32_t most);

  ByNumber by_number_;
  std::unordered_multimap<SaId, std::uint64_t, Hash> by_id_;
  std::set<std::uint64_t> without_spi_;
  std::uint64_t last_number_ = 0;
};

}  // namespace penumbra::control::xfrm
