# SPDX-License-Identifier: Apache-2.0
"""Tests the running configuration: it is shown, saved, and restored unless the change is confirmed."""

import json

import pytest

import conftest
from conftest import penumbra
from live import NEIGHBOURS, PORTS, ROUTES, acl, routes, same

EVERYTHING = """  # the list, then the routes
  - acl: {rules: acl.txt, default: permit}
  - ipv4: {routes: routes.txt, neighbours: neighbours.txt}
  - ipv6
"""


def change_everything(run):
    run.do("route", "add", "20.0.0.0/8 via 192.0.2.2 dev dmz")
    run.do("route", "add", "2001:db8:20::/48 dev dmz")
    run.do("route", "del", "10.0.0.0/8")
    run.do("neighbour", "replace", "192.0.2.2 dev dmz lladdr 02:aa:00:00:00:22")
    run.do("acl", "add", "at 1 deny src 198.51.100.0/24")


def everything(router):
    shown = [router.show(topic, "all") for topic in ("routes",)]
    return shown + [router.show("neighbours"), acl(router)]


@pytest.fixture
def whole(bench):
    ports = [{**port, "addresses": port.get("addresses", []) + [f"2001:db8:{i}::1/64"]} for i, port in enumerate(PORTS)]
    bench.configure(ports, ROUTES, NEIGHBOURS, pipeline=EVERYTHING)
    (bench.folder / "acl.txt").write_text("# mine\npermit src 10.0.0.0/8\n")
    bench.config.write_text("# a comment above\n" + bench.config.read_text() + "\n# the engine\nengine: scalar\n")


def test_the_running_configuration_is_one_that_run_takes(bench, run, whole):
    original = bench.config.read_text()
    with bench.start() as router:
        assert run.try_to("show", "config").stdout == original
        change_everything(run)
        text = run.try_to("show", "config").stdout
        unsaved = json.loads(run.try_to("show", "config", "-j").stdout)["unsaved"]
        assert unsaved == [
            "acl: rules: + deny src 198.51.100.0/24",
            "ipv4: routes: - 10.0.0.0/8 via 192.0.2.1 dev lan metric 20",
            "ipv4: routes: + 20.0.0.0/8 via 192.0.2.2 dev dmz",
            "ipv4: neighbours: - 192.0.2.2 dev dmz lladdr 02:aa:00:00:00:02",
            "ipv4: neighbours: + 192.0.2.2 dev dmz lladdr 02:aa:00:00:00:22",
            "ipv6: routes: + 2001:db8:20::/48 dev dmz",
        ]
        planned = run.try_to("plan").stdout
        for line in unsaved:
            assert f"not saved: {line}\n" in planned
        assert "ipv4: routes: 1 added, 1 removed" in planned  # the effect of a reload
        before = everything(router)
        router.stop()
    assert text.startswith("# a comment above\nports:") and text.endswith("# the engine\nengine: scalar\n")
    bench.config.write_text(text)
    with bench.start() as router:
        assert same(everything(router), before)
        router.stop()


def test_saved_killed_and_started(bench, run, whole):
    """The restarted router must be the same, and only the changed files may have been written."""
    config = bench.config.read_text()
    with bench.start() as router:
        assert run.try_to("save").stdout == "nothing to save: the files have it all\n"
        change_everything(run)
        written = run.try_to("save").stdout.split()
        assert written == [str(bench.folder / name) for name in ("acl.txt", "routes.txt", "neighbours.txt", "router.yaml")]
        assert run.try_to("plan").stdout == "nothing would change\n"
        assert run.try_to("save").stdout == "nothing to save: the files have it all\n"
        before = everything(router)
        router.process.kill()
        router.process.wait(timeout=conftest.PATIENCE)
    assert (bench.folder / "routes.txt").read_text() == "default via 192.0.2.1 dev lan\n20.0.0.0/8 via 192.0.2.2 dev dmz\n".replace("default", "0.0.0.0/0")
    saved = bench.config.read_text()
    assert "routes: |\n" in saved and "2001:db8:20::/48 dev dmz\n" in saved  # ipv6 had no file
    assert saved.split("pipeline:")[0] == config.split("pipeline:")[0]
    assert not [file for file in bench.folder.iterdir() if file.name.endswith((".new", ".save"))]
    with bench.start() as router:
        assert same(everything(router), before)
        assert run.try_to("plan").stdout == "nothing would change\n"
        # A table within the configuration is saved there.
        run.do("route", "add", "2001:db8:30::/48 dev dmz")
        assert run.try_to("save").stdout.split() == [str(bench.config)]
        assert "2001:db8:30::/48 dev dmz\n" in bench.config.read_text()
        router.stop()


