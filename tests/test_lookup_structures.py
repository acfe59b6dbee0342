# SPDX-License-Identifier: Apache-2.0
"""Tests that every look-up structure (`lookup:`) forwards each packet in the same way, in generated and real tables."""

import collections
import ipaddress
import random
import struct

import pytest

from captures import frames_of, write_pcap
from conftest import penumbra
from oracle.routes import LongestPrefixMatch, NextHop, Route

PORTS = [f"port{i}" for i in range(4)]
IPV4_LOOKUPS = {"dir24_8": ["ipv4_dir24_8"], "runs": ["ipv4_dir24_8", "ipv4_runs"]}
IPV6_LOOKUPS = {"trie": ["ipv6_trie"], "lengths": ["ipv6_lengths"], "runs": ["ipv6_runs"]}


def ports_with(source):
    return [{"name": name, "device": f"pcap:{source}" if name == PORTS[0] else "none"} for name in PORTS]


def run_each(bench, function, lookups):
    """Returns the outgoing packets of each port by structure, and the output of `show routes --memory`."""
    outputs = {}
    for lookup, structures in lookups.items():
        files = "routes: table.txt, neighbours: stations.txt"
        pipeline = f"  - {function}: {{{files}, lookup: {lookup}}}"
        bench.configure(ports_with("in.pcap"), pipeline=pipeline)
        bench.run()
        verified = penumbra("verify", bench.config)
        assert verified.returncode == 0, verified.stdout
        outputs[lookup] = bench.outputs()
        bench.configure([{"name": name, "device": "synth:rate=1", "sink": "count"} for name in PORTS], pipeline=pipeline)
        with bench.start() as router:
            memory = router.show("routes", "--memory")
            router.stop()
        assert [row["structure"] for row in memory] == structures
        for row in memory:
            assert 0 < row["prefixes"] and row["bytes_per_prefix"] == row["bytes"] // row["prefixes"]
    return outputs


def test_ipv4_packets(bench):
    table, stations = bench.folder / "table.txt", bench.folder / "stations.txt"
    for command in (
        ("routes", "--count", "100k", "--next-hops", "300", "-o", table, "--neighbours", stations),
        ("traffic", "--packets", "20k", "--dst", "prefixes", "--routes", table, "--size", "60", "-o", bench.folder / "in.pcap"),
    ):
        done = penumbra("gen", *command)
        assert done.returncode == 0, done.stderr
    outputs = run_each(bench, "ipv4", IPV4_LOOKUPS)
    assert all(len(sent) > 1000 for sent in outputs["runs"].values())
    assert outputs["runs"] == outputs["dir24_8"]


def test_ipv6_packets(bench, data):
    """Each packet must leave by the port of the longest prefix."""
    generator = random.Random(6)
    lines = (data / "fib" / "v6_rv_20210117_as53828.txt").read_text().splitlines()
    routes = []
    for prefix in dict.fromkeys(line.split()[0] for line in lines):
        network = ipaddress.IPv6Network(prefix)
        number = generator.randrange(30)
        hop = NextHop(int(ipaddress.IPv6Address("fe80::1")) + number, PORTS[number % len(PORTS)])
        routes.append(Route(int(network.network_address), network.prefixlen, "unicast", (hop,)))
    hops = {route.next_hops[0] for route in routes}
    name = ipaddress.IPv6Address
    table, stations = "", ""
    for prefix, length, _, (hop,), _ in routes:
        table += f"{name(prefix)}/{length} via {name(hop.gateway)} dev {hop.port}\n"
    for hop in hops:
        stations += f"{name(hop.gateway)} dev {hop.port} lladdr 02:00:00:00:01:{hop.gateway & 255:02x}\n"
    (bench.folder / "table.txt").write_text(table)
    (bench.folder / "stations.txt").write_text(stations)
    targets = [
        generator.randint(route.prefix, route.prefix + (1 << (128 - route.length)) - 1)
        for route in generator.choices(routes, k=10_000)
    ]
    source = int(ipaddress.IPv6Address("2001:db8::7")).to_bytes(16, "big")
    head = bytes(6) + bytes.fromhex("0200000000aa86dd60000000") + struct.pack("!HBB", 8, 17, 64) + source
    frames = [
        head + target.to_bytes(16, "big") + struct.pack("!HHHH", number, 9, 8, 0) for number, target in enumerate(targets)
    ]
    write_pcap(bench.folder / "in.pcap", frames_of(frames))
    oracle = LongestPrefixMatch(routes, 128)
    wanted = collections.Counter(oracle.find(target).next_hops[0] for target in targets)
    outputs = run_each(bench, "ipv6", IPV6_LOOKUPS)
    for sent in outputs.values():
        found = collections.Counter((frame[5], port) for port, frames in sent.items() for frame in frames)
        assert found == {(hop.gateway & 255, hop.port): count for hop, count in wanted.items()}
        assert sent == outputs["trie"]
