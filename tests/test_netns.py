# SPDX-License-Identifier: Apache-2.0
"""Tests the router on DPDK's drivers between two hosts in network namespaces, with the hosts and with the oracle."""

import random
import signal
import socket
import time

import pytest
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import ARP, Ether

import conftest
import needs
import netns
from oracle import ipv4
from oracle.compare import compare, expect

pytestmark = needs.NAMESPACES

ROUTES = "10.1.0.0/24 dev a\n10.2.0.0/24 dev b\n"
SENT = "198.51.100.0/24 via 10.2.0.2 dev b\n"  # destination of packets that the tests send besides ping


def af_xdp_unavailable():
    try:
        socket.socket(44, socket.SOCK_RAW).close()
    except OSError as error:
        return f"the kernel has no AF_XDP sockets: {error.strerror}"
    return None


DEVICES = [
    "net_af_packet",
    pytest.param(
        "net_af_xdp", marks=pytest.mark.skipif(af_xdp_unavailable() is not None, reason=f"{af_xdp_unavailable()}")
    ),
]


class Network:
    """Builds the network: host h1 - a, router, b - host h2."""

    def __init__(self, queues=1, offloads=False):
        self.namespaces = [netns.Namespace(name) for name in ("h1", "r", "h2")]
        self.h1, self.router, self.h2 = self.namespaces
        netns.veth(self.h1, "eth0", self.router, "veth-a", queues, offloads)
        netns.veth(self.h2, "eth0", self.router, "veth-b", queues, offloads)
        self.macs = {
            "a": self.router.mac("veth-a"),
            "b": self.router.mac("veth-b"),
            "h1": self.h1.mac("eth0"),
            "h2": self.h2.mac("eth0"),
        }
        for host, net, port in ((self.h1, 1, "a"), (self.h2, 2, "b")):
            host.ip("address", "add", f"10.{net}.0.2/24", "dev", "eth0")
            host.ip("route", "add", "default", "via", f"10.{net}.0.1")
            host.ip("neighbour", "add", f"10.{net}.0.1", "lladdr", self.macs[port], "dev", "eth0")
        self.neighbours = f"10.1.0.2 dev a lladdr {self.macs['h1']}\n10.2.0.2 dev b lladdr {self.macs['h2']}\n"

    def close(self):
        for namespace in self.namespaces:
            namespace.delete()

    def ports(self, driver, options="", **keys):
        return [
            {"name": "a", "device": f"{driver}0,iface=veth-a{options}", "addresses": ["10.1.0.1/24"], "sink": None, **keys},
            {"name": "b", "device": f"{driver}1,iface=veth-b{options}", "addresses": ["10.2.0.1/24"], "sink": None, **keys},
        ]

    def oracle(self):
        ports = [
            ipv4.Port(name, bytes.fromhex(self.macs[name].replace(":", "")), promiscuous=False, addresses=(address,))
            for name, address in (("a", "10.1.0.1/24"), ("b", "10.2.0.1/24"))
        ]
        return ipv4.Router(ports, ROUTES + SENT, self.neighbours)


@pytest.fixture
def network(request):
    network = Network(getattr(request, "param", 1))
    yield network
    network.close()


def start(bench, network, driver, workers=1, ring=8192, **keys):
    """Starts the router with rings that hold all packets of a test, in case the workers have no core for a while."""
    options = f",framecnt={ring}" if driver == "net_af_packet" else ""
    bench.configure(network.ports(driver, options, **keys), ROUTES + SENT, network.neighbours, workers=workers)
    return bench.start(command=network.router.command())


@needs.tools("ping")
@pytest.mark.parametrize("driver", DEVICES)
def test_ping_through_the_router(bench, network, driver):
    with start(bench, network, driver) as router:
        ping = network.h1.run("ping", "-c", "20", "-i", "0.01", "-W", "2", "10.2.0.2", check=False)
        assert netns.has_answers(ping.stdout, 20), ping.stdout
        assert "ttl=63" in ping.stdout
        back = network.h2.run("ping", "-c", "5", "-i", "0.01", "-W", "2", "-s", "1400", "10.1.0.2", check=False)
        assert netns.has_answers(back.stdout, 5), back.stdout
        # The pings resemble traceroute. The test does not check answers.
        network.h1.run("ping", "-c", "3", "-i", "0.01", "-W", "1", "-t", "1", "10.2.0.2", check=False)
        network.h1.run("ping", "-c", "2", "-i", "0.01", "-W", "1", "10.1.0.1", check=False)
        network.h1.run("ping", "-c", "1", "-W", "1", "10.2.0.77", check=False)
        summary = router.stop()
    assert summary.reasons == {("punt", "ttl_expired"): 3, ("punt", "local"): 2, ("punt", "unknown_neighbour"): 1}
    assert summary.sent == 50
    assert summary.sent_by_port == {"a": 25, "b": 25}