def test_what_somebody_else_wrote_is_not_overwritten(bench, run, whole):
    with bench.start() as router:
        run.do("route", "add", "20.0.0.0/8 dev dmz")
        (bench.folder / "routes.txt").write_text(ROUTES + "30.0.0.0/8 dev dmz\n")
        code, said = run.refused("save")
        assert code == 1 and f"{bench.folder}/routes.txt: changed on disk since it was read" in said
        assert (bench.folder / "routes.txt").read_text() == ROUTES + "30.0.0.0/8 dev dmz\n"
        other = bench.folder / "other.yaml"
        assert run.try_to("save", other).stdout.split() == [str(other)]
        assert "20.0.0.0/8 dev dmz" in other.read_text()
        assert penumbra("check", other).returncode == 0
        assert run.refused("save", "/tmp/other.yaml")[0] == 1
        assert run.try_to("save", "--force").stdout.split() == [str(bench.folder / "routes.txt")]
        assert "30.0.0.0/8" not in (bench.folder / "routes.txt").read_text()
        router.stop()


def test_a_long_table_gets_a_file(bench, run):
    bench.configure(PORTS, pipeline="  - ipv4")
    lines = "".join(f"20.{i // 256}.{i % 256}.0/24 dev dmz\n" for i in range(1001))
    with bench.start() as router:
        run.do("route", "add", "-f", "-", input=lines)
        assert run.try_to("save").stdout.split() == [str(bench.folder / "router.ipv4.routes.txt"), str(bench.config)]
        router.stop()
    assert (bench.folder / "router.ipv4.routes.txt").read_text() == lines
    assert "routes: router.ipv4.routes.txt" in bench.config.read_text()
    assert penumbra("check", bench.config).returncode == 0


def test_lines_in_the_configuration_and_their_mistakes(bench):
    def check(pipeline):
        bench.configure(PORTS, pipeline=pipeline)
        return penumbra("check", bench.config)

    assert check('  - ipv4: {routes: ["default dev lan"], neighbours: []}').returncode == 0
    assert check("  - acl:\n      rules: |\n        # one\n        deny src 10.0.0.0/8\n        permit\n").returncode == 0
    assert check("  - l2: {static: ['02:00:00:00:00:01 dev lan']}").returncode == 0
    line = len(bench.config.read_text().split("pipeline:")[0].splitlines())
    done = check("  - ipv4:\n      routes: |\n        default dev lan\n        10.0.0.0/8 dev lam\n")
    assert done.returncode == 3 and f"router.yaml:{line + 5}:24: " in done.stderr and "did you mean 'lan'?" in done.stderr
    done = check('  - ipv4:\n      routes:\n        - default dev lan\n        - 10.0.0.0/8 dev lam\n')
    assert done.returncode == 3 and f"router.yaml:{line + 5}:11: " in done.stderr, done.stderr
    done = check("  - ipv4: {routes: [[1]]}")
    assert done.returncode == 3


def test_a_change_that_nobody_confirms_is_taken_back(bench, run, router):
    before = routes(router)
    done = run.try_to("route", "add", "20.0.0.0/8 dev dmz", "--confirm", "300s")
    assert done.stdout == "ipv4: route: 1 added\ntaken back in 300 s unless `penumbra confirm` comes\n"
    assert run.refused("save")[0] == 1
    run.do("neighbour", "del", "192.0.2.2 dev dmz", "--confirm", "1s")  # restarts the timeout of both changes
    router.wait_for("the old routes", lambda: routes(router) == before)
    router.wait_for("the old neighbours", lambda: len(router.show("neighbours")) == 2)
    assert run.refused("confirm") == (1, "no change waits to be confirmed")
    assert run.try_to("plan").stdout == "nothing would change\n"
    router.stop()


def test_a_change_that_is_confirmed_stays(bench, run, router):
    run.do("route", "add", "20.0.0.0/8 dev dmz", "--confirm", "300s")
    run.do("route", "add", "30.0.0.0/8 dev dmz", "--confirm", "300s")
    assert run.try_to("confirm").stdout == "confirmed\n"
    run.do("route", "add", "40.0.0.0/8 dev dmz", "--confirm", "300s")
    run.do("route", "del", "20.0.0.0/8")
    assert run.try_to("rollback").stdout == "taken back\n"
    assert {prefix for prefix, _ in routes(router)} == {"0.0.0.0/0", "10.0.0.0/8", "20.0.0.0/8", "30.0.0.0/8"}
    assert run.refused("rollback")[0] == 1
    for bad in ("0", "soon", "2000h"):
        assert run.refused("route", "add", "50.0.0.0/8 dev dmz", "--confirm", bad)[0] == 2
    router.stop()


def test_a_reload_that_nobody_confirms_is_taken_back(bench, run, router):
    run.do("route", "add", "20.0.0.0/8 dev dmz")  # changed by a command before the reload
    before = routes(router)
    (bench.folder / "routes.txt").write_text("default via 192.0.2.2 dev dmz\n")
    done = run.try_to("reload", "--confirm", "1s")
    assert "ipv4: routes: 0 added, 2 removed, 1 changed" in done.stdout and "taken back in 1 s" in done.stdout
    router.wait_for("the old routes", lambda: routes(router) == before)
    assert "not saved: ipv4: routes: + 20.0.0.0/8 dev dmz\n" in run.try_to("plan").stdout
    router.stop()
