# SPDX-License-Identifier: Apache-2.0
"""Tests that the router follows the routes of a kernel: after any change both agree a moment later."""

import contextlib
import ipaddress
import json
import random
import signal
import subprocess

import pytest

import needs
import netns
from conftest import SANITIZED
from kernel import Kernel, many_prefixes, overflows, shown_routes

pytestmark = [needs.NAMESPACES, needs.TAPS]
BASE = [
    "route add 198.51.100.0/24 via 192.0.2.9",
    "route add 203.0.113.0/24 via 172.16.0.2",
    "route add 9.0.0.0/8 nexthop via 192.0.2.9 weight 3 nexthop via 10.0.5.5",
    "route add blackhole 8.0.0.0/8",
]


@pytest.fixture
def kernel():
    namespace = Kernel("kernel")
    yield namespace
    namespace.delete()


@pytest.fixture
def start(bench, kernel):
    """Starts a router that follows the kernel, with optional further keys. Asserts that it ends in order and counts all
    packets."""
    with contextlib.ExitStack() as running:
        routers = []

        def run(keys="", routes="", dst="uniform"):
            ports = [
                {"name": "wan", "device": f"synth:rate=200,dst={dst}", "twin": "wan0", "sink": "count"},
                {"name": "lan", "device": "none", "twin": "lan0", "sink": "count"},
            ]
            pipeline = f"  - ipv4: {{follow: [kernel]{keys}}}"
            bench.configure(ports, routes, pipeline=pipeline)
            routers.append(running.enter_context(bench.start(command=kernel.command())))
            return routers[-1]

        yield run
        for router in routers:
            if router.process.poll() is None:
                router.stop()


def agree(router, kernel, *tables):
    """Waits until both have the same routes and one route of each prefix is active."""
    seen = {}

    def same():
        seen["kernel"] = kernel.routes(*tables), kernel.routes(*tables, family="-6")
        answer = router.show("routes", "all")
        seen["router"] = shown_routes(answer), shown_routes(answer, 6)
        return in_order(seen["router"]) == in_order(seen["kernel"]) and one_counts(answer)

    try:
        router.wait_for("agreement", same)
    except AssertionError as error:
        left, right = in_order(seen["kernel"]), in_order(seen["router"])
        different = [(p, a.get(p), b.get(p)) for a, b in zip(left, right) for p in {*a, *b} if a.get(p) != b.get(p)]
        raise AssertionError(f"prefix, kernel, router: {different[:5]}") from error


def in_order(families):
    """Sorts routes by metric. Routes of one metric keep their order."""
    return [{prefix: sorted(rows, key=lambda row: row[0]) for prefix, rows in table.items()} for table in families]


def one_counts(answer):
    counted = {}
    for row in answer["routes"]:
        counted[row["prefix"]] = counted.get(row["prefix"], 0) + row["active"]
    return set(counted.values()) == {1}


def test_what_is_there_at_the_start_and_what_comes_after(start, kernel):
    kernel.batch([*BASE, "-6 route add 2001:db8::/32 via fe80::9 dev wan0"])
    router = start()
    agree(router, kernel)
    by_prefix = {row["prefix"]: row for row in router.show("routes", "all")["routes"]}
    assert by_prefix["9.0.0.0/8"]["source"] == "kernel"
    assert by_prefix["192.0.2.0/24"]["source"] == "connected"
    assert by_prefix["192.0.2.1/32"]["type"] == "local"
    assert by_prefix["203.0.113.0/24"]["next_hops"] == [{"via": "172.16.0.2", "dev": "eth0", "weight": 1, "host": True}]
    kernel.batch(["route replace 198.51.100.0/24 via 10.0.7.7", "address add 10.9.9.1/24 dev lan0"])
    agree(router, kernel)
    assert router.stop().dropped > 0


