# SPDX-License-Identifier: Apache-2.0
"""Provides synthetic documents of measurements, the page that `penumbra-bench report` generates from them, and its
parsed content."""

import json
import re

from conftest import penumbra_bench

HTML = "{http://www.w3.org/1999/xhtml}"


def spread(value, width=0.05):
    return {"median": value, "min": value * (1 - width), "max": value * (1 + width)}


def contender(name, value, role="ours", **more):
    samples = [value * factor for factor in (0.95, 1.0, 1.05)]
    return {"name": name, "role": role, "samples": samples, "value": spread(value), "ratio": spread(1), **more}


def comparison(title, unit, contenders, plot=None):
    found = {"title": title, "unit": unit, "reference": contenders[0]["name"], "contenders": contenders}
    return {**found, "plot": plot} if plot else found


def entry(benchmark, measurements, comparisons, **more):
    bars = [
        {"what": f"{benchmark} met", "value": 2.0, "wanted": 1.5, "at_least": True, "met": True},
        {"what": f"{benchmark} missed", "value": 3.0, "wanted": 2.0, "at_least": False, "met": False},
        {"what": f"{benchmark} not shown", "met": None, "not_shown": "no rival"},
    ]
    found = {"benchmark": benchmark, "measurements": measurements, "rounds": 3, "seconds": 12.5, "bars": bars}
    found |= {"inputs": {"table": "made up"}, "checked": ["every answer"], "notes": [f"a note of {benchmark}"]}
    return {**found, "comparisons": comparisons, **more}


def gopt(speed):
    gains = {"cuckoo": 2.6, "chase of 100": 6.6, "IPv6 trie": 2.0}
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
            {"measurement": "E6", "title": "look-ups in tables of 1 GiB", "x": "look-up", "x_unit": "", "at": kind},
        )
        for kind, gain in gains.items()
    ]
    return entry("gopt", ["E6"], [*large, comparison("neighbours", "us", [contender("one", 1.0), contender("two", 2.0)])])


def copies(peak):
    sizes = [2**power for power in range(8, 27, 2)]
    plot = {"measurement": "E1", "title": "copies, one after the other", "x": "copy", "x_unit": "B"}
    return entry(
        "gpu",
        ["E1"],
        [
            comparison(
                f"copies of {size}",
                "GB/s",
                [
                    contender("to the GPU", peak * size / (size + 1e5)),
                    contender("from the GPU", 1.1 * peak * size / (size + 1e5)),
                ],
                {**plot, "at": size},
            )
            for size in sizes
        ],
        watts=250.0,
    )


def exchanges():
    """Returns results in which polling is faster up to about 1000 numbers."""
    plot = {"measurement": "E3", "title": "N numbers there and back", "x": "numbers", "x_unit": ""}
    return entry(
        "exchange",
        ["E3"],
        [
            comparison(
                f"{n} numbers",
                "us",
                [contender("asynchronous copies", 15 + n / 1e4), contender("polling on shared memory", 5 + n / 100)],
                {**plot, "at": n},
            )
            for n in (1, 64, 512, 4096, 32768)
        ],
    )


def document(processor, results, **machine):
    return {
        "schema": "penumbra-bench/1",
        "machine": {"processor": processor, "cores": 16, "memory": "64 GiB", **machine},
        "build": {"version": "penumbra 0.1.0 (commit 1234567)", "flags": "-O3"},
        "date": "2026-11-24T09:00:00Z",
        "seed": 1,
        "met": None,
        "results": results,
        "planned": [{"measurement": "E12", "measures": "frames", "waits_for": "the IPsec gateway"}],
    }


def two_machines():
    absent = {"benchmark": "gpu", "measurements": ["E1"], "absent": "no NVIDIA driver: a file is not there"}
    failed = {"benchmark": "load", "measurements": ["E9"], "error": "an answer was wrong"}
    too_long = "it did not fit into what was left of 20 min"
    left_out = {"benchmark": "flows", "measurements": ["E22"], "left_out": too_long}
    ways = [contender("ours", 2.0), contender("rte_lpm", 1.0, "rival")]
    other = entry("lookup", [], [comparison("uniform", "M/s/core", ways)])
    return [
        document("AMD EPYC 9654", [gopt(10), absent, failed, left_out, other]),
        document("Intel Xeon 8480", [gopt(15), copies(50), exchanges()], gpu="NVIDIA H200"),
    ]


def report(folder, documents, *arguments):
    files = []
    for number, each in enumerate(documents):
        files.append(folder / f"results{number}.json")
        files[-1].write_text(each if isinstance(each, str) else json.dumps(each))
    return penumbra_bench("report", *files, "-o", folder / "report.html", *arguments)


def text_of(element):
    return re.sub(r"\s+", " ", " ".join(element.itertext()))


def section(tree, name):
    return next(each for each in tree.iter(f"{HTML}section") if each.get("id") == name)
