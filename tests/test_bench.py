# SPDX-License-Identifier: Apache-2.0
"""What benchmarks do before they measure; their figures are no matter of tests."""

import glob
import json
import os
import re

import pytest

from conftest import SANITIZED, penumbra


@pytest.mark.skipif(SANITIZED, reason="measures nothing worth the time")
def test_the_whole_routers_benchmark_checks_its_answers(monkeypatch):
    """Without its rival, which takes longest."""
    path = [folder for folder in os.environ["PATH"].split(":") if not os.path.exists(f"{folder}/dpdk-testpmd")]
    monkeypatch.setenv("PATH", ":".join(path))
    done = penumbra("bench", "forward", "--rounds", 1, "-j")
    assert done.returncode == 0, done.stderr
    (report,) = json.loads(done.stdout)["results"]
    assert report["checked"] and [bar["met"] for bar in report["bars"]] == [None]


def test_the_gpus_benchmark_says_that_there_is_none():
    if glob.glob("/dev/nvidia[0-9]*"):
        pytest.skip("there is a GPU")
    done = penumbra("bench", "gpu", "--rounds", 1, "-j")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["met"] is None
    (report,) = document["results"]
    assert len(report["bars"]) == 13 and not report["comparisons"]
    for bar in report["bars"]:
        assert bar["met"] is None and re.search("no NVIDIA driver|shows no GPU|driver says|built without", bar["not_shown"])
