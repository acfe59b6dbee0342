# SPDX-License-Identifier: Apache-2.0
"""Compares the switch by flows of any fields with an oracle and with Open vSwitch, given the same flows and frames."""

import collections
import pathlib
import random
import tempfile

import pytest
from scapy.contrib.mpls import MPLS
from scapy.layers.inet import ICMP, IP, TCP, UDP
from scapy.layers.inet6 import (
    ICMPv6EchoRequest,
    ICMPv6ND_NA,
    ICMPv6ND_NS,
    ICMPv6NDOptDstLLAddr,
    ICMPv6NDOptSrcLLAddr,
    IPv6,
    IPv6ExtHdrFragment,
    IPv6ExtHdrHopByHop,
)
from scapy.layers.l2 import ARP, LLC, SNAP, Dot1AD, Dot1Q, Dot3, Ether
from scapy.layers.sctp import SCTP

import captures
import ovs
from conftest import penumbra
from oracle import flows as oracle

PORTS = 4
MACS = ("02:00:00:00:00:01", "02:00:00:00:00:02", "02:00:00:00:01:01")
ADDRESSES = ("10.0.0.1", "10.0.0.2", "10.0.1.1")
ADDRESSES6 = ("2001:db8::1", "2001:db8::2", "2001:db8:1::1", "fe80::1")
KINDS = ("", "ip", "tcp", "udp", "sctp", "icmp", "arp", "ipv6", "tcp6", "udp6", "icmp6", "mpls", "dl_type=0x88b5")


def random_match(generator):
    """Returns the words of a match, with the fields that they require."""
    words = []

    def maybe(odds, *choices):
        if generator.random() < odds:
            words.append(generator.choice(choices))

    def network(addresses, lengths):
        return f"{generator.choice(addresses)}/{generator.choice(lengths)}"

    maybe(0.3, *(f"in_port={port}" for port in range(1, PORTS + 1)))
    maybe(0.1, *(f"dl_src={mac}" for mac in MACS), "dl_src=02:00:00:00:00:00/ff:ff:ff:ff:ff:00")
    maybe(0.1, *(f"dl_dst={mac}" for mac in MACS))
    maybe(0.2, "dl_vlan=0xffff", "dl_vlan=5", "dl_vlan=5,dl_vlan_pcp=3", "vlan_tci=0x1000/0x1000", "vlan_tci=0/0xfff")
    kind = generator.choice(KINDS)
    if kind:
        words.append(kind)
    is_ipv4, is_ipv6 = kind in ("ip", "tcp", "udp", "sctp", "icmp"), kind in ("ipv6", "tcp6", "udp6", "icmp6")
    if is_ipv4:
        maybe(0.3, f"nw_src={network(ADDRESSES, (8, 24, 32))}")
        maybe(0.3, f"nw_dst={network(ADDRESSES, (8, 31, 32))}", "nw_dst=10.0.0.1/255.0.255.255")
    if is_ipv6:
        maybe(0.3, f"ipv6_src={network(ADDRESSES6, (10, 32, 48, 64, 127, 128))}")
        maybe(0.3, f"ipv6_dst={network(ADDRESSES6, (32, 48, 127, 128))}", "ipv6_dst=::1/::ffff")
        maybe(0.1, "ipv6_label=0", "ipv6_label=0x00005", "ipv6_label=0x00001/0x00001")
    if is_ipv4 or is_ipv6:
        maybe(0.2, "nw_ttl=64", "nw_ttl=1")
        maybe(0.2, "nw_tos=0", "nw_tos=184")
        maybe(0.2, "nw_ecn=0", "nw_ecn=2")
        maybe(0.3, *(f"nw_frag={word}" for word in oracle.FRAGMENTS))
    if kind in ("ip", "ipv6"):
        maybe(0.2, "nw_proto=47", "nw_proto=44", "nw_proto=6")
    if "nw_frag=later" in words:
        return words
    if kind in ("tcp", "udp", "sctp", "tcp6", "udp6"):
        maybe(0.3, "tp_src=1024", "tp_src=1024/0xfffe")
        maybe(0.3, "tp_dst=53", "tp_dst=80", "tp_dst=0")
    if kind in ("tcp", "tcp6"):
        maybe(0.4, "tcp_flags=+syn-ack", "tcp_flags=-syn", "tcp_flags=0x12", "tcp_flags=+ack", "tcp_flags=+fin+ack")
    if kind == "icmp":
        maybe(0.4, "icmp_type=8", "icmp_type=0,icmp_code=0")
    if kind == "icmp6":
        solicitation, advertisement = "icmpv6_type=135,icmpv6_code=0", "icmpv6_type=136,icmpv6_code=0"
        choices = ["icmpv6_type=128", solicitation, f"{solicitation},nd_target=fe80::1"]
        choices += [f"{solicitation},nd_sll={MACS[0]}", f"{advertisement},nd_tll={MACS[1]}", f"{advertisement},nd_target=fe80::/64"]
        maybe(0.7, *choices)
    if kind == "arp":
        maybe(0.3, "arp_op=1", "arp_op=2")
        maybe(0.3, f"arp_spa={network(ADDRESSES, (24, 32))}", f"arp_tpa={network(ADDRESSES, (24, 32))}")
        maybe(0.3, f"arp_sha={MACS[0]}", f"arp_tha={MACS[1]}")
    if kind == "mpls":
        maybe(0.7, "mpls_label=16", "mpls_tc=3", "mpls_bos=1", "mpls_bos=0", "mpls_ttl=64")
    return words


