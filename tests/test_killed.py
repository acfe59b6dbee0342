# SPDX-License-Identifier: Apache-2.0
"""Tests signals at any time: a run must end in order, and every packet must be counted."""

import random
import signal
import time
from collections import Counter, defaultdict

import pytest

import conftest
from captures import frames_of, read_capture, write_pcap
from network import DEFAULT_ROUTE, NEIGHBOURS, ONE_WAY_ROUTES, PORTS, sample_frames
from oracle.compare import flow_of


def by_flow(sent):
    """Returns the frames by port and flow, in order. `sent` has pairs of a port and a frame."""
    flows = defaultdict(list)
    for port, frame in sent:
        flows[port, flow_of(frame)].append(frame)
    return dict(flows)


def run_and_kill(bench, frames, *, rate, workers, delay, signal_number):
    """Runs the router on an endless loop of the frames and kills it. The counters and captures must equal the oracle's
    results for the received packets. Summary checks the conservation of packets.

    One worker has received a prefix of the loop. Each of several workers has received a prefix of its own flows."""
    device = f"pcap:in.pcap,loop{rate}"
    bench.configure([{**PORTS[0], "device": device}, *PORTS[1:]], ONE_WAY_ROUTES, NEIGHBOURS, workers=workers)
    write_pcap(bench.folder / "in.pcap", frames_of(frames))
    with bench.start() as router:
        router.wait_for_packets()
        time.sleep(delay)
        summary = router.finish(signal_number)
    outputs = bench.outputs()  # each is a complete capture
    assert {port: len(sent) for port, sent in outputs.items()} == summary.sent_by_port
    oracle = bench.oracle()
    judged = [oracle.judge(frame, "wan") for frame in frames]
    assert all(len(outcomes) == 1 for outcomes in judged)
    judged = [outcome for (outcome,) in judged]
    if workers == 1:
        received = [*judged * (summary.received // len(judged)), *judged[: summary.received % len(judged)]]
        assert summary.reasons == dict(Counter((o.kind, o.where) for o in received if o.kind != "send"))
        for port, sent in outputs.items():
            assert sent == [o.frame for o in received if o.kind == "send" and o.where == port]
    else:
        loop = by_flow((o.where, o.frame) for o in judged if o.kind == "send")
        for flow, sent in by_flow((port, frame) for port, frames in outputs.items() for frame in frames).items():
            whole = loop[flow]
            assert sent == [*whole * (len(sent) // len(whole)), *whole[: len(sent) % len(whole)]]
        assert summary.reasons.keys() <= {(o.kind, o.where) for o in judged}
    return summary


@pytest.mark.parametrize("attempt", range(8))
def test_killed_in_the_middle(bench, attempt):
    """The signal may arrive at any time while packets are sent, dropped and punted. The run must end in order."""
    routes = bench.folder / "destinations.txt"
    routes.write_text(ONE_WAY_ROUTES)
    made = conftest.penumbra(
        *("gen", "traffic", "--packets", 1000, "--routes", routes, "--dst", "prefixes", "--odd", 30, "--size", 60),
        *("--seed", attempt, "-o", bench.folder / "made.pcap"),
    )
    assert made.returncode == 0, made.stderr
    frames = [frame.data for frame in read_capture(bench.folder / "made.pcap").frames]
    rate = ",rate=100k" if attempt % 4 else ""
    summary = run_and_kill(
        bench,
        frames,
        rate=rate,
        workers=1 + attempt % 2,
        delay=random.Random(attempt).random() / (4 if rate else 20),
        signal_number=signal.SIGINT if attempt % 3 else signal.SIGTERM,
    )
    assert summary.sent > 0
    if summary.received >= len(frames):
        assert summary.dropped > 0 and summary.punted > 0


def test_killed_in_the_middle_of_real_captures(bench, corpus):
    """The source repeats every packet of every capture until the signal arrives."""
    frames = corpus.frames()
    summary = run_and_kill(bench, frames, rate="", workers=1, delay=0.01, signal_number=signal.SIGINT)
    assert summary.sent > 0 and summary.dropped > 0 and summary.punted > 0


@pytest.mark.parametrize("signal_number", [signal.SIGINT, signal.SIGTERM])
def test_killed_while_starting(bench, signal_number):
    """As soon as the control socket exists, a starting run must end like any other run and leave no socket."""
    bench.configure([{**PORTS[0], "device": "pcap:in.pcap,loop"}, *PORTS[1:]], DEFAULT_ROUTE, NEIGHBOURS)
    write_pcap(bench.folder / "in.pcap", frames_of(sample_frames()))
    for delay in (0.0, 0.005, 0.01, 0.03, 0.1, 0.2):
        with bench.start(answering=False) as router:
            router.wait_for("its control socket", router.socket.exists)
            time.sleep(delay)
            summary = router.finish(signal_number)
        assert {port: len(sent) for port, sent in bench.outputs().items()} == summary.sent_by_port
        assert not router.socket.exists()


def test_more_signals_change_nothing(bench):
    """Further signals must be ignored while the router drains and while it prints its summary."""
    bench.configure([{**PORTS[0], "device": "pcap:in.pcap,loop"}, *PORTS[1:]], DEFAULT_ROUTE, NEIGHBOURS)
    write_pcap(bench.folder / "in.pcap", frames_of(sample_frames()))
    with bench.start() as router:
        for _ in range(20):
            router.process.send_signal(signal.SIGTERM)
            time.sleep(0.002)
        summary = router.finish(signal.SIGTERM)
    assert {port: len(sent) for port, sent in bench.outputs().items()} == summary.sent_by_port
