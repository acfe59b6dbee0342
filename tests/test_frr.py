# SPDX-License-Identifier: Apache-2.0
"""Tests two routers, each with an FRR whose daemons see only the twins: BGP and OSPF, IPv4 and IPv6, cut cables and
killed programs."""

import contextlib
import time

import pytest

import conftest
import frr
import needs
import netns
from stream import Stream

pytestmark = [needs.NAMESPACES, needs.TAPS, needs.FRR, needs.tools("ping")]

DAEMONS = ("zebra", "bgpd", "ospfd", "ospf6d")
#: The cables between the routers have costs for OSPF and weights for BGP. The first cable is preferred.
CABLES = {"near": (12, 10, 200), "far": (21, 20, 100)}


def configuration(me: int, peer: int) -> str:
    """Returns FRR's configuration for router `me`. OSPF announces the addresses of the loopbacks, BGP the networks of
    the hosts."""
    interfaces = [f"interface lo\n ip address 192.0.2.{me}/32\n ipv6 address 2001:db8::{me}/128"]
    interfaces += [" ip ospf area 0\n ipv6 ospf6 area 0"]
    interfaces += [f"interface host\n ip address 10.{me}.0.1/24\n ipv6 address fd00:{me}::1/64"]
    neighbours, families = [], {"ipv4": [], "ipv6": []}
    for cable, (net, cost, weight) in CABLES.items():
        interfaces += [f"interface {cable}\n ip address 10.{net}.0.{me}/24\n ipv6 address fd00:{net}::{me}/64"]
        for ospf in ("ip ospf", "ipv6 ospf6"):
            interfaces += [f" {ospf} area 0\n {ospf} network point-to-point\n {ospf} cost {cost}"]
            interfaces += [f" {ospf} hello-interval 1\n {ospf} dead-interval 20"]
        for family, address in (("ipv4", f"10.{net}.0.{peer}"), ("ipv6", f"fd00:{net}::{peer}")):
            neighbours += [f" neighbor {address} remote-as {65000 + peer}\n neighbor {address} timers 5 20"]
            neighbours += [f" neighbor {address} timers connect 1\n neighbor {address} advertisement-interval 0"]
            families[family] += [f"  neighbor {address} activate\n  neighbor {address} weight {weight}"]
    families["ipv4"] += [f"  network 10.{me}.0.0/24"]
    families["ipv6"] += [f"  network fd00:{me}::/64"]
    return "\n".join(
        [
            *interfaces,
            f"router ospf\n ospf router-id 192.0.2.{me}\n timers throttle spf 0 50 500",
            " timers throttle lsa all 0\n timers lsa min-arrival 0",
            f"router ospf6\n ospf6 router-id 192.0.2.{me}\n timers throttle spf 0 50 500",
            " timers lsa min-arrival 0",
            f"router bgp {65000 + me}\n bgp router-id 192.0.2.{me}\n no bgp ebgp-requires-policy",
            " no bgp default ipv4-unicast\n bgp graceful-restart\n bgp graceful-restart preserve-fw-state",
            *neighbours,
            *(
                line
                for family, lines in families.items()
                for line in (f" address-family {family} unicast", *lines, " exit-address-family")
            ),
            "",
        ]
    )


class Node:
    """Runs a router: Penumbra with the ports host, near and far, and an FRR that assigns addresses to their twins."""

    def __init__(self, number: int, folder, source: str) -> None:
        self.number, self.source = number, source
        self.namespace = netns.Namespace(f"r{number}")
        self.namespace.run(
            "sysctl",
            "-qw",
            *(f"net.ipv6.conf.{group}.disable_ipv6=0" for group in ("all", "default", "lo")),
            *("net.ipv6.conf.default.accept_dad=0", "net.ipv6.conf.all.accept_dad=0"),
            *("net.ipv4.ip_forward=1", "net.ipv6.conf.all.forwarding=1"),
        )
        folder.mkdir()
        self.bench = conftest.Bench(folder)
        lines, options = configuration(number, 3 - number), ["-r", "-K", "60"]
        if source == "fpm":
            lines, options = lines + "fpm address 127.0.0.1 port 2620\n", [*options, "-M", "dplane_fpm_nl"]
        self.frr = frr.Frr(self.namespace, lines, DAEMONS, {"zebra": options})

    def run(self) -> conftest.RunningRouter:
        names = ("host", *CABLES)
        ports = [
            {"name": name, "device": f"net_af_packet{i},iface={name}-wire,framecnt=8192", "twin": True, "sink": None}
            for i, name in enumerate(names)
        ]
        follow = f"{{follow: [{self.source}]}}"
        self.bench.configure(ports, pipeline=f"  - ipv4: {follow}\n  - ipv6: {follow}")
        self.router = self.bench.start(command=self.namespace.command())
        return self.router

    def routes(self, prefix: str) -> list[dict]:
        return self.router.show("routes", prefix)["ipv6" if ":" in prefix else "ipv4"]["routes"]

    def way(self, prefix: str) -> list[tuple[str, str]]:
        """Returns (gateway, port) of the active route."""
        rows = self.routes(prefix)
        return [(h.get("via", ""), h["dev"]) for row in rows if row["active"] for h in row.get("next_hops", [])]

    def state(self) -> str:
        """Describes the state of FRR, for messages about missing routes."""
        questions = ("show ip ospf neighbor", "show ipv6 ospf6 neighbor", "show bgp ipv4 summary", "show bgp ipv6 summary")
        answers = [self.frr.vtysh(question) for question in questions]
        return "\n".join([self.namespace.ip("-brief", "address", "show"), *answers])

    def ways(self) -> dict[str, str]:
        """Returns the port of the active route for each prefix of the other router."""
        other = 3 - self.number
        prefixes = (f"10.{other}.0.0/24", f"fd00:{other}::/64", f"192.0.2.{other}/32", f"2001:db8::{other}/128")
        return {prefix: "+".join(dev for _, dev in self.way(prefix)) for prefix in prefixes}


