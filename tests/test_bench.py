# SPDX-License-Identifier: Apache-2.0
"""What benchmarks do before they measure; their figures are no matter of tests."""

import json
import os

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
