# SPDX-License-Identifier: Apache-2.0
"""Tests the host's stack as slow path: the packets that it answers through the twins, and packets that it must not
answer twice."""

import re
import subprocess
import time

import pytest
from scapy.layers.inet import ICMP, IP, UDP
from scapy.layers.l2 import Ether

import conftest
import needs
import netns
from test_netns import DEVICES

pytestmark = [needs.NAMESPACES, needs.TAPS, needs.tools("ping")]

ROUTES = "10.1.0.0/24 dev a\n10.2.0.0/24 dev b\n"


class Network:
    """Builds the network: host h1 - a, router, b - host h2. No station knows any MAC address."""

    def __init__(self, offloads=False):
        self.namespaces = [netns.Namespace(name) for name in ("h1", "r", "h2")]
        self.h1, self.router, self.h2 = self.namespaces
        netns.veth(self.h1, "eth0", self.router, "veth-a", offloads=offloads)
        netns.veth(self.h2, "eth0", self.router, "veth-b", offloads=offloads)
        for host, net in ((self.h1, 1), (self.h2, 2)):
            host.run("sysctl", "-qw", "net.ipv6.conf.eth0.disable_ipv6=0")
            host.ip("address", "add", f"10.{net}.0.2/24", "dev", "eth0")
            host.ip("address", "add", f"fd00:{net}::2/64", "dev", "eth0", "nodad")
            host.ip("route", "add", "default", "via", f"10.{net}.0.1")
            host.ip("-6", "route", "add", "default", "via", f"fd00:{net}::1")
        self.router.run("sysctl", "-qw", "net.ipv6.conf.default.disable_ipv6=0", "net.ipv6.conf.all.disable_ipv6=0")
        self.router.run("sysctl", "-qw", "net.ipv4.ip_forward=1", "net.ipv6.conf.all.forwarding=1")
        self.router.run("sysctl", "-qw", "net.ipv4.icmp_ratelimit=0")

    def ports(self, driver="net_af_packet", mtus=None):
        return [
            {
                "name": name,
                "device": f"{driver}{i},iface=veth-{name}",
                "addresses": [f"10.{i + 1}.0.1/24"],
                "twin": f"twin-{name}",
                "sink": None,
                "mtu": (mtus or {}).get(name, 1500),
            }
            for i, name in enumerate(("a", "b"))
        ]

    def address_twins(self):
        """Adds IPv6 addresses. The IPv4 addresses of the twins come from the configuration."""
        for name, net in (("a", 1), ("b", 2)):
            self.router.ip("address", "add", f"fd00:{net}::1/64", "dev", f"twin-{name}", "nodad")
        conftest.wait_until("carriers", lambda: self.router.ip("-brief", "link", "show", "type", "tun").count("LOWER_UP") == 2)

    def close(self):
        for namespace in self.namespaces:
            namespace.delete()


network = netns.fixture(Network)


@pytest.fixture
def start(bench, network):
    """Starts the router, whose twins have their addresses afterwards."""

    def go(driver="net_af_packet", punts=None, mtus=None):
        bench.configure(network.ports(driver, mtus), ROUTES, "")
        if punts:
            with bench.config.open("a") as config:
                config.write(f"punts: {punts}\n")
        router = bench.start(command=network.router.command())
        router.__enter__()
        network.address_twins()
        return router

    return go


def ping(host, *arguments):
    """Asserts that all pings are answered exactly once."""
    done = host.run("ping", "-c", "5", "-i", "0.05", "-W", "5", *arguments, check=False)
    assert "5 received" in done.stdout and "DUP" not in done.stdout, done.stdout + done.stderr + netns.what_the_kernels_know()
    return done.stdout


