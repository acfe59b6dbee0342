# SPDX-License-Identifier: Apache-2.0
"""Tests reloads of a running router: the whole configuration is applied or nothing, and no packet is lost."""

import json
import random
import re
import signal

import pytest

import captures
import conftest
from conftest import penumbra

PORTS = [
    {"name": "wan", "device": "synth:dst=uniform,rate=5k,seed=3", "sink": "count"},
    {"name": "lan", "device": "none", "sink": "count"},
    {"name": "dmz", "device": "none", "sink": "count"},
]
ROUTES = "default via 192.0.2.1 dev lan\n"
NEIGHBOURS = "192.0.2.1 dev lan lladdr 02:aa:00:00:00:01\n192.0.2.2 dev dmz lladdr 02:aa:00:00:00:02\n"


@pytest.fixture
def tables():
    return PORTS, ROUTES, NEIGHBOURS


def ask(bench, command, *arguments):
    return penumbra(command, *arguments, "-j", "--socket", bench.folder / "ctl")


def reload(bench, *arguments):
    done = ask(bench, "reload", *arguments)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_routes_and_neighbours_change_under_traffic(bench, router):
    (bench.folder / "routes.txt").write_text(
        "0.0.0.0/1 via 192.0.2.1 dev lan\n128.0.0.0/1 via 192.0.2.2 dev dmz\ndefault via 192.0.2.2 dev dmz\n"
    )
    wanted = ["ipv4: routes: 2 added, 0 removed, 1 changed, 0 as before"]
    plan = json.loads(ask(bench, "plan").stdout)
    assert plan == {"file": str(bench.config), "changes": wanted, "restart": []}
    assert len(router.show("routes")["routes"]) == 1
    assert reload(bench)["changes"] == wanted
    before = {row["name"]: row["tx_packets"] for row in router.show("ports")}
    router.wait_for_packets(count=router.received() + 1000)
    after = {row["name"]: row["tx_packets"] for row in router.show("ports")}
    assert after["dmz"] > before["dmz"] and after["lan"] > before["lan"]
    (bench.folder / "neighbours.txt").write_text("192.0.2.2 dev dmz lladdr 02:aa:00:00:00:03\n")
    assert reload(bench)["changes"] == ["ipv4: neighbours: 0 added, 1 removed, 1 changed, 0 as before"]
    assert router.show("neighbours") == [{"address": "192.0.2.2", "port": "dmz", "mac": "02:aa:00:00:00:03"}]
    assert reload(bench)["changes"] == []
    summary = router.stop()
    assert {reason for _, reason in summary.reasons} == {"unknown_neighbour"}


def test_a_signal_reloads_too(bench, router):
    (bench.folder / "routes.txt").write_text(ROUTES + "10.0.0.0/8 dev dmz\n")
    router.process.send_signal(signal.SIGHUP)
    router.wait_for("the new route", lambda: router.show("routes", "10.0.0.0/8")["routes"])
    router.process.send_signal(signal.SIGTERM)
    stdout, stderr = router.process.communicate(timeout=conftest.PATIENCE)
    conftest.Summary(stdout)
    assert " reload: ipv4: routes: 1 added, 0 removed, 0 changed, 1 as before\n" in stderr


@pytest.mark.parametrize(
    ("old", "new", "code", "message"),
    [
        ("routes.txt, n", "other.txt, n", 3, "other.txt: cannot be read: No such file"),
        ("routes: r", "ruotes: r", 3, "did you mean 'routes'?"),
        ("ipv4", "ipv5", 3, "did you mean 'ipv4'?"),
        ('"lan"', '"lam"', 3, "neighbours.txt:1:15: expected the name of a port"),
        ("rate=5k", "rate=6k", 1, "a change of ports.wan.device takes a restart, or `penumbra port del` and `port add`; nothing has changed"),
        ("pipeline:", "engine: scalar\npipeline:", 1, "a change of engine, pipeline takes a restart"),
        ("  - ipv4", "  - flows\n  - ipv4", 1, "a change of pipeline takes a restart"),
    ],
)
def test_what_is_wrong_changes_nothing(bench, router, old, new, code, message):
    routes = router.show("routes")
    good = bench.config.read_text()
    assert old in good
    bench.config.write_text(good.replace(old, new, 1))
    (bench.folder / "routes.txt").write_text(ROUTES + "10.0.0.0/8 dev dmz\n")
    done = ask(bench, "reload")
    assert done.returncode == code
    assert message in done.stderr and json.loads(done.stdout)["error"]
    if code == 3:  # the same message as that of a command that reads the file itself
        checked = penumbra("check", bench.config, "-j")
        assert (checked.returncode, checked.stdout, checked.stderr) == (code, done.stdout, done.stderr)
        assert ask(bench, "plan").returncode == code
    assert router.show("routes") == routes
    bench.config.write_text("# the same in other words\n" + good.replace("{routes: r", "{ 'routes': r", 1))
    assert reload(bench)["changes"] == ["ipv4: routes: 1 added, 0 removed, 0 changed, 1 as before"]
    router.stop()


