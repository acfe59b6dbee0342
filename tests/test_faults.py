# SPDX-License-Identifier: Apache-2.0
"""Tests faults while a router forwards good traffic: flapping cables, deleted twins, lost messages of the kernel, and
floods of packets that are not forwarded."""

import contextlib
import signal

import pytest
from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import ICMPv6ND_NS, IPv6
from scapy.layers.l2 import ARP, Ether

import conftest
import needs
import netns
from captures import frames_of, write_pcap
from kernel import Kernel, many_prefixes, overflows
from test_twin import network, ping  # noqa: F401 - a fixture

pytestmark = [needs.NAMESPACES, needs.TAPS]

GOOD_PACKETS = 20_000 if conftest.SANITIZED else 200_000
FLOODS = {
    "ttl_expired": IP(src="10.2.0.2", dst="10.3.0.9", ttl=1) / UDP(),
    "unknown_neighbour": IP(src="10.2.0.2", dst="10.3.0.8") / UDP(),
    "no_route": IP(src="10.2.0.2", dst="203.0.113.1") / UDP(),
    "local": IP(src="10.2.0.2", dst="10.3.0.1") / UDP(),
    "arp": ARP(psrc="10.2.0.2", pdst="10.3.0.1"),
    "ipv6": IPv6(src="2001:db8::2", dst="2001:db8::1") / UDP(),
    "ipv6_neighbour_discovery": IPv6(src="2001:db8::2", dst="ff02::1:ff00:1", hlim=255) / ICMPv6ND_NS(tgt="2001:db8::1"),
}


#: A Linux interface sends these kinds of packets by itself.
SAID_BY_ITSELF = {"arp", "ipv6_neighbour_discovery", "ipv6_link", "multicast"}


@pytest.fixture
def namespace():
    namespace = netns.Namespace("r")
    yield namespace
    namespace.delete()


@contextlib.contextmanager
def kernel_with_a_spare_interface():
    """Provides the interface `spare`, whose cable leads to another namespace."""
    kernel, other = Kernel("kernel"), netns.Namespace("other")
    netns.veth(kernel, "spare", other, "eth0")
    try:
        yield kernel
    finally:
        kernel.delete()
        other.delete()


@pytest.fixture
def kernel():
    with kernel_with_a_spare_interface() as kernel:
        yield kernel


def configure_good(bench, options):
    """Configures good traffic from port wan to port lan, with a route and a neighbour of the kernel, and a port on
    `spare`."""
    frame = Ether(dst="02:00:00:00:00:01") / IP(src="192.0.2.2", dst="10.0.0.9") / UDP() / bytes(22)
    write_pcap(bench.folder / "good.pcap", frames_of([bytes(frame)] * 1000))
    bench.configure(
        [
            {"name": "wan", "device": f"pcap:good.pcap,loop{options}", "twin": "wan0", "sink": "count"},
            {"name": "lan", "device": "none", "twin": "lan0", "sink": "count"},
            {"name": "spare", "device": "net_af_packet0,iface=spare", "twin": "spare0", "sink": None},
        ],
        pipeline="  - ipv4: {follow: [kernel]}",
    )


def let_good_traffic_pass(kernel):
    kernel.ip("neighbour", "add", "10.0.0.9", "lladdr", "02:00:00:00:00:09", "dev", "lan0")


def sent(router):
    return router.show("ports")[1]["tx_packets"]


def flap(kernel, router):
    for _ in range(50):
        kernel.ip("link", "set", "spare", "down")
        kernel.ip("link", "set", "spare", "up")


def delete_twins(kernel, router):
    def number():
        return kernel.run("cat", "/sys/class/net/spare0/ifindex", check=False).stdout

    for _ in range(5):
        before = number()
        kernel.ip("link", "delete", "spare0")
        router.wait_for("another twin", lambda before=before: number() not in ("", before))
        router.wait_for("its host path", lambda: router.show("ports")[2]["twin_up"])


def lose_messages(kernel, router):
    """Loses messages about routes that good traffic does not use."""
    routes = many_prefixes(5000 if conftest.SANITIZED else 50_000)
    for command in ("route add {} via 192.0.2.9", "route replace {} via 10.0.5.5", "route delete {}"):
        router.process.send_signal(signal.SIGSTOP)
        kernel.batch(command.format(prefix) for prefix in routes)
        router.process.send_signal(signal.SIGCONT)
        there = 0 if "delete" in command else len(routes)
        router.wait_for("the routes", lambda: there <= router.show("routes")["total"] < there + 100)
    assert conftest.SANITIZED or overflows(router) > 0, "the test is to make the socket overflow"


@pytest.mark.parametrize("fault", [flap, delete_twins, lose_messages])
def test_good_traffic_goes_on(bench, kernel, fault):
    """No good packet may be lost or take another path."""
    configure_good(bench, f",rate={10_000 if conftest.SANITIZED else 200_000}")

    def lost(router):
        """Returns the good packets that were not forwarded. The other end of the spare port sends some packets by
        itself."""
        return {row["reason"]: row["packets"] for row in router.show("drops") if row["reason"] not in SAID_BY_ITSELF}

    with bench.start(command=kernel.command()) as router:
        let_good_traffic_pass(kernel)
        router.wait_for("good traffic", lambda: sent(router) > 1000)
        before = lost(router)
        fault(kernel, router)
        router.wait_for_packets(count=router.received() + 1000)
        assert lost(router) == before
        summary = router.stop()
    assert summary.sent_by_port["lan"] + sum(before.values()) >= summary.received_by_port["wan"] > 2000