@pytest.mark.parametrize("driver", DEVICES)
def test_the_host_answers_for_the_router(network, start, driver):
    with start(driver) as router:
        assert "ttl=64" in ping(network.h1, "10.1.0.1")  # its own address, found by ARP
        assert "ttl=63" in ping(network.h1, "10.2.0.2")  # through the host, which resolves the neighbour
        ping(network.h1, "10.2.0.1")  # the address on its other side
        assert "ttl=64" in ping(network.h2, "fd00:2::1")
        assert "ttl=63" in ping(network.h2, "fd00:1::2")
        expired = network.h1.run("ping", "-c", "2", "-i", "0.05", "-W", "5", "-t", "1", "10.2.0.2", check=False).stdout
        assert len(re.findall(r"From 10\.1\.0\.1 .*Time to live exceeded", expired)) == 2, expired
        nowhere = network.h1.run("ping", "-c", "1", "-W", "5", "203.0.113.1", check=False).stdout
        rows = {row["name"]: row for row in router.show("ports")}
        summary = router.stop()
    assert "100% packet loss" in nowhere
    assert {row["twin"] for row in rows.values()} == {"twin-a", "twin-b"} and all(row["twin_up"] for row in rows.values())
    until_then = sum(row["from_host_packets"] for row in rows.values())
    assert summary.from_host >= until_then > 30  # neighbour discovery may send more packets before the stop
    kinds = {reason for kind, reason in summary.reasons if kind == "punt"}
    assert kinds >= {"arp", "ipv6", "ipv6_neighbour_discovery", "local", "unknown_neighbour", "ttl_expired"}
    assert summary.reasons[("punt", "ttl_expired")] == 2
    assert summary.reasons[("drop", "no_route")] == 1
    assert "twin-" not in network.router.ip("-brief", "link", "show")  # the twins ended with the router


def test_the_host_says_that_there_is_no_way(bench, network):
    """The host has the same routes, so it must answer packets without a route."""
    bench.configure(network.ports(), pipeline="  - ipv4: {follow: [kernel]}")
    with bench.start(command=network.router.command()) as router:
        network.address_twins()
        network.router.ip("route", "add", "unreachable", "198.51.100.0/25")
        network.router.ip("route", "add", "prohibit", "198.51.100.128/25")
        network.router.ip("route", "add", "blackhole", "192.0.2.0/24")
        router.wait_for("the routes", lambda: router.show("routes", "192.0.2.0/24")["routes"])

        def answer(address):
            said = network.h1.run("ping", "-c", "1", "-W", "5", address, check=False).stdout
            return re.findall(r"From 10\.1\.0\.1 \S+ (.*)", said)

        assert answer("203.0.113.1") == ["Destination Net Unreachable"]
        assert answer("198.51.100.1") == ["Destination Host Unreachable"]
        assert answer("198.51.100.129") == ["Packet filtered"]
        network.h1.run("ping", "-c", "1", "-W", "0.1", "192.0.2.1", check=False)
        summary = router.stop()
    assert (summary.reasons[("punt", "no_route")], summary.reasons[("punt", "unreachable_by_host")]) == (1, 2)
    assert summary.reasons[("drop", "blackhole")] == 1


def test_a_carrier_goes_and_with_it_next_hops(bench, network):
    """The kernel does not report next-hop objects that it removes with their routes. In some settings it does not
    report routes with another next hop either."""
    bench.configure(network.ports(), pipeline="  - ipv4: {follow: [kernel]}")
    by_object, by_metric = "198.51.100.0/24", "203.0.113.0/24"
    with bench.start(command=network.router.command()) as router:

        def ways(prefix):
            rows = [row for row in router.show("routes", prefix)["routes"] if row["active"]]
            return [hop["dev"] for row in rows for hop in row["next_hops"]]

        network.address_twins()
        network.router.run("sysctl", "-qw", "net.ipv4.conf.twin-a.ignore_routes_with_linkdown=1")
        network.router.ip("nexthop", "add", "id", "5", "via", "10.1.0.2", "dev", "twin-a")
        network.router.ip("route", "add", by_object, "nhid", "5")
        for metric, way in (("10", ("10.1.0.2", "dev", "twin-a")), ("20", ("10.2.0.2", "dev", "twin-b"))):
            network.router.ip("route", "add", by_metric, "via", *way, "metric", metric)
        router.wait_for("the routes", lambda: ways(by_object) == ways(by_metric) == ["a"])
        network.h1.ip("link", "set", "eth0", "down")
        router.wait_for("their end", lambda: (ways(by_object), ways(by_metric)) == ([], ["b"]))
        assert network.router.ip("route", "show", by_object) == ""
        network.h1.ip("link", "set", "eth0", "up")
        router.wait_for("the way by metric", lambda: ways(by_metric) == ["a"])
        assert ways(by_object) == []
        router.stop()


