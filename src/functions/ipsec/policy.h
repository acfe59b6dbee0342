// SPDX-License-Identifier: Apache-2.0
//
// Policies as workers use them (RFC 4301, section 4.4.1).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "control/xfrm/model.h"
#include "functions/ipsec/sa.h"
#include "penumbra/packet.h"

namespace penumbra::ipsec {

/// The fields of a packet that selectors compare. Ports are the type and code of ICMP.
struct Flow {
  control::xfrm::Address source, destination;
  std::uint16_t source_port = 0, destination_port = 0;
  std::uint16_t family = 0;
  std::uint8_t protocol = 0;
  bool has_ports = true;  ///< False for later fragments, whose ports nobody knows.

  bool operator==(const Flow&) const = default;
};

/// Reads the flow of an IP packet, whose headers the frame has in one piece.
Flow flow_of(const std::uint8_t* frame, const PacketHeaders& headers);

enum class Match : std::uint8_t {
  no,
  yes,
  unknown,  ///< The selector has ports, and the flow does not.
};
Match match(const control::xfrm::Selector& selector, const Flow& flow);

/// A policy with the SAs that serve it.
struct PolicyEntry {
  control::xfrm::Policy policy;
  std::vector<DataSa*> sas;  ///< Of an outbound policy: those that fit its template, the best first.

  /// Returns the only template, or null if packets bypass IPsec.
  const control::xfrm::Template* wanted() const {
    return policy.templates.empty() ? nullptr : &policy.templates.front();
  }
};

/// The first policy of a list that matches.
struct Found {
  const PolicyEntry* policy = nullptr;
  bool is_unknown = false;  ///< A policy before it may match, if the packet were whole.
};
Found find_policy(std::span<const PolicyEntry> policies, const Flow& flow);

/// True if an SA has what the template wants. Addresses of a template in transport mode are the flow's.
bool fits(const control::xfrm::Template& wanted, const control::xfrm::SaSettings& sa);
/// Returns the SA that seals a packet of the flow, or null. An SA without sequence numbers is the last choice.
DataSa* choose_sa(const PolicyEntry& policy, const Flow& flow);

/// Checks that a packet may pass which no SA protected (`sa` is null), or which `sa` did (RFC 4301, section 5.2, step
/// 4). `policy` is null if none matches.
enum class Inbound : std::uint8_t { allowed, discarded, mismatch };
Inbound check_inbound(const PolicyEntry* policy, const DataSa* sa, const Flow& flow);

}  // namespace penumbra::ipsec
