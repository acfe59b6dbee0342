# SPDX-License-Identifier: Apache-2.0
"""Tests `penumbra show TOPIC --watch`: counters with rates, of a running router."""

import json
import os
import pty
import select
import signal
import subprocess
import time

import pytest

import conftest

ROUTES = "10.0.0.0/8 via 192.0.2.1 dev lan\n"
NEIGHBOURS = "192.0.2.1 dev lan lladdr 02:aa:00:00:00:01\n"
#: The rate keeps a fast core busy for a share that two decimals show.
PORTS = [
    {"name": "wan", "device": "synth:size=imix,rate=300k,seed=3", "sink": "count"},
    {"name": "lan", "device": "none", "sink": "count"},
]
WIRE_BYTES = 24  # additional bytes of a frame on the wire: FCS, preamble, gap


@pytest.fixture
def tables():
    return PORTS, ROUTES, NEIGHBOURS


class Watching(conftest.Background):
    """Runs `penumbra show ... --watch` in the background, and ends it on exit."""

    def __init__(self, router, *arguments, stdout=subprocess.PIPE):
        self.process = subprocess.Popen(
            [conftest.PROGRAM, "show", *arguments, "--socket", router.socket],
            stdout=stdout,
            stderr=subprocess.PIPE,
            text=True,
        )

    def lines(self, count):
        return [json.loads(self.process.stdout.readline()) for _ in range(count)]

    def end(self, signal_number=None):
        """Returns the exit code and the output on standard error."""
        if signal_number is not None:
            self.process.send_signal(signal_number)
        _, errors = self.process.communicate(timeout=conftest.PATIENCE)
        conftest.check_sanitizers(errors)
        return self.process.returncode, errors


def grown(before, after, key):
    return after[key] - before[key]


def test_rates_are_the_growth_of_the_counters(router):
    with Watching(router, "ports", "--watch", "50ms", "-j") as watching:
        lines = watching.lines(6)
        assert watching.end(signal.SIGINT) == (0, "")
    assert lines[0]["seconds"] is None and lines[0]["rows"][0]["rx_packets_per_second"] is None
    for before, after in zip(lines, lines[1:]):
        assert [row["name"] for row in after["rows"]] == ["wan", "lan"]
        for old, new in zip(before["rows"], after["rows"]):
            for way in ("rx", "tx"):
                packets, size = grown(old, new, f"{way}_packets"), grown(old, new, f"{way}_bytes")
                assert new[f"{way}_packets_per_second"] * after["seconds"] == pytest.approx(packets, rel=1e-6)
                bits = 8 * (size + WIRE_BYTES * packets)
                assert new[f"{way}_wire_bits_per_second"] * after["seconds"] == pytest.approx(bits, rel=1e-6)
    assert sum(line["rows"][0]["rx_packets_per_second"] for line in lines[1:]) > 0


@pytest.mark.parametrize("topic", [["workers"], ["functions"], ["drops"], ["ports", "wan"]])
def test_other_topics(router, topic):
    with Watching(router, *topic, "--watch", "100ms", "-j") as watching:
        lines = watching.lines(3)
        assert watching.end(signal.SIGTERM) == (0, "")
    for before, after in zip(lines, lines[1:]):
        for old, new in zip(before["rows"], after["rows"]):
            rate = new["packets_per_second"]
            assert rate * after["seconds"] == pytest.approx(grown(old, new, "packets"), rel=1e-6)
    row = lines[-1]["rows"][0]
    assert row["packets"] > 0
    if topic == ["workers"]:
        assert 0 < row["busy"] <= 1 and 1 <= row["burst"] <= 64 and row["cycles_per_packet"] > 0
    if topic == ["functions"]:
        assert 1 <= row["burst"] <= 64 and row["cycles_per_packet"] > 0


def test_a_router_that_goes_away(bench):
    bench.configure(PORTS, ROUTES, NEIGHBOURS)
    with bench.start() as router, Watching(router, "ports", "--watch", "50ms", "-j") as watching:
        watching.lines(2)
        router.stop()
        code, errors = watching.end()
    assert code == 5 and "the router has gone away" in errors
    done = conftest.penumbra("show", "ports", "--watch", "--socket", router.socket)
    assert done.returncode == 5 and "no router listens" in done.stderr and "gone away" not in done.stderr


@pytest.mark.parametrize("arguments", [("ports", "--watch", "-j"), ("drops", "-j", "--watch")])
def test_a_watch_without_a_period_goes_on(router, arguments):
    with Watching(router, *arguments) as watching:
        first, second = watching.lines(2)
        assert first["seconds"] is None and second["seconds"] > 0
        assert watching.end(signal.SIGINT) == (0, "")


def test_a_terminal_is_redrawn(router):
    master, slave = pty.openpty()
    with Watching(router, "ports", "--watch", "0.05", stdout=slave) as watching:
        os.close(slave)
        text, deadline = "", time.monotonic() + conftest.PATIENCE
        while text.count("\x1b[H") < 4 and time.monotonic() < deadline:
            if select.select([master], [], [], 1)[0]:
                text += os.read(master, 65536).decode()
        assert watching.end(signal.SIGINT) == (0, "")
    os.close(master)
    first, *frames = text.split("\x1b[H")
    assert first == "\x1b[2J"
    for frame in frames[1:3]:
        assert frame.endswith("\x1b[J") and "rx packets per second" in frame
        assert [line.split()[0] for line in frame.splitlines()[1:3]] == ["wan", "lan"]


def test_periods_that_are_none(router):
    for wrong in ("0", "-1", "soon"):
        done = conftest.penumbra("show", "ports", f"--watch={wrong}", "--socket", router.socket)
        assert done.returncode == 2 and "expected a duration" in done.stderr
    assert conftest.penumbra("show", "engines", "--watch", "--socket", router.socket).returncode == 2