def test_too_long_for_the_way(network, start):
    """The host must report the error with the maximum packet size."""
    with start(mtus={"b": 1400}) as router:
        assert "mtu 1400" in network.router.ip("link", "show", "twin-b")
        ping(network.h1, "10.2.0.2")
        done = network.h1.run("ping", "-c", "1", "-W", "5", "-M", "do", "-s", "1450", "10.2.0.2", check=False)
        summary = router.stop()
    assert "mtu = 1400" in done.stdout, done.stdout
    assert summary.from_host > 0


def test_a_twin_with_a_larger_mtu_than_its_port(network, start):
    """Longer packets that the host sends to the port are dropped and counted. Other packets are sent."""
    with start() as router:
        ping(network.h2, "10.2.0.1")
        network.router.ip("link", "set", "twin-b", "mtu", "9000")
        for size in ("6000", "1473"):  # 1500 minus the headers, and one more
            lost = network.router.run("ping", "-c", "3", "-i", "0.05", "-W", "1", "-M", "do", "-s", size, "10.2.0.2", check=False)
            assert "0 received" in lost.stdout, lost.stdout
        ping(network.router, "-M", "do", "-s", "1472", "10.2.0.2")
        summary = router.stop()
    assert summary.reasons[("drop", "host_too_long")] == 6


@pytest.mark.parametrize("driver", DEVICES)
def test_an_interface_with_a_smaller_mtu_than_its_port(bench, network, driver):
    """The port and its twin must use the MTU of the interface, so that the host reports the maximum packet size."""
    for namespace, link in ((network.router, "veth-b"), (network.h2, "eth0")):
        namespace.ip("link", "set", link, "mtu", "1400")
    bench.configure(network.ports(driver), pipeline="  - ipv4: {follow: [kernel]}")
    with bench.start(command=network.router.command()) as router:
        network.address_twins()
        router.wait_for("a route", lambda: router.show("routes", "10.2.0.0/24")["routes"])
        assert {row["name"]: row["mtu"] for row in router.show("ports")} == {"a": 1500, "b": 1400}
        assert "mtu 1400" in network.router.ip("link", "show", "twin-b")
        ping(network.h1, "10.2.0.2")
        told = network.h1.run("ping", "-c", "1", "-W", "5", "-M", "do", "-s", "1400", "10.2.0.2", check=False).stdout
        router.stop()
    assert "Frag needed and DF set (mtu = 1400)" in told, told


def test_what_another_table_has_no_route_for_is_not_the_hosts(bench, network):
    """The host might have another route, but the router follows a different table."""
    bench.configure(network.ports(), pipeline="  - ipv4: {follow: [kernel], table: '100'}")
    network.router.ip("route", "add", "10.1.0.0/24", "dev", "lo", "table", "100")
    with bench.start(command=network.router.command()) as router:
        network.address_twins()
        ping(network.h1, "10.1.0.1")
        network.h1.run("ping", "-c", "1", "-W", "0.1", "203.0.113.1", check=False)
        router.wait_for("the drop", lambda: any(row["reason"] == "no_route" for row in router.show("drops")))
        summary = router.stop()
    assert summary.reasons[("drop", "no_route")] == 1


def test_the_hosts_stack_keeps_off_the_wire(network, start):
    """The kernel gets a copy of every packet that a packet socket receives. The kernel must answer on the twin and not
    on the interface."""
    settings = [f"net.{family}.conf.veth-a.{key}" for family, key in (("ipv4", "rp_filter"), ("ipv6", "disable_ipv6"))]
    before = network.router.run("sysctl", "-n", *settings).stdout
    with network.h1.socket("eth0") as wire, start() as router:
        assert network.router.run("sysctl", "-n", *settings).stdout.split() == ["1", "1"]
        ping(network.h1, "10.1.0.1")
        frames = [Ether(frame) for frame in netns.receive(wire, 1000, patience=1)]
        router.stop()
    replies = [f for f in frames if ICMP in f and f[ICMP].type == 0]
    assert len(replies) == len({bytes(f) for f in replies}) == 5
    assert network.router.run("sysctl", "-n", *settings).stdout == before