def commands(count, seed):
    """Yields commands of every kind for `ip` on few prefixes. Some commands fail."""
    generator = random.Random(seed)
    gateways = ["192.0.2.9", "192.0.2.10", "10.0.5.5", "172.16.0.2"]

    def hop():
        return generator.choice([f"via {generator.choice(gateways)}", "dev lan0", "dev eth0", "via inet6 fe80::7 dev wan0"])

    for _ in range(count):
        prefix = generator.choice(["20.0.0.0/8", "20.0.0.0/16", "20.1.0.0/24", "20.1.0.7", "192.0.2.128/25", "default"])
        verb = generator.choice(["add", "append", "prepend", "replace", "replace", "change", "delete", "delete"])
        metric = generator.choice(["", "", "metric 10", "metric 20"])
        dice = generator.random()
        if dice < 0.12:
            yield f"route {verb} {generator.choice(['blackhole', 'unreachable', 'prohibit', 'throw'])} {prefix} {metric}"
        elif dice < 0.3:
            several = " ".join(f"nexthop {hop()} weight {generator.randrange(1, 9)}" for _ in range(generator.randrange(1, 4)))
            yield f"route {verb} {prefix} {metric} {several}"
        elif dice < 0.42:
            yield f"route {verb} {prefix} {metric} nhid {generator.choice([1, 2, 3, 10, 11])}"
        elif dice < 0.5:
            via = generator.choice(["via 192.0.2.9", "via 10.0.5.6", "dev lan0", "blackhole", "via 192.0.2.77"])
            via += " dev wan0" if via.startswith("via 192") else " dev lan0" if via.startswith("via 10") else ""
            yield f"nexthop {generator.choice(['replace', 'replace', 'delete'])} id {generator.choice([1, 2, 3])} {via}"
        elif dice < 0.56:
            members = "/".join(f"{i},{generator.randrange(1, 5)}" for i in generator.sample([1, 2, 3], generator.randrange(1, 4)))
            yield f"nexthop replace id {generator.choice([10, 11])} group {members}"
        elif dice < 0.8:
            six = generator.choice(["2001:db8::/32", "2001:db8:1::/48", "2001:db8::5"])
            way = " ".join(f"nexthop via fe80::{i} dev {generator.choice(['wan0', 'lan0'])}" for i in range(generator.randrange(1, 4)))
            if generator.random() < 0.5:
                way = generator.choice(["via fe80::1 dev wan0", "via fe80::2 dev lan0", "dev eth0", "dev wan0"])
            yield f"-6 route {verb.replace('change', 'replace')} {six} {metric} {way}"
        elif dice < 0.84:
            yield f"address {generator.choice(['add', 'delete'])} 10.77.0.{generator.randrange(1, 4)}/24 dev {generator.choice(['wan0', 'eth0'])}"
        else:
            yield f"route {verb} {prefix} {metric} {hop()}"


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_after_each_of_many_commands_both_say_the_same(start, kernel, seed):
    router = start()
    agree(router, kernel)
    for command in commands(30 if SANITIZED else 70, seed):
        family, command = ("-6", command[3:]) if command.startswith("-6 ") else ("-4", command)
        subprocess.run(["ip", family, "-n", kernel.name, *command.split()], capture_output=True, timeout=netns.PATIENCE)
        try:
            agree(router, kernel)
        except AssertionError as error:
            raise AssertionError(f"after {family} {command}: {error}") from error
    router.stop()


def test_routes_that_differ_in_nothing_that_counts_here(start, kernel):
    router = start()
    kernel.batch([f"route append 20.0.0.0/8 via 192.0.2.9 proto {number}" for number in (5, 6)])
    kernel.batch(["route delete 20.0.0.0/8 proto 5"])
    router.wait_for("the other one", lambda: router.show("routes", "20.0.0.0/8")["routes"])
    kernel.batch(["route delete 20.0.0.0/8 proto 6"])
    agree(router, kernel)


