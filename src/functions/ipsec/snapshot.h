// SPDX-License-Identifier: Apache-2.0
//
// All SAs and policies at one time. Workers read a snapshot without locks; a change makes another one.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "control/xfrm/model.h"
#include "functions/ipsec/policy.h"
#include "functions/ipsec/sa.h"

namespace penumbra::ipsec {

/// Identifies an inbound SA. Two SAs that differ only in marks are not supported.
struct InboundKey {
  control::xfrm::Address destination;
  std::uint32_t spi = 0;
  std::uint16_t family = 0;

  bool operator==(const InboundKey&) const = default;
};

inline constexpr std::uint16_t kNatPort = 4500;  ///< UDP port of ESP and IKE with NAT traversal (RFC 3948).

struct OwnAddress {
  control::xfrm::Address address;
  std::uint16_t family = 0;

  bool operator==(const OwnAddress&) const = default;
};

/// A port, as the function knows it.
struct PortEnd {
  std::vector<OwnAddress> addresses;
  std::uint32_t interface_id = 0;  ///< `if_id` if the port is an interface of IPsec, or 0.
};

struct AddressHash {
  static std::size_t of(const control::xfrm::Address& address, std::uint64_t more) {
    const auto* const text = reinterpret_cast<const char*>(address.bytes.data());
    constexpr std::size_t kOdd = 0x9E3779B97F4A7C15U;
    return std::hash<std::string_view>{}({text, address.bytes.size()}) ^ (more + 1) * kOdd;
  }
  std::size_t operator()(const InboundKey& key) const { return of(key.destination, key.spi); }
  std::size_t operator()(const OwnAddress& own) const { return of(own.address, own.family); }
};

/// What happens to packets without a policy: they are dropped, or bypass IPsec.
struct Defaults {
  bool blocks_in = false, blocks_out = false, blocks_forward = false;
};

struct Snapshot {
  /// False while the policies are not known, or if there is none: all traffic but IKE is dropped.
  bool has_policies = false;
  std::uint64_t generation = 0;  ///< Different for each snapshot.
  std::vector<PolicyEntry> in, out, forward;
  Defaults defaults;
  std::unordered_map<InboundKey, DataSa*, AddressHash> inbound;
  std::unordered_set<OwnAddress, AddressHash> own;  ///< Addresses of ports, and this end of the policies' tunnels.
  std::vector<PortEnd> ports;                       ///< By index.
  std::vector<std::uint16_t> nat_ports;             ///< UDP ports that ESP comes to.
  std::vector<std::shared_ptr<DataSa>> sas;         ///< All SAs, by number.

  DataSa* find(const control::xfrm::Address& destination, std::uint16_t family, std::uint32_t spi) const {
    const auto found = inbound.find({destination, spi, family});
    return found == inbound.end() ? nullptr : found->second;
  }
  /// Returns an address of a port, or null.
  const control::xfrm::Address* address_of_port(std::uint16_t port, std::uint16_t family) const {
    if (port >= ports.size()) return nullptr;
    for (const OwnAddress& each : ports[port].addresses) {
      if (each.family == family) return &each.address;
    }
    return nullptr;
  }
  /// Returns the `if_id` of a port that is an interface of IPsec, or 0.
  std::uint32_t interface_of_port(std::uint16_t port) const {
    return port < ports.size() ? ports[port].interface_id : 0;
  }
  bool is_own(const control::xfrm::Address& address, std::uint16_t family) const {
    return own.contains({address, family});
  }
};

}  // namespace penumbra::ipsec
