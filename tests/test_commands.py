# SPDX-License-Identifier: Apache-2.0
"""Tests commands that change the tables of a running router. A change applies all entries or none, and every error has
a place."""

import json
import random
import subprocess

import pytest

import conftest
from conftest import penumbra
from live import NEIGHBOURS, PORTS, ROUTES, acl, routes


def test_a_route_comes_changes_and_goes(run, router):
    before = routes(router)
    assert run.do("route", "add", "20.0.0.0/8", "via", "192.0.2.2", "dev", "dmz") == [("ipv4", 1, 0, 0)]
    assert routes(router) == before | {("20.0.0.0/8", 0): [("192.0.2.2", "dmz")]}
    done = run.try_to("route", "replace", "blackhole 20.0.0.0/8")
    assert (done.returncode, done.stdout) == (0, "ipv4: route: 1 changed\n")
    assert routes(router) == before | {("20.0.0.0/8", 0): "blackhole"}
    assert run.do("route", "replace", "blackhole 20.0.0.0/8") == [("ipv4", 0, 0, 0)]
    assert run.do("route", "replace", "30.0.0.0/8 dev dmz") == [("ipv4", 1, 0, 0)]
    assert run.do("route", "del", "20.0.0.0/8") == [("ipv4", 0, 1, 0)]
    assert run.do("route", "del", "30.0.0.0/8", "dev", "dmz") == [("ipv4", 0, 1, 0)]
    assert routes(router) == before
    shown = run.try_to("route", "show", "10.0.0.0/8", "-j").stdout
    assert json.loads(shown) == router.show("routes", "10.0.0.0/8")
    router.stop()


def test_neighbours_come_change_and_go(run, router):
    def neighbours():
        return {row["address"]: row["mac"] for row in router.show("neighbours")}

    before = neighbours()
    added = run.do("neighbour", "add", "192.0.2.3", "dev", "lan", "lladdr", "02:aa:00:00:00:03")
    assert added == [("ipv4", 1, 0, 0)]
    assert neighbours() == before | {"192.0.2.3": "02:aa:00:00:00:03"}
    assert run.do("neighbour", "replace", "192.0.2.3 dev lan lladdr 02:aa:00:00:00:04") == [("ipv4", 0, 0, 1)]
    assert neighbours() == before | {"192.0.2.3": "02:aa:00:00:00:04"}
    assert run.do("neighbour", "del", "192.0.2.3 dev lan") == [("ipv4", 0, 1, 0)]
    assert neighbours() == before
    router.stop()


def test_packets_follow(run, router):
    """All packets with a destination must take the new route."""
    halves = "0.0.0.0/1 via 192.0.2.2 dev dmz\n128.0.0.0/1 via 192.0.2.2 dev dmz\n"
    assert run.do("route", "add", "-f", "-", input=halves) == [("ipv4", 2, 0, 0)]
    sent = {row["name"]: row["tx_packets"] for row in router.show("ports")}
    router.wait_for("packets out of dmz", lambda: router.show("ports")[2]["tx_packets"] > sent["dmz"] + 100)
    assert router.stop().reasons == {}


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        ("route add 20.0.0.0/8 via 192.0.2.1 dev lam", 3, "command line:1:30: expected the name of a port, found 'lam'; did"),
        ("route add 20.0.0.1/8 dev lan", 3, "command line:1:1: '20.0.0.1/8' has bits set past its length"),
        ("route add 10.0.0.0/8 dev dmz metric 20", 3, "command line:1:1: there is a route to 10.0.0.0/8 of metric 20 already"),
        ("route del 20.0.0.0/8", 3, "command line:1:1: there is no route to 20.0.0.0/8; `route show` lists"),
        ("route del 10.0.0.0/8 metric 5", 3, "command line:1:1: there is no route to 10.0.0.0/8 of metric 5"),
        ("route del 10.0.0.0/8 dev dmz", 3, "the route to 10.0.0.0/8 is another one: via 192.0.2.1 dev lan"),
        ("route del 192.0.2.0/24", 3, "the prefix is of a port's 'addresses', and goes with them"),
        ("route add 2001:db8::/32 dev lan", 3, "command line:1:1: expected an IPv4 prefix, found '2001:db8::/32'"),
        ("neighbour add 192.0.2.1 dev lan lladdr 02:aa:00:00:00:09", 3, "there is a neighbour 192.0.2.1 on 'lan' already"),
        ("neighbour add 192.0.2.9 dev lan FAILED", 3, "'lladdr MAC' is missing"),
        ("neighbour add fe80::1 dev lan lladdr 02:aa:00:00:00:09", 3, "expected an IPv4 address, found 'fe80::1'"),
        ("neighbour del 192.0.2.9 dev lan", 3, "there is no neighbour 192.0.2.9 on 'lan'"),
        ("neighbour del 192.0.2.1 dev lan lladdr 02:aa:00:00:00:09", 3, "there is no neighbour 192.0.2.1 with this MAC"),
        ("route add", 2, "route add: expected one ENTRY, or -f FILE with an entry a line"),
        ("route add 20.0.0.0/8 dev lan -f x", 2, "expected one ENTRY, or -f FILE"),
        ("route add -f missing.txt", 3, "missing.txt: cannot be read"),
        ("route add -f -", 2, "standard input: there is no entry"),
        ("route ad 20.0.0.0/8 dev lan", 2, "unknown command 'ad'; did you mean 'add'?"),
        ("route add 20.0.0.0/8 dev lan --stage ipv5", 2, "is called 'ipv5'; did you mean 'ipv4'?"),
    ],
)
def test_what_is_wrong_changes_nothing_and_says_where(run, router, words, code, message):
    before = router.show("routes", "all"), router.show("neighbours")
    exit_code, said = run.refused(*words.split(" "), input="")
    assert (exit_code, message in said) == (code, True), said
    assert (router.show("routes", "all"), router.show("neighbours")) == before
    router.stop()


