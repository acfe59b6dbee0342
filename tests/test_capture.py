# SPDX-License-Identifier: Apache-2.0
"""Tests `penumbra capture`: it writes what the router received, sent and dropped, even with slow clients and several
clients."""

import json
import pathlib
import re
import signal
import struct
import subprocess

import pytest
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import ARP, Ether

import conftest
import needs
import netns
from captures import frames_of, read_capture, write_pcap
from oracle.compare import expect
from test_netns import Network, mixed_frames, start

ROUTES = "10.0.0.0/8 via 192.0.2.1 dev lan\nblackhole 11.0.0.0/8\n"
NEIGHBOURS = "192.0.2.1 dev lan lladdr 02:aa:00:00:00:01\n"
PORTS = [
    {"name": "wan", "device": "pcap:in.pcap,loop,rate=20000"},
    {"name": "lan", "device": "none"},
]
FAST = [
    {"name": "wan", "device": "synth:size=60,dst=prefixes:routes.txt", "sink": "count"},
    {"name": "lan", "device": "none", "sink": "count"},
]


def some_frames(count):
    """Returns numbered frames to ports 0 to 9. Most are forwarded; some are dropped or punted for several reasons."""
    ether = Ether(dst="02:00:00:00:00:01", src="02:00:00:00:00:99")
    frames = []
    for i in range(count):
        destination, ttl, checksum = "10.1.2.3", 9, None
        if i % 5 == 1:
            destination = ("11.0.0.1", "12.0.0.1", "127.0.0.1")[i // 5 % 3]
        if i % 5 == 2:
            ttl, checksum = (1, None) if i % 2 else (9, 1)
        packet = IP(src="192.0.2.9", dst=destination, ttl=ttl, chksum=checksum) / UDP(sport=i % 10, dport=53)
        frames.append(bytes(ether / packet / struct.pack(">I", i) / bytes(i % 300)))
    return frames


class Capturing(conftest.Background):
    """Runs `penumbra capture` in the background, and ends it on exit."""

    def __init__(self, router, what, *arguments):
        self.file = router.socket.parent / f"{what}-{len(list(router.socket.parent.iterdir()))}.pcap"
        self.process = subprocess.Popen(
            [conftest.PROGRAM, "capture", what, "-w", self.file, "-j", "--socket", router.socket, *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        router.wait_for("the capture's file", lambda: self.file.exists() and self.file.stat().st_size >= 24)

    def end(self, signal_number=None):
        """Returns the captured frames and the report."""
        if signal_number is not None:
            self.process.send_signal(signal_number)
        output, errors = self.process.communicate(timeout=conftest.PATIENCE)
        conftest.check_sanitizers(errors)
        assert self.process.returncode == 0, errors
        report, frames = json.loads(output), read_capture(self.file).frames
        assert report["captured"] == len(frames)
        return frames, report


def is_window(frames, whole):
    """True if the frames are a part of `whole`, which repeats endlessly."""
    begin = whole.index(frames[0])
    return frames == [whole[(begin + i) % len(whole)] for i in range(len(frames))]


@pytest.fixture
def frames():
    return some_frames(500)


@pytest.fixture
def router(bench, frames):
    bench.configure(PORTS, ROUTES, NEIGHBOURS)
    write_pcap(bench.folder / "in.pcap", frames_of(frames))
    with bench.start() as running:
        running.wait_for_packets()
        yield running


def test_received_packets_are_those_of_the_source(router, frames):
    with Capturing(router, "wan", "--count", "1234") as capture:
        captured, report = capture.end()
    assert len(captured) == 1234 and report == {"captured": 1234, "lost": 0, "reasons": {}}
    assert is_window([f.data for f in captured], frames)
    times = {f.data: f.time_ns for f in frames_of(frames)}
    assert all(f.time_ns == times[f.data] and f.original_length == len(f.data) for f in captured)


def test_a_filter_and_short_packets(router, frames):
    with Capturing(router, "wan", "--filter", "udp src port 7", "--count", "300", "--snaplen", "50") as capture:
        captured, _ = capture.end()
    assert len(captured) == 300
    wanted = [frame for frame in frames if frame[34:36] == b"\x00\x07"]
    assert is_window([(f.data, f.original_length) for f in captured], [(f[:50], len(f)) for f in wanted])


def test_two_captures_at_once_and_the_sink(bench, router, frames):
    """The capture of sent packets must equal the end of the port's sink."""
    with Capturing(router, "lan", "--direction", "tx") as sent, Capturing(router, "wan") as received:
        router.wait_for_packets(count=router.received() + 2000)
        summary = router.stop()
        got, report = sent.end()
        came, _ = received.end()
    sink = read_capture(bench.folder / "lan.out.pcap").frames
    assert report["lost"] == 0 and len(sink) == summary.sent and 1000 < len(got) < len(sink)
    assert got == sink[-len(got) :]
    assert is_window([f.data for f in came], frames) and len(came) > 2000


@pytest.mark.parametrize("punts", [False, True])
def test_drops_with_their_reasons(bench, router, frames, punts):
    with Capturing(router, "drops", "--count", "700", *(["--punts"] if punts else [])) as capture:
        captured, report = capture.end()
    kinds = ("drop", "punt") if punts else ("drop",)
    oracle = bench.oracle()
    judged = {frame: next(iter(expect(oracle, [frame], "wan").counted), None) for frame in set(frames)}
    assert is_window([f.data for f in captured], [f for f in frames if judged[f] and judged[f][0] in kinds])
    reasons = {}
    for frame in captured:
        name = f"ipv4.{judged[frame.data][1]}"
        reasons[name] = reasons.get(name, 0) + 1
    assert report["reasons"] == reasons and len(reasons) > 2
    reason = "ipv4.ttl_expired" if punts else "ipv4.bad_checksum"
    with Capturing(router, "drops", "--reason", reason, "--count", "50") as capture:
        captured, report = capture.end()
    assert report["reasons"] == {reason: 50}
    assert {judged[f.data][1] for f in captured} == {reason.removeprefix("ipv4.")}


@needs.tools("tcpdump")
def test_into_a_pipe(router):
    command = f"{conftest.PROGRAM} capture wan --socket {router.socket} -w -"
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", f"{command} --count 40 | tcpdump -nn -t -r - 'udp src port 3' 2>/dev/null"],
        capture_output=True,
        text=True,
        timeout=conftest.PATIENCE,
    )
    assert done.returncode == 0 and "40 packets captured, 0 lost" in done.stderr
    assert len(done.stdout.splitlines()) == 4 and all("192.0.2.9.3 >" in line for line in done.stdout.splitlines())
    # A closed pipe is no error.
    done = subprocess.run(
        ["bash", "-c", f"{command} | head -c 1000 >/dev/null; echo ${{PIPESTATUS[0]}}"],
        capture_output=True,
        text=True,
        timeout=conftest.PATIENCE,
    )
    assert (done.stdout, done.stderr) == ("0\n", "")


def test_without_a_file_prints_a_line_a_packet(router):
    done = conftest.penumbra("capture", "wan", "--count", "20", "--filter", "src port 3", "--socket", router.socket)
    assert done.returncode == 0 and "20 packets captured, 0 lost" in done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) == 20
    form = re.compile(r"\d\d:\d\d:\d\d\.\d{6} IP 192\.0\.2\.9\.3 > \d+\.\d+\.\d+\.\d+\.53: UDP, length \d+")
    assert all(form.fullmatch(line) for line in lines), lines
    done = conftest.penumbra("capture", "wan", "-j", "--count", "1", "--socket", router.socket)
    assert done.returncode == 2 and "-w FILE" in done.stderr


def test_headers_that_were_cut_off_are_no_runts(router):
    lines = {}
    for size in (10, 14, 34, 42):
        done = conftest.penumbra("capture", "wan", "--count", "1", "--snaplen", str(size), "--filter", "src port 3", "--socket", router.socket)
        lines[size] = re.sub(r"^\S+ |\d+$", "", done.stdout.strip())
    assert re.fullmatch(r"\[cut at 10\], length ", lines[10]) and lines[14] == "IP, [cut at 14]"
    assert re.fullmatch(r"IP 192\.0\.2\.9 > \S+: protocol 17, length \d+, \[cut at 34\]", lines[34])
    assert re.fullmatch(r"IP 192\.0\.2\.9\.3 > \S+: UDP, length ", lines[42])


def test_a_capture_ends_with_its_port_and_others_go_on(bench, run, frames):
    bench.configure([*PORTS, {"name": "spare", "device": "none"}], ROUTES, NEIGHBOURS)
    write_pcap(bench.folder / "in.pcap", frames_of(frames))
    with bench.start() as router, Capturing(router, "drops") as drops, Capturing(router, "wan") as wan:
        with Capturing(router, "spare", "--direction", "both") as capture:
            assert run.do("port", "del", "spare") == [("router", 0, 1, 0)]
            output, errors = capture.process.communicate(timeout=conftest.PATIENCE)
        assert capture.process.returncode == 1
        assert "the capture ends: port 'spare' was removed" in errors
        assert json.loads(output)["ended"] == "port 'spare' was removed"
        done = conftest.penumbra("capture", "spare", "--socket", router.socket)
        assert done.returncode == 2 and "there is no port 'spare'; there are: wan, lan" in done.stderr
        run.do("port", "add", "spare device none")
        with Capturing(router, "spare") as capture:
            assert capture.end(signal.SIGINT)[1] == {"captured": 0, "lost": 0, "reasons": {}}
        router.wait_for_packets(count=router.received() + 1000)
        assert "ended" not in drops.end(signal.SIGINT)[1] and "ended" not in wan.end(signal.SIGINT)[1]
        router.stop()


def test_clients_that_are_killed_leave_nothing_behind(router):
    """The test starts more clients than there may be captures at a time."""
    for _ in range(12):
        with Capturing(router, "wan") as capture:
            capture.process.send_signal(signal.SIGKILL)
    with Capturing(router, "wan", "--count", "10") as capture:
        assert len(capture.end()[0]) == 10
    router.stop()


def test_as_many_captures_as_there_can_be(router):
    captures = [Capturing(router, "wan") for _ in range(8)]
    done = conftest.penumbra("capture", "wan", "-w", router.socket.parent / "x", "--socket", router.socket)
    assert done.returncode == 1 and "8 captures run already" in done.stderr
    assert not (router.socket.parent / "x").exists()
    for capture in captures:
        with capture:
            assert capture.end(signal.SIGINT)[1]["lost"] == 0
    with Capturing(router, "wan", "--count", "1") as capture:
        capture.end()


def test_a_slow_reader_loses_packets_and_the_router_none(bench):
    bench.configure(FAST, ROUTES, NEIGHBOURS)
    with bench.start() as router, Capturing(router, "wan") as capture:
        router.wait_for("packets", lambda: router.received() > 0)
        capture.process.send_signal(signal.SIGSTOP)
        router.wait_for_packets(count=router.received() + 1_000_000)
        capture.process.send_signal(signal.SIGCONT)
        frames, report = capture.end(signal.SIGINT)
        summary = router.stop()
    assert report["lost"] > 0 and len(frames) > 10000
    assert len(frames) + report["lost"] < summary.received
    assert all(len(frame.data) == 60 for frame in frames)
    assert ("drop", "tx_full") not in summary.reasons


def test_a_reader_that_stopped_for_good_does_not_hold_up_the_end(bench):
    bench.configure(FAST, ROUTES, NEIGHBOURS)
    with bench.start() as router, Capturing(router, "wan") as capture:
        capture.process.send_signal(signal.SIGSTOP)
        router.wait_for_packets(count=500_000)
        router.stop()
        capture.process.send_signal(signal.SIGCONT)
        _, errors = capture.process.communicate(timeout=conftest.PATIENCE)
    assert capture.process.returncode == 5 and "hung up" in errors
    read_capture(capture.file)  # must contain whole records


def test_a_full_disk(router):
    if not pathlib.Path("/dev/full").exists():
        pytest.skip("needs /dev/full")
    done = conftest.penumbra("capture", "wan", "-w", "/dev/full", "--socket", router.socket)
    assert done.returncode == 1 and "No space left" in done.stderr
    router.stop()


def test_what_is_wrong(router):
    file = router.socket.parent / "kept"
    write_pcap(file, frames_of([b"mine"]))
    routes = router.socket.parent / "routes.txt"
    done = conftest.penumbra("capture", "wan", "-w", routes, "--socket", router.socket)
    assert done.returncode == 2 and "is no capture" in done.stderr and routes.read_text() == ROUTES
    for arguments, code, message in (
        (["wan", "--filter", "tcp and and"], 2, "syntax error"),
        (["wam"], 2, "did you mean 'wan'?"),
        (["wan", "--punts"], 2, "--punts goes with dropped packets"),
        (["drops", "--direction", "rx"], 2, "--direction goes with a port"),
        (["drops", "--reason", "ipv4.bad_checksums"], 2, "did you mean 'ipv4.bad_checksum'?"),
        (["wan", "--snaplen", "0"], 2, "from 1 to 65535"),
        (["wan", "--count", "0"], 2, "--count"),
        (["wan", "--direction", "up"], 2, "--direction"),
    ):
        done = conftest.penumbra("capture", *arguments, "-w", file, "--socket", router.socket)
        assert done.returncode == code and message in done.stderr, done.stderr
    assert [frame.data for frame in read_capture(file).frames] == [b"mine"]
    router.stop()
    done = conftest.penumbra("capture", "wan", "-w", file, "--socket", router.socket)
    assert done.returncode == 5 and "no router listens" in done.stderr


@needs.NAMESPACES
def test_on_interfaces_what_hosts_sent_and_got(bench):
    network = Network()
    try:
        frames = mixed_frames(network, 300, flows=20)
        frames.append(bytes(Ether(dst="ff:ff:ff:ff:ff:ff", src=network.macs["h1"]) / ARP(pdst="10.1.0.1")))
        expected = expect(network.oracle(), frames, "a")
        inward, outward = network.h1.socket("eth0"), network.h2.socket("eth0")
        with inward, outward, start(bench, network, "net_af_packet") as router:
            with Capturing(router, "a", "--direction", "both") as came, Capturing(router, "b", "--direction", "tx") as left:
                netns.send(inward, frames)
                received = netns.receive(outward, len(expected.sent))
                captured, _ = came.end(signal.SIGINT)
                sent, _ = left.end(signal.SIGTERM)
            router.stop()
    finally:
        network.close()
    assert [f.data for f in captured] == frames
    assert [f.data for f in sent] == received and len(received) == len(expected.sent)
    assert [f.time_ns for f in captured] == sorted(f.time_ns for f in captured)
