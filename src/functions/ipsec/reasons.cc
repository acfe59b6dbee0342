// SPDX-License-Identifier: Apache-2.0
#include "functions/ipsec/reasons.h"

namespace penumbra::ipsec {

const std::vector<Reason>& reasons_of_ipsec() {
  constexpr auto kDrop = Verdict::Kind::drop, kPunt = Verdict::Kind::punt;
  static const std::vector<Reason> kReasons{
      {"no_policy_state", kDrop, "no policies are known, so that nothing may pass in clear"},
      {"malformed", kDrop, "an IP header with a fault or a wrong checksum"},
      {"no_sa", kDrop, "ESP to this router with an unknown SPI (RFC 4303, 3.4.2)"},
      {"wrong_encapsulation", kDrop, "ESP in UDP for an SA without it, or the reverse"},
      {"cut", kDrop, "ESP that is shorter than its parts, or no multiple of the cipher's block"},
      {"late", kDrop, "a sequence number before the replay window (RFC 4303, 3.4.3)"},
      {"replayed", kDrop, "a sequence number that was received before (RFC 4303, 3.4.3)"},
      {"bad_icv", kDrop, "a wrong integrity check value (RFC 4303, 3.4.4)"},
      {"bad_pad", kDrop, "authentic, but the padding is not 1, 2, 3 ... (RFC 4303, 3.4.4.1)"},
      {"bad_inner", kDrop, "authentic, but without a valid IP packet inside"},
      {"dummy", kDrop, "a packet without content, for the confidentiality of traffic (RFC 4303, 2.6)"},
      {"bad_ecn", kDrop, "congestion on the way of a packet that takes no mark (RFC 6040, 4.2)"},
      {"policy_mismatch", kDrop, "the policy wants another protection than the packet had (RFC 4301, 5.2)"},
      {"discarded", kDrop, "the policy is to discard the packet"},
      {"expired_hard", kDrop, "the SA has reached a hard limit (RFC 4301, 4.4.2.1)"},
      {"fragment_wanted", kDrop, "a fragment of ESP, or one that a policy with ports may select; see `reassembly`"},
      {"keepalive", kDrop, "a keepalive of NAT traversal (RFC 3948, 2.3)"},
      {"no_outbound_sa", kDrop, "the policy protects the packet, and there is no SA yet"},
      {"seq_exhausted", kDrop, "the SA has no sequence number left, or none was lent"},
      {"not_transportable", kDrop, "transport mode, and the packet is a fragment or has another family"},
      {"too_long", kDrop, "the sealed packet would be longer than an IP packet or a buffer"},
      {"ttl_expired", kDrop, "the TTL is used up before the tunnel (RFC 4301, 5.1.2.1)"},
      {"fragmented", kDrop, "a packet that is too long for its tunnel could not be fragmented"},
      {"packet_too_big", kDrop, "longer than the tunnel's MTU, with \"don't fragment\"; the source gets an ICMP error"},
      {"no_tunnel_policy", kDrop, "routed into an interface of IPsec, and no policy of its if_id protects the packet"},
      {"tunnel_loop", kDrop, "routed into an interface of IPsec, and its tunnel's other end is the destination"},
      {"no_memory", kDrop, "no packet buffer was left"},
      {"ike", kPunt, "IKE, for the daemon (UDP 500, and 4500 with a zero marker)"}};
  return kReasons;
}

}  // namespace penumbra::ipsec
