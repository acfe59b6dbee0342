# SPDX-License-Identifier: Apache-2.0
"""Tests four hosts on a switch. Each host must receive the same frames as on the Linux bridge, and services of hosts
must work."""

import contextlib
import json
import struct
import subprocess

import pytest
from scapy.layers.l2 import Dot1Q, Ether

import conftest
import needs
import netns
from iperf3 import transfer
from oracle import l2

pytestmark = needs.NAMESPACES

HOSTS = ("h1", "h2", "h3", "h4")
BROADCAST = "ff:ff:ff:ff:ff:ff"
A, B, C, D, X = (f"02:00:00:00:00:0{letter}" for letter in "abcdf")
_SOL_PACKET, _PACKET_AUXDATA, _VLAN_VALID = 263, 8, 1 << 4
#: The ports are access ports of VLAN 10 and 20, a trunk without native VLAN and a trunk with one.
VLANS = {
    "h1": {"access": 10},
    "h2": {"access": 20},
    "h3": {"trunk": {"vlans": [10, 20]}},
    "h4": {"trunk": {"vlans": ["10-30"], "native": 10}},
}


class Network:
    """Builds hosts around a namespace that contains the switch."""

    def __init__(self):
        self.switch = netns.Namespace("sw")
        self.hosts = {name: netns.Namespace(name) for name in HOSTS}
        for name, host in self.hosts.items():
            netns.veth(host, "eth0", self.switch, f"veth-{name}")

    def ports(self):
        return [
            {"name": name, "device": f"net_af_packet{i},iface=veth-{name}", "sink": None} for i, name in enumerate(HOSTS)
        ]

    def address(self):
        for i, host in enumerate(self.hosts.values(), 1):
            host.ip("address", "add", f"10.0.0.{i}/24", "dev", "eth0")

    def close(self):
        for namespace in (self.switch, *self.hosts.values()):
            namespace.delete()


network = netns.fixture(Network)


class Penumbra:
    """Runs `l2` with the VLANs of `vlans`."""

    def __init__(self, bench, network, vlans):
        bench.configure(network.ports(), pipeline=f"  - l2: {json.dumps({'ports': vlans})}")
        self.router = bench.start(command=network.switch.command())

    def __enter__(self):
        self.router.__enter__()
        return self

    def __exit__(self, *failure):
        if failure[0] is None:
            self.summary = self.router.stop()
        self.router.__exit__(*failure)

    def knows(self, mac, vlan, host):
        return any((row["vlan"], row["port"]) == (vlan, host) for row in self.router.show("stations", mac)["stations"])


def bridge_unavailable(*options):
    """Returns the reason why the kernel has no such bridge, or None."""
    namespace = netns.Namespace("try")
    try:
        namespace.ip("link", "add", "br0", "type", "bridge", *options)
    except subprocess.CalledProcessError as error:
        return f"the kernel has no bridge {' '.join(options)}: {error.stderr.strip()}"
    finally:
        namespace.delete()
    return None


FILTERING = ("vlan_filtering", "1")


class LinuxBridge:
    """Runs the kernel's bridge with the same interface. The bridge has no VLANs if the kernel does not support them."""

    def __init__(self, network, vlans):
        self.switch = network.switch
        self.vlans = vlans

    def bridge(self, *words):
        return self.switch.run("bridge", *words).stdout

    def __enter__(self):
        options = ["mcast_snooping", "0", "stp_state", "0", "forward_delay", "0"]
        self.filters = bridge_unavailable(*FILTERING) is None
        options += FILTERING if self.filters else []
        self.switch.ip("link", "add", "br0", "type", "bridge", *options)
        self.switch.ip("link", "set", "br0", "up")
        for host in HOSTS:
            self.switch.ip("link", "set", f"veth-{host}", "master", "br0")
            if host in self.vlans:
                self.configure(f"veth-{host}", self.vlans[host])
        return self

    def configure(self, port, vlans):
        self.bridge("vlan", "del", "dev", port, "vid", "1")
        if "access" in vlans:
            self.bridge("vlan", "add", "dev", port, "vid", str(vlans["access"]), "pvid", "untagged")
            return
        for vlan in vlans["trunk"]["vlans"]:
            self.bridge("vlan", "add", "dev", port, "vid", str(vlan))
        if "native" in vlans["trunk"]:
            self.bridge("vlan", "add", "dev", port, "vid", str(vlans["trunk"]["native"]), "pvid", "untagged")

    def __exit__(self, *_):
        self.switch.ip("link", "delete", "br0")

    def knows(self, mac, vlan, host):
        rows = json.loads(self.bridge("-j", "fdb", "show", "br", "br0"))
        wanted = (mac, vlan if self.filters else None, f"veth-{host}")
        return any((row["mac"], row.get("vlan"), row["ifname"]) == wanted for row in rows)