def test_a_metric_says_which_route(run, router):
    assert run.do("route", "add", "10.0.0.0/8 dev dmz metric 30") == [("ipv4", 1, 0, 0)]
    code, said = run.refused("route", "del", "10.0.0.0/8")
    assert code == 3 and "there are 2 routes to 10.0.0.0/8, of the metrics 20, 30: name one with 'metric N'" in said
    assert run.do("route", "del", "10.0.0.0/8 metric 20") == [("ipv4", 0, 1, 0)]
    assert routes(router)[("10.0.0.0/8", 30)] == [(None, "dmz")]
    router.stop()


@pytest.mark.parametrize(
    ("action", "lines", "place", "message"),
    [
        ("add", ["20.0.0.0/8 dev dmz", "# a comment", "  30.0.0.0/8 dev dnz"], "3:18", "did you mean 'dmz'?"),
        ("add", ["20.0.0.0/8 dev dmz", "10.0.0.0/8 dev dmz metric 20"], "2:1", "already"),
        ("add", ["20.0.0.0/8 dev dmz", "20.0.0.0/8 dev lan"], "2:1", "is in line 1 already"),
        ("del", ["10.0.0.0/8", "", " 20.0.0.0/8"], "3:2", "there is no route to 20.0.0.0/8"),
        ("del", ["10.0.0.0/8", "10.0.0.0/8 metric 20"], "2:1", "line 1 removes this route already"),
        ("replace", ["10.0.0.0/8 dev dmz", "40.0.0.0/8"], "2:11", "expected 'via ADDRESS dev PORT'"),
    ],
)
def test_one_wrong_line_of_a_file_and_none_counts(bench, run, router, action, lines, place, message):
    before = routes(router)
    file = bench.folder / "changes.txt"
    file.write_text("\n".join(lines) + "\n")
    code, said = run.refused("route", action, "-f", file)
    assert code == 3 and said.startswith(f"{file}:{place}: ") and message in said, said
    code, said = run.refused("route", action, "-f", "-", input=file.read_text())
    assert code == 3 and said.startswith(f"standard input:{place}: ") and message in said, said
    assert routes(router) == before
    router.stop()


