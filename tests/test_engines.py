# SPDX-License-Identifier: Apache-2.0
"""Tests the calibration of engines: shown while a router runs, and stored for the next run."""

import json

import pytest

import conftest

PORTS = [
    {"name": "wan", "device": "synth:dst=prefixes:routes.txt", "sink": "count"},
    {"name": "lan", "device": "synth:count=1", "sink": "count"},
]
ROUTES = "default via 192.0.2.2 dev lan\n"
NEIGHBOURS = "192.0.2.2 dev lan lladdr 02:00:00:00:00:22\n"


@pytest.fixture
def router(bench):
    listed = {each["engine"] for each in json.loads(conftest.penumbra("show", "engines", "-j").stdout)}
    if "gopt" not in listed:
        pytest.skip("the engine gopt is not built here (Clang 19 libraries)")
    bench.configure(PORTS, ROUTES, NEIGHBOURS, engine="gopt")
    return bench


def notes(running):
    return next(each["notes"] for each in running.show("engines") if each["engine"] == "gopt")


def measured(running):
    running.wait_for("a width", lambda: any("times width 1" in line for line in notes(running)))
    return notes(running)


def test_a_run_begins_with_what_the_last_one_measured(router, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with router.start() as running:
        assert not any("earlier" in line for line in measured(running))
        running.stop()
    kept = tmp_path / "cache" / "penumbra" / "calibration.json"
    [finding] = json.loads(kept.read_text())["engines"]["gopt"]
    assert finding["shader"] == "ipv4_dir24_8" and finding["table_size_class"] >= 25  # 32 MiB or more
    slow = {**PORTS[0], "device": f"{PORTS[0]['device']},rate=1000"}  # too few packets for another trial
    router.configure([slow, PORTS[1]], ROUTES, NEIGHBOURS, engine="gopt")
    with router.start() as running:
        found = f": width {finding['value']}, {finding['gain']:.2f} times width 1 in an earlier run"
        assert any(line.startswith("ipv4_dir24_8, batches of ") and line.endswith(found) for line in measured(running))
        running.stop()


def test_a_cache_that_cannot_be_written_is_said_and_changes_nothing_else(router, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    with router.start() as running:
        measured(running)
        running.process.terminate()
        _, stderr = running.process.communicate(timeout=conftest.PATIENCE)
        assert running.process.returncode == 0
        assert "calibration.json: what the engines measured is not kept: Not a directory" in stderr


def test_where_an_engine_is_named_that_this_machine_lacks_it_says_why_and_the_cpu_runs(bench):
    rows = {row["engine"]: row for row in json.loads(conftest.penumbra("show", "engines", "-j").stdout)}
    cpu = "gopt" if "gopt" in rows else "scalar"
    absent = [row for name, row in rows.items() if name.startswith("cuda") and not row["available"]]
    if not absent:
        pytest.skip("no engine is absent: this program has none of CUDA, or this machine has its GPU")
    for row in absent:
        # The reason is a missing GPU or driver. The program may also have been built without CUDA, as with a sanitizer
        # or without nvcc.
        assert any(word in row["reason"] for word in ("GPU", "NVIDIA", "nvcc"))
        ports = [{**PORTS[0], "device": f"{PORTS[0]['device']},count=1000"}, PORTS[1]]
        config = bench.configure(ports, ROUTES, NEIGHBOURS, engine=row["engine"])
        why = f"engine '{row['engine']}' is not available here: {row['reason']}; ipv4 runs on {cpu}"
        checked = conftest.penumbra("check", "-j", config)
        assert checked.returncode == 0 and why in checked.stderr
        assert [warning.partition(": ")[2] for warning in json.loads(checked.stdout)["warnings"]] == [why]
        ran = conftest.penumbra("run", config)
        assert ran.returncode == 0 and why in ran.stderr
        assert f"ipv4 on engine {cpu}" in ran.stdout
        bench.configure(PORTS, ROUTES, NEIGHBOURS, engine=row["engine"])
        with bench.start() as running:
            told = {each["engine"]: each["notes"] for each in running.show("engines")}
            assert told[row["engine"]] == [f"ipv4 was to run here: it runs on {cpu}"]
            running.stop()
        # A request for one batch on a named engine is refused.
        asked = conftest.penumbra("lookup", "--engine", row["engine"], "--routes", bench.folder / "routes.txt")
        assert asked.returncode == 1 and f"not available here: {row['reason']}" in asked.stderr
        # With automatic selection the router uses the available engines without a warning.
        left_to_it = conftest.penumbra("run", bench.configure(ports, ROUTES, NEIGHBOURS))
        assert left_to_it.returncode == 0 and "not available" not in left_to_it.stderr
