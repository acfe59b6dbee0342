// SPDX-License-Identifier: Apache-2.0
#include "functions/ndn/reasons.h"

namespace penumbra::ndn {

const std::vector<Reason>& outcome_reasons() {
  constexpr auto kDrop = Verdict::Kind::drop;
  static const std::vector<Reason> kReasons{
      {"runt", kDrop, "frame shorter than an Ethernet header"},
      {"wrong_mac", kDrop, "unicast frame to another station's MAC address"},
      {"not_ndn", Verdict::Kind::punt, "no NDN packet, and no later function takes it"},
      {"unknown_face", kDrop, "an NDN packet from nobody who is a face"},
      {"segmented", kDrop, "a packet that lies in several pieces of memory"},
      {"truncated", kDrop, "frame shorter than its IP or UDP length says, or these do not agree"},
      {"bad_checksum", kDrop, "wrong checksum of IPv4 or UDP, or none over IPv6"},
      {"malformed", kDrop, "not as NDN Packet Format 0.3 or NDNLPv2 has it"},
      {"unknown_type", kDrop, "neither Interest nor Data nor LpPacket"},
      {"unknown_lp_field", kDrop, "a field of NDNLPv2 that may not be ignored and is not known"},
      {"fragmented", kDrop, "one of several NDNLPv2 fragments"},
      {"idle", kDrop, "an LpPacket without a fragment: acknowledgements, say"},
      {"localhost", kDrop, "a name under /localhost, which crosses no link"},
      {"no_pit_token", kDrop, "Data or Nack without the PIT token of its Interest: there is no way back"},
      {"bad_pit_token", kDrop, "Data or Nack with a PIT token that was not given to that face"},
      {"hop_limit_used_up", kDrop, "Interest with hop limit 0 or 1"},
      {"no_route", kDrop, "Interest without a route, from a multicast face, where there are no Nacks"},
      {"long_pit_token", kDrop, "Interest whose PIT token leaves no place for this forwarder's"},
      {"too_long", kDrop, "longer than the face's MTU, and NDNLPv2 fragments are not sent"},
      {"no_headroom", kDrop, "no place in front of the packet for the face's headers"}};
  return kReasons;
}

}  // namespace penumbra::ndn