def test_both_families_in_one_change(bench, run):
    ports = [{**port, "addresses": port.get("addresses", []) + [f"2001:db8:{i}::1/64"]} for i, port in enumerate(PORTS)]
    bench.configure(ports, ROUTES, NEIGHBOURS, pipeline="  - ipv4: {routes: routes.txt, neighbours: neighbours.txt}\n  - ipv6")
    both = (
        "20.0.0.0/8 via 192.0.2.2 dev dmz\n2001:db8:20::/48 dev dmz\n"
        "2001:db8:30::/48\n\tnexthop via 2001:db8:1::2 dev lan\n\tnexthop via 2001:db8:2::2 dev dmz\ndefault via fe80::1 dev lan\n"
    )
    with bench.start() as router:
        assert run.do("route", "add", "-f", "-", input=both) == [("ipv4", 1, 0, 0), ("ipv6", 3, 0, 0)]
        shown = router.show("routes", "all")
        code, said = run.refused("route", "replace", "-f", "-", input="30.0.0.0/8 dev dmz\n2001:db8:40::/48 dev lam\n")
        assert code == 3 and said.startswith("standard input:2:22: "), said
        assert router.show("routes", "all") == shown
        assert run.do("route", "del", "::/0") == [("ipv6", 0, 1, 0)]
        assert run.do("neighbour", "add", "fe80::1 dev lan lladdr 02:aa:00:00:00:07") == [("ipv6", 1, 0, 0)]
        router.stop()


def test_a_command_takes_the_lines_that_a_file_takes(bench, run):
    """The command accepts an IPv4 route with an IPv6 gateway, even if another function takes IPv6 routes."""
    lines = (
        "blackhole 20.4.0.0/16 nhid 12 dev lo\nunreachable 20.5.0.0/16 dev lo proto static metric 5\n"
        "20.7.0.0/16 via inet6 fe80::1 dev lan proto bgp metric 20\n"
        "20.8.0.0/16 nhid 3\n\tnexthop via inet6 fe80::2 dev lan\n\tnexthop via 192.0.2.2 dev dmz\n169.254.7.0/24 dev dmz\n"
    )
    bench.configure(PORTS, ROUTES, NEIGHBOURS, pipeline="  - ipv4: {routes: routes.txt, neighbours: neighbours.txt}\n  - ipv6")
    with bench.start() as router:
        before = routes(router)
        assert run.do("route", "add", "-f", "-", input=lines) == [("ipv4", 5, 0, 0)]
        added = {key: leads for key, leads in routes(router).items() if key not in before}
        assert added == {
            ("20.4.0.0/16", 0): "blackhole",
            ("20.5.0.0/16", 5): "unreachable",
            ("20.7.0.0/16", 20): [(None, "host")],
            ("20.8.0.0/16", 0): [(None, "host"), ("192.0.2.2", "dmz")],
            ("169.254.7.0/24", 0): [(None, "dmz")],
        }
        code, said = run.refused("route", "add", "nat 20.9.0.0/16 via 192.0.2.1")
        assert code == 3 and "no such routes any more" in said
        assert run.do("route", "del", "-f", "-", input=lines) == [("ipv4", 0, 5, 0)]
        assert routes(router) == before
        router.stop()


def test_a_pipeline_without_the_function(bench, run):
    bench.configure(PORTS[:1], pipeline="  - echo")
    with bench.start() as router:
        code, said = run.refused("route", "add", "20.0.0.0/8 dev lan")
        assert code == 2 and "no function of this router's pipeline has the command 'route'; ipv4 or ipv6 has it" in said
        router.stop()


def test_hundreds_of_changes_under_load_and_not_a_packet_lost(bench, run):
    """Covering routes are added and removed, but all packets have a route at any time."""
    ports = [{**PORTS[0], "device": "synth:dst=uniform,seed=3"}, *PORTS[1:]]
    bench.configure(ports, ROUTES, NEIGHBOURS)
    generator = random.Random(4)
    with bench.start() as router:
        router.wait_for_packets()
        for i in range(10 if conftest.SANITIZED else 60):
            port, gateway = generator.choice([("lan", "192.0.2.1"), ("dmz", "192.0.2.2")])
            prefixes = [f"{n}.0.0.0/8" for n in generator.sample(range(11, 100), 20)]
            if i % 2:  # some prefixes cover others
                prefixes += [f"{prefixes[0].split('.')[0]}.1.0.0/16"]
            lines = "".join(f"{prefix} via {gateway} dev {port}\n" for prefix in prefixes)
            assert run.do("route", "add", "-f", "-", input=lines) == [("ipv4", len(prefixes), 0, 0)]
            assert run.do("route", "del", "-f", "-", input=lines) == [("ipv4", 0, len(prefixes), 0)]
        summary = router.stop()
    assert summary.reasons == {}
    assert summary.received == summary.sent > 10000


