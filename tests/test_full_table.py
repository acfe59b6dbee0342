# SPDX-License-Identifier: Apache-2.0
"""Tests a table of the size of the Internet's, which arrives by BGP under traffic: bgpd, zebra, the kernel or FPM, the
router. The test uses a part of the table, or all of it with PENUMBRA_FULL_TABLE=1."""

import contextlib
import gzip
import ipaddress
import os
import random
import time

import pytest

import conftest
import frr
import needs
import netns
from bgp_speaker import BgpSpeaker
from stream import Stream

pytestmark = [needs.NAMESPACES, needs.TAPS, needs.FRR, needs.tools("ping")]

#: One of this number of prefixes is announced.
ONE_OF = 1 if os.environ.get("PENUMBRA_FULL_TABLE") == "1" else 180 if conftest.SANITIZED else 18
PATIENCE = 10 * conftest.PATIENCE  # seconds, for the whole table
FLOWS = 200
OTHERS = 1000  # limit of routes that are not in the table
GATEWAYS = [f"10.2.1.{i}" for i in range(1, 17)]
DEFAULT_GATEWAY = "10.2.0.2"  # the BGP speaker, which has the default route
CONFIGURATION = f"""
interface wan
 ip address 10.1.0.1/24
interface lan
 ip address 10.2.0.1/16
router bgp 65001
 bgp router-id 10.2.0.1
 no bgp ebgp-requires-policy
 neighbor {DEFAULT_GATEWAY} remote-as 65002
 neighbor {DEFAULT_GATEWAY} passive
"""


@pytest.fixture(scope="module")
def table(data):
    """Returns the gateway of each prefix by a seeded rule, because the data has prefixes only."""
    generator = random.Random(2)
    with gzip.open(data / "fib" / "bart_full_v4v6_2025.txt.gz", "rt") as lines:
        prefixes = [line.strip() for line in lines if ":" not in line]
    return {prefix: generator.choice(GATEWAYS) for prefix in prefixes[::ONE_OF]}


def gateway(table, address):
    """Returns the gateway of the longest prefix."""
    for length in range(32, 0, -1):
        if found := table.get(str(ipaddress.ip_network((address, length), strict=False))):
            return found
    return DEFAULT_GATEWAY


def destinations(table, count):
    generator = random.Random(3)
    networks = [ipaddress.ip_network(prefix) for prefix in generator.sample(list(table), count)]
    return [str(network[generator.randrange(network.num_addresses)]) for network in networks]


@contextlib.contextmanager
def three_namespaces():
    namespaces = [netns.Namespace(name) for name in ("h1", "r", "h2")]
    try:
        host, router, upstream = namespaces
        netns.veth(host, "eth0", router, "wan-wire")
        netns.veth(upstream, "eth0", router, "lan-wire")
        host.ip("address", "add", "10.1.0.2/24", "dev", "eth0")
        host.ip("route", "add", "default", "via", "10.1.0.1")
        upstream.ip("link", "set", "eth0", "address", mac_of(DEFAULT_GATEWAY).hex(":"))
        upstream.ip("address", "add", f"{DEFAULT_GATEWAY}/16", "dev", "eth0")
        upstream.ip("route", "add", "default", "via", "10.2.0.1")
        router.run("sysctl", "-qw", "net.ipv4.ip_forward=1")
        yield namespaces
    finally:
        for namespace in namespaces:
            namespace.delete()


def mac_of(address):
    """Returns a MAC address for a gateway. The gateways do not exist, but their MAC addresses show the next hop of a
    packet."""
    return bytes([2, 0, *ipaddress.ip_address(address).packed])