@pytest.mark.parametrize("side", ["host", "router"])
def test_fifty_flaps_of_a_link(bench, network, side):
    bench.configure(network.ports(), "", "", pipeline="  - ipv4: {follow: [kernel]}")
    namespace, link = (network.h1, "eth0") if side == "host" else (network.router, "veth-a")
    with bench.start(command=network.router.command()) as router:
        network.address_twins()
        router.wait_for("a route", lambda: router.show("routes", "10.2.0.0/24")["routes"])
        for _ in range(50):
            namespace.ip("link", "set", link, "down")
            network.h2.run("ping", "-c", "2", "-i", "0.002", "-W", "0.002", "10.1.0.2", check=False)
            namespace.ip("link", "set", link, "up")
        if side == "host":  # the route disappeared with the link
            network.h1.ip("route", "add", "default", "via", "10.1.0.1")
        router.wait_for(
            "both links", lambda: all(row["link"] == "up" and row["twin_up"] for row in router.show("ports"))
        )
        answered = lambda: "1 received" in network.h1.run("ping", "-c1", "-W1", "10.2.0.2", check=False).stdout  # noqa: E731
        router.wait_for("an answer", answered)
        ping(network.h1, "10.2.0.2")
        summary = router.stop()
    assert summary.sent > 10


def test_a_twin_leaves_for_another_namespace_and_comes_back(bench, network):
    """The routes of the twin must disappear with it. Routes that are added after its return must be followed."""
    bench.configure(network.ports(), "", "", pipeline="  - ipv4: {follow: [kernel]}")
    route = ("198.51.100.0/24", "via", "10.2.0.2", "dev", "twin-b")
    network.h2.ip("address", "add", "198.51.100.1/32", "dev", "lo")

    def ways(router):
        return [row["active"] for row in router.show("routes", route[0])["routes"]]

    with bench.start(command=network.router.command()) as router:
        network.address_twins()
        network.router.ip("route", "add", *route)
        router.wait_for("the route", lambda: ways(router) == [True])
        ping(network.h1, "198.51.100.1")
        network.router.ip("link", "set", "twin-b", "netns", network.h2.name)
        router.wait_for("its end", lambda: ways(router) == [])
        network.h2.ip("link", "set", "twin-b", "netns", network.router.name)
        network.router.ip("link", "set", "twin-b", "up")
        router.wait_for("its address", lambda: "10.2.0.1/24" in network.router.ip("address", "show", "twin-b"))

        def told_again():
            network.router.run("ip", "route", "replace", *route, check=False)  # fails until there is a carrier
            return ways(router) == [True]

        router.wait_for("the route again", told_again)
        ping(network.h1, "198.51.100.1")
        router.stop()


def configure_flood(bench, namespace, good, good_packets, reason, *, flooding=True):
    """Configures good traffic with these source options, and a flood from a source that never pauses, for one
    worker."""
    frames = {
        "good": Ether(dst="02:00:00:00:00:01") / IP(src="10.1.0.2", dst="10.3.0.9") / UDP() / bytes(22),
        "flood": Ether(src="02:00:00:00:00:99", dst="02:00:00:00:00:02") / FLOODS[reason] / bytes(22),
    }
    write_pcap(bench.folder / "good.pcap", frames_of([bytes(frames["good"])] * good_packets))
    write_pcap(bench.folder / "flood.pcap", frames_of([bytes(frames["flood"])] * 1000))
    bench.configure(
        [
            {"name": "in", "device": f"pcap:good.pcap{good}", "twin": "twin-in", "sink": None},
            {"name": "flood", "device": "pcap:flood.pcap,loop" if flooding else "none", "twin": "twin-flood", "sink": None},
            {"name": "out", "device": "none", "twin": "twin-out", "sink": "count"},
        ],
        "",
        pipeline="  - ipv4: {follow: [kernel], routes: routes.txt}",
    )
    # The twin is configured before the first packet, so that all packets have a route.
    namespace.ip("tuntap", "add", "twin-out", "mode", "tap")
    namespace.ip("link", "set", "twin-out", "address", "02:00:00:00:00:03", "up")
    namespace.ip("address", "add", "10.3.0.1/24", "dev", "twin-out")
    namespace.ip("neighbour", "add", "10.3.0.9", "lladdr", "02:00:00:00:00:09", "dev", "twin-out")


@pytest.mark.parametrize("reason", FLOODS)
def test_a_flood_of_what_is_not_forwarded(bench, namespace, reason):
    """No good packet may be lost."""
    configure_flood(bench, namespace, ",rate=200k", GOOD_PACKETS, reason)
    with bench.start(command=namespace.command()) as router:
        router.wait_for_packets("in", GOOD_PACKETS)
        summary = router.stop()
    flood = summary.received_by_port["flood"]
    assert flood > GOOD_PACKETS / 4
    assert summary.sent_by_port["out"] == GOOD_PACKETS
    # The slow path accepts everything while it has a core, but here it shares the core with other tests.
    reasons = set(summary.reasons) - {("drop", "host_full")}
    assert reasons == {("punt", reason), ("drop", f"{reason}_over_limit")}
    assert sum(summary.reasons.values()) == flood
