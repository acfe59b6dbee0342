// SPDX-License-Identifier: Apache-2.0
//
// Tests the errors of the flow syntax and their messages.
#include <gtest/gtest.h>

#include <string>

#include "control/bad_case.h"
#include "control/rules/flow_syntax.h"

namespace penumbra::control::rules {
namespace {

class FlowErrors : public ::testing::TestWithParam<BadCase> {};

TEST_P(FlowErrors, SayWhereAndWhat) {
  expect_refused(GetParam(), "flows", [] { parse_flows(GetParam().text, "flows"); });
}

INSTANTIATE_TEST_SUITE_P(
    Matches, FlowErrors,
    ::testing::Values(
        BadCase{"tcp", 1, 4, "the flow has no 'actions='"},
        BadCase{"# one\n tcp,actions", 2, 6, "'actions' has no value; write actions=VALUE"},
        BadCase{"tpc,actions=drop", 1, 1, "expected a field of flows, found 'tpc'; did you mean 'tcp'?"},
        BadCase{"nw_dts=1.2.3.4,actions=drop", 1, 1, "did you mean 'nw_dst'?"},
        BadCase{"reg0=5,actions=drop", 1, 1, "expected a field of flows, found 'reg0'"},
        BadCase{"tcp=5,actions=drop", 1, 1, "expected a field of flows, found 'tcp'"},
        BadCase{"tp_dst=80,actions=drop", 1, 1,
                "'tp_dst=80' needs 'tcp', 'udp', 'sctp' or 'icmp', or of IPv6 'tcp6' and so on, in the same flow"},
        BadCase{"ip,tp_dst=80,actions=drop", 1, 4, "'tp_dst=80' needs 'tcp', 'udp', 'sctp' or 'icmp'"},
        BadCase{"ip,nw_proto=47,tp_dst=80,actions=drop", 1, 16, "needs 'tcp', 'udp', 'sctp' or 'icmp'"},
        BadCase{"udp,tcp_dst=80,actions=drop", 1, 5, "'tcp_dst=80' needs 'tcp'"},
        BadCase{"tcp,icmp_type=8,actions=drop", 1, 5, "'icmp_type=8' needs 'icmp'"},
        BadCase{"nw_dst=1.2.3.4,actions=drop", 1, 1, "'nw_dst=1.2.3.4' needs 'ip', 'arp' or 'rarp'"},
        BadCase{"nw_proto=6,tp_src=1,actions=drop", 1, 1, "'nw_proto=6' needs 'ip', 'ipv6', 'arp' or 'rarp'"},
        BadCase{"arp,nw_tos=4,actions=drop", 1, 5, "'nw_tos=4' needs 'ip' or 'ipv6'"},
        BadCase{"ip,arp_spa=1.2.3.4,actions=drop", 1, 4, "'arp_spa=1.2.3.4' needs 'arp' or 'rarp'"},
        BadCase{"ipv6,nw_src=1.2.3.4,actions=drop", 1, 6, "needs 'ip', 'arp' or 'rarp'"},
        BadCase{"tcp6,tcp6,ip,actions=drop", 1, 11, "'ip' contradicts an earlier word"},
        BadCase{"ip,ipv6_src=::1,actions=drop", 1, 4, "'ipv6_src=::1' needs 'ipv6'"},
        BadCase{"ipv6,ipv6_src=1.2.3.4,actions=drop", 1, 15, "expected an IPv6 address (X:X::X), found '1.2.3.4'"},
        BadCase{"ipv6,ipv6_src=::/129,actions=drop", 1, 18, "expected an IPv6 address (X:X::X), found '129'"},
        BadCase{"arp,nw_ttl=1,actions=drop", 1, 5, "'nw_ttl=1' needs 'ip' or 'ipv6'"},
        BadCase{"ip,ip_frag=maybe,actions=drop", 1, 12, "expected no, yes, first, later or not_later, found 'maybe'"},
        BadCase{"tcp,nw_frag=later,tp_dst=80,actions=drop", 1, 19, "later fragments have no 'tp_dst=80'"},
        BadCase{"udp,tcp_flags=2,actions=drop", 1, 5, "'tcp_flags=2' needs 'tcp' or 'tcp6'"},
        BadCase{"tcp,tcp_flags=+syn+syn,actions=drop", 1, 15, "expected flags of TCP such as +syn-ack, or VALUE/MASK"},
        BadCase{"tcp,tcp_flags=syn+ack,actions=drop", 1, 15, "expected flags of TCP"},
        BadCase{"tcp,tcp_flags=syn|,actions=drop", 1, 15, "expected flags of TCP"},
        BadCase{"tcp,tcp_flags=+syn+,actions=drop", 1, 15, "expected flags of TCP"},
        BadCase{"tcp,tcp_flags=0x1000,actions=drop", 1, 15, "expected flags of TCP"},
        BadCase{"icmp,icmpv6_type=1,actions=drop", 1, 6, "'icmpv6_type=1' needs 'icmp6'"},
        BadCase{"icmp6,nd_target=::1,actions=drop", 1, 7,
                "needs 'icmp6,icmpv6_type=135,icmpv6_code=0', or the type 136"},
        BadCase{"icmp6,icmpv6_type=136,icmpv6_code=0,nd_sll=00:00:00:00:00:01,actions=drop", 1, 37,
                "needs 'icmp6,icmpv6_type=135,icmpv6_code=0'"},
        BadCase{"mpls_label=1,actions=drop", 1, 1, "needs 'mpls' or 'mplsm'"},
        BadCase{"ip,nw_tos=4,ip_dscp=2,actions=drop", 1, 13, "'ip_dscp=2' contradicts an earlier word"},
        BadCase{"tcp,udp,actions=drop", 1, 5, "'udp' contradicts an earlier word"},
        BadCase{"arp,ip,actions=drop", 1, 5, "'ip' contradicts an earlier word"},
        BadCase{"ip,nw_src=1.2.3.4,nw_src=1.2.3.5,actions=drop", 1, 19, "'nw_src=1.2.3.5' contradicts"},
        BadCase{"priority=1,priority=1,actions=drop", 1, 12, "'priority' is given twice"},
        BadCase{"priority=65536,actions=drop", 1, 10, "expected a priority from 0 to 65535, found '65536'"},
        BadCase{"priority=010,actions=drop", 1, 10, "expected a priority from 0 to 65535, found '010'"},
        BadCase{"priority=,actions=drop", 1, 1, "'priority' has no value"},
        BadCase{"table=1,actions=drop", 1, 1, "'table=1': there is one table, number 0"},
        BadCase{"cookie,actions=drop", 1, 1, "expected a field of flows"},
        BadCase{"dl_vlan=4096,actions=drop", 1, 9, "expected a VLAN from 0 to 4095, or 0xffff for none, found '4096'"},
        BadCase{"dl_vlan=1/1,actions=drop", 1, 9, "this field takes no mask, found '1/1'"},
        BadCase{"dl_vlan_pcp=8,actions=drop", 1, 13, "expected a priority from 0 to 7, found '8'"},
        BadCase{"dl_vlan=0xffff,dl_vlan_pcp=1,actions=drop", 1, 16,
                "a packet without a tag (dl_vlan=0xffff) has no priority"},
        BadCase{"dl_vlan=1,vlan_tci=0x1001,actions=drop", 1, 11,
                "'vlan_tci=0x1001' cannot be combined with 'dl_vlan=1'"},
        BadCase{"vlan_tci=0x1000/0x1000,dl_vlan_pcp=1,actions=drop", 1, 24,
                "cannot be combined with 'vlan_tci=0x1000/0x1000'"},
        BadCase{"vlan_vid=5,actions=drop", 1, 10, "matches nothing"},
        BadCase{"vlan_vid=0x2000,actions=drop", 1, 10, "expected a number from 0 to 8191"},
        BadCase{"dl_vlan=5,vlan_vid=0x1005,actions=drop", 1, 11, "cannot be combined with 'dl_vlan=5'"},
        BadCase{"vlan_tci=0xefff,actions=drop", 1, 10, "matches nothing"},
        BadCase{"vlan_tci=0x10000,actions=drop", 1, 10, "expected a number from 0 to 65535"},
        BadCase{"vlan_tci=1/0x10000,actions=drop", 1, 12, "expected a mask from 0 to 65535"},
        BadCase{"dl_src=0:1:2:3:4:5,actions=drop", 1, 8, "expected a MAC address (aa:bb:cc:dd:ee:ff)"},
        BadCase{"dl_src=00:01:02:03:04:05/24,actions=drop", 1, 26,
                "expected a MAC address (aa:bb:cc:dd:ee:ff), found '24'"},
        BadCase{"dl_type=ip,actions=drop", 1, 9, "expected a number from 0 to 65535, found 'ip'"},
        BadCase{"dl_type=0x800/0xff,actions=drop", 1, 9, "this field takes no mask"},
        BadCase{"in_port=eth0,actions=drop", 1, 9, "expected the number of a port, 0 to 65535, or LOCAL, found 'eth0'"},
        BadCase{"ip,nw_src=1.2.3/8,actions=drop", 1, 11, "expected an IPv4 address (A.B.C.D), found '1.2.3'"},
        BadCase{"ip,nw_src=1.2.3.0/33,actions=drop", 1, 19, "expected an IPv4 address (A.B.C.D), found '33'"},
        BadCase{"ip,nw_src=any,actions=drop", 1, 11, "expected an IPv4 address"},
        BadCase{"ip,nw_tos=5,actions=drop", 1, 11, "expected a ToS from 0 to 252, a multiple of 4, found '5'"},
        BadCase{"ip,ip_dscp=64,actions=drop", 1, 12, "expected a DSCP from 0 to 63, found '64'"},
        BadCase{"ip,nw_proto=256,actions=drop", 1, 13, "expected a number from 0 to 255, found '256'"},
        BadCase{"icmp,icmp_type=256,actions=drop", 1, 16, "expected a number from 0 to 255, found '256'"},
        BadCase{"tcp,tp_dst=1-5,actions=drop", 1, 12, "expected a number from 0 to 65535, found '1-5'"},
        BadCase{std::string("ip,\0", 4), 1, 4, "found a NUL byte; expected a text file"}));

INSTANTIATE_TEST_SUITE_P(
    Actions, FlowErrors,
    ::testing::Values(
        BadCase{"actions=drop,output:1", 1, 9, "'drop' must be alone"},
        BadCase{"ip actions=1,drop", 1, 14, "'drop' must be alone"},
        BadCase{"actions=resubmit(,1)", 1, 9, "expected an action of OpenFlow 1.0, found 'resubmit'"},
        BadCase{"actions=ouput:1", 1, 9, "did you mean 'output'?"},
        BadCase{"actions=drop priority=5", 1, 14, "expected an action of OpenFlow 1.0, found 'priority=5'"},
        BadCase{"actions=output", 1, 15, "expected a port from 0 to 65279, or one of IN_PORT"},
        BadCase{"actions=output:65280", 1, 16, "expected a port from 0 to 65279"},
        BadCase{"actions=output:none", 1, 16, "expected a port from 0 to 65279"},
        BadCase{"actions=TABLE", 1, 9, "expected a port from 0 to 65279"},
        BadCase{"actions=flood:1", 1, 15, "'flood' takes no value"},
        BadCase{"actions=strip_vlan:1", 1, 20, "'strip_vlan' takes no value, found '1'"},
        BadCase{"actions=controller:65536", 1, 20, "expected the most bytes that the controller gets, 0 to 65535"},
        BadCase{"actions=controller(reason=no_match)", 1, 20, "expected the most bytes"},
        BadCase{"actions=enqueue:ALL:3", 1, 17, "expected PORT:QUEUE"},
        BadCase{"actions=enqueue:1", 1, 17, "expected PORT:QUEUE"},
        BadCase{"actions=enqueue(1,2", 1, 16, "'(' without its ')'"},
        BadCase{"actions=mod_vlan_vid:4096", 1, 22, "expected a number from 0 to 4095, found '4096'"},
        BadCase{"actions=mod_vlan_pcp:8", 1, 22, "expected a number from 0 to 7"},
        BadCase{"actions=mod_nw_tos:3", 1, 20, "expected a ToS from 0 to 252, a multiple of 4, found '3'"},
        BadCase{"actions=mod_nw_src:1.2.3.256", 1, 20, "expected an IPv4 address (A.B.C.D), found '1.2.3.256'"},
        BadCase{"actions=mod_dl_src:1", 1, 20, "expected a MAC address"},
        BadCase{"actions=mod_tp_src", 1, 19, "expected a number from 0 to 65535, found ''"}));

class KeyErrors : public ::testing::TestWithParam<BadCase> {};

TEST_P(KeyErrors, SayWhereAndWhat) {
  const std::string file = "keys";
  expect_refused(GetParam(), file, [&file] {
    Line line(&file, 1, GetParam().text);
    parse_flow_key(line);
  });
}

INSTANTIATE_TEST_SUITE_P(
    Keys, KeyErrors,
    ::testing::Values(BadCase{" # none", 1, 8, "expected the fields of a header, found the end of the line"},
                      BadCase{"ip,nw_src=10.0.0.0/8", 1, 11, "a header has values without masks, found '10.0.0.0/8'"},
                      BadCase{"ip,nw_src=*", 1, 11, "expected an IPv4 address"},
                      BadCase{"ipv6,ipv6_src=::1", 1, 1, "the header has fields that OpenFlow 1.0 does not have"},
                      BadCase{"tp_dst=80", 1, 1, "needs 'tcp', 'udp', 'sctp' or 'icmp'"},
                      BadCase{"dl_vlan_pcp=3", 1, 1, "a header with a priority has a VLAN: 'dl_vlan' is missing"},
                      BadCase{"priority=5,ip", 1, 1, "expected a field of a header, found 'priority'"},
                      BadCase{"ip,actions=drop", 1, 4, "expected a field of a header, found 'actions'"}));

}  // namespace
}  // namespace penumbra::control::rules