def test_the_interface_claims_its_address_while_the_router_starts(bench, network):
    """The interface has the MAC address of its twin, and so would have the same link-local address. Announcements of
    the interface must not reach the twin.

    The script announces the address every few milliseconds, so that the packet socket opens during announcements."""
    claims = """sysctl -qw net.ipv6.conf.veth-a.router_solicitation_delay=0
    address=$(ip -br -6 address show dev veth-a scope link | grep -o 'fe80[^ ]*')
    while ip address delete $address dev veth-a && ip address add $address dev veth-a; do sleep 0.005; done"""
    conftest.wait_until("the address", lambda: "fe80" in network.router.ip("-6", "address", "show", "dev", "veth-a"))
    with network.router.socket("veth-a") as wire:
        claiming = subprocess.Popen(network.router.command("bash", "-c", claims), stderr=subprocess.DEVNULL)
        assert len(netns.receive(wire, 5, patience=netns.PATIENCE)) == 5
    try:
        bench.configure(network.ports(), ROUTES, "")
        with bench.start(command=network.router.command()) as router:
            network.address_twins()
            claiming.wait(timeout=netns.PATIENCE)  # the router has disabled IPv6 on the interface

            def told():
                return network.router.ip("-6", "address", "show", "dev", "twin-a", "scope", "link")

            conftest.wait_until("its own address", lambda: "dadfailed" in told() or ("fe80" in told() and " tentative" not in told()))
            assert "dadfailed" not in told()
            router.stop()
    finally:
        claiming.kill()
        claiming.wait()


def test_a_flood_of_one_reason_leaves_room_for_the_others(network, start):
    with start(punts="{each: 1000, ipv4.ttl_expired: 20}") as router:
        ping(network.h1, "10.2.0.2")
        flood = bytes(Ether(dst=network.router.mac("twin-a")) / IP(src="10.1.0.2", dst="10.2.0.2", ttl=1) / UDP())
        with network.h1.socket("eth0") as wire:
            began = time.monotonic()
            netns.send(wire, [flood] * 3000)
            ping(network.h1, "10.1.0.1")
            lasted = time.monotonic() - began
        summary = router.stop()
    punted = summary.reasons[("punt", "ttl_expired")]
    assert 20 <= punted <= 64 + 20 * lasted  # a bucket of 64 packets, and 20 packets per second
    assert punted + summary.reasons[("drop", "ttl_expired_over_limit")] == 3000


def test_a_twin_that_was_deleted_comes_again(network, start):
    with start() as router:
        ping(network.h1, "10.1.0.1")
        network.router.ip("link", "delete", "twin-a")
        flood = bytes(Ether(dst=network.router.mac("twin-b")) / IP(src="10.1.0.2", dst="10.2.0.2", ttl=1) / UDP())
        with network.h1.socket("eth0") as wire:
            netns.send(wire, [flood] * 50)
        router.wait_for("the twin", lambda: network.router.run("ip", "link", "show", "twin-a", check=False).returncode == 0)
        router.wait_for("the port", lambda: all(row["twin_up"] for row in router.show("ports")))
        router.wait_for("its address", lambda: "10.1.0.1/24" in network.router.ip("address", "show", "twin-a"))
        ping(network.h1, "10.1.0.1")
        summary = router.stop()
    assert summary.received > 50


def addresses_of(network, twin):
    """Returns the addresses without link-local ones, sorted."""
    shown = network.router.ip("-brief", "address", "show", "dev", twin).split()[2:]
    return sorted(address for address in shown if not address.startswith("fe80"))


@pytest.mark.parametrize("driver", DEVICES)
def test_one_file_is_a_router(bench, network, driver):
    """No command configures the twins. The twins must have the configuration's addresses, and the first pings must be
    answered."""
    ports = network.ports(driver)
    for i, port in enumerate(ports):
        port["addresses"].append(f"fd00:{i + 1}::1/64")
    bench.configure(ports, pipeline="  - ipv4: {follow: [kernel]}")
    with bench.start(command=network.router.command()) as router:
        assert addresses_of(network, "twin-a") == ["10.1.0.1/24", "fd00:1::1/64"]
        assert addresses_of(network, "twin-b") == ["10.2.0.1/24", "fd00:2::1/64"]
        router.wait_for("carriers", lambda: network.router.ip("-brief", "link", "show", "type", "tun").count("LOWER_UP") == 2)
        assert "ttl=64" in ping(network.h1, "10.1.0.1")
        assert "ttl=63" in ping(network.h1, "10.2.0.2")

        def is_settled(address):
            return " tentative" not in network.router.ip("-6", "address", "show", "to", address)

        router.wait_for("the end of duplicate address detection", lambda: is_settled("fd00:1::1") and is_settled("fd00:2::1"))
        assert "ttl=63" in ping(network.h2, "fd00:1::2")
        router.stop()