def mixed_frames(network, count, flows):
    """Returns UDP packets of several flows, and some packets that the router does not forward."""
    generator = random.Random(5)
    ether = Ether(dst=network.macs["a"], src=network.macs["h1"])
    good = [
        ether / IP(src="10.1.0.2", dst=f"198.51.100.{i % 250}", ttl=9) / UDP(sport=1000 + i, dport=53)
        for i in range(flows)
    ]
    odd = [
        bytes(frame)
        for frame in (
            ether / IP(src="10.1.0.2", dst="198.51.100.1", ttl=1) / UDP(),
            ether / IP(src="10.1.0.2", dst="203.0.113.1") / UDP(),
            ether / IP(src="127.0.0.1", dst="198.51.100.1") / UDP(),
            ether / IP(src="10.1.0.2", dst="198.51.100.1", chksum=1) / UDP(),
            ether / IP(src="10.1.0.2", dst="10.2.0.255") / UDP(),
            Ether(dst="ff:ff:ff:ff:ff:ff", src=network.macs["h1"]) / ARP(pdst="10.1.0.1"),
            Ether(dst="02:00:00:00:0f:ff", src=network.macs["h1"]) / IP(src="10.1.0.2", dst="198.51.100.1") / UDP(),
        )
    ]
    frames = []
    for i in range(count):
        if generator.randrange(10) == 0:
            frames.append(generator.choice(odd))
        else:
            packet = generator.choice(good) / i.to_bytes(4, "big") / bytes(generator.randrange(400))
            frames.append(bytes(packet))
    return frames


@pytest.mark.parametrize("driver", DEVICES)
def test_frames_equal_the_oracle(bench, network, driver):
    frames = mixed_frames(network, 600, flows=50)
    expected = expect(network.oracle(), frames, "a")
    inward, outward = network.h1.socket("eth0"), network.h2.socket("eth0")
    with inward, outward, start(bench, network, driver) as router:
        netns.send(inward, frames)
        received = netns.receive(outward, len(expected.sent))
        summary = router.stop()
    compare(expected, {"b": received}, total_order=True)
    assert summary.reasons == dict(expected.counted)
    assert summary.sent == len(expected.sent)


def test_what_the_host_sends_out_of_the_interface_has_not_come(bench, network):
    frames = [bytes(Ether(dst=network.macs["a"]) / IP(src="10.1.0.2", dst="198.51.100.1") / UDP())] * 20
    with (
        network.router.socket("veth-a") as outward,
        network.h1.socket("eth0") as inward,
        start(bench, network, "net_af_packet") as router,
    ):
        netns.send(outward, frames)
        netns.send(inward, frames)
        router.wait_for_packets("a", len(frames))
        assert router.stop().received == len(frames)


@pytest.mark.parametrize("driver", DEVICES)
def test_what_a_ring_has_no_room_for_is_counted(bench, network, driver):
    frames = [bytes(Ether(dst=network.macs["a"]) / IP(src="10.1.0.2", dst="198.51.100.1") / UDP())] * 4000

    def counted():
        row = router.show("ports")[0]
        return row["rx_packets"] + row["missed"] == len(frames) and row

    with network.h1.socket("eth0") as inward, start(bench, network, driver, ring=512) as router:
        router.process.send_signal(signal.SIGSTOP)
        netns.send(inward, frames)
        router.process.send_signal(signal.SIGCONT)
        row = router.wait_for("every frame", counted)
        assert router.show("ports")[0]["missed"] == row["missed"] > 0
        assert router.stop().received == row["rx_packets"]


@pytest.mark.parametrize("network", [2], indirect=True)
def test_two_queues_keep_the_order_of_flows(bench, network):
    frames = [f for f in mixed_frames(network, 4000, flows=40)]
    expected = expect(network.oracle(), frames, "a")
    inward, outward = network.h1.socket("eth0"), network.h2.socket("eth0")
    with inward, outward, start(bench, network, "net_af_packet", workers=2, queues=2) as router:
        netns.send(inward, frames)
        received = netns.receive(outward, len(expected.sent))
        workers = router.show("workers")
        summary = router.stop()
    assert (summary.received, summary.sent) == (len(frames), len(expected.sent))
    compare(expected, {"b": received}, total_order=False)
    assert summary.reasons == dict(expected.counted)
    assert len(workers) == 2


