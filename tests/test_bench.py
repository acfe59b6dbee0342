# SPDX-License-Identifier: Apache-2.0
"""Tests the checks of benchmarks before they measure, and the use of their figures. No test depends on the figures
themselves."""

import glob
import html
import json
import os
import re

import pytest

from conftest import SANITIZED, penumbra, penumbra_bench
from report_pages import run_report

#: Holds the measurements of the papers (E1 to E22).
MEASUREMENTS = {f"E{i}" for i in range(1, 23)}


@pytest.mark.skipif(SANITIZED, reason="measures nothing worth the time")
def test_the_whole_routers_benchmark_checks_its_answers(tmp_path, monkeypatch):
    """The benchmark runs without its rival, which takes the longest time."""
    results = tmp_path / "results.json"
    path = [folder for folder in os.environ["PATH"].split(":") if not os.path.exists(f"{folder}/dpdk-testpmd")]
    monkeypatch.setenv("PATH", ":".join(path))
    done = penumbra_bench("run", "forward", "--rounds", 1, "-o", results, "-j")
    assert done.returncode == 0, done.stderr
    (report,) = json.loads(done.stdout)["results"]
    assert report["checked"] and [bar["met"] for bar in report["bars"]] == [None]
    assert report["rounds"] == 1 and report["seconds"] > 0
    # The report must accept the written data about the machine and the build.
    page = tmp_path / "report.html"
    done = run_report(results, "-o", page)
    assert done.returncode == 0, done.stderr
    assert json.loads(results.read_text())["build"]["version"] in html.unescape(page.read_text())
    # A second run does not measure again. A missed bar must not cause a second document on standard output.
    missed = {**report["bars"][0], "value": 0.5, "met": False}
    results.write_text(json.dumps({**json.loads(results.read_text()), "results": [{**report, "bars": [missed]}]}))
    done = penumbra_bench("run", "forward", "--rounds", 1, "-o", results, "-j")
    assert done.returncode == 4 and "a bar is missed" in done.stderr
    assert json.loads(done.stdout)["results"][0]["bars"] == [missed]


@pytest.mark.skipif(SANITIZED, reason="measures nothing worth the time")
@pytest.mark.parametrize("name", ["crypto", "fragments", "parse", "pattern-jobs", "cipher-jobs"])
def test_a_short_benchmark_measures(name):
    done = penumbra_bench("run", name, "--rounds", 1, "-j")
    assert done.returncode in (0, 4), done.stderr
    (report,) = json.loads(done.stdout)["results"]
    assert report["checked"] and report["comparisons"]


def test_every_measurement_is_listed():
    document = json.loads(penumbra_bench("list", "-j").stdout)
    assert {measurement for each in document["benchmarks"] for measurement in each["measurements"]} == MEASUREMENTS
    assert all(each["seconds"] > 0 and each["measures"] for each in document["benchmarks"])
    keys = [(each["name"], *each["measurements"]) for each in document["benchmarks"]]
    assert len(keys) == len(set(keys)), "a document has one entry for each"


def test_the_gpus_benchmarks_say_that_there_is_none(tmp_path):
    if glob.glob("/dev/nvidia[0-9]*"):
        pytest.skip("there is a GPU")
    results = tmp_path / "results.json"
    done = penumbra_bench("run", "gpu", "-o", results)
    assert done.returncode == 0, done.stderr
    document = json.loads(results.read_text())
    assert document["schema"] == "penumbra-bench/1" and document["met"] is None
    assert "gpu" not in document["machine"]
    measured = {measurement for entry in document["results"] for measurement in entry["measurements"]}
    assert measured >= {"E1", "E2", "E3", "E4", "E5", "E9", "E11", "E15", "E18", "E19", "E21"}
    for entry in document["results"]:
        assert re.search("no NVIDIA driver|shows no GPU|driver says|built without", entry["absent"])
        assert "comparisons" not in entry
    assert f"0 met, 0 missed, {len(document['results'])} not shown" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["E99"], "E99"),
        (["gpu", "list"], "list"),
        ([], "NAME is required"),
        (["E1", "--rounds", 3, "--budget", "1m"], "--budget excludes --rounds|--rounds excludes --budget"),
        (["E1", "--budget", "soon"], "soon"),
        (["E1", "--routes", "/dev/null"], "makes a table of its own"),
        (["E1", "-o", "/dev/null/x"], "cannot|Not a directory"),
    ],
)
def test_what_cannot_be_run(arguments, complaint):
    done = penumbra_bench("run", *arguments)
    assert done.returncode not in (0, 4) and not done.stdout.startswith("bars")
    assert re.search(complaint, done.stderr), done.stderr
    assert len(done.stderr.splitlines()) < 4


def test_results_of_another_kind_are_not_overwritten(tmp_path):
    results = tmp_path / "results.json"
    results.write_text("mine")
    done = penumbra_bench("run", "E1", "-o", results)
    assert done.returncode == 2 and "is no document of results" in done.stderr
    assert results.read_text() == "mine"


@pytest.mark.parametrize("command", ["bench", "report"])
def test_the_router_says_where_the_benchmarks_are(command):
    done = penumbra(command, "forward")
    assert done.returncode == 2 and f"unknown command '{command}'" in done.stderr
    assert {"bench": "penumbra-bench", "report": "tools/report"}[command] in done.stderr


def test_help_and_version():
    assert "list" in penumbra_bench("--help").stdout and "Usage: penumbra-bench" in penumbra_bench("run", "--help").stdout
    assert penumbra_bench("--version").stdout == penumbra("--version").stdout
    alone = penumbra_bench()
    assert alone.returncode == 2 and "  run " in alone.stderr and "Begin with `penumbra-bench list`" in alone.stderr
