# SPDX-License-Identifier: Apache-2.0
"""Tests TCP by iperf3 over veths for 10 s: the rings of the ports must hold the bursts of a sender. Runs in make
test-long only."""

import os

import pytest

import iperf3
import needs
from test_netns import DEVICES, ROUTES, Network

pytestmark = [
    pytest.mark.skipif(os.environ.get("PENUMBRA_LONG") != "1", reason="takes a minute: PENUMBRA_LONG=1 (make test-long)"),
    needs.NAMESPACES,
    needs.tools("iperf3"),
]
RUNS = 5


@pytest.mark.parametrize("driver", DEVICES)
def test_no_ring_overflows(bench, driver):
    network = Network(offloads=True)
    try:
        bench.configure(network.ports(driver), ROUTES, network.neighbours)
        with bench.start(command=network.router.command()) as router:
            for run in range(RUNS):
                iperf3.transfer(network.h1, network.h2, "10.2.0.2", "-t", "10")
                missed = {row["name"]: row["missed"] for row in router.show("ports")}
                dropped = {row["reason"]: row["packets"] for row in router.show("drops") if row["packets"]}
                assert set(missed.values()) == {0} and "tx_full" not in dropped, (run, missed, dropped)
            router.stop()
    finally:
        network.close()
