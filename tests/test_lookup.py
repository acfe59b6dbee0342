# SPDX-License-Identifier: Apache-2.0
"""Compares `penumbra lookup` with the oracle, in generated and real tables."""

import gzip
import ipaddress
import json
import random
import subprocess

import pytest

import conftest
from conftest import penumbra
from oracle.routes import LongestPrefixMatch, NextHop, Route, address, dotted, parse_routes


def sixfold(value):
    """Returns the address in the format of RFC 5952."""
    return str(ipaddress.IPv6Address(value))


def in_words(route, name=dotted):
    """Returns a unicast route in the format that `lookup` prints after its prefix."""
    hops = [(f"via {name(h.gateway)} " if h.gateway is not None else "") + f"dev {h.port}" for h in route.next_hops]
    if len(hops) == 1:
        return hops[0]
    return " ".join(f"nexthop {text} weight {h.weight}" for text, h in zip(hops, route.next_hops))


def expected_lookup(table, destination, name):
    route = table.find(destination)
    if route is None or route.kind != "unicast":
        return f"{name(destination)} unreachable"
    return f"{name(destination)} {name(route.prefix)}/{route.length} {in_words(route, name)}"


def probes(routes, count, bits):
    """Returns the first, last, random and adjacent addresses of some prefixes, the ends of the address space, and
    others."""
    generator = random.Random(2)
    found = {0, 1, 2**bits - 1, 2 ** (bits - 1), 2 ** (bits - 1) - 1}
    for route in generator.sample(routes, min(count, len(routes))):
        last = route.prefix + 2 ** (bits - route.length) - 1
        found |= {
            route.prefix,
            last,
            generator.randint(route.prefix, last),
            max(route.prefix - 1, 0),
            min(last + 1, 2**bits - 1),
        }
    return sorted(found | {generator.getrandbits(bits) for _ in range(count)})


def check_lookup(file, routes, count, *arguments, bits=32):
    table = LongestPrefixMatch(routes, bits)
    name = dotted if bits == 32 else sixfold
    destinations = probes(routes, count, bits)
    done = penumbra("lookup", "--routes", file, *arguments, input="".join(name(d) + "\n" for d in destinations))
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) == len(destinations)
    wrong = [(line, e) for line, e in zip(lines, (expected_lookup(table, d, name) for d in destinations)) if line != e]
    assert not wrong, f"{len(wrong)} of {len(lines)} are wrong, first: {wrong[:3]}"


@pytest.mark.parametrize("arguments", [[], ["--engine", "scalar"], ["--engine", "auto"]])
def test_lookup_in_a_generated_table(tmp_path, arguments):
    """The oracle's own parser reads the table of `gen`. The table has multipath routes, blackholes and all lengths."""
    file = tmp_path / "routes.txt"
    done = penumbra("gen", "routes", "--count", "50k", "--ports", "4", "--seed", "5", "-o", file)
    assert done.returncode == 0, done.stderr
    routes = parse_routes(file.read_text())
    assert len(routes) == 50000
    assert {r.kind for r in routes} == {"unicast", "blackhole", "unreachable"}
    assert any(len(r.next_hops) > 1 for r in routes) and any(r.length > 24 for r in routes)
    check_lookup(file, routes, 5000, *arguments)


def test_lookup_in_a_generated_ipv6_table(tmp_path):
    file = tmp_path / "routes.txt"
    done = penumbra("gen", "routes", "-6", "--count", "50k", "--ports", "4", "--seed", "5", "-o", file)
    assert done.returncode == 0, done.stderr
    routes = parse_routes(file.read_text(), 128)
    assert len(routes) == 50000
    assert {r.kind for r in routes} == {"unicast", "blackhole", "unreachable"}
    assert any(len(r.next_hops) > 1 for r in routes) and any(r.length > 64 for r in routes)
    check_lookup(file, routes, 5000, "-6", bits=128)


@pytest.mark.parametrize("name", ["bart_full_v4v6_2025.txt.gz", "ipasn_20080501.dat.gz"])
def test_lookup_in_a_real_table(tmp_path, data, name):
    if conftest.SANITIZED and not name.startswith("bart"):
        pytest.skip("one real table is enough with a sanitizer")
    with gzip.open(data / "fib" / name, "rt") as lines:
        prefixes = [line.split()[0] for line in lines if line[0].isdigit() and ":" not in line]
    routes, text = {}, []
    for i, prefix in enumerate(prefixes):
        base, length = prefix.split("/")
        hop = NextHop(address("198.18.0.1") + i * 2654435761 % 30, f"port{i * 2654435761 % 30 % 4}")
        if (base, length) not in routes:
            routes[base, length] = Route(address(base), int(length), "unicast", (hop,))
            text.append(f"{prefix} via {dotted(hop.gateway)} dev {hop.port}\n")
    file = tmp_path / "routes.txt"
    file.write_text("".join(text))
    check_lookup(file, list(routes.values()), 20000)


