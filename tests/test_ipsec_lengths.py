# SPDX-License-Identifier: Apache-2.0
"""Compares `ipsec` with a codec in Python at every length up to 9000 bytes, for each algorithm."""

import os

import pytest

from esp_codec import SUITES
from ipsec_world import PORTS, aged, configure, frame, reasons
from test_ipsec import plain, run

MOST = 9000
MTU = 9190  #: room for ESP
LONG = os.environ.get("PENUMBRA_LONG") == "1"
pytestmark = pytest.mark.skipif(not LONG, reason="takes minutes: PENUMBRA_LONG=1 (make test-long)")


@pytest.mark.parametrize("suite", SUITES, ids=str)
def test_every_length_of_an_algorithm(bench, suite):
    combination = plain(suite=suite)
    configure(bench, [combination], settings=f", mtu: {MTU}", ports=[{**PORTS[0], "mtu": MTU}])
    leaving = [combination.leaving(length) for length in range(MOST + 1)]
    arriving = [combination.arriving(length) for length in range(MOST + 1)]
    frames = [frame(packet) for packet in leaving]
    frames += [frame(combination.back.seal(number, packet)) for number, packet in enumerate(arriving, 1)]
    summary, outputs = run(bench, frames)
    assert reasons(summary) == {} and len(outputs) == len(frames)
    sealed, opened = outputs[: len(leaving)], outputs[len(leaving) :]
    assert opened == arriving
    for number, (outer, packet) in enumerate(zip(sealed, leaving, strict=True), 1):
        assert combination.out.open(outer)[::2] == (number, aged(packet))