def configure(bench, source):
    """Configures rings that hold the packets while other processes have the core. One second of this traffic exceeds
    the driver's 512 frames. Punts of the BGP session are not limited: a peer may send a whole table within seconds, at
    more than 10,000 packets per second."""
    ports = [
        {"name": name, "device": f"net_af_packet{i},iface={name}-wire,framecnt=8192", "twin": True, "sink": None}
        for i, name in enumerate(("wan", "lan"))
    ]
    routes = f"default via {DEFAULT_GATEWAY} dev lan"
    file = bench.configure(ports, routes, pipeline=f"  - ipv4: {{follow: [{source}], routes: routes.txt}}")
    file.write_text(file.read_text() + "punts: {ipv4.local: 1000000}\n")


@pytest.mark.parametrize("source", ["kernel", "fpm"])
def test_a_table_comes_and_goes_under_traffic(bench, table, source):
    """Each packet must take the route that is valid at its time, the default route or that of its prefix. No packet may
    be lost."""
    with three_namespaces() as (host, namespace, upstream), contextlib.ExitStack() as running:
        configure(bench, source)
        router = running.enter_context(bench.start(command=namespace.command()))
        modules = {"zebra": ["-M", "dplane_fpm_nl"]} if source == "fpm" else {}
        configuration = CONFIGURATION + ("fpm address 127.0.0.1 port 2620\n" if source == "fpm" else "")
        daemons = running.enter_context(frr.Frr(namespace, configuration, options=modules))
        daemons.wait_for("addresses", lambda: "10.2.0.1/16" in namespace.ip("address", "show", "lan"))
        for address in GATEWAYS:
            namespace.ip("neigh", "add", address, "lladdr", mac_of(address).hex(":"), "nud", "permanent", "dev", "lan")
        ping = ("ping", "-c", "1", "-W", "1", DEFAULT_GATEWAY)
        router.wait_for("a way through", lambda: host.run(*ping, check=False).returncode == 0)

        addresses = destinations(table, FLOWS)
        stream = running.enter_context(Stream(host, upstream, ["eth0"], addresses, rate=1000))
        before = stream.wait_for_arrivals(1)
        with BgpSpeaker(upstream, "10.2.0.1", 65002, DEFAULT_GATEWAY) as speaker:
            for address in GATEWAYS:
                speaker.announce(address, [prefix for prefix, via in table.items() if via == address])
            wait_for_total(router, lambda total: total >= len(table))
            router.wait_for("every route", lambda: told(router, table, source) == table)
            during = stream.wait_for_arrivals(1)
            left = dict(list(table.items())[::2])
            speaker.withdraw(table.keys() - left)
            wait_for_total(router, lambda total: total < len(left) + OTHERS)
            router.wait_for("half of them", lambda: told(router, table, source) == left)
        wait_for_total(router, lambda total: total < OTHERS)
        router.wait_for("no route", lambda: told(router, table, source) == {})
        after = stream.wait_for_arrivals(1)
        lost = stream.stop()
        missed = {row["name"]: row["missed"] for row in router.show("ports")}
        summary = router.stop()
    assert before == after == {flow: {mac_of(DEFAULT_GATEWAY)} for flow in range(FLOWS)}
    assert during == {flow: {mac_of(gateway(table, address))} for flow, address in enumerate(addresses)}
    assert [reason for kind, reason in summary.reasons if kind == "drop"] == []
    assert lost == [], f"{len(lost)} of {len(stream.times)}; full rings missed {missed}; {summary.reasons}"
    assert summary.sent_by_port["lan"] >= len(stream.times)


def wait_for_total(router, condition):
    began = time.monotonic()
    router.wait_for("the table", lambda: condition(router.show("routes")["total"]), patience=PATIENCE)
    print(f"{router.show('routes')['total']} prefixes after {time.monotonic() - began:.1f} s")


def told(router, table, source):
    """Returns the router's routes of the table from `source`: prefix -> gateway."""
    rows = [row for row in router.show("routes", "all")["routes"] if row["prefix"] in table and row["source"] == source]
    return {row["prefix"]: row["next_hops"][0]["via"] for row in rows if row["active"]}