def hear(raw, patience=0.3):
    """Returns the received frames until no more arrive, with the tags that the kernel stores separately from the
    frames."""
    frames = []
    raw.settimeout(patience)
    with contextlib.suppress(TimeoutError):
        while True:
            frame, ancillary, _, _ = raw.recvmsg(65536, 256)
            for level, kind, data in ancillary:
                status, _, _, _, _, tag, ethertype = struct.unpack("IIIHHHH", data[:20])
                if (level, kind) == (_SOL_PACKET, _PACKET_AUXDATA) and status & _VLAN_VALID:
                    frame = frame[:12] + struct.pack("!HH", ethertype or 0x8100, tag) + frame[12:]
            frames.append(frame)
    return frames


@contextlib.contextmanager
def ears(network):
    """Opens a socket for each host."""
    with contextlib.ExitStack() as stack:
        sockets = {name: stack.enter_context(host.socket("eth0")) for name, host in network.hosts.items()}
        for raw in sockets.values():
            raw.setsockopt(_SOL_PACKET, _PACKET_AUXDATA, 1)
        yield sockets


def speak(sockets, switch, scenes):
    """Sends the frames of the scenes: (host, frame, VLAN in which the source is known afterwards)."""
    for host, packet, vlan in scenes:
        sockets[host].send(bytes(packet))
        if vlan:
            conftest.wait_until(f"{packet.src} on {host}", lambda: switch.knows(packet.src, vlan, host))


def play(network, switch, scenes):
    """Sends the frames of the scenes and returns the frames that each host received."""
    with ears(network) as sockets:
        speak(sockets, switch, scenes)
        return {name: hear(raw) for name, raw in sockets.items()}


def scenes_of(sends):
    """Yields scenes with numbered frames."""
    for number, (host, source, destination, tags, vlan) in enumerate(sends):
        packet = Ether(src=source, dst=destination)
        for tag in tags:
            packet = packet / Dot1Q(**tag)
        packet.lastlayer().type = 0x88B5
        yield host, packet / (bytes([number]) * 60), vlan


PLAIN = [
    ("h1", A, BROADCAST, [], 1),
    ("h2", B, A, [], 1),
    ("h1", A, B, [], 1),
    ("h3", C, X, [], 1),  # X is unknown
    ("h4", D, "01:00:5e:00:00:05", [], 1),
    ("h3", C, C, [], 1),  # back where it came from
    ("h4", A, BROADCAST, [], 1),  # A has moved
    ("h2", B, A, [], 1),
    ("h1", "03:00:00:00:00:01", B, [], None),  # a group address cannot be a source
    ("h1", X, "01:80:c2:00:00:0e", [], None),  # LLDP
    ("h1", X, "01:80:c2:00:00:03", [], None),
    ("h2", B, C, [{"vlan": 0, "prio": 5}], 1),  # a priority tag
    ("h2", B, C, [{"vlan": 1, "prio": 3}], 1),
    ("h2", X, C, [{"vlan": 7}], None),  # a VLAN that the port does not have
]
TRUNKED = [
    ("h1", A, BROADCAST, [], 10),
    ("h2", B, BROADCAST, [], 20),
    ("h3", C, A, [{"vlan": 10, "prio": 6}], 10),
    ("h3", C, A, [{"vlan": 20}], 20),  # A is unknown in VLAN 20
    ("h4", D, A, [], 10),  # by the native VLAN
    ("h4", D, B, [{"vlan": 20}], 20),
    ("h4", D, BROADCAST, [{"vlan": 25}], 25),  # no other port has VLAN 25
    ("h3", C, BROADCAST, [], None),  # the port accepts no untagged frames
    ("h3", C, BROADCAST, [{"vlan": 30}], None),
    ("h1", A, C, [], 10),
    ("h2", B, C, [], 20),
    ("h1", A, D, [], 10),
    ("h4", D, C, [{"vlan": 10}], 10),
    ("h4", D, BROADCAST, [{"vlan": 20}, {"vlan": 10}], 20),  # a second tag is payload
]


CASES = pytest.mark.parametrize(("sends", "vlans"), [(PLAIN, {}), (TRUNKED, VLANS)], ids=["plain", "vlans"])


