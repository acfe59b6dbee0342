# SPDX-License-Identifier: Apache-2.0
"""Compares switches by flow tables with Open vSwitch, given the same flows and frames, and tests them with hosts."""

import collections
import contextlib
import json
import pathlib
import random
import socket
import tempfile

import pytest
from scapy.layers.inet import ICMP, IP, TCP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import ARP, LLC, SNAP, Dot1AD, Dot1Q, Dot3, Ether

import captures
import conftest
import needs
import netns
import ovs
from conftest import penumbra
from test_switch import BROADCAST, A, B, C, ears, hear, network  # noqa: F401 - a fixture
from test_twin import ping

PORTS = 4
MACS = (A, B, C, BROADCAST)
ADDRESSES = ("10.0.0.1", "10.0.0.2", "10.0.1.1", "192.0.2.1")
PROTOCOLS = {"tcp": 6, "udp": 17, "icmp": 1}
in_namespaces = needs.NAMESPACES


def random_match(generator):
    """Returns a match on any of the twelve fields, with the fields that they require."""
    words = []

    def maybe(odds, *choices):
        if generator.random() < odds:
            words.append(generator.choice(choices))

    def networks():
        address, length = generator.choice(ADDRESSES), generator.choice((8, 24, 31, 32))
        return f"{address}/{length}"

    maybe(0.4, *(f"in_port={port}" for port in range(1, PORTS + 1)))
    maybe(0.2, *(f"dl_src={mac}" for mac in MACS))
    maybe(0.2, "dl_dst=01:00:00:00:00:00/01:00:00:00:00:00", *(f"dl_dst={mac}" for mac in MACS))
    maybe(0.3, "dl_vlan=0xffff", "dl_vlan=5", "dl_vlan=9", "dl_vlan=5,dl_vlan_pcp=3", "dl_vlan=0", "vlan_tci=0x1000/0x1000")
    kind = generator.choice(("", "ip", "tcp", "udp", "icmp", "arp", "ipv6", "dl_type=0x88b5", "dl_type=0x05ff"))
    if kind:
        words.append(kind)
    if kind in ("ip", "arp", *PROTOCOLS):
        maybe(0.4, f"nw_src={networks()}")
        maybe(0.4, f"nw_dst={networks()}")
    if kind in ("ip", *PROTOCOLS):
        maybe(0.2, "nw_tos=0", "nw_tos=184")
    if kind == "ip":
        maybe(0.2, "nw_proto=47", "nw_proto=132")
    if kind == "arp":
        maybe(0.3, "arp_op=1", "arp_op=2")
    if kind in ("tcp", "udp"):
        maybe(0.3, "tp_src=0", "tp_src=1024", "tp_src=1024/0xfffe")
        maybe(0.3, "tp_dst=53", "tp_dst=80", "tp_dst=0")
    if kind == "icmp":
        maybe(0.4, "icmp_type=8", "icmp_type=0,icmp_code=0")
    return words, kind


def random_sets(generator, kind):
    choices = ["mod_vlan_vid:7", "mod_vlan_vid:5", "mod_vlan_pcp:6", "strip_vlan"]
    choices += [f"mod_dl_src:{A}", f"mod_dl_dst:{B}"]
    choices += ["mod_nw_src:198.51.100.7", "mod_nw_dst:203.0.113.9"]
    if kind in ("ip", *PROTOCOLS):
        choices += ["mod_nw_tos:40"]
    if kind in ("tcp", "udp"):
        choices += ["mod_tp_src:4000", "mod_tp_dst:8080"]
    return generator.sample(choices, generator.randint(1, 4))


def random_actions(generator, kind):
    alone = generator.random()
    if alone < 0.1:
        return "drop"
    if alone < 0.25:
        sets = random_sets(generator, kind) if generator.random() < 0.5 else []
        return ",".join([*sets, generator.choice(("in_port", "local", "controller"))])
    if alone < 0.4:
        return ",".join([*random_sets(generator, kind), generator.choice(("flood", "all"))])
    ports = generator.sample(range(1, PORTS + 1), generator.randint(1, PORTS))
    middle = generator.randint(0, len(ports))
    words = random_sets(generator, kind) if generator.random() < 0.5 else []
    words += [f"output:{port}" for port in ports[:middle]]
    words += random_sets(generator, kind) if generator.random() < 0.7 else []
    words += [f"output:{port}" for port in ports[middle:]]
    return ",".join(words) or "drop"


