// SPDX-License-Identifier: Apache-2.0
//
// Evaluates rules with every test of packets on any frame of any link type. The first byte chooses the link type. An
// event must be valid for each alert.
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "functions/ids/detect/detector.h"
#include "functions/ids/detect/eve.h"
#include "functions/ids/detect/link_layer.h"
#include "functions/ids/detect/tunnel.h"
#include "packet/parse.h"
#include "testing/fuzzing.h"

namespace {

namespace ids = penumbra::ids;

constexpr const char* kRules =
    "alert ip any any -> any any (dsize:>=0; ttl:<200; tos:!1; id:>0; fragbits:!M; sid:1;)\n"
    "alert ip any any -> any any (ipopts:any; fragoffset:>=0; ip_proto:>0; sid:2;)\n"
    "alert ip any any -> any any (sameip; sid:3;)\n"
    "alert icmp any any -> any any (itype:>=0; icode:>=0; icmp_id:>=0; icmp_seq:>=0; sid:4;)\n"
    "alert tcp-pkt any any -> any any (flags:!SR; seq:>=0; ack:>=0; window:>=0; tcp.hdr; content:!\"x\"; sid:5;)\n"
    "alert udp any any <> any 1: (content:\"a\"; byte_test:2,>,1,0,relative; sid:6;)\n"
    "alert tcp-pkt any any -> any any (pcre:\"/a.*b/s\"; isdataat:3; byte_jump:1,0; flow:to_server; sid:7;)\n"
    "alert ipv4 any any -> any any (ipv4.hdr; byte_test:1,>,0x45,0; sid:8;)\n"
    "alert ipv6 any any -> any any (ipv6.hdr; bsize:>0; sid:9;)\n"
    "alert icmp any any -> any any (icmpv4.hdr; bsize:>0; threshold:type limit, track by_both, count 2, seconds 5; "
    "sid:10;)\n";

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const ids::CompiledRules kRuleSet([] {
    ids::RuleSet set;
    ids::HeaderSets sets(ids::Variables::defaults());
    set.read(kRules, "fuzz", sets);
    penumbra::fuzzing::require(set.refused().empty());
    return set;
  }());
  constexpr std::array kLinkTypes{1, 12, 113, 276, 0, 108, 9, 51, 104};
  if (size == 0) return 0;
  ids::LinkLayer link = ids::LinkLayer::find(kLinkTypes[data[0] % kLinkTypes.size()]).value();
  // A frame of its own lets the sanitizer find reads beyond its end.
  const std::vector<std::uint8_t> bytes(data + 1, data + size);
  const auto made = link.to_ethernet(bytes);
  const std::vector<std::uint8_t> frame(made.begin(), made.end());
  const ids::PacketView packet(frame, penumbra::parse_headers(frame.data(), frame.size(), frame.size()));
  if (!packet.is_readable()) return 0;
  if (const auto carried = ids::tunnel_payload(packet, frame))
    ids::LinkLayer(carried->kind).to_ethernet(carried->frame);
  // A detector takes longer to make than a frame to inspect. Its flows must not fill the memory.
  constexpr unsigned kFramesOfADetector = 1024;
  static std::optional<ids::Detector> detector;
  static unsigned frames = 0;
  if (frames++ % kFramesOfADetector == 0) detector.emplace();
  std::vector<ids::Detector::Alert> alerts;
  for (const std::uint64_t now : {1U, 2U}) detector->inspect(kRuleSet, packet, now, alerts);
  for (const auto& alert : alerts) {
    const std::string event =
        ids::to_json(ids::make_event(alert, packet, kRuleSet, 1), {}, {.ports = {}, .community_id = true});
    penumbra::fuzzing::require(event.starts_with('{') && event.ends_with('}') && event.find('\n') == std::string::npos);
  }
  return 0;
}