@pytest.mark.parametrize(
    ("name", "engine"), [("v6_rv_20210117_as293.txt", "auto"), ("ipasn6_20151101.dat.gz", "scalar")]
)
def test_lookup_in_a_real_ipv6_table(tmp_path, data, name, engine):
    read = gzip.open if name.endswith(".gz") else open
    with read(data / "fib" / name, "rt") as lines:
        words = (line.split()[0] for line in lines if ":" in line.split()[0])
        prefixes = [prefix for prefix in dict.fromkeys(words) if not prefix.startswith("fe80")]
    routes, text = [], []
    for i, prefix in enumerate(prefixes):
        network = ipaddress.IPv6Network(prefix)
        number = i * 2654435761 % 30
        hop = NextHop(int(ipaddress.IPv6Address("2001:db8::1")) + number, f"port{number % 4}")
        routes.append(Route(int(network.network_address), network.prefixlen, "unicast", (hop,)))
        text.append(f"{prefix} via {sixfold(hop.gateway)} dev {hop.port}\n")
    assert len(routes) > 20000
    file = tmp_path / "routes.txt"
    file.write_text("".join(text))
    check_lookup(file, routes, 10000, "-6", "--engine", engine, bits=128)


def test_lookup_of_every_form_of_route(tmp_path):
    text = """# all forms
    default via 192.0.2.1 dev lan metric 5
    default via 192.0.2.2 dev dmz
    unicast 10.0.0.0/8 nexthop via 192.0.2.1 dev lan weight 3 nexthop dev dmz
    10.1.0.0/16 dev lan
    10.1.2.3 via 192.0.2.1 dev wan proto bird metric 32 # a host
    blackhole 10.2.0.0/16
    unreachable 10.3.0.0/16 metric 7
    """
    file = tmp_path / "routes.txt"
    file.write_text(text)
    asked = "8.8.8.8\n10.9.9.9\n  10.1.0.0 \n10.1.2.3\n\n10.2.255.255\n10.3.0.0\n"
    done = penumbra("lookup", "--routes", file, input=asked)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "8.8.8.8 0.0.0.0/0 via 192.0.2.2 dev dmz",
        "10.9.9.9 10.0.0.0/8 nexthop via 192.0.2.1 dev lan weight 3 nexthop dev dmz weight 1",
        "10.1.0.0 10.1.0.0/16 dev lan",
        "10.1.2.3 10.1.2.3/32 via 192.0.2.1 dev wan",
        "10.2.255.255 unreachable",
        "10.3.0.0 unreachable",
    ]
    rows = [json.loads(line) for line in penumbra("lookup", "--routes", file, "-j", input=asked).stdout.splitlines()]
    assert [row["address"] for row in rows] == asked.split()
    assert [row["type"] for row in rows] == ["unicast"] * 4 + ["blackhole", "unreachable"]
    assert [row["prefix"] for row in rows[-2:]] == ["10.2.0.0/16", "10.3.0.0/16"]
    assert rows[1]["next_hops"] == [
        {"via": "192.0.2.1", "dev": "lan", "weight": 3},
        {"dev": "dmz", "weight": 1},
    ]


def test_lookup_of_what_is_no_address(tmp_path):
    file = tmp_path / "routes.txt"
    file.write_text("default dev lan\n")
    done = penumbra("lookup", "--routes", file, input="10.0.0.1\n10.0.0\n")
    assert done.returncode == 3
    assert "-:2:1: " in done.stderr and "10.0.0" in done.stderr


def test_lookup_answers_at_once(tmp_path):
    """A user or script at the other end of a pipe asks a question and reads the answer before the next question."""
    file = tmp_path / "routes.txt"
    file.write_text("10.0.0.0/8 dev lan\n")
    with subprocess.Popen(
        [conftest.PROGRAM, "lookup", "--routes", file], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as lookup:
        for question, answer in (("10.0.0.1", "10.0.0.1 10.0.0.0/8 dev lan"), ("11.0.0.1", "11.0.0.1 unreachable")):
            lookup.stdin.write(question + "\n")
            lookup.stdin.flush()
            assert lookup.stdout.readline() == answer + "\n"
        lookup.stdin.close()
        assert lookup.wait(timeout=conftest.PATIENCE) == 0