def random_flows(generator, count):
    """Returns flows with different priorities. A flow with more fields has a higher priority, so that many decide."""
    lines = []
    for number in range(count):
        words = random_match(generator)
        priority = 1 + number + 1000 * len(words) + 1000 * sum(word.count("=") for word in words)
        ports = generator.sample(range(1, PORTS + 1), generator.randint(1, 2))
        actions = generator.choice(["drop", "in_port", *[",".join(f"output:{port}" for port in ports)] * 8])
        lines.append(",".join([f"priority={priority}", *words]) + f" actions={actions}")
    generator.shuffle(lines)
    return "\n".join(lines) + "\n"


def transport(generator):
    ports = {"sport": generator.choice((0, 1024, 1025)), "dport": generator.choice((53, 80))}
    body = bytes(generator.randint(0, 20))
    return generator.choice(
        (
            TCP(**ports, flags=generator.choice(("S", "SA", "A", "FA", "R", "PAUEC"))) / body,
            UDP(**ports) / body,
            SCTP(**ports) / body,
        )
    )


def ipv4(generator):
    part = generator.choice(({}, {}, {}, {"flags": "DF"}, {"flags": "MF"}, {"flags": "MF", "frag": 3}, {"frag": 7}))
    ends = {"src": generator.choice(ADDRESSES), "dst": generator.choice(ADDRESSES)}
    options = {"options": b"\x01\x01\x01\x01"} if generator.random() < 0.1 else {}
    body = generator.choice((transport(generator), transport(generator), ICMP(type=generator.choice((0, 8))) / b"ping"))
    if "frag" in part:
        body = generator.randbytes(40)
        part["proto"] = generator.choice((6, 17, 47))
    return IP(ttl=generator.choice((1, 64)), tos=generator.choice((0, 184, 186)), **ends, **part, **options) / body


def icmpv6(generator):
    target = {"tgt": generator.choice(ADDRESSES6)}
    mac = generator.choice(MACS)
    return generator.choice(
        (
            ICMPv6EchoRequest(data=b"ping"),
            ICMPv6ND_NS(**target),
            ICMPv6ND_NS(**target) / ICMPv6NDOptSrcLLAddr(lladdr=mac),
            ICMPv6ND_NA(**target) / ICMPv6NDOptDstLLAddr(lladdr=mac),
        )
    )