class Network:
    """Builds the network: host h1 - router 1 = two cables = router 2 - host h2. The routers follow `source`."""

    def __init__(self, folder, source: str) -> None:
        self.source = source
        self.hosts = {number: netns.Namespace(f"h{number}") for number in (1, 2)}
        self.nodes = {number: Node(number, folder / f"r{number}", source) for number in (1, 2)}
        for number, host in self.hosts.items():
            netns.veth(host, "eth0", self.nodes[number].namespace, "host-wire")
            host.run("sysctl", "-qw", "net.ipv6.conf.eth0.disable_ipv6=0")
            host.ip("address", "add", f"10.{number}.0.2/24", "dev", "eth0")
            host.ip("address", "add", f"fd00:{number}::2/64", "dev", "eth0", "nodad")
            host.ip("route", "add", "default", "via", f"10.{number}.0.1")
            host.ip("-6", "route", "add", "default", "via", f"fd00:{number}::1")
        for cable in CABLES:
            netns.veth(self.nodes[1].namespace, f"{cable}-wire", self.nodes[2].namespace, f"{cable}-wire")

    def close(self) -> None:
        for namespace in (*self.hosts.values(), *(node.namespace for node in self.nodes.values())):
            namespace.delete()

    def wait_for_ways(self, port: str) -> None:
        """Waits until all prefixes of the other router lead through this port, on both routers."""
        seen = {}

        def all_there() -> bool:
            seen.update({number: node.ways() for number, node in self.nodes.items()})
            return all(set(ways.values()) == {port} for ways in seen.values())

        try:
            conftest.wait_until(f"routes over {port}", all_there)
        except AssertionError as error:
            states = "\n".join(node.state() for node in self.nodes.values())
            raise AssertionError(f"routes over {port}: {seen}\n{states}") from error

    def stream(self) -> Stream:
        return Stream(self.hosts[1], self.hosts[2], ["eth0"], ["10.2.0.2", "fd00:2::2"])

    def ping(self) -> None:
        for words in (["10.2.0.2"], ["fd00:2::2"]):
            done = self.hosts[1].run("ping", "-c", "3", "-i", "0.05", "-W", "5", *words, check=False)
            assert "3 received" in done.stdout and "DUP" not in done.stdout, done.stdout + done.stderr


@pytest.fixture
def network(tmp_path, request):
    """Starts all programs and waits for the routes."""
    network = Network(tmp_path, request.param)
    try:
        with contextlib.ExitStack() as running:
            for node in network.nodes.values():
                running.enter_context(node.run())
            for node in network.nodes.values():
                running.enter_context(node.frr)
            network.wait_for_ways("near")
            yield network
    finally:
        network.close()


@pytest.mark.parametrize("network", ["kernel", "fpm"], indirect=True)
def test_routes_are_exchanged_and_a_cable_is_cut(network):
    wire = ("link", "set", "near-wire")
    network.ping()
    assert network.nodes[1].way("10.2.0.0/24") == [("10.12.0.2", "near")]
    rows = network.nodes[1].routes("192.0.2.2/32")
    assert [(row["source"], row["type"]) for row in rows] == [(network.source, "unicast")]
    with network.stream() as stream:
        stream.wait_for_arrivals()
        cut = time.monotonic()
        network.nodes[1].namespace.ip(*wire, "down")
        network.wait_for_ways("far")
        stream.wait_for_arrivals()
        mended = time.monotonic()
        network.nodes[1].namespace.ip(*wire, "up")
        network.wait_for_ways("near")
        stream.wait_for_arrivals()
        lost = stream.stop()
    outside = [n for n in lost if not cut - 0.1 < stream.times[n] < mended]
    assert outside == [], [(n % 2, stream.times[n] - cut, mended - cut) for n in outside]
    network.ping()


# test_fpm_frr.py kills one program with FPM.
@pytest.mark.parametrize(
    ("network", "killed"),
    [("kernel", ("penumbra",)), ("kernel", ("frr",)), ("kernel", ("penumbra", "frr")), ("fpm", ("penumbra", "frr"))],
    ids=lambda value: value if isinstance(value, str) else "+".join(value),
    indirect=["network"],
)
def test_killed_and_started_again(network, killed):
    """The restarted program must learn the missed changes. A router without its FRR continues: its kernel keeps the
    routes (zebra -r -K), and so does its neighbour (graceful restart)."""
    node, other = network.nodes.values()
    with network.stream() as stream, contextlib.ExitStack() as running:
        stream.wait_for_arrivals()
        if "penumbra" in killed:
            node.router.process.kill()
            node.router.process.communicate()
        if "frr" in killed:
            node.frr.kill()
        other.frr.vtysh("configure", "interface lo", "ip address 203.0.113.1/32")
        other.frr.vtysh("configure", "router bgp 65002", "address-family ipv4 unicast", "network 203.0.113.1/32")
        if "penumbra" in killed:
            running.enter_context(node.run())
        else:
            stream.wait_for_arrivals(each=500)
        if "frr" in killed:
            node.frr.start()
        node.frr.wait_for("what it has missed", lambda: node.way("203.0.113.1/32") == [("10.12.0.2", "near")])
        network.wait_for_ways("near")
        stream.wait_for_arrivals()
        lost = stream.stop()
        network.ping()
        for router in (node.router, other.router):
            assert router.stop().sent > 0
    assert killed != ("frr",) or lost == []
