// SPDX-License-Identifier: Apache-2.0
//
// libipsec-mb without Penumbra's layer: its own calls in a loop over packets.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "crypto/ipsec_mb/keys.h"

namespace penumbra::bench {

/// Packets of one algorithm through the library. All keys have the algorithm of the first.
class BareIpsecMb {
 public:
  explicit BareIpsecMb(std::span<const KeyMaterial> materials);
  ~BareIpsecMb();
  BareIpsecMb(const BareIpsecMb&) = delete;
  BareIpsecMb& operator=(const BareIpsecMb&) = delete;

  /// Do what the forms of the ciphers do for at most IMB_MAX_BURST_SIZE packets. The bytes that a digest covers must be
  /// adjacent. Return the number of packets that are right.
  std::size_t seal(std::span<const cipher_packet> packets);
  std::size_t open(std::span<const cipher_packet> packets);

 private:
  std::size_t run_gcm(std::span<const cipher_packet> packets, bool is_sealed);
  std::size_t run_gmac(std::span<const cipher_packet> packets, bool is_sealed);
  std::size_t run_jobs(std::span<const cipher_packet> packets, bool is_sealed);
  std::size_t finish(const IMB_JOB* job, bool is_sealed) const;

  IMB_MGR* manager_;
  std::vector<ipsec_mb::Key> keys_;
  std::uint8_t tag_[IMB_MAX_BURST_SIZE][CIPHER_MOST_TAG];
};

}  // namespace penumbra::bench