def test_a_full_table(bench, run):
    """The command adds one route to the table and removes it as one change."""
    bench.configure(PORTS, "", NEIGHBOURS)
    file = bench.folder / "routes.txt"
    made = penumbra("gen", "routes", "--count", "200k", "--ports", "lan,dmz", "-o", file)
    assert made.returncode == 0, made.stderr
    with bench.start() as router:
        total = router.show("routes")["total"]
        assert run.do("route", "add", "203.0.113.77/32 via 192.0.2.2 dev dmz") == [("ipv4", 1, 0, 0)]
        assert router.show("routes")["total"] == total + 1
        everything = file.read_text()
        assert run.do("route", "del", "-f", "-", input=everything)[0][2] == everything.count("\n")
        assert [row["prefix"] for row in router.show("routes", "203.0.113.77")["routes"]] == ["203.0.113.77/32"]
        router.stop()


def start_acl(bench, entries):
    bench.configure(PORTS, ROUTES, NEIGHBOURS, pipeline="  - acl: {rules: acl.txt, default: permit}\n  - ipv4: {routes: routes.txt, neighbours: neighbours.txt}")
    (bench.folder / "acl.txt").write_text(entries)
    return bench.start()


def test_entries_of_an_access_list(bench, run):
    with start_acl(bench, "# first\ndeny src 10.0.0.0/8\npermit proto tcp\n") as router:
        assert run.do("acl", "add", "deny", "proto", "udp", "dport", "53") == [("acl", 1, 0, 0)]
        assert run.do("acl", "add", "at", "1", "permit", "src", "10.1.0.0/16") == [("acl", 1, 0, 0)]
        assert acl(router) == ["permit src 10.1.0.0/16", "deny src 10.0.0.0/8", "permit proto tcp", "deny proto udp dport 53"]
        block = "at 2 deny proto 47\ndeny proto 50  # follows the line before it\n"
        assert run.do("acl", "add", "-f", "-", input=block) == [("acl", 2, 0, 0)]
        assert acl(router)[:4] == ["permit src 10.1.0.0/16", "deny proto 47", "deny proto 50", "deny src 10.0.0.0/8"]
        # Places of `del` refer to the list before the command.
        assert run.do("acl", "del", "-f", "-", input="at 2\nat 3\npermit proto tcp\n") == [("acl", 0, 3, 0)]
        assert run.do("acl", "replace", "permit src 10.0.0.0/8") == [("acl", 0, 0, 1)]
        assert run.do("acl", "replace", "at 3 deny proto udp dport 54") == [("acl", 0, 0, 1)]
        assert acl(router) == ["permit src 10.1.0.0/16", "permit src 10.0.0.0/8", "deny proto udp dport 54"]
        shown = json.loads(run.try_to("acl", "show", "all", "-j").stdout)["acl"]
        assert [(row["at"], row["line"]) for row in shown] == [(1, None), (2, None), (3, None), (None, None)]
        for words, message in [
            ("add permit src 10.1.0.0/16", "command line:1:1: entry 1 is the same already"),
            ("add at 5 permit", "command line:1:4: expected a place from 1 to 4, found '5'"),
            ("add at 2", "command line:1:1: the entry is missing"),
            ("del at 4", "command line:1:4: expected a place from 1 to 3, found '4'"),
            ("del deny proto 47", "command line:1:1: there is no such entry"),
            ("del at 1 deny", "command line:1:6: "),
            ("replace at 1 deni src 10.0.0.0/8", "did you mean 'deny'?"),
        ]:
            code, said = run.refused("acl", *words.split(" "))
            assert code == 3 and message in said, said
        router.stop()


def test_an_access_list_denies_at_once(bench, run):
    with start_acl(bench, "") as router:
        router.wait_for_packets()
        assert run.do("acl", "add", "deny") == [("acl", 1, 0, 0)]
        dropped = router.wait_for("drops", lambda: [row for row in router.show("drops") if row["reason"] == "denied"])
        assert dropped
        assert run.do("acl", "del", "at 1") == [("acl", 0, 1, 0)]
        router.stop()


