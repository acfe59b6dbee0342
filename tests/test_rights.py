# SPDX-License-Identifier: Apache-2.0
"""Tests the messages of a router without the rights that its configuration needs."""

import os
import shutil
import subprocess

import pytest

import conftest


@pytest.mark.skipif(os.geteuid() != 0 or shutil.which("setpriv") is None, reason="needs root and setpriv")
@pytest.mark.parametrize(("driver", "missing"), [("net_af_xdp", "CAP_BPF"), ("net_af_packet", "CAP_NET_RAW")])
def test_the_capabilities_that_a_port_lacks_are_named(bench, driver, missing):
    bench.configure([{"name": "wan", "device": f"{driver}0,iface=lo", "sink": None}], pipeline="  - echo")
    bare = ["setpriv", "--bounding-set=-all", "--inh-caps=-all", "--"]
    done = subprocess.run(
        [*bare, conftest.PROGRAM, "run", bench.config], capture_output=True, text=True, timeout=conftest.PATIENCE, check=False
    )
    assert done.returncode == 3 and missing in done.stderr and "setcap" in done.stderr
    assert len(done.stderr.splitlines()) == 1, done.stderr