def random_flows(generator, count):
    """Returns flows with different priorities. A flow with more fields has a higher priority, so that many flows
    decide."""
    lines = []
    for number in range(count):
        words, kind = random_match(generator)
        priority = 1 + number + 1000 * len(words) + 3000 * sum("/" in word or "=" in word for word in words)
        lines.append(",".join([f"priority={priority}", *words]) + f" actions={random_actions(generator, kind)}")
    generator.shuffle(lines)
    return "\n".join(lines) + "\n"


def random_frame(generator):
    def transport():
        ports = {"sport": generator.choice((0, 1024, 1025)), "dport": generator.choice((53, 80))}
        kind = generator.random()
        if kind < 0.3:
            return TCP(**ports) / bytes(generator.randint(0, 30))
        if kind < 0.6:
            checksum = {"chksum": 0} if generator.random() < 0.3 else {}
            return UDP(**ports, **checksum) / bytes(generator.randint(0, 30))
        if kind < 0.8:
            return ICMP(type=generator.choice((0, 8)), code=0) / b"ping"
        return generator.randbytes(generator.randint(0, 30))

    def ip():
        options = {"options": b"\x01\x01\x01\x01"} if generator.random() < 0.2 else {}
        part = generator.choice(({}, {}, {}, {"flags": "DF"}, {"flags": "MF"}, {"flags": "MF", "frag": 3}, {"frag": 7}))
        # Open vSwitch 3.1 changes the payload of a later fragment when it changes addresses, if the payload has room
        # for a TCP or UDP header. The fragments are too short for that.
        body = generator.randbytes(7) if "frag" in part else transport()
        protocol = {"proto": generator.choice((47, 132, 17, 6, 1))} if isinstance(body, bytes) else {}
        ends = {"src": generator.choice(ADDRESSES), "dst": generator.choice(ADDRESSES)}
        return IP(tos=generator.choice((0, 184, 186)), **ends, **part, **options, **protocol) / body

    def payload():
        kind = generator.random()
        if kind < 0.7:
            return ip()
        if kind < 0.85:
            return ARP(op=generator.choice((1, 2)), psrc=generator.choice(ADDRESSES), pdst=generator.choice(ADDRESSES))
        return IPv6(src="2001:db8::1", dst="2001:db8::2") / transport()

    ends = {"src": generator.choice(MACS[:3]), "dst": generator.choice(MACS)}
    kind = generator.random()
    if kind < 0.05:
        return bytes(Dot3(**ends) / LLC(dsap=0xAA, ssap=0xAA, ctrl=3) / SNAP(OUI=0, code=0x0800) / ip())
    if kind < 0.08:
        return bytes(Dot3(**ends) / LLC(dsap=0x42, ssap=0x42, ctrl=3) / bytes(40))
    if kind < 0.1:
        return bytes(Ether(**ends, type=0x88B5) / bytes(46))
    packet = Ether(**ends)
    if kind < 0.5:
        packet = packet / Dot1Q(vlan=generator.choice((0, 5, 7)), prio=generator.choice((0, 3)))
    elif kind < 0.55:
        # No flow sets this VLAN. Open vSwitch does not change a tag that is stripped and set again to the same value,
        # even if its type differs.
        packet = packet / Dot1AD(vlan=9) / Dot1Q(vlan=7)
    elif kind < 0.6:
        packet = packet / Dot1Q(vlan=5) / Dot1Q(vlan=7)
    frame = bytes(packet / payload())
    cut = generator.random()
    if cut < 0.1:
        return frame[: generator.randint(18, len(frame))]
    return frame + bytes(generator.randint(1, 20)) if cut < 0.3 else frame


def switched(bench, flows, frames):
    """Returns the outgoing frames by port. `frames` are the incoming frames by port."""
    (bench.folder / "flows").write_text(flows)
    ports = []
    for port, some in frames.items():
        captures.write_pcap(bench.folder / f"p{port}.pcap", captures.frames_of(some))
        ports.append({"name": f"p{port}", "device": f"pcap:p{port}.pcap"})
    bench.configure(ports, pipeline="  - gswitch: {flows: flows}")
    summary = bench.run()
    outputs = bench.outputs()
    return {port: outputs[f"p{port}"] for port in frames}, summary


