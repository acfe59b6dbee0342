# SPDX-License-Identifier: Apache-2.0
"""Tests a live router between two hosts with IPv6 and IPv4. The hosts must observe the same behaviour as with the
kernel's forwarding. Hosts also configure their own addresses."""

import json
import subprocess

import pytest

import conftest
import needs
import netns
from test_hosts import SMALL_MTU, driver, iperf3, network  # noqa: F401 - fixtures
from test_twin import ping

TOOLS = ("ping", "traceroute", "iperf3")
pytestmark = [needs.NAMESPACES, needs.TAPS, needs.tools(*TOOLS)]
BOTH = "  - ipv4: {follow: [kernel]}\n  - ipv6: {follow: [kernel]}"
RADVD = """interface twin-a {
  AdvSendAdvert on;
  MinRtrAdvInterval 3;
  MaxRtrAdvInterval 4;
  prefix fd00:1::/64 { };
};
"""


@pytest.fixture
def router(bench, network, driver):
    """Starts a router that follows its host's routes. The link to h2 has a small MTU, which neither host knows."""
    bench.configure(network.ports(driver, {"b": SMALL_MTU}), pipeline=BOTH)
    with bench.start(command=network.router.command()) as router:
        network.address_twins()
        router.wait_for("the routes", lambda: {"fd00:1::/64", "fd00:2::/64"} <= prefixes(router, "ipv6"))
        router.wait_for("IPv4 routes", lambda: {"10.1.0.0/24", "10.2.0.0/24"} <= prefixes(router, "ipv4"))
        yield router


def prefixes(router, family):
    return {row["prefix"] for row in router.show("routes", "all")[family]["routes"]}


def neighbours(router):
    return {row["address"]: row.get("mac") for row in router.show("neighbours")["ipv6"]}


def test_what_hosts_see_of_it(network, router):
    assert "ttl=64" in ping(network.h1, "fd00:1::1")
    assert "ttl=63" in ping(network.h1, "fd00:2::2")
    assert "ttl=63" in ping(network.h1, "10.2.0.2")
    hops = network.h1.run("traceroute", "-6", "-n", "-q", "1", "-w", "5", "fd00:2::2", timeout=netns.PATIENCE).stdout
    assert [line.split()[1] for line in hops.splitlines()[1:]] == ["fd00:1::1", "fd00:2::2"], hops

    assert iperf3(network, "fd00:2::2")["sum_received"]["bytes"] > 100_000
    # The segments of 1,500 bytes became smaller, because h1 has learned the MTU of the path.
    assert f"mtu {SMALL_MTU}" in network.h1.ip("-6", "route", "get", "fd00:2::2")
    datagrams = iperf3(network, "fd00:2::2", "-u", "-b", "5M", "-l", "1000")["sum"]
    assert datagrams["packets"] > 100 and datagrams["lost_packets"] == 0
    summary = router.stop()
    assert summary.reasons[("punt", "packet_too_big")] > 0
    assert summary.reasons[("punt", "hop_limit_exceeded")] > 0
    assert summary.reasons[("punt", "neighbour_discovery")] > 0
    assert ("punt", "ipv6") not in summary.reasons, "another function has them"
    assert summary.sent_by_port["b"] > 100


def test_a_route_by_a_link_local_gateway(network, router):
    """Routing protocols use such gateways. The gateway is known on its port only."""
    link_local = next(
        entry["local"]
        for entry in json.loads(network.h2.ip("-j", "-6", "address", "show", "dev", "eth0"))[0]["addr_info"]
        if entry["scope"] == "link"
    )
    network.h2.ip("address", "add", "fd00:77::1/128", "dev", "eth0", "nodad")
    network.router.ip("-6", "route", "add", "fd00:77::/48", "via", link_local, "dev", "twin-b")
    router.wait_for("the route", lambda: "fd00:77::/48" in prefixes(router, "ipv6"))
    ping(network.h1, "fd00:77::1")
    router.wait_for("the gateway", lambda: neighbours(router).get(link_local) == network.h2.mac("eth0"))
    assert "ttl=63" in ping(network.h1, "fd00:77::1")
    network.router.ip("-6", "route", "del", "fd00:77::/48")
    router.wait_for("no route", lambda: "fd00:77::/48" not in prefixes(router, "ipv6"))
    network.router.ip("-6", "route", "add", "unreachable", "fd00:77::/48")
    router.wait_for("the route", lambda: "fd00:77::/48" in prefixes(router, "ipv6"))
    answer = network.h1.run("ping", "-c", "1", "-W", "5", "fd00:77::1", check=False)
    assert "unreachable" in answer.stdout.lower(), answer.stdout
    summary = router.stop()
    assert summary.reasons[("punt", "unreachable_by_host")] == 1


@needs.tools("radvd")
def test_a_host_that_makes_its_own_address(network, router, tmp_path):
    """SLAAC (RFC 4862): radvd on the twin announces the prefix and the router."""
    network.h1.ip("-6", "address", "flush", "dev", "eth0", "scope", "global")
    network.h1.ip("-6", "route", "flush", "default")
    (tmp_path / "radvd.conf").write_text(RADVD)
    files = ("-C", tmp_path / "radvd.conf", "-p", tmp_path / "radvd.pid", "-m", "stderr", "-n", "-u", "root")
    daemon = subprocess.Popen(network.router.command("radvd", *map(str, files)), stderr=subprocess.PIPE, text=True)
    try:

        def has_its_own():
            assert daemon.poll() is None, daemon.stderr.read()
            said = network.h1.ip("-6", "address", "show", "dev", "eth0", "scope", "global", "-tentative")
            return "fd00:1:" in said and "default" in network.h1.ip("-6", "route", "show")

        conftest.wait_until("an address", has_its_own)
        assert "ttl=63" in ping(network.h1, "fd00:2::2")
        own = [address for address in neighbours(router) if address.startswith("fd00:1:")]
        assert len(own) == 1 and own != ["fd00:1::2"]
    finally:
        daemon.terminate()
        daemon.communicate(timeout=netns.PATIENCE)
    router.stop()