@CASES
def test_hosts_hear_what_the_oracle_says(bench, network, sends, vlans):
    scenes = list(scenes_of(sends))
    oracle = l2.Switch({name: vlans.get(name, {}) for name in HOSTS})
    wanted = {name: [] for name in HOSTS}
    for host, packet, _ in scenes:
        for name, frame in oracle.take(host, bytes(packet)).items():
            wanted[name].append(frame)
    with Penumbra(bench, network, vlans) as switch:
        heard = play(network, switch, scenes)
    assert all(wanted.values()) and sum(map(len, wanted.values())) > len(sends)
    assert heard == wanted
    assert switch.summary.replicated > 0 and ("drop", "vlan_not_allowed") in switch.summary.reasons


@CASES
def test_hosts_hear_what_they_hear_on_the_linux_bridge(bench, network, sends, vlans):
    if (reason := bridge_unavailable()) or (vlans and (reason := bridge_unavailable(*FILTERING))):
        pytest.skip(reason)
    with LinuxBridge(network, vlans) as bridge:
        scenes = list(scenes_of([send for send in sends if bridge.filters or not send[3]]))
        wanted = play(network, bridge, scenes)
    with Penumbra(bench, network, vlans) as switch:
        heard = play(network, switch, scenes)
    assert sum(map(len, wanted.values())) > len(scenes)
    assert heard == wanted


MTUS = {"h1": 1500, "h2": 1400, "h3": 1000, "h4": 1300}
SIZED = [  # payload in bytes
    ("h1", A, BROADCAST, 900),
    ("h1", A, BROADCAST, 1000),
    ("h1", A, BROADCAST, 1010),  # not to h3
    ("h1", A, BROADCAST, 1350),  # to h2 only
    ("h1", A, BROADCAST, 1450),  # to no host
    ("h2", B, X, 1320),  # to h1 only
    ("h4", D, A, 1300),
    ("h1", A, B, 1450),
]


def test_a_flooded_frame_reaches_those_that_can_carry_it(bench, network):
    for name, mtu in MTUS.items():
        network.hosts[name].ip("link", "set", "eth0", "mtu", str(mtu))
        network.switch.ip("link", "set", f"veth-{name}", "mtu", str(mtu))
    scenes = [(host, Ether(src=source, dst=to, type=0x88B5) / bytes(size), 1) for host, source, to, size in SIZED]
    oracle = l2.Switch(dict.fromkeys(HOSTS, {}), MTUS)
    wanted = {name: [] for name in HOSTS}
    for host, packet, _ in scenes:
        for name, frame in oracle.take(host, bytes(packet)).items():
            wanted[name].append(frame)
    with Penumbra(bench, network, {}) as switch:
        heard = play(network, switch, scenes)
    assert heard == wanted
    assert [len(heard[name]) for name in HOSTS] == [2, 4, 2, 3]
    assert switch.summary.reasons == {("drop", "too_long"): oracle.too_long}
    if reason := bridge_unavailable():
        pytest.skip(f"not compared with the Linux bridge: {reason}")
    with LinuxBridge(network, {}) as bridge:
        assert play(network, bridge, scenes) == heard


def ping(host, address):
    done = host.run("ping", "-c", "3", "-i", "0.05", "-W", "5", address, check=False)
    assert "3 received" in done.stdout and "DUP" not in done.stdout, done.stdout + done.stderr


@needs.tools("ping")
def test_hosts_find_each_other_and_one_that_moved(bench, network):
    network.address()
    with Penumbra(bench, network, {}) as switch:
        for host in network.hosts.values():
            for i in range(1, 5):
                ping(host, f"10.0.0.{i}")
        rows = {row["mac"]: row["port"] for row in switch.router.show("stations")["stations"]}
        assert rows == {host.mac("eth0"): name for name, host in network.hosts.items()}
        some = switch.router.show("stations", "1", "--limit", "3")
        assert (len(some["stations"]), some["total"], some["truncated"]) == (3, 4, True)

        mac = network.hosts["h2"].mac("eth0")
        network.hosts["h2"].ip("link", "set", "eth0", "down")
        network.hosts["h4"].ip("link", "set", "eth0", "address", mac)
        network.hosts["h4"].ip("address", "replace", "10.0.0.2/24", "dev", "eth0")
        ping(network.hosts["h4"], "10.0.0.1")  # makes the switch learn the station
        conftest.wait_until("the moved host", lambda: switch.knows(mac, 1, "h4"))
        ping(network.hosts["h3"], "10.0.0.2")
        learning = switch.router.show("learning")
        assert learning["moved"] + learning["flushed"] >= 1  # flushed by the link change, unless it moved before


