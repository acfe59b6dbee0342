// SPDX-License-Identifier: Apache-2.0
//
// An IPv6 table with a trie of bytes below a root of 24 bits, which the shader `ipv6_trie` (ipv6_trie.shader.h) reads.
//
// Changes rewrite entries one at a time, and each entry that is not a node decides the answers of whole addresses. A
// node is filled before it is linked. An unlinked node stays unchanged until a grace period has elapsed, so a reader in
// it gets the answers from before the unlinking.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "tables/ipv6/ipv6_lookup.h"

namespace penumbra {

class Ipv6Trie final : public Ipv6Lookup {
 public:
  static constexpr std::size_t kMaxNodes = 4'128'768;  ///< nodes below the root, of 256 entries and 1 KiB each

  /// Makes and publishes an empty table. `grace_periods` must outlive the table.
  explicit Ipv6Trie(GracePeriods& grace_periods);
  ~Ipv6Trie() override;

  std::size_t nodes() const;  ///< number of nodes in use below the root
  std::size_t lookup_bytes() const override;

 private:
  class Version;

  void put(Ipv6Prefix prefix, std::uint16_t next_hop, bool is_new) override;
  void take(Ipv6Prefix prefix, std::uint16_t next_hop) override;
  void rebuild() override;

  std::unique_ptr<Version> version_;
};

}  // namespace penumbra
