// SPDX-License-Identifier: Apache-2.0
//
// The IPv6 table whose lookup structure is a trie of bytes below a root of 24 bits, by the shader `ipv6_trie`
// (ipv6_trie.shader.h).
//
// Changes rewrite entries one at a time, and each entry that is no node decides the answer of whole addresses. A node
// is filled before it is linked. Once unlinked it stays as it was until a grace period has elapsed: who is in it
// answers as of the moment of its unlinking.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "tables/ipv6/ipv6_lookup.h"

namespace penumbra {

class Ipv6Trie final : public Ipv6Lookup {
 public:
  static constexpr std::size_t kMaxNodes = 4'128'768;  ///< of 256 entries and 1 KiB each, below the root

  /// An empty table, published. `grace_periods` outlives it.
  explicit Ipv6Trie(GracePeriods& grace_periods);
  ~Ipv6Trie() override;

  std::size_t nodes() const;  ///< in use, below the root
  std::size_t lookup_bytes() const override;

 private:
  class Version;

  void put(Ipv6Prefix prefix, std::uint16_t next_hop, bool is_new) override;
  void take(Ipv6Prefix prefix, std::uint16_t next_hop) override;
  void rebuild() override;

  std::unique_ptr<Version> version_;
};

}  // namespace penumbra