@pytest.mark.skipif(ovs.unavailable() is not None, reason=f"{ovs.unavailable()}")
@pytest.mark.parametrize("seed", range(6))
def test_open_vswitch_does_the_same(bench, seed):
    generator = random.Random(seed)
    flows = random_flows(generator, 100)
    frames = {port: [random_frame(generator) for _ in range(250)] for port in range(1, PORTS + 1)}
    with tempfile.TemporaryDirectory(prefix="ovs") as folder, ovs.bridge(pathlib.Path(folder), PORTS) as bridge:
        bridge.set_flows(flows)
        wanted = bridge.forward(frames)
    found, summary = switched(bench, flows, frames)
    for port in frames:
        ours, theirs = collections.Counter(found[port]), collections.Counter(wanted[port])
        assert {f.hex() for f in ours - theirs} == set() and {f.hex() for f in theirs - ours} == set(), f"port {port}"
    assert summary.sent > 500
    assert len(summary.reasons) >= 3


def random_bundle(generator, flows, lines):
    """Returns lines for `ovs-ofctl --bundle add-flows`. Many of them concern flows of the list. Lines that may concern
    several flows come first, because Open vSwitch 3.1 may overlook flows that the bundle itself has added."""
    several, single = [], []
    for number in range(lines):
        words, kind = random_match(generator)
        if generator.random() < 0.5:
            words = generator.sample(words, min(len(words), 1)) if kind == "" else [kind]
        priority = f"priority={40_000 + number}"
        if generator.random() < 0.5:
            priority, *words = generator.choice(flows).partition(" ")[0].split(",")
        match = ",".join(words)
        actions = generator.choice(["drop", "output:1", f"mod_dl_src:{A},output:2", f"output:3,mod_dl_dst:{B},output:2"])
        verb = generator.choice(["", "add ", "modify ", "modify_strict ", "delete ", "delete_strict "])
        strict = "" if verb in ("modify ", "delete ") else priority
        actions = "" if verb.startswith("delete") else f" actions={actions}"
        line = verb + ",".join(word for word in (strict, match) if word) + actions
        (single if strict else several).append(line)
    return "\n".join(several + single) + "\n"


@pytest.mark.skipif(ovs.unavailable() is not None, reason=f"{ovs.unavailable()}")
@pytest.mark.parametrize("seed", range(4))
def test_bundles_change_the_table_as_with_open_vswitch(bench, run, seed):
    generator = random.Random(seed)
    flows = [line.partition(" actions=")[0] + " actions=output:4" for line in random_flows(generator, 80).splitlines()]
    (bench.folder / "flows").write_text("\n".join([*flows, ovs.MARKER_FLOW]) + "\n")
    ports = [{"name": f"p{port}", "device": "synth:rate=1", "sink": "count"} for port in range(1, PORTS + 1)]
    bench.configure(ports, pipeline="  - gswitch: {flows: flows}")
    with tempfile.TemporaryDirectory(prefix="ovs") as folder, ovs.bridge(pathlib.Path(folder), PORTS) as bridge:
        bridge.carry_out("\n".join([*flows, ovs.MARKER_FLOW]) + "\n")
        with bench.start() as router:
            changed = collections.Counter()
            for _ in range(6):
                bundle = random_bundle(generator, flows, 16)
                bridge.carry_out(bundle)
                [(_, *counts)] = run.do("flow", "bundle", "-f", "-", input=bundle)
                changed.update(dict(zip(("added", "removed", "changed"), counts, strict=True)))
                # A bundle that replaces the table by that of Open vSwitch has nothing to do.
                assert run.do("flow", "bundle", "-f", "-", input="delete\n" + bridge.flows()) == [("gswitch", 0, 0, 0)], bundle
            router.stop()
    assert min(changed.values()) > 5, changed