def test_a_lookup_finds_what_the_kernel_finds(start, kernel):
    kernel.batch([*BASE, "route add 198.51.100.64/26 via 10.0.5.5", "route add default via 192.0.2.33"])
    router = start()
    for address in ["198.51.100.1", "198.51.100.65", "10.0.200.1", "203.0.113.5", "192.0.2.1", "1.1.1.1", "192.0.2.44"]:
        (wanted,) = json.loads(kernel.ip("-j", "route", "get", address))
        row = next(row for row in router.show("routes", address)["routes"] if row["active"])
        hop = row["next_hops"][0]
        if wanted.get("type") != "local":
            assert (hop["dev"], hop.get("via")) == (Kernel.TWINS.get(wanted["dev"], wanted["dev"]), wanted.get("gateway"))
        assert row["type"] == wanted.get("type", "unicast")


def test_static_routes_come_before_the_kernels_and_after_the_hosts_own(start, kernel):
    kernel.batch(BASE)
    router = start(", routes: routes.txt", "198.51.100.0/24 via 10.0.1.1 dev lan\n192.0.2.0/24 via 10.0.1.1 dev lan\n")
    rows = router.show("routes", "198.51.100.0/24")["routes"]
    assert [(row["source"], row["active"]) for row in rows] == [("static", True), ("kernel", False)]
    rows = router.show("routes", "192.0.2.0/24")["routes"]
    assert [(row["source"], row["active"]) for row in rows] == [("connected", True), ("static", False)]


def test_what_only_the_host_can_reach_is_punted(start, kernel, tmp_path):
    kernel.batch(BASE)
    (tmp_path / "there.txt").write_text("203.0.113.0/24 dev lan\n")
    router = start(dst="prefixes:there.txt")
    router.wait_for_packets("wan", 20)
    summary = router.stop()
    assert set(summary.reasons) == {("punt", "via_host")}


def test_another_table(start, kernel):
    kernel.batch([*BASE, "route add 77.0.0.0/8 via 192.0.2.9 table 1000", "route add 78.0.0.0/8 via 192.0.2.9 table 5"])
    router = start(", table: 1000")
    agree(router, kernel, "local", "1000")
    assert "198.51.100.0/24" not in {row["prefix"] for row in router.show("routes", "all")["routes"]}


def test_a_vrf(start, kernel):
    if subprocess.run(["ip", "-n", kernel.name, "link", "add", "red", "type", "vrf", "table", "10"]).returncode != 0:
        pytest.skip("this kernel has no VRFs")
    kernel.batch(["link set red up", "link set wan0 master red", "route add 77.0.0.0/8 via 192.0.2.9 table 10"])
    router = start(', table: "vrf red"')
    agree(router, kernel, "10")
    kernel.batch(["link delete red"])
    router.wait_for("nothing", lambda: not router.show("routes", "all")["routes"])


def test_neighbours_and_their_states(start, kernel):
    for setting in ("delay_first_probe_time=1", "retrans_time_ms=100", "mcast_solicit=1"):
        kernel.run("sysctl", "-qw", f"net.ipv4.neigh.wan0.{setting}")
    router = start()

    def known():
        return {row["address"]: (row["mac"], row["state"]) for row in router.show("neighbours")}

    def adjacencies():
        return {row["prefix"] for row in router.show("routes", "all")["routes"] if row["source"] == "neighbour"}

    add = "neigh replace 192.0.2.{} lladdr 02:00:00:00:00:{:02x} nud {} dev wan0"
    kernel.batch([add.format(i, i, state) for i, state in ((4, "permanent"), (5, "reachable"), (6, "noarp"))])
    router.wait_for("three", lambda: len(known()) == 3)
    assert known()["192.0.2.5"] == ("02:00:00:00:00:05", "REACHABLE")
    assert adjacencies() == {"192.0.2.4/32", "192.0.2.5/32", "192.0.2.6/32"}
    kernel.batch([add.format(4, 44, "permanent"), "neigh delete 192.0.2.6 dev wan0"])
    router.wait_for("another MAC address", lambda: known()["192.0.2.4"][0] == "02:00:00:00:00:2c")
    router.wait_for("one less", lambda: adjacencies() == {"192.0.2.4/32", "192.0.2.5/32"})
    # A neighbour without a host is probed without any traffic of the host, and then removed.
    kernel.batch([add.format(7, 7, "stale")])
    router.wait_for("a probe", lambda: known().get("192.0.2.7", ("", ""))[1] in ("DELAY", "PROBE", "FAILED"))
    router.wait_for("its end", lambda: "192.0.2.7/32" not in adjacencies())