@needs.TAPS
def test_tap(bench, network):
    """DPDK's TAP ports forward packets that the host sends into one of them to the other."""
    ports = [
        {
            "name": name,
            "device": f"net_tap{i},iface=tap-{name},mac=fixed",
            "addresses": [f"10.{i + 1}.0.1/24"],
            "sink": None,
            "promiscuous": True,
        }
        for i, name in enumerate(("a", "b"))
    ]
    bench.configure(ports, ROUTES + SENT, network.neighbours)
    with bench.start(command=network.router.command()) as router:
        macs = {row["name"]: row["mac"] for row in router.show("ports")}
        oracle = ipv4.Router(
            [
                ipv4.Port(p["name"], bytes.fromhex(macs[p["name"]].replace(":", "")), addresses=tuple(p["addresses"]))
                for p in ports
            ],
            ROUTES + SENT,
            network.neighbours,
        )
        frames = mixed_frames(network, 300, flows=20)
        expected = expect(oracle, frames, "a")
        with network.router.socket("tap-a") as inward, network.router.socket("tap-b") as outward:
            netns.send(inward, frames)
            received = netns.receive(outward, len(expected.sent))
        summary = router.stop()
    compare(expected, {"b": received}, total_order=True)
    assert summary.reasons == dict(expected.counted)


def test_what_ip_prints_is_a_route_file_and_a_neighbour_file(tmp_path):
    """The output has multipath routes over several lines, metrics of the host, a link that is down, IPv6 neighbours,
    and statistics."""
    host, peer = netns.Namespace("host"), netns.Namespace("peer")
    try:
        netns.veth(host, "wan", peer, "eth0")
        host.run("sysctl", "-qw", "net.ipv6.conf.wan.disable_ipv6=0")
        host.ip("address", "add", "192.0.2.2/24", "dev", "wan")
        for route in (
            "10.1.0.0/16 via 192.0.2.1 proto bird metric 32 mtu lock 1400 advmss 1300",
            "10.2.0.0/16 nexthop via 192.0.2.1 weight 2 nexthop via 192.0.2.9 dev wan",
            "10.3.0.0/16 via 203.0.113.1 dev wan onlink",
            "prohibit 10.4.0.0/16",
            "blackhole 10.5.0.0/16",
        ):
            host.ip("route", "add", *route.split())
        for address, mac in (("192.0.2.1", "02:aa:00:00:00:01"), ("2001:db8::1", "02:aa:00:00:00:02")):
            host.ip("neigh", "add", address, "lladdr", mac, "dev", "wan", "nud", "stale")
        (tmp_path / "neighbours.txt").write_text(host.ip("-statistics", "neigh"))
        up = host.ip("route")
        peer.ip("link", "set", "eth0", "down")
        deadline = time.monotonic() + 10
        while "linkdown" not in (down := host.ip("route")) and time.monotonic() < deadline:
            time.sleep(0.05)
    finally:
        host.delete()
        peer.delete()
    assert "\n\tnexthop" in up and "linkdown" in down
    (tmp_path / "router.yaml").write_text(
        "ports: [{name: wan, device: none}]\npipeline: [ipv4: {routes: routes.txt, neighbours: neighbours.txt}]\n"
    )
    for text in (up, down):
        (tmp_path / "routes.txt").write_text(text)
        done = conftest.penumbra("check", tmp_path / "router.yaml")
        assert done.returncode == 0, done.stderr + text
        addresses = "10.1.0.1\n10.2.0.1\n10.3.0.1\n10.4.0.1\n10.5.0.1\n192.0.2.7\n"
        done = conftest.penumbra("lookup", "--routes", tmp_path / "routes.txt", input=addresses)
        assert done.stdout.splitlines() == [
            "10.1.0.1 10.1.0.0/16 via 192.0.2.1 dev wan",
            "10.2.0.1 10.2.0.0/16 nexthop via 192.0.2.1 dev wan weight 2 nexthop via 192.0.2.9 dev wan weight 1",
            "10.3.0.1 10.3.0.0/16 via 203.0.113.1 dev wan",
            "10.4.0.1 unreachable",
            "10.5.0.1 unreachable",
            "192.0.2.7 192.0.2.0/24 dev wan",
        ]