def test_flows_of_a_switch(bench, run):
    bench.configure(PORTS, pipeline="  - gswitch: {flows: flows.txt}")
    (bench.folder / "flows.txt").write_text("priority=10,ip actions=output:2\n")
    with bench.start() as router:

        def flows():
            return [row["flow"] for row in router.show("gswitch", "all")["gswitch"]][:-1]

        assert run.do("flow", "add", "priority=20,ip,nw_dst=10.0.0.0/8", "actions=drop") == [("gswitch", 1, 0, 0)]
        assert run.do("flow", "replace", "priority=10,ip actions=output:3") == [("gswitch", 0, 0, 1)]
        assert flows() == ["priority=20,ip,nw_dst=10.0.0.0/8 actions=drop", "priority=10,ip actions=output:3"]
        router.wait_for("packets out of dmz", lambda: router.show("ports")[2]["tx_packets"] > 0)
        for words, message in [
            ("add priority=10,ip actions=drop", "command line:1:1: there is a flow of this priority and match already"),
            ("add priority=11,ip", "the flow has no 'actions='"),
            ("del priority=11,ip", "command line:1:1: there is no flow of this priority and match"),
            ("del priority=10,ip actions=drop", "the flow is another one"),
        ]:
            code, said = run.refused("flow", *words.split(" "))
            assert code == 3 and message in said, said
        assert run.do("flow", "del", "priority=20,ip,nw_dst=10.0.0.0/8") == [("gswitch", 0, 1, 0)]
        assert run.do("flow", "del", "priority=10,ip actions=output:3") == [("gswitch", 0, 1, 0)]
        assert flows() == []
        router.stop()


def test_stations_of_a_switch(bench, run):
    bench.configure(PORTS, pipeline="  - l2: {ports: {dmz: {trunk: {vlans: [10, 20]}}}, static: [{mac: '02:bb:00:00:00:01', port: lan}]}")
    with bench.start() as router:

        def static():
            rows = router.show("stations", "all")["stations"]
            return {(row["mac"], row["vlan"]): row["port"] for row in rows if row["type"] == "static"}

        assert static() == {("02:bb:00:00:00:01", 1): "lan"}
        assert run.do("station", "add", "02:bb:00:00:00:02 dev dmz vlan 20 static") == [("l2", 1, 0, 0)]
        assert run.do("station", "replace", "02:bb:00:00:00:01 dev wan") == [("l2", 0, 0, 1)]
        assert static() == {("02:bb:00:00:00:01", 1): "wan", ("02:bb:00:00:00:02", 20): "dmz"}
        for words, message in [
            ("add 02:bb:00:00:00:02 dev dmz vlan 20", "the station is static already"),
            ("add 02:bb:00:00:00:03 dev dmz", "port 'dmz' takes no untagged frames: name a VLAN"),
            ("add 02:bb:00:00:00:03 dev dmz vlan 30", "port 'dmz' is no member of VLAN 30"),
            ("add 02:bb:00:00:00:03 dev dnz vlan 20", "did you mean 'dmz'?"),
            ("add 03:bb:00:00:00:03 dev lan", "expected the MAC address of a station"),
            ("del 02:bb:00:00:00:03 dev lan", "there is no such static station"),
        ]:
            code, said = run.refused("station", *words.split(" "))
            assert code == 3 and message in said, said
        assert run.do("station", "del", "02:bb:00:00:00:02 dev dmz vlan 20") == [("l2", 0, 1, 0)]
        assert static() == {("02:bb:00:00:00:01", 1): "wan"}
        router.stop()


@pytest.mark.page("docs/commands.md")
def test_the_commands_of_the_page(bench, router, page):
    """All blocks run on one router."""
    (bench.folder / "customers.txt").write_text("172.16.0.0/16 dev lan\n172.17.0.0/16 via 192.0.2.1 dev lan\n")
    socket = f'penumbra() {{ {conftest.PROGRAM} "$@" --socket ctl; }}\n'
    page.run(before=socket, options=["-x"], cwd=bench.folder, timeout=conftest.PATIENCE)
    router.stop()


def test_the_man_page_and_the_completions_have_them():
    page = penumbra("man").stdout
    for word in ("penumbra route add", "penumbra neighbour replace", "penumbra acl del", "penumbra rollback"):
        assert word in page.replace("\\-", "-"), word
    for shell in ("bash", "zsh", "fish"):
        script = penumbra("completion", shell).stdout
        assert "neighbour" in script and "replace" in script
    script = subprocess.run(["bash", "-n"], input=penumbra("completion", "bash").stdout, text=True, timeout=60)
    assert script.returncode == 0