class Switch:
    """Runs a switch whose ports 1 to 4 are those of the hosts, in order."""

    def __init__(self, bench, hosts, flows):
        self.bench = bench
        self.write(flows)
        bench.configure(hosts.ports(), pipeline="  - gswitch: {flows: flows}")
        self.command = hosts.switch.command()

    def write(self, flows):
        (self.bench.folder / "flows").write_text(flows)

    def start(self):
        return self.bench.start(command=self.command)


def packets_by_line(router):
    return {row["line"]: row["packets"] for row in router.show("gswitch", "all")["gswitch"]}


@in_namespaces
@needs.tools("ping")
def test_a_table_makes_hosts_reach_each_other(bench, network):  # noqa: F811
    """The table must decide which hosts reach each other, also after a reload."""
    flows = "arp actions=flood\n" + "".join(f"ip,nw_dst=10.0.0.{i} actions=output:{i}\n" for i in (1, 2, 3, 4))
    network.address()
    switch = Switch(bench, network, flows)
    h1 = network.hosts["h1"]
    with switch.start() as router:
        for i in (2, 3, 4):
            ping(h1, f"10.0.0.{i}")
        before = packets_by_line(router)
        assert before[1] >= 2 and all(before[line] >= 1 for line in (2, 3, 4, 5))

        switch.write(flows + "priority=40000,icmp,nw_dst=10.0.0.3 actions=drop\n")
        done = penumbra("reload", "--socket", router.socket)
        assert done.returncode == 0 and "flows added: 1" in done.stdout, done.stderr
        lost = h1.run("ping", "-c", "2", "-i", "0.05", "-W", "1", "10.0.0.3", check=False).stdout
        assert "100% packet loss" in lost
        ping(h1, "10.0.0.4")
        after = packets_by_line(router)
        assert after[6] == 2 and after[4] == before[4] and after[5] > before[5]

        switch.write(flows + "ip actions=normal\n")
        done = penumbra("reload", "--socket", router.socket)
        assert done.returncode == 3 and "flows:6: 'normal' cannot be done" in done.stderr
        summary = router.stop()
    assert summary.reasons[("drop", "dropped_by_flow")] == 2


@in_namespaces
@needs.tools("ping")
def test_addresses_and_ports_are_translated_both_ways(bench, network):  # noqa: F811
    """h1 connects to 10.0.0.100 port 80, which is port 8080 of h2. The hosts' stacks check the checksums."""
    network.address()
    h1, h2 = network.hosts["h1"], network.hosts["h2"]
    there, back = "mod_nw_dst:10.0.0.2", "mod_nw_src:10.0.0.100"
    flows = (
        "arp actions=flood\n"
        f"in_port=1,icmp,nw_dst=10.0.0.100 actions={there},mod_dl_dst:{h2.mac('eth0')},output:2\n"
        f"in_port=2,icmp,nw_src=10.0.0.2 actions={back},output:1\n"
        f"in_port=1,tcp,nw_dst=10.0.0.100,tp_dst=80 actions={there},mod_tp_dst:8080,mod_dl_dst:{h2.mac('eth0')},output:2\n"
        f"in_port=2,tcp,nw_src=10.0.0.2,tp_src=8080 actions={back},mod_tp_src:80,output:1\n"
    )
    h1.ip("neighbour", "add", "10.0.0.100", "lladdr", "02:00:00:00:01:00", "dev", "eth0")
    with Switch(bench, network, flows).start() as router:
        ping(h1, "10.0.0.100")
        with contextlib.ExitStack() as stack:
            with h2.inside():
                server = stack.enter_context(socket.create_server(("10.0.0.2", 8080)))
            with h1.inside():
                client = stack.enter_context(socket.create_connection(("10.0.0.100", 80), netns.PATIENCE))
            peer, _ = server.accept()
            stack.enter_context(peer)
            sent = random.Random(1).randbytes(30_000)
            client.sendall(sent)
            client.shutdown(socket.SHUT_WR)
            received = b"".join(iter(lambda: peer.recv(65536), b""))
            assert received == sent
            peer.sendall(b"thanks")
            assert client.recv(100) == b"thanks"
        counts = packets_by_line(router)
        assert all(counts[line] > 0 for line in (2, 3, 4, 5))
        router.stop()