def unplug(network, switch):
    """Learns B on h2, disconnects h2's cable, and then sends from B on h4. Returns the frames that h1, h3 and h4
    receive."""
    with ears(network) as sockets:
        speak(sockets, switch, scenes_of([("h2", B, BROADCAST, [], 1), ("h3", C, BROADCAST, [], 1)]))
        network.hosts["h2"].ip("link", "set", "eth0", "down")
        try:
            conftest.wait_until("B is forgotten", lambda: not switch.knows(B, 1, "h2"))
            sends = [("h1", A, B, [], 1), ("h1", A, C, [], 1), ("h4", B, C, [], 1), ("h1", A, B, [], 1)]
            speak(sockets, switch, scenes_of(sends))
            return {name: hear(sockets[name]) for name in ("h1", "h3", "h4")}
        finally:
            network.hosts["h2"].ip("link", "set", "eth0", "up")
            running = lambda: "state UP" in network.switch.ip("link", "show", "veth-h2")  # noqa: E731
            conftest.wait_until("the link", running)  # the kernel needs some time


def test_stations_behind_a_cable_that_is_pulled_are_forgotten(bench, network):
    """The stations must be reachable at their next port before they send a frame there."""
    with Penumbra(bench, network, {}) as switch:
        heard = unplug(network, switch)
        assert switch.router.show("learning")["flushed"] == 1
    assert [len(frames) for frames in heard.values()] == [2, 4, 4]  # h3 receives only the first frame from A to B
    if reason := bridge_unavailable():
        pytest.skip(f"not compared with the Linux bridge: {reason}")
    with LinuxBridge(network, {}) as bridge:
        assert unplug(network, bridge) == heard


@needs.tools("dnsmasq", "udhcpc")
def test_a_host_gets_its_address_by_dhcp(bench, network):
    server, client = network.hosts["h1"], network.hosts["h3"]
    server.ip("address", "add", "10.0.0.1/24", "dev", "eth0")
    folder = bench.folder
    script = folder / "lease"
    script.write_text('#!/bin/sh\n[ "$1" = bound ] && ip address add "$ip/$mask" dev "$interface"\nexit 0\n')
    script.chmod(0o755)
    with Penumbra(bench, network, {}):
        command = ["dnsmasq", "--no-daemon", "--conf-file=/dev/null", "--port=0", "--interface=eth0", "--bind-interfaces"]
        command += ["--dhcp-range=10.0.0.50,10.0.0.59", "--dhcp-authoritative", f"--dhcp-leasefile={folder}/leases"]
        command += [f"--pid-file={folder}/dnsmasq.pid", "--user=root"]
        with subprocess.Popen(server.command(*command), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as dnsmasq:
            try:
                words = ("udhcpc", "-i", "eth0", "-n", "-q", "-f", "-t", "20", "-T", "1", "-s", str(script))
                done = client.run(*words, check=False, timeout=netns.PATIENCE)
                assert done.returncode == 0, done.stdout + done.stderr
                assert "10.0.0.5" in client.ip("address", "show", "dev", "eth0")
                ping(client, "10.0.0.1")
            finally:
                dnsmasq.terminate()


@needs.tools("iperf3")
def test_iperf3_through_it(bench, network):
    network.address()
    with Penumbra(bench, network, {}):
        end = transfer(network.hosts["h1"], network.hosts["h2"], "10.0.0.2")
        assert end["sum_received"]["bytes"] > 100_000


def test_a_reload_changes_vlans(bench, network):
    """The test also checks the output of `plan`."""
    with Penumbra(bench, network, {}) as switch:
        play(network, switch, scenes_of([("h1", A, BROADCAST, [], 1), ("h2", B, A, [], 1)]))
        bench.configure(network.ports(), pipeline=f"  - l2: {json.dumps({'ports': {'h1': {'access': 7}}})}")
        changed = conftest.penumbra("reload", "--socket", switch.router.socket, "-j")
        assert changed.returncode == 0, changed.stderr
        assert json.loads(changed.stdout)["changes"] == ["l2: port h1: access VLAN 7, was access VLAN 1"]
        assert [row["mac"] for row in switch.router.show("stations")["stations"]] == [B]
        heard = play(network, switch, scenes_of([("h2", B, A, [], 1), ("h1", A, BROADCAST, [], 7)]))
        assert {name: len(frames) for name, frames in heard.items()} == {"h1": 0, "h2": 0, "h3": 1, "h4": 1}
        vlans = {row["vlan"]: row["untagged"] for row in switch.router.show("vlans")}
        assert vlans == {1: ["h2", "h3", "h4"], 7: ["h1"]}
    assert switch.summary.reasons[("drop", "no_egress")] == 1