def ipv6(generator):
    ends = {"src": generator.choice(ADDRESSES6), "dst": generator.choice(ADDRESSES6)}
    header = IPv6(tc=generator.choice((0, 184, 186)), fl=generator.choice((0, 5)), hlim=generator.choice((1, 64, 255)), **ends)
    kind = generator.random()
    if kind < 0.1:
        return header / IPv6ExtHdrHopByHop() / transport(generator)
    if kind < 0.2:
        return header / IPv6ExtHdrFragment(m=1) / transport(generator)
    if kind < 0.3:
        return header / IPv6ExtHdrFragment(offset=5, nh=17) / generator.randbytes(24)
    return header / (icmpv6(generator) if kind < 0.6 else transport(generator))


def random_frame(generator):
    ends = {"src": generator.choice(MACS), "dst": generator.choice(MACS)}
    kind = generator.random()
    if kind < 0.03:
        return bytes(Dot3(**ends) / LLC(dsap=0xAA, ssap=0xAA, ctrl=3) / SNAP(OUI=0, code=0x0800) / ipv4(generator))
    if kind < 0.06:
        return bytes(Ether(**ends, type=0x88B5) / bytes(46))
    packet = Ether(**ends)
    tags = generator.random()
    if tags < 0.4:
        packet = packet / Dot1Q(vlan=generator.choice((0, 5, 7)), prio=generator.choice((0, 3)))
    elif tags < 0.45:
        packet = packet / Dot1AD(vlan=5) / Dot1Q(vlan=7)
    if kind < 0.15:
        operation = {"op": generator.choice((1, 2)), "hwsrc": generator.choice(MACS), "hwdst": generator.choice(MACS)}
        frame = bytes(packet / ARP(psrc=generator.choice(ADDRESSES), pdst=generator.choice(ADDRESSES), **operation))
    elif kind < 0.22:
        label = {"label": generator.choice((16, 17)), "cos": generator.choice((0, 3)), "ttl": generator.choice((1, 64))}
        frame = bytes(packet / MPLS(s=1, **label) / ipv4(generator))
    else:
        frame = bytes(packet / (ipv4(generator) if kind < 0.55 else ipv6(generator)))
    return frame + bytes(generator.randint(1, 20)) if generator.random() < 0.2 else frame


def random_frames(generator, count):
    return {port: [random_frame(generator) for _ in range(count)] for port in range(1, PORTS + 1)}


def switched(bench, flows, frames, options="", engine=None):
    """Returns the outgoing frames by port. `frames` are the incoming frames by port."""
    (bench.folder / "flows").write_text(flows)
    ports = []
    for port, some in frames.items():
        captures.write_pcap(bench.folder / f"p{port}.pcap", captures.frames_of(some))
        ports.append({"name": f"p{port}", "device": f"pcap:p{port}.pcap"})
    bench.configure(ports, pipeline=f"  - gswitch: {{flows: flows{options}}}", engine=engine)
    summary = bench.run()
    outputs = bench.outputs()
    return {port: collections.Counter(outputs[f"p{port}"]) for port in frames}, summary


def expect_same(found, wanted):
    for port in wanted:
        ours, theirs = found[port], wanted[port]
        assert {f.hex() for f in ours - theirs} == set() and {f.hex() for f in theirs - ours} == set(), f"port {port}"


def by_oracle(flows, frames):
    switch = oracle.Switch(flows, frames)
    wanted = {port: collections.Counter() for port in frames}
    for in_port, some in frames.items():
        for frame in some:
            for port in switch.take(frame, in_port):
                wanted[port][frame] += 1
    return wanted


@pytest.mark.parametrize("engine", ["scalar", "gopt"])
@pytest.mark.parametrize("options", ["", ", shader: tuple", ", cache: 0", ", cache: 8, fields: all"])
def test_the_oracle_does_the_same(bench, engine, options):
    generator = random.Random(f"{engine}{options}")
    flows, frames = random_flows(generator, 250), random_frames(generator, 400)
    found, summary = switched(bench, flows, frames, options, engine)
    expect_same(found, by_oracle(flows, frames))
    assert summary.sent > 500


