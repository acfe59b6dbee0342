# SPDX-License-Identifier: Apache-2.0
"""Provides synthetic documents of measurements, the page that tools/report makes of them, and its parsed content."""

import json
import re
import subprocess
import sys

import conftest

TOOL = conftest.ROOT / "tools" / "report"
sys.path.append(str(TOOL))


def run_report(*arguments, patience=conftest.PATIENCE):
    command = [sys.executable, TOOL, *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=patience, check=False)


def contender(name, value, role="ours", **more):
    spread = {"median": value, "min": value * 0.95, "max": value * 1.05}
    return {"name": name, "role": role, "samples": [value * factor for factor in (0.95, 1.0, 1.05)], "value": spread, **more}


def comparison(title, unit, contenders, plot=None):
    return {"title": title, "unit": unit, "contenders": contenders, "plot": plot}


def entry(benchmark, measurements, comparisons, **more):
    missed = {"what": f"{benchmark} missed", "value": 3.0, "wanted": 2.0, "at_least": False, "met": False}
    bars = [missed, {"what": f"{benchmark} not shown", "met": None, "not_shown": "no rival"}]
    return {"benchmark": benchmark, "measurements": measurements, "bars": bars, "comparisons": comparisons, **more}


def gopt(speed):
    plot = {"measurement": "E6", "title": "look-ups in tables of 1 GiB", "x": "look-up", "x_unit": ""}
    large = [
        comparison(
            f"{kind}, 1 GiB",
            "M items/s/core",
            [
                contender("plain loop", speed),
                contender("gopt, best: 16 at a time", speed * gain, curve="gopt"),
                contender("group prefetching", speed * gain * 0.97, "rival"),
                contender("line rate", speed * 10, "limit"),
            ],
            {**plot, "at": kind},
        )
        for kind, gain in {"cuckoo": 2.6, "chase of 100": 6.6, "IPv6 trie": 2.0}.items()
    ]
    return entry("gopt", ["E6"], [*large, comparison("neighbours", "us", [contender("one", 1.0), contender("two", 2.0)])])


def copies(peak):
    plot = {"measurement": "E1", "title": "copies, one after the other", "x": "copy", "x_unit": "B"}
    rates = {2**power: peak * 2**power / (2**power + 1e5) for power in range(8, 27, 2)}
    ways = {size: [contender("to the GPU", rate), contender("from the GPU", 1.1 * rate)] for size, rate in rates.items()}
    return entry("gpu", ["E1"], [comparison(f"copies of {n}", "GB/s", ways[n], {**plot, "at": n}) for n in rates], watts={"gpus": 250.0})


def document(processor, results, **machine):
    return {
        "schema": "penumbra-bench/1",
        "machine": {"processor": processor, "cores": 16, **machine},
        "build": {"version": "penumbra 0.1.0 (commit 1234567)"},
        "date": "2026-11-24T09:00:00Z",
        "results": results,
    }


def two_machines():
    absent = {"benchmark": "gpu", "measurements": ["E1"], "absent": "no NVIDIA driver: a file is not there"}
    failed = {"benchmark": "load", "measurements": ["E9"], "error": "an answer was wrong"}
    other = entry("lookup", [], [comparison("uniform", "M/s/core", [contender("ours", 2.0), contender("rte_lpm", 1.0, "rival")])])
    return [
        document("AMD EPYC 9654", [gopt(10), absent, failed, other]),
        document("Intel Xeon 8480", [gopt(15), copies(50)], gpu="NVIDIA H200"),
    ]


def report(folder, documents, *arguments):
    files = [folder / f"results{number}.json" for number in range(len(documents))]
    for file, each in zip(files, documents, strict=True):
        file.write_text(each if isinstance(each, str) else json.dumps(each))
    return run_report(*files, "-o", folder / "report.html", *arguments)


def text_of(element):
    return re.sub(r"\s+", " ", " ".join(element.itertext())).strip()


def section(tree, name):
    return next(each for each in tree.iter("section") if each.get("id") == name)
