# SPDX-License-Identifier: Apache-2.0
"""Compares random flows on Penumbra with Open vSwitch alone, frame by frame (`make test-ovs`)."""

import json
import random

import pytest
from scapy.layers.inet import ICMP, IP, TCP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import ARP, Dot1Q, Ether
from scapy.layers.sctp import SCTP
from scapy.packet import Raw

import netns
import openvswitch
from conftest import penumbra
from openvswitch import PIPELINE, World, switch

pytestmark = openvswitch.NEEDS
hosts = netns.fixture(openvswitch.BridgedHosts)

FLOWS, FRAMES = 120, 150
BURST = 25
_MACS = [f"02:00:00:00:00:{last:02x}" for last in (1, 2, 3, 17)]
_IPV4 = ["10.0.0.1", "10.0.0.9", "10.1.0.1", "192.0.2.7"]
_IPV6 = ["2001:db8::1", "2001:db8::2", "2001:db9::1"]
_PORTS = [1, 2, 80, 4097]
_VLANS = [7, 8]


class Generator:
    """Draws flows and frames from few values, so that they meet."""

    def __init__(self, seed):
        self._draw = random.Random(seed)

    def _maybe(self, probability=0.5):
        return self._draw.random() < probability

    def _ipv4_match(self):
        pick = self._draw.choice
        words = []
        for field in ("nw_src", "nw_dst"):
            if self._maybe():
                words.append(f"{field}={pick(_IPV4)}{pick(['', '/8', '/16', '/255.0.255.0'])}")
        if self._maybe(0.2):
            words.append(pick(["nw_ttl=64", "nw_ttl=2", "nw_tos=32", "nw_ecn=1", "nw_frag=no"]))
        return words

    def _ipv6_match(self):
        pick = self._draw.choice
        words = []
        for field in ("ipv6_src", "ipv6_dst"):
            if self._maybe():
                words.append(f"{field}={pick(_IPV6)}{pick(['', '/32', '/31'])}")
        if self._maybe(0.2):
            words.append("ipv6_label=5")
        return words

    def _flow(self, number):
        pick = self._draw.choice
        words = [f"cookie={number},priority={self._draw.randint(1, 9)}"]
        kind = pick(["", "ip", "udp", "tcp", "sctp", "icmp", "ipv6", "udp6", "tcp6", "sctp6", "arp"])
        if self._maybe():
            words.append(f"in_port={pick([1, 2])}")
        if self._maybe(0.3):
            words.append(f"dl_dst={pick(_MACS)}")
        if self._maybe(0.3):
            words.append(pick([*(f"dl_vlan={vlan}" for vlan in _VLANS), "dl_vlan=0xffff", "vlan_tci=0x1000/0x1000"]))
        words += [kind] if kind else []
        words += self._ipv6_match() if kind.endswith("6") else self._ipv4_match() if kind not in ("", "arp") else []
        if kind[:3] in ("udp", "tcp", "sct") and self._maybe():
            words.append(f"{pick(['tp_src', 'tp_dst'])}={pick(_PORTS)}{pick(['', '/0x1001'])}")
        if kind in ("tcp", "tcp6") and self._maybe(0.3):
            words.append("tcp_flags=+syn-ack")
        return ",".join(words) + " actions=" + self._actions(kind)

    def _actions(self, kind):
        pick = self._draw.choice
        sets = [f"mod_dl_src:{pick(_MACS)}", f"mod_dl_dst:{pick(_MACS)}", f"mod_vlan_vid:{pick(_VLANS)}", "strip_vlan"]
        if kind in ("ip", "udp", "tcp", "sctp", "icmp"):
            sets += [f"mod_nw_src:{pick(_IPV4)}", f"mod_nw_dst:{pick(_IPV4)}", "mod_nw_tos:32", "dec_ttl"]
        if kind.endswith("6"):
            sets += ["dec_ttl", f"set_field:{pick(_IPV6)}->ipv6_dst", "set_field:9->ipv6_label"]
        if kind[:3] in ("udp", "tcp", "sct"):
            sets += [f"mod_tp_src:{pick(_PORTS)}", f"mod_tp_dst:{pick(_PORTS)}"]
        if self._maybe(0.2):
            return "drop"
        chosen = self._draw.sample(sets, self._draw.randint(0, 3))
        outputs = pick([["output:1"], ["output:2"], ["output:1", "output:2"], ["in_port"], ["resubmit(,1)"]])
        chosen.insert(self._draw.randint(0, len(chosen)), outputs[0])
        return ",".join(chosen + outputs[1:])

    def flows(self):
        second = ["table=1,priority=2,udp actions=mod_dl_dst:02:00:00:00:00:77,output:2", "table=1,priority=1 actions=drop"]
        return [*(self._flow(number) for number in range(1, FLOWS + 1)), *second]

    def frame(self, number):
        """Returns the port that receives the frame, and the frame, which ends with its number."""
        pick = self._draw.choice
        frame = Ether(src=pick(_MACS), dst=pick(_MACS))
        if self._maybe(0.4):
            frame /= Dot1Q(vlan=pick(_VLANS), prio=pick([0, 3]))
        payload = Raw(b"frame" + number.to_bytes(4, "big") + bytes(20))
        if self._maybe(0.1):
            return pick([1, 2]), bytes(frame / ARP(psrc=pick(_IPV4), pdst=pick(_IPV4)) / payload)
        inner = pick(
            [
                UDP(sport=pick(_PORTS), dport=pick(_PORTS)),
                TCP(sport=pick(_PORTS), dport=pick(_PORTS), flags=pick(["S", "A", "SA"])),
                SCTP(sport=pick(_PORTS), dport=pick(_PORTS)),
                ICMP(),
            ]
        )
        if self._maybe(0.4) and not isinstance(inner, ICMP):
            network = IPv6(src=pick(_IPV6), dst=pick(_IPV6), fl=pick([0, 5]), hlim=pick([64, 2]))
        else:
            network = IP(src=pick(_IPV4), dst=pick(_IPV4), tos=pick([0, 32, 33]), ttl=pick([64, 2]))
        return pick([1, 2]), bytes(frame / network / inner / payload)


