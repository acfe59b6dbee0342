# SPDX-License-Identifier: Apache-2.0
"""Tests a live router between two hosts. The hosts must observe the same behaviour as with the kernel's forwarding."""

import pathlib
import shutil

import pytest

import needs
import netns
from iperf3 import transfer
from test_netns import DEVICES
from test_twin import Network, ping

TOOLS = ("ping", "traceroute", "iperf3")
pytestmark = [needs.NAMESPACES, needs.TAPS, needs.tools(*TOOLS)]
SMALL_MTU = 1400


@pytest.fixture(params=DEVICES)
def driver(request):
    return request.param


network = netns.fixture(Network, offloads=True)


@pytest.fixture
def router(bench, network, driver):
    """Starts a router that follows its host's routes. The link to h2 has a small MTU, which neither host knows."""
    bench.configure(network.ports(driver, {"b": SMALL_MTU}), pipeline="  - ipv4: {follow: [kernel]}")
    with bench.start(command=network.router.command()) as router:
        network.address_twins()
        router.wait_for("the routes", lambda: {"10.1.0.0/24", "10.2.0.0/24"} <= prefixes(router))
        yield router


def prefixes(router):
    return {row["prefix"] for row in router.show("routes", "all")["routes"]}


@pytest.fixture
def names(network):
    """Defines the names of the router and of h2 for h1. The namespace's own file replaces the machine's."""
    if not pathlib.Path("/etc/hosts").exists():
        pytest.skip("needs /etc/hosts")
    folder = pathlib.Path("/etc/netns") / network.h1.name
    folder.mkdir(parents=True)
    (folder / "hosts").write_text("10.1.0.1 router\n10.2.0.2 h2\n")
    yield
    shutil.rmtree(folder)


def iperf3(network, h2, *arguments):
    """Returns the server's report of a transfer from h1 to the address `h2`."""
    return transfer(network.h1, network.h2, h2, *arguments)


def test_what_hosts_see_of_it(network, router, names):
    assert "ttl=64" in ping(network.h1, "router")
    assert "ttl=63" in ping(network.h1, "h2")
    hops = network.h1.run("traceroute", "-q", "1", "-w", "5", "h2", timeout=netns.PATIENCE).stdout.splitlines()
    assert [line.split()[1:3] for line in hops[1:]] == [["router", "(10.1.0.1)"], ["h2", "(10.2.0.2)"]], hops

    assert iperf3(network, "10.2.0.2")["sum_received"]["bytes"] > 100_000
    # The segments of 1,500 bytes became smaller, because h1 has learned the MTU of the path.
    assert f"mtu {SMALL_MTU}" in network.h1.ip("route", "get", "10.2.0.2")
    datagrams = iperf3(network, "10.2.0.2", "-u", "-b", "5M", "-l", "1000")["sum"]
    assert datagrams["packets"] > 100 and datagrams["lost_packets"] == 0
    summary = router.stop()
    assert summary.reasons[("punt", "fragmentation_needed")] > 0


def test_a_neighbour_that_goes_and_comes_with_another_mac(network, router):
    def neighbour():
        rows = [row for row in router.show("neighbours") if row["address"] == "10.2.0.2"]
        return rows[0].get("mac") if rows else None

    ping(network.h1, "10.2.0.2")
    first = router.wait_for("the neighbour", neighbour)
    assert first == network.h2.mac("eth0")
    network.router.ip("neighbour", "flush", "dev", "twin-b")  # as if it had expired
    router.wait_for("no neighbour", lambda: not neighbour())
    ping(network.h1, "10.2.0.2")
    assert router.wait_for("the neighbour", neighbour) == first

    network.h2.ip("link", "set", "eth0", "address", "02:00:00:00:be:ef")
    network.h2.ip("route", "replace", "default", "via", "10.2.0.1")
    ping(network.h2, "10.2.0.1")  # makes the host learn the address without another announcement
    router.wait_for("the new MAC address", lambda: neighbour() == "02:00:00:00:be:ef")
    ping(network.h1, "10.2.0.2")
    router.stop()
