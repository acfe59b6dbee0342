// SPDX-License-Identifier: Apache-2.0
//
// Policies as workers use them (RFC 4301, section 4.4.1).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "control/xfrm/model.h"
#include "functions/ipsec/flow.h"
#include "functions/ipsec/sa.h"
#include "penumbra/packet.h"

namespace penumbra::ipsec {

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

/// Returns the SA that seals a packet of the flow, or null. An SA without sequence numbers is the last choice.
DataSa* choose_sa(const PolicyEntry& policy, const Flow& flow);

/// Checks that a packet may pass which no SA protected (`sa` is null), or which `sa` did (RFC 4301, section 5.2, step
/// 4). `policy` is null if none matches.
enum class Inbound : std::uint8_t { allowed, discarded, mismatch };
Inbound check_inbound(const PolicyEntry* policy, const DataSa* sa, const Flow& flow);

}  // namespace penumbra::ipsec