def outputs(world, frames):
    """Sends all frames, and returns what arrived at each host, sorted."""
    arrived = {1: [], 2: []}
    for begin in range(0, len(frames), BURST):
        some = frames[begin : begin + BURST]
        world.send(some)
        for port, seen in world.heard().items():
            arrived[port] += seen
    return {port: sorted(seen) for port, seen in arrived.items()}


def is_available(engine):
    shown = json.loads(penumbra("show", "engines", "-j").stdout)
    return any(row["engine"] == engine and row["available"] for row in shown)


@pytest.mark.parametrize(("engine", "seed"), [("gopt", 1), ("scalar", 2), ("auto", 3), ("cuda", 4), ("cuda-resident", 5)])
def test_random_flows_forward_as_with_open_vswitch_alone(bench, hosts, engine, seed):
    if not is_available(engine):
        pytest.skip(f"the engine {engine} is not available here")
    generator = Generator(seed)
    flows = generator.flows()
    frames = [generator.frame(number) for number in range(FRAMES)]
    with hosts.sockets() as sockets:
        with switch(hosts.router) as ovs:
            ovs.set_flows(*flows, command="add-flows")
            expected = outputs(World(ovs, sockets), frames)
        bench.configure(hosts.ports(), pipeline=PIPELINE, engine=engine)
        with bench.start(command=hosts.router.command()) as router:
            with switch(hosts.router, bench.folder / "megaflows.sock") as ovs:
                ovs.set_flows(*flows, command="add-flows")
                world = World(ovs, sockets, router)
                assert outputs(world, frames) == expected
                world.settle()
                found = world.found()
                assert outputs(world, frames) == expected
                hits = world.found() - found
            router.stop()
    assert hits > 0.9 * FRAMES, f"Penumbra has forwarded {hits} of {FRAMES} frames"
    assert len(expected[1]) + len(expected[2]) > FRAMES // 5
