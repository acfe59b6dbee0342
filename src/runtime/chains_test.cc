// SPDX-License-Identifier: Apache-2.0
//
// Tests that every function treats a packet of several segments like the same packet in one segment.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/scratch_folder.h"
#include "packet/checksum.h"
#include "packet/mbuf_gather.h"
#include "packet/testing.h"
#include "penumbra/function.h"
#include "testing/pool_packets.h"

namespace penumbra {
namespace {

using namespace packet_testing;
using function_testing::packet_memory;
using function_testing::reason_of;
using function_testing::Runner;

constexpr std::size_t kPayload = 900;

struct Trial {
  std::string config;
  Bytes frame;
  std::string reason;  ///< As reason_of().
};

Bytes ipv4_frame() {
  Bytes frame = ethernet(0x0800, ipv4(17, udp(Bytes(kPayload, 7))));
  write_ipv4_checksum(&frame[14]);
  return frame;
}
Bytes ipv6_frame() {
  return ethernet(0x86DD, ipv6(17, udp(Bytes(kPayload, 7))));
}
/// Data for /a in an Ethernet frame, with a content of kPayload bytes.
Bytes ndn_frame() {
  const Bytes content = Bytes{0x15, 0xFD} + word(kPayload) + Bytes(kPayload, 7);
  const Bytes signature{0x16, 3, 0x1B, 1, 0, 0x17, 0};
  const Bytes value = Bytes{7, 3, 8, 1, 'a'} + content + signature;
  return ethernet(0x8624, Bytes{6, 0xFD} + word(value.size()) + value);
}

/// Returns the trials of every function, by name.
const std::map<std::string, std::vector<Trial>>& trials() {
  static const std::map<std::string, std::vector<Trial>> kTrials{
      {"acl",
       {{"{rules: [\"deny proto udp dport 53\"], default: permit}", ipv4_frame(), "denied"},
        {"{rules: [\"permit proto udp dport 53\"]}", ipv6_frame(), "pass"}}},
      {"echo", {{"{offset: 42}", ipv4_frame(), ""}, {"{offset: 700}", ipv4_frame(), ""}}},
      {"flows", {{"{}", ipv4_frame(), "pass"}}},
      {"gswitch",
       {{"{flows: [\"udp,tp_dst=53 actions=mod_vlan_vid:5,mod_tp_dst:54,output:2\"]}", ipv4_frame(), ""},
        {"{flows: [\"actions=output:2,mod_vlan_vid:5,output:3\"]}", ipv6_frame(), ""}}},
      {"ids", {{"{rules: [ids.rules], mode: ips}", ipv4_frame(), "dropped_by_rule"}}},
      {"ipsec", {{"{states: sa.txt, policies: sp.txt, marks: marks}", ipv4_frame(), "discarded"}}},
      {"ipv4",
       {{"{routes: [\"10.0.0.0/8 via 192.0.2.9 dev b\"],"
         " neighbours: [\"192.0.2.9 dev b lladdr 02:00:00:00:00:99\"]}",
         ipv4_frame(), ""}}},
      {"ipv6",
       {{"{routes: [\"2001:db8::/32 via 2001:db8:1::9 dev b\"],"
         " neighbours: [\"2001:db8:1::9 dev b lladdr 02:00:00:00:00:99\"]}",
         ipv6_frame(), ""}}},
      {"l2", {{"{}", ipv4_frame(), "local"}}},
      {"megaflows", {{"{miss: drop}", ipv4_frame(), "miss"}}},
      {"ndn",
       {{"routes: names.txt\nfaces: [{name: a, port: a, remote: \"ether://[02:00:00:00:00:02]\"}]\n", ndn_frame(),
         "no_pit_token"}}},
      {"reassembly", {{"{}", ipv4_frame(), "pass"}}}};
  return kTrials;
}

std::vector<PortInfo> three_ports() {
  std::vector<PortInfo> ports(3);
  for (std::uint16_t i = 0; i < 3; ++i) {
    ports[i].name = std::string(1, static_cast<char>('a' + i));
    ports[i].index = i;
    ports[i].mac = {0x020000000001U + std::uint64_t{i} * 256};
  }
  ports[1].addresses = {{parse_ipv4_address("192.0.2.1").value(), parse_ipv4_prefix("192.0.2.0/24").value()}};
  ports[1].ipv6_addresses = {
      {parse_ipv6_address("2001:db8:1::1").value(), parse_ipv6_prefix("2001:db8:1::/64").value()}};
  return ports;
}

rte_mbuf* packet_of(const Bytes& frame, const std::vector<std::size_t>& sizes) {
  rte_mbuf* first = nullptr;
  auto at = frame.begin();
  for (std::size_t i = 0; i <= sizes.size(); ++i) {
    const auto end = i < sizes.size() ? at + static_cast<std::ptrdiff_t>(sizes[i]) : frame.end();
    rte_mbuf* const segment = function_testing::packet_of({at, end});
    at = end;
    if (first == nullptr) {
      first = segment;
    } else {
      EXPECT_EQ(rte_pktmbuf_chain(first, segment), 0);
    }
  }
  return first;
}

Bytes bytes_of(const rte_mbuf& packet) {
  Bytes bytes(packet.pkt_len);
  const void* const all = rte_pktmbuf_read(&packet, 0, packet.pkt_len, bytes.data());
  if (all != bytes.data()) std::copy_n(static_cast<const std::uint8_t*>(all), bytes.size(), bytes.begin());
  return bytes;
}

/// The verdict, and the frames that leave by every port.
struct Result {
  std::string reason;
  Verdict verdict;
  std::map<unsigned, Bytes> sent;
  bool operator==(const Result&) const = default;
};

Result run(Function& function, const Bytes& frame, const std::vector<std::size_t>& sizes) {
  Runner runner(function);
  const auto chunk = std::make_unique<Chunk>();
  chunk->packets[0] = packet_of(frame, sizes);
  chunk->size = 1;
  runner.process(*chunk, 0);
  const Verdict verdict = chunk->verdicts[0];
  const rte_mbuf& packet = *chunk->packets[0];
  Result result{.reason = reason_of(function, verdict), .verdict = verdict, .sent = {}};
  if (verdict.kind == Verdict::Kind::send) result.sent[verdict.value] = bytes_of(packet);
  if (verdict.kind == Verdict::Kind::replicate) {
    const Replication& replication = chunk->replications[0];
    for (const std::uint16_t port : replication.ports) result.sent[port] = bytes_of(packet);
    for (const std::uint16_t port : replication.other_ports) result.sent[port] = bytes_of(*replication.other);
    rte_pktmbuf_free(replication.other);
  }
  rte_pktmbuf_free(chunk->packets[0]);
  return result;
}

class Chains : public testing::TestWithParam<std::string> {};

TEST_P(Chains, AreTreatedLikePacketsOfOneSegment) {
  packet_memory();
  const ScratchFolder folder;
  std::ofstream(folder.path() / "names.txt") << "/a a\n";
  std::ofstream(folder.path() / "ids.rules")
      << "drop udp any any -> any 53 (content:\"|07 07 07|\"; offset:880; sid:1;)\n";
  std::ofstream(folder.path() / "sa.txt");
  std::ofstream(folder.path() / "sp.txt") << "src 0.0.0.0/0 dst 0.0.0.0/0 proto udp dport 53 dir out action block\n";
  const auto found = trials().find(GetParam());
  ASSERT_NE(found, trials().end()) << "the function has no trial here";
  for (const Trial& trial : found->second) {
    const auto result_of = [&](const std::vector<std::size_t>& sizes) {
      NoReaders no_readers;
      const std::vector<PortInfo> ports = three_ports();
      const auto function = find_function(GetParam())
                                ->create(ConfigNode::parse(trial.config, "test.yaml", folder.path()),
                                         {.ports = ports, .grace_periods = no_readers});
      function->bind(ports);
      return run(*function, trial.frame, sizes);
    };
    const Result whole = result_of({});
    EXPECT_EQ(whole.reason, trial.reason) << trial.config;
    EXPECT_EQ(result_of({kContiguousBytes}), whole) << trial.config;
    EXPECT_EQ(result_of({kContiguousBytes, 1, 0, 300}), whole) << trial.config;
  }
}

std::vector<std::string> names() {
  std::vector<std::string> names;
  for (const FunctionInfo& info : functions()) names.push_back(info.name);
  return names;
}
INSTANTIATE_TEST_SUITE_P(Functions, Chains, testing::ValuesIn(names()), [](const auto& each) { return each.param; });

}  // namespace
}  // namespace penumbra