def test_a_twin_keeps_its_addresses(bench, network):
    """Addresses that the kernel or a user removes must be restored. Addresses that a user adds must stay."""
    ports = network.ports()[:1]
    ports[0]["addresses"].append("fd00:1::1/64")
    both = ["10.1.0.1/24", "fd00:1::1/64"]
    bench.configure(ports, "10.1.0.0/24 dev a\n", "")
    with bench.start(command=network.router.command()) as router:
        assert addresses_of(network, "twin-a") == both
        network.router.ip("address", "add", "203.0.113.1/24", "dev", "twin-a")
        network.router.ip("link", "set", "twin-a", "down")  # removes its IPv6 addresses
        network.router.ip("link", "set", "twin-a", "up")
        network.router.ip("address", "delete", "10.1.0.1/24", "dev", "twin-a")
        router.wait_for("all addresses", lambda: addresses_of(network, "twin-a") == sorted([*both, "203.0.113.1/24"]))
        network.router.ip("link", "delete", "twin-a")
        router.wait_for("the twin's own", lambda: network.router.run("ip", "link", "show", "twin-a", check=False).returncode == 0 and addresses_of(network, "twin-a") == both)
        router.stop()


def test_a_persistent_twin_loses_the_addresses_that_the_configuration_dropped(bench, network):
    """Between two runs, only addresses of the configuration may be removed."""
    network.router.ip("tuntap", "add", "twin-a", "mode", "tap")
    network.router.ip("address", "add", "203.0.113.1/24", "dev", "twin-a")
    ports = network.ports()[:1]
    for kept in (["10.1.0.1/24", "10.1.1.1/24"], ["10.1.1.1/24"]):
        ports[0]["addresses"] = kept
        bench.configure(ports, "10.1.0.0/16 dev a\n", "")
        with bench.start(command=network.router.command()) as router:
            assert addresses_of(network, "twin-a") == sorted([*kept, "203.0.113.1/24"])
            router.stop()


def test_a_cable_that_is_pulled(network, start):
    """The twin's carrier must follow the port's, so that routing daemons detect it."""

    def carrier():
        return "NO-CARRIER" not in network.router.ip("link", "show", "twin-a")

    with start() as router:
        for _ in range(3):
            network.h1.ip("link", "set", "eth0", "down")
            router.wait_for("no carrier", lambda: not carrier())
            network.h1.ip("link", "set", "eth0", "up")
            router.wait_for("a carrier", carrier)
        assert [row["link"] for row in router.show("ports")] == ["up", "up"]
        router.stop()


def test_a_persistent_twin_stays(bench, network):
    """`ip tuntap add` creates the twin, so that its addresses must outlive the router."""
    network.router.ip("tuntap", "add", "twin-a", "mode", "tap")
    network.router.ip("address", "add", "10.1.0.1/24", "dev", "twin-a")
    bench.configure(network.ports()[:1], "10.1.0.0/24 dev a\n", "")
    for _ in range(2):
        with bench.start(command=network.router.command()) as router:
            # The kernel needs time for a carrier, and loses waiting packets meanwhile.
            router.wait_for("the twin", lambda: "state UP" in network.router.ip("link", "show", "twin-a"))
            ping(network.h1, "10.1.0.1")
            router.stop()
    assert "10.1.0.1/24" in network.router.ip("address", "show", "twin-a")


@pytest.mark.parametrize(
    ("prepare", "message"),
    [
        (("link", "add", "twin-a", "type", "bridge"), "is there an interface of this name that is no TAP?"),
        (("link", "set", "veth-b", "name", "twin-a"), "is there an interface of this name that is no TAP?"),
    ],
)
def test_a_name_that_is_taken(bench, network, prepare, message):
    network.router.ip(*prepare)
    bench.configure(network.ports()[:1], "10.1.0.0/24 dev a\n", "")
    done = network.router.run(str(conftest.PROGRAM), "run", str(bench.config), check=False)
    assert done.returncode == 3, done.stderr
    assert "router.yaml:2:" in done.stderr and "port 'a': its twin" in done.stderr and message in done.stderr
