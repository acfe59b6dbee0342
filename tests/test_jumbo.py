# SPDX-License-Identifier: Apache-2.0
"""Sends jumbo frames through every function, from capture to capture, over a device of DPDK, and as chains."""

import pytest
from scapy.layers.inet import IP, UDP, fragment
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Ether
from scapy.packet import Raw, raw

from captures import frames_of, write_pcap

MTU = 9000
WAN, LAN, HOST = "02:00:00:00:00:01", "02:00:00:00:00:02", "02:00:00:00:00:99"
ROUTES = "routes: ['10.0.0.0/8 via 192.0.2.9 dev lan'], neighbours: ['192.0.2.9 dev lan lladdr 02:00:00:00:00:99']"
ROUTES6 = "routes: ['2001:db8::/32 via fe80::9 dev lan'], neighbours: ['fe80::9 dev lan lladdr 02:00:00:00:00:99']"


def ports(**more):
    return [
        {"name": "wan", "device": "pcap:in.pcap", "mtu": MTU, "mac": WAN},
        {"name": "lan", "device": "none", "mtu": MTU, "mac": LAN, **more},
    ]


def ipv4(size, destination=WAN):
    packet = Ether(src=HOST, dst=destination) / IP(src="10.0.0.1", dst="10.0.0.2", ttl=9) / UDP(sport=1, dport=53)
    return raw(packet / Raw(bytes(i % 251 for i in range(size - 28))))


def ipv6(size):
    packet = Ether(src=HOST, dst=WAN) / IPv6(src="2001:db8::1", dst="2001:db8::2", hlim=9) / UDP(sport=1, dport=53)
    return raw(packet / Raw(bytes(i % 251 for i in range(size - 48))))


#: Pipelines, the frame for a size of the IP packet, and what happens to a packet that is too long.
FUNCTIONS = {
    "ipv4": (f"  - ipv4: {{{ROUTES}}}", ipv4, ("punt", "fragmentation_needed")),
    "ipv6": (f"  - ipv6: {{{ROUTES6}}}", ipv6, ("punt", "packet_too_big")),
    "acl": (f"  - acl: {{rules: ['permit proto udp dport 53'], default: deny}}\n  - ipv4: {{{ROUTES}}}", ipv4, None),
    "flows": (f"  - flows\n  - ipv4: {{{ROUTES}}}", ipv4, None),
    "reassembly": (f"  - reassembly\n  - ipv4: {{{ROUTES}}}", ipv4, None),
    "l2": ("  - l2", lambda size: ipv4(size, HOST), ("drop", "too_long")),
    "gswitch": ("  - gswitch: {flows: ['actions=output:2']}", ipv4, ("drop", "too_long")),
    "echo": ("  - echo: {offset: 8990}", ipv4, None),
}


@pytest.mark.parametrize("function", FUNCTIONS)
def test_frames_of_the_mtu_pass(bench, function):
    pipeline, frame, too_long = FUNCTIONS[function]
    frames = [frame(size) for size in ((MTU - 1, MTU, MTU + 1) if too_long else (MTU,))]
    write_pcap(bench.folder / "in.pcap", frames_of(frames))
    bench.configure(ports(), pipeline=pipeline)
    summary = bench.run()
    sent = bench.outputs()
    payloads = [out[34:] for out in sent["wan"] + sent["lan"]]
    if function == "ipv6":
        payloads = [payload[20:] for payload in payloads]
    wanted = [each[34:] if function != "ipv6" else each[54:] for each in frames if len(each) <= MTU + 14]
    assert payloads == wanted
    assert summary.reasons == ({too_long: 1} if too_long else {})


def test_reassembled_datagrams_of_any_length_are_written(bench):
    datagram = IP(src="10.0.0.1", dst="10.0.0.2", id=1) / UDP(sport=1, dport=2) / Raw(b"x" * 65000)
    frames = [raw(Ether(src=HOST, dst=WAN) / each) for each in fragment(datagram, fragsize=8968)]
    write_pcap(bench.folder / "in.pcap", frames_of(frames))
    bench.configure(ports(), pipeline="  - reassembly: {memory: 16}\n  - echo: {offset: 26}")
    bench.run()
    assert bench.outputs()["lan"] == [raw(Ether(src=WAN, dst=HOST) / datagram)]


def test_a_device_gets_a_datagram_up_to_its_mtu(bench):
    """`ring` returns what it gets."""
    fits = IP(src="10.0.0.1", dst="10.0.0.2", id=1) / UDP(sport=1, dport=2) / Raw(b"x" * 8000)
    too_long = IP(src="10.0.0.1", dst="10.0.0.2", id=2) / UDP(sport=1, dport=2) / Raw(b"x" * 30000)
    frames = [raw(Ether(src=HOST, dst=WAN) / part) for each in (fits, too_long) for part in fragment(each, fragsize=1400)]
    write_pcap(bench.folder / "in.pcap", frames_of(frames))
    ring = {"name": "ring", "device": "net_ring0", "sink": None, "mtu": MTU}
    flows = "flows: ['in_port=1 actions=output:3', 'in_port=3 actions=output:2']"
    bench.configure([*ports(), ring], pipeline=f"  - reassembly: {{memory: 16}}\n  - gswitch: {{{flows}}}")
    with bench.start() as router:
        router.wait_for("the datagram", lambda: {p["name"]: p["tx_packets"] for p in router.show("ports")}["lan"] == 1)
        summary = router.stop()
    assert bench.outputs()["lan"] == [raw(Ether(src=HOST, dst=WAN) / fits)]
    assert summary.reasons == {("drop", "too_long"): 1}


def test_a_packet_that_returns_by_a_ring_is_parsed_again(bench):
    """The driver net_ring passes buffers on with their metadata."""
    write_pcap(bench.folder / "in.pcap", frames_of([ipv4(MTU)]))
    ring = {"name": "ring", "device": "net_ring0", "sink": None, "mtu": MTU}
    flows = (
        "flows: ['in_port=1,udp,tp_dst=53 actions=mod_tp_dst:54,output:3', 'in_port=3,udp,tp_dst=54 actions=output:2']"
    )
    bench.configure([*ports(), ring], pipeline=f"  - flows\n  - gswitch: {{{flows}}}")
    with bench.start() as router:
        router.wait_for("the packet", lambda: {p["name"]: p["tx_packets"] for p in router.show("ports")}["lan"] == 1)
        assert sorted(row["destination_port"] for row in router.show("flows", "all")["flows"]) == [53, 54]
        router.stop()
