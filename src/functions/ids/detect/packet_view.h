// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "functions/ids/rules/address_set.h"
#include "functions/ids/rules/packet_test.h"
#include "functions/ids/verify/buffer_table.h"
#include "penumbra/ip.h"
#include "penumbra/packet.h"

namespace penumbra::ids {

/// An IP packet as rules see it. Refers to the bytes of the frame.
class PacketView {
 public:
  /// `headers` describes `frame`, an Ethernet frame.
  PacketView(std::span<const std::uint8_t> frame, const PacketHeaders& headers);
  /// Returns the view of a fragment whose datagram rules will see when it is complete. It has neither ports nor
  /// payload.
  static PacketView of_fragment(std::span<const std::uint8_t> frame, PacketHeaders headers);

  /// Returns false if the packet is no IP packet or its headers cannot be read: no rule sees it.
  bool is_readable() const { return headers_.is_ip() && !headers_.is_unparsable(); }
  const PacketHeaders& headers() const { return headers_; }
  bool is_ipv6() const { return headers_.has(PacketHeaders::kIpv6); }
  std::uint8_t protocol() const { return headers_.protocol; }
  /// Returns the TTL or hop limit.
  std::uint8_t ttl() const { return frame_[headers_.network + (is_ipv6() ? 7 : 8)]; }
  bool is_tcp() const { return protocol() == ip_protocol::kTcp; }
  bool is_icmp() const { return protocol() == ip_protocol::kIcmp || protocol() == ip_protocol::kIcmpv6; }

  struct Address {
    Ipv4Address ipv4;  ///< Valid if the packet is IPv4.
    Ipv6Address ipv6;
    /// Returns the address as two words; IPv4 is the low half of the second.
    std::array<std::uint64_t, 2> words(bool is_v6) const {
      return is_v6 ? std::array{ipv6.high, ipv6.low} : std::array<std::uint64_t, 2>{0, ipv4.value};
    }
  };
  const Address& source() const { return source_; }
  const Address& destination() const { return destination_; }
  bool is_in(const AddressSet& set, const Address& address) const {
    return is_ipv6() ? set.contains(address.ipv6) : set.contains(address.ipv4);
  }

  std::span<const std::uint8_t> payload() const { return payload_; }
  /// Sets the buffers of the payload and the headers.
  void fill(BufferTable& buffers) const;

  /// Returns true if the test on headers holds. Tests that need a stream or an application do not hold.
  bool matches(const PacketTest& test) const;

 private:
  bool holds(const FieldTest& test) const;
  bool holds(const BitsTest& test) const;
  bool holds(const IpOptionTest& test) const;
  bool holds(const SameAddressTest& test) const;
  template <class Other>
  bool holds(const Other& /*test*/) const {
    return false;
  }
  std::span<const std::uint8_t> network() const;
  std::span<const std::uint8_t> transport() const;

  std::span<const std::uint8_t> frame_;
  PacketHeaders headers_;
  Address source_, destination_;
  std::span<const std::uint8_t> payload_;
};

}  // namespace penumbra::ids