def test_interfaces_go_down_and_away_and_come_again(start, kernel):
    kernel.batch(BASE)
    router = start()
    agree(router, kernel)
    kernel.ip("link", "set", "lan0", "down")
    agree(router, kernel)
    assert "10.0.0.0/16" not in {row["prefix"] for row in router.show("routes", "all")["routes"]}
    kernel.ip("link", "set", "lan0", "up")
    agree(router, kernel)
    kernel.ip("link", "delete", "eth0")
    agree(router, kernel)
    kernel.add_interface("eth0")
    kernel.batch(BASE)
    agree(router, kernel)
    for _ in range(50):
        kernel.batch(["link set wan0 down", "link set wan0 up"])
    kernel.batch(BASE)
    agree(router, kernel)


def test_a_restart_finds_everything_again(start, kernel, bench):
    kernel.batch([*BASE, *(f"route add {prefix} via 192.0.2.9" for prefix in many_prefixes(1000))])
    router = start()
    agree(router, kernel)
    router.stop()
    kernel.batch([f"route delete {prefix}" for prefix in many_prefixes(500)])
    with bench.start(command=kernel.command()) as again:
        agree(again, kernel)


def test_after_an_overflow_of_the_socket_all_is_found_again(start, kernel):
    count = 50_000
    kernel.batch(f"route add {prefix} via 192.0.2.9" for prefix in many_prefixes(count))
    router = start()
    router.process.send_signal(signal.SIGSTOP)
    kernel.batch(f"route replace {prefix} via 10.0.5.5" for prefix in many_prefixes(count))
    kernel.batch(f"route delete {prefix}" for prefix in many_prefixes(count // 2))
    router.process.send_signal(signal.SIGCONT)
    agree(router, kernel)
    assert overflows(router) > 0, "the test is to make the socket overflow"


def test_a_hundred_thousand_routes_and_the_way_to_each(start, kernel):
    count = 5000 if SANITIZED else 100_000
    generator = random.Random(4)
    gateways = {prefix: f"10.0.5.{generator.randrange(1, 100)}" for prefix in many_prefixes(count)}
    router = start()
    kernel.batch([f"route add {prefix} via {gateway}" for prefix, gateway in gateways.items()])
    router.wait_for("all", lambda: router.show("routes")["total"] > count)
    agree(router, kernel)
    for prefix in generator.sample(list(gateways), 20):
        (row,) = router.show("routes", str(ipaddress.ip_network(prefix)[77]))["routes"]
        assert row["prefix"] == prefix and row["active"]
        assert row["next_hops"] == [{"via": gateways[prefix], "dev": "lan", "weight": 1}]
    assert router.stop().received > 0


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ("follow: [kernal]", "3:19: nothing to follow is called 'kernal'; did you mean 'kernel'?"),
        ("follow: []", "3:18: expected at least one source"),
        ("follow: kernel", "3:18: expected a list"),
        ("follow: [kernel, kernel]", "3:27: it is there already"),
        ("table: main", "3:17: 'table' says which"),
        ("follow: [kernel], table: nonesuch", "there is no routing table 'nonesuch'"),
        ("follow: [kernel], table: 0", "there is no table 0"),
        ("follow: [kernel], neighbours: n.txt", "with 'follow' the neighbours are the host's"),
    ],
)
def test_what_is_wrong_in_the_configuration(bench, keys, message):
    assert message in bench.refused(f"ports: [{{name: wan, device: none, twin: true}}]\npipeline:\n- ipv4: {{{keys}}}\n")