@in_namespaces
def test_tags_are_pushed_and_popped(bench, network):  # noqa: F811
    flows = (
        "in_port=1 actions=output:2,mod_vlan_vid:7,mod_vlan_pcp:3,output:3,output:4\n"
        "in_port=3,dl_vlan=7 actions=strip_vlan,output:1\n"
        "in_port=3,dl_vlan=8 actions=output:4,mod_vlan_vid:9,output:1\n"
    )
    plain = Ether(src=A, dst=B, type=0x88B5) / bytes(60)

    def tagged(vlan, priority=0):
        return bytes(Ether(src=A, dst=B) / Dot1Q(vlan=vlan, prio=priority, type=0x88B5) / bytes(60))

    with Switch(bench, network, flows).start() as router, ears(network) as sockets:
        sockets["h1"].send(bytes(plain))
        assert {name: hear(raw) for name, raw in sockets.items()} == {
            "h1": [],
            "h2": [bytes(plain)],
            "h3": [tagged(7, 3)],
            "h4": [tagged(7, 3)],
        }
        for vlan in (7, 8, 9):
            sockets["h3"].send(tagged(vlan))
        heard = {name: hear(raw) for name, raw in sockets.items()}
        assert heard == {"h1": [bytes(plain), tagged(9)], "h2": [], "h3": [], "h4": [tagged(8)]}
        summary = router.stop()
    assert summary.reasons[("drop", "miss")] == 1


def test_a_reload_under_load_loses_nothing(bench):
    """A reload changes a thousand of three thousand flows and the fields that they set. Every packet must leave by a
    flow of either table."""

    def some(first, count):
        """Returns flows that each match a few packets and set a unique address."""
        return "".join(
            f"priority={priority},udp,nw_dst={priority % 256}.0.0.0/255.0.{priority >> 8}.0"
            f" actions=mod_nw_src:192.0.{priority >> 8}.{priority & 255},output:2\n"
            for priority in range(first, first + count)
        )

    tables = [
        some(1, 2000) + some(3001, 1000) + "priority=0 actions=output:2\n",
        some(4001, 1000) + some(1, 2000) + "priority=0,in_port=1 actions=mod_vlan_vid:7,output:2\n",
    ]
    (bench.folder / "flows").write_text(tables[0])
    ports = [
        {"name": "wan", "device": "synth:dst=uniform,seed=3", "sink": "count"},
        {"name": "lan", "device": "none", "sink": "count"},
    ]
    bench.configure(ports, pipeline="  - gswitch: {flows: flows}")
    with bench.start() as router:
        router.wait_for_packets()
        for i in range(4 if conftest.SANITIZED else 12):
            (bench.folder / "flows").write_text(tables[(i + 1) % 2])
            done = penumbra("reload", "--socket", router.socket)
            assert done.returncode == 0, done.stderr
            assert "flows added: 1001" in done.stdout and "flows removed: 1001" in done.stdout
            router.wait_for_packets(count=router.received() + 1000)
        summary = router.stop()
    assert summary.received > 10_000
    assert {reason for reason in summary.reasons if reason[0] == "drop"} == set()
    assert summary.sent_by_port["lan"] == summary.sent


@pytest.mark.parametrize("engine", ["auto,max_delay=50", "scalar"])
def test_it_is_configured_with_an_engine(bench, engine):
    """The engine knows its limits for the delay and size of a batch."""
    (bench.folder / "flows").write_text("actions=output:2\n")
    ports = [{"name": name, "device": "none", "sink": "count"} for name in ("a", "b")]
    bench.configure(ports, pipeline=f"  - gswitch: {json.dumps({'flows': 'flows', 'miss': 'punt', 'engine': engine})}")
    done = penumbra("check", bench.config)
    assert done.returncode == 0, done.stderr


def test_a_wrong_table_is_refused_with_its_place(bench):
    (bench.folder / "flows").write_text("actions=output:2\n\narp actions=output:3\n")
    ports = [{"name": name, "device": "none", "sink": "count"} for name in ("a", "b")]
    bench.configure(ports, pipeline="  - gswitch: {flows: flows}")
    done = penumbra("check", bench.config)
    assert done.returncode == 3
    assert "flows:3: there is no port 3: the router's are 1 to 2" in done.stderr