NARROW = {"priority", "in_port", "dl_src", "dl_dst", "dl_type", "dl_vlan", "dl_vlan_pcp", "nw_src", "nw_dst", "nw_tos", "nw_proto"}
NARROW |= {"tp_src", "tp_dst", "icmp_type", "icmp_code", "arp_op", "arp_spa", "arp_tpa", "ip", "tcp", "udp", "sctp", "icmp"}
NARROW |= {"arp", "ipv6", "mpls"}


def has_fields_of_openflow_10_only(line):
    names = {word.partition("=")[0] for word in line.partition(" actions=")[0].split(",")}
    return names <= NARROW and not ("ipv6" in names and any(name.startswith("nw_") for name in names))


def test_a_table_of_openflow_10_decides_alike_with_all_fields(bench):
    """The fields of a table follow from its flows. So a flow with another field must not change what others decide."""
    generator = random.Random(5)
    lines = [line for line in random_flows(generator, 600).splitlines() if has_fields_of_openflow_10_only(line)]
    assert len(lines) > 100
    flows, frames = "\n".join(lines) + "\n", random_frames(generator, 300)
    narrow, _ = switched(bench, flows, frames, ", fields: openflow10")
    wide, _ = switched(bench, flows, frames, ", fields: all")
    expect_same(wide, narrow)
    expect_same(narrow, by_oracle(flows, frames))


@pytest.mark.skipif(ovs.unavailable() is not None, reason=f"{ovs.unavailable()}")
@pytest.mark.parametrize("seed", range(4))
def test_open_vswitch_does_the_same(bench, seed):
    generator = random.Random(seed)
    flows, frames = random_flows(generator, 150), random_frames(generator, 250)
    with tempfile.TemporaryDirectory(prefix="ovs") as folder, ovs.bridge(pathlib.Path(folder), PORTS) as bridge:
        bridge.set_flows(flows)
        wanted = {port: collections.Counter(some) for port, some in bridge.forward(frames).items()}
    found, summary = switched(bench, flows, frames)
    expect_same(found, wanted)
    assert summary.sent > 300


def test_live_flows_have_the_fields_of_the_table(bench, run):
    (bench.folder / "flows").write_text("priority=1 actions=output:2\n")
    ports = [{"name": f"p{port}", "device": "synth:rate=1000", "sink": "count"} for port in range(1, 3)]
    flow = "tcp6,ipv6_src=2001:db8::/32,tcp_flags=+syn-ack,nw_ttl=64 actions=output:1"
    bench.configure(ports, pipeline="  - gswitch: {flows: flows}")
    with bench.start() as router:
        assert "`fields: all`" in penumbra("flow", "add", flow, "--socket", router.socket).stderr
        router.stop()
    bench.configure(ports, pipeline="  - gswitch: {flows: flows, fields: all}")
    with bench.start() as router:
        [(_, added, *_)] = run.do("flow", "add", flow)
        assert added == 1
        rows = router.show("gswitch", "all")["gswitch"]
        assert rows[0]["flow"] == "priority=32768,tcp6,ipv6_src=2001:db8::/32,nw_ttl=64,tcp_flags=+syn-ack actions=output:1"
        frame = Ether(src=MACS[0], dst=MACS[1]) / IPv6(src="2001:db8::1", dst="2001:db8::2", hlim=64) / TCP(flags="S")
        explained = penumbra("explain", "--port", "p2", "--hex", bytes(frame).hex(), "--socket", router.socket)
        assert f"flow: {rows[0]['flow']}" in explained.stdout, explained.stderr
        assert run.try_to("save").returncode == 0
        assert rows[0]["flow"] in (bench.folder / "flows").read_text()
        [(_, _, removed, *_)] = run.do("flow", "bundle", "-f", "-", input="delete tcp6\n")
        assert removed == 1
        router.stop()