def test_a_plan_names_what_takes_a_restart(bench, router):
    other = bench.folder / "other.yaml"
    other.write_text(bench.config.read_text().replace("rate=5k", "rate=6k") + "punts: {each: 5}\n")
    (bench.folder / "routes.txt").write_text(ROUTES + "10.0.0.0/8 dev dmz\n")
    changes = ["ipv4: routes: 1 added, 0 removed, 0 changed, 1 as before"]
    plan = json.loads(ask(bench, "plan", other).stdout)
    assert plan == {"file": str(other), "changes": changes, "restart": ["punts", "ports.wan.device"]}
    assert penumbra("plan", other, "--socket", bench.folder / "ctl").stdout == (
        f"punts: takes a restart\nports.wan.device: takes a restart\n{changes[0]}\n"
    )
    other.write_text(other.read_text().replace("  - ipv4", "  - flows\n  - ipv4"))
    plan = json.loads(ask(bench, "plan", other).stdout)
    assert plan == {"file": str(other), "changes": [], "restart": ["punts", "pipeline", "ports.wan.device"]}
    router.stop()


def test_another_file_takes_over(bench, router):
    other = bench.folder / "other.yaml"
    (bench.folder / "more.txt").write_text(ROUTES + "10.0.0.0/8 dev dmz\n")
    other.write_text(bench.config.read_text().replace("routes.txt", "more.txt"))
    assert reload(bench, other)["changes"] == ["ipv4: routes: 1 added, 0 removed, 0 changed, 1 as before"]
    assert reload(bench) == {"file": str(other), "changes": [], "restart": []}
    router.stop()


def test_a_port_goes_with_its_neighbours(bench, router):
    bench.configure(PORTS[:2], ROUTES, NEIGHBOURS.splitlines(keepends=True)[0])
    assert reload(bench)["changes"] == ["ports.dmz: removed", "ipv4: neighbours: 0 added, 1 removed, 0 changed, 1 as before"]
    assert router.show("neighbours") == [{"address": "192.0.2.1", "port": "lan", "mac": "02:aa:00:00:00:01"}]
    bench.configure(PORTS, ROUTES, NEIGHBOURS)
    assert reload(bench)["changes"] == ["ports.dmz: added, 'none'", "ipv4: neighbours: 1 added, 0 removed, 0 changed, 1 as before"]
    assert len(router.show("neighbours")) == 2
    router.stop()


def test_a_renamed_port_keeps_its_file_its_routes_and_its_neighbours(bench):
    ports = [PORTS[0], {"name": "lan", "device": "none", "sink": "lan.pcap", "addresses": ["192.0.2.254/24"]}]
    bench.configure(ports, ROUTES, NEIGHBOURS.splitlines(keepends=True)[0])
    with bench.start() as router:
        router.wait_for_packets()
        for name in ("inside", "lan"):
            ports[1]["name"] = name
            for file in ("routes.txt", "neighbours.txt"):
                text = (bench.folder / file).read_text()
                (bench.folder / file).write_text(re.sub(r"dev \w+", f"dev {name}", text))
            bench.config.write_text(re.sub(r'(?<="name": )"(lan|inside)"', f'"{name}"', bench.config.read_text()))
            was = "inside" if name == "lan" else "lan"
            assert reload(bench)["changes"] == [
                f"ports.{name}: renamed, was {was}",
                "ipv4: routes: 0 added, 0 removed, 1 changed, 0 as before",
                "ipv4: neighbours: 1 added, 1 removed, 0 changed, 0 as before",
            ]
            assert [row["name"] for row in router.show("ports")] == ["wan", name]
            assert router.show("neighbours") == [{"address": "192.0.2.1", "port": name, "mac": "02:aa:00:00:00:01"}]
            router.wait_for_packets(count=router.received() + 100)
        summary = router.stop()
    assert summary.reasons == {}
    assert summary.received == summary.sent == len(captures.read_capture(bench.folder / "lan.pcap").frames)


def test_two_hundred_reloads_under_load_half_of_them_bad(bench):
    """Every packet must take a route that existed at some time, and no packet may be lost."""
    ports = [{**PORTS[0], "device": "synth:dst=uniform,seed=3"}, *PORTS[1:]]
    bench.configure(ports, ROUTES, NEIGHBOURS)
    generator = random.Random(4)
    with bench.start() as router:
        router.wait_for_packets()
        for i in range(40 if conftest.SANITIZED else 200):
            port, gateway = generator.choice([("lan", "192.0.2.1"), ("dmz", "192.0.2.2")])
            routes = [f"{n}.0.0.0/8 via {gateway} dev {port}\n" for n in generator.sample(range(1, 100), 20)]
            if i % 2:
                routes.append(generator.choice(["nonsense\n", "10.0.0.0/8 dev nowhere\n", "10.0.0.1/8 dev lan\n", "1\0"]))
            (bench.folder / "routes.txt").write_text(ROUTES + "".join(routes))
            assert (ask(bench, "reload").returncode == 0) == (i % 2 == 0)
        summary = router.stop()
    assert summary.reasons == {}
    assert summary.received == summary.sent > 10000
