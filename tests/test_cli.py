# SPDX-License-Identifier: Apache-2.0
"""Tests the command line as users and scripts use it."""

import json
import os
import random
import shutil
import subprocess
import time

import pytest
from scapy.layers.inet import ICMP, IP, UDP
from scapy.layers.l2 import Ether

import conftest
from captures import frames_of, read_capture, write_pcap
from conftest import penumbra
from oracle.compare import compare, expect
from oracle.routes import parse_routes

ROUTES = (
    "default via 192.0.2.1 dev lan\n10.0.0.0/8 nexthop via 192.0.2.1 dev lan weight 2 nexthop via 192.0.2.2 dev dmz\n"
)
NEIGHBOURS = "192.0.2.1 dev lan lladdr 02:aa:00:00:00:01\n192.0.2.2 dev dmz lladdr 02:aa:00:00:00:02\n"
PORTS = [
    {"name": "wan", "device": "pcap:in.pcap"},
    {"name": "lan", "device": "none"},
    {"name": "dmz", "device": "none"},
]
#: This router runs until it is stopped.
LIVE = [
    {"name": "wan", "device": "synth:dst=zipf:50,rate=5000,seed=3", "sink": "count"},
    {"name": "lan", "device": "none", "sink": "count"},
    {"name": "dmz", "device": "none", "sink": "count"},
]


def in_shell(script):
    return subprocess.run(
        ["bash", "-c", script], timeout=conftest.PATIENCE, capture_output=True, text=True, check=False
    )


def some_frames(count):
    generator = random.Random(11)
    ether = Ether(dst="02:00:00:00:00:01", src="02:00:00:00:00:99")
    return [
        bytes(
            ether
            / IP(src="192.0.2.9", dst=f"{generator.choice([8, 10])}.1.2.{generator.randrange(256)}")
            / UDP(sport=generator.randrange(100), dport=53)
            / i.to_bytes(4, "big")
        )
        for i in range(count)
    ]


# The following tests run `penumbra lookup`.


# The following tests run `penumbra gen`.


def test_gen_routes_is_seeded(tmp_path):
    outputs = [penumbra("gen", "routes", "--count", "1000", "--seed", seed).stdout for seed in ("1", "1", "2")]
    assert outputs[0] == outputs[1] != outputs[2]
    routes = parse_routes(outputs[0])
    assert len({(r.prefix, r.length) for r in routes}) == 1000
    for wrong in ("-1", "1x", "18446744073709551616"):
        done = penumbra("gen", "routes", "--count", "1", f"--seed={wrong}")
        assert done.returncode == 2 and "expected a whole number from 0" in done.stderr, done.stderr


def test_gen_traffic_through_the_router(bench):
    """The packets of `gen`, including odd packets of all kinds, are compared with the oracle."""
    files = [bench.folder / name for name in ("in.pcap", "again.pcap", "other.pcap")]
    made = penumbra(
        "gen",
        "routes",
        "--count",
        "5000",
        "--ports",
        "wan,lan,dmz",
        "-o",
        bench.folder / "r",
        "--neighbours",
        bench.folder / "n",
    )
    assert made.returncode == 0, made.stderr
    for file, seed in zip(files, ("4", "4", "5")):
        done = penumbra(
            "gen",
            "traffic",
            "--packets",
            "20k",
            "--routes",
            bench.folder / "r",
            "--dst",
            "prefixes",
            "--odd",
            "30",
            "--seed",
            seed,
            "-o",
            file,
        )
        assert done.returncode == 0, done.stderr
    contents = [file.read_bytes() for file in files]
    assert contents[0] == contents[1] != contents[2]
    frames = [frame.data for frame in read_capture(files[0]).frames]
    assert len(frames) == 20000
    bench.configure(PORTS, (bench.folder / "r").read_text(), (bench.folder / "n").read_text())
    expected = expect(bench.oracle(), frames, "wan")
    assert len(expected.counted) > 15
    summary = bench.run()
    assert summary.reasons == dict(expected.counted)
    compare(expected, bench.outputs(), total_order=True)
    verified = penumbra("verify", bench.config, "-j")
    assert verified.returncode == 0, verified.stdout
    findings = json.loads(verified.stdout)
    assert findings["sent"] == findings["agreed"] == len(expected.sent)
    assert findings["unsent"] == {reason: packets for (_, reason), packets in expected.counted.items()}


def test_verify_finds_a_fault(bench):
    """`verify` must find each single fault: a wrong byte, packet or order. Packets of different flows may be
    reordered."""
    frames = some_frames(500)
    first = next(frame for frame in frames if frame[30] == 8)  # leaves by lan
    frames.append(first[:-4] + b"more")  # of the same flow
    bench.configure(PORTS, ROUTES, NEIGHBOURS)
    write_pcap(bench.folder / "in.pcap", frames_of(frames))
    bench.run()
    assert penumbra("verify", bench.config).returncode == 0
    output = bench.folder / "lan.out.pcap"
    right = read_capture(output).frames
    spoilt = {
        "a byte": [*right[:-1], right[-1]._replace(data=right[-1].data[:-1] + b"\xff")],
        "a TTL": [right[0]._replace(data=right[0].data[:22] + b"\x01" + right[0].data[23:]), *right[1:]],
        "a packet missing": right[:-1],
        "a packet twice": [*right, right[-1]],
        "an order": [right[-1], *right[1:-1], right[0]],
    }
    for what, wrong in spoilt.items():
        write_pcap(output, wrong)
        assert penumbra("verify", bench.config).returncode == 4, what
    write_pcap(output, [right[1], right[0], *right[2:]])
    assert penumbra("verify", bench.config).returncode == 0
    bench.configure([{**PORTS[0], "device": "synth:count=1"}, *PORTS[1:]], ROUTES, NEIGHBOURS)
    refused = penumbra("verify", bench.config)
    assert refused.returncode == 3 and "router.yaml:2:" in refused.stderr


# The following tests run `penumbra run`.


def test_two_runs_give_the_same_capture(bench):
    bench.configure(PORTS, ROUTES, NEIGHBOURS)
    write_pcap(bench.folder / "in.pcap", frames_of(some_frames(2000)))
    first = (bench.run().reasons, bench.outputs())
    assert (bench.run().reasons, bench.outputs()) == first
    assert first[1]["lan"] and first[1]["dmz"]


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("packets", [0, 1, 63, 64, 65, 10007])
def test_packets_is_exact(bench, workers, packets):
    bench.configure([{**PORTS[0], "device": "pcap:in.pcap,loop"}, *PORTS[1:]], ROUTES, NEIGHBOURS, workers=workers)
    write_pcap(bench.folder / "in.pcap", frames_of(some_frames(100)))
    summary = bench.run("--packets", packets)
    assert summary.received == summary.sent == packets
    assert sum(map(len, bench.outputs().values())) == packets


def test_for_ends_an_endless_run(bench):
    bench.configure(LIVE, ROUTES, NEIGHBOURS)
    summary = bench.run("--for", "300ms")
    assert summary.received > 0
    assert 0.3 <= summary.json["elapsed_seconds"] < conftest.PATIENCE


def test_summary_for_people_and_progress(bench):
    bench.configure(LIVE, ROUTES, NEIGHBOURS)
    done = penumbra("run", bench.config, "--for", "1500ms", "--progress")
    assert done.returncode == 0
    for word in ("received", "sent", "dropped", "punted", "Mpps", "Gbps", "cycles"):
        assert word in done.stdout
    assert done.stdout.endswith("\nreceived = sent + dropped + punted: holds\n")
    assert "Mpps" in done.stderr


def test_a_reader_that_goes_away_does_not_break_a_run(bench):
    bench.configure(PORTS, ROUTES, NEIGHBOURS)
    frames = some_frames(300)
    write_pcap(bench.folder / "in.pcap", frames_of(frames))
    done = in_shell(f"{conftest.PROGRAM} run {bench.config} | true; exit ${{PIPESTATUS[0]}}")
    assert done.returncode == 0, done.stderr
    assert sum(map(len, bench.outputs().values())) == 300


def test_a_sink_that_fails_fails_the_run_but_keeps_whole_records(bench):
    """A limit on the size of files replaces a full disk: writing fails within a record."""
    port = {"name": "wan", "device": "synth:size=1514,count=3000", "sink": "out.pcap"}
    bench.configure([port], pipeline="  - echo")
    done = in_shell(f"ulimit -f 1500; exec {conftest.PROGRAM} run {bench.config} -j")
    written = (1500 * 1024 - 24) // (16 + 1514)
    assert done.returncode == 1
    assert f"out.pcap: File too large; {3000 - written} packets not written" in done.stderr
    summary = conftest.Summary(done.stdout)
    assert (summary.received, summary.sent) == (3000, written)
    assert summary.reasons == {("drop", "sink_failed"): 3000 - written}
    assert len(bench.outputs()["wan"]) == written


def test_several_routers_at_the_same_time(tmp_path):
    benches = []
    for i in range(3):
        folder = tmp_path / str(i)
        folder.mkdir()
        benches.append(conftest.Bench(folder))
        benches[i].configure(LIVE, ROUTES, NEIGHBOURS)
    with benches[0].start() as a, benches[1].start() as b, benches[2].start() as c:
        assert all(router.show("ports")[0]["name"] == "wan" for router in (a, b, c))
        assert all(router.stop().received > 0 for router in (c, a, b))


def test_a_second_router_does_not_take_the_socket(bench):
    bench.configure(LIVE, ROUTES, NEIGHBOURS)
    with bench.start() as router:
        second = penumbra("run", bench.config, "--for", "100ms")
        assert second.returncode != 0
        assert "ctl" in second.stderr
        assert router.show("ports")[0]["name"] == "wan"
        assert router.stop().received > 0


@pytest.mark.skipif(
    os.geteuid() != 0 or shutil.which("setpriv") is None, reason="needs root and setpriv to give root away"
)
def test_without_root(bench):
    """The router runs as user nobody without capabilities, from captures to captures."""
    bench.configure(PORTS, ROUTES, NEIGHBOURS)
    frames = some_frames(500)
    write_pcap(bench.folder / "in.pcap", frames_of(frames))
    program = shutil.copy(conftest.PROGRAM, bench.folder / "penumbra")  # in a folder that nobody may read
    for folder in (bench.folder, *list(bench.folder.parents)[:-2]):
        if "pytest" in str(folder):
            folder.chmod(0o755)
    shutil.chown(bench.folder, "nobody")
    done = subprocess.run(
        [
            "setpriv",
            "--reuid=nobody",
            "--regid=nogroup",
            "--clear-groups",
            "--inh-caps=-all",
            "--bounding-set=-all",
            program,
            "run",
            bench.config,
            "-j",
        ],
        capture_output=True,
        text=True,
        timeout=conftest.PATIENCE,
        env={"PATH": os.environ["PATH"]},
    )
    assert done.returncode == 0, done.stderr
    summary = conftest.Summary(done.stdout)
    assert summary.sent == 500
    compare(expect(bench.oracle(), frames, "wan"), bench.outputs(), total_order=True)


def test_pipeline_of_two_functions(bench):
    """A later function must not change the decision of an earlier function. The list denies everything, but gets no
    IPv4 packet."""
    (bench.folder / "acl.txt").write_text("deny\n")
    bench.configure(
        PORTS,
        ROUTES,
        NEIGHBOURS,
        pipeline="  - ipv4: {routes: routes.txt, neighbours: neighbours.txt, engine: scalar}\n"
        "  - acl: {rules: acl.txt}\n  - ipv6",
    )
    frames = some_frames(200)
    write_pcap(bench.folder / "in.pcap", frames_of(frames))
    assert bench.run().sent == 200
    compare(expect(bench.oracle(), frames, "wan"), bench.outputs(), total_order=True)


# The following tests run `penumbra show` and `penumbra trace`.


def test_show(bench):
    bench.configure(LIVE, ROUTES, NEIGHBOURS)
    with bench.start() as router:
        router.wait_for_packets()
        ports = {row["name"]: row for row in router.show("ports")}
        assert list(ports) == ["wan", "lan", "dmz"]
        assert ports["wan"]["mac"] == "02:00:00:00:00:01" and ports["wan"]["rx_packets"] > 0
        assert {row["direction"] for row in router.show("ports", "wan")} == {"rx", "tx"}
        assert [row["worker"] for row in router.show("workers")] == [0]
        engines = {row["engine"]: row for row in router.show("engines")}
        used = [name for name, row in engines.items() if row["used_by"] == ["ipv4"]]
        assert "scalar" in engines and len(used) == 1 and engines[used[0]]["available"]
        assert [(row["function"], row["engine"]) for row in router.show("functions")] == [("ipv4", used[0])]
        assert all(row["packets"] > 0 for row in router.show("drops"))
        assert {row["reason"] for row in router.show("drops", "all")} >= {
            "runt",
            "truncated",
            "bad_version",
            "bad_checksum",
            "no_route",
            "ttl_expired",
            "undecided",
            "tx_full",
            "rss_ring_full",
            "sink_failed",
        }
        routes = router.show("routes")
        assert "0.0.0.0/0" in json.dumps(routes) and "192.0.2.2" in json.dumps(routes)
        (memory,) = router.show("routes", "--memory")
        assert memory["structure"] == "ipv4_dir24_8"
        assert memory["prefixes"] > 0 and memory["bytes_per_prefix"] == memory["bytes"] // memory["prefixes"]
        for topic in ("ports", "workers", "functions", "drops all", "engines", "routes", "routes --memory", "neighbours"):
            text = penumbra("show", *topic.split(), "--socket", router.socket)
            assert text.returncode == 0 and len(text.stdout.splitlines()) > 1, topic
        assert penumbra("show", "drops", "--socket", router.socket).stdout.startswith("nothing dropped")
        missing = penumbra("show", "ports", "wam", "--socket", router.socket)
        assert missing.returncode == 2 and "did you mean 'wan'?" in missing.stderr
        for topic, message in (("routes abc", "found 'abc'"), ("workers all", "too many arguments")):
            refused = penumbra("show", *topic.split(), "-j", "--socket", router.socket)
            assert refused.returncode == 2 and message in refused.stderr
            assert json.loads(refused.stdout)["ok"] is False
        router.stop()
    assert penumbra("show", "ports", "--socket", router.socket).returncode == 5
    assert not router.socket.exists()


def test_counters_of_a_live_router_only_grow_and_never_lose_a_packet(bench):
    """Workers continue while a table is generated, and ports and drops are two tables. The table that was requested
    first may only lack packets that arrived later. At most one chunk per worker is in flight. At the end all counters
    are exact."""
    workers, chunk = 2, 64
    made = penumbra("gen", "traffic", "--packets", 5000, "--odd", 30, "-o", bench.folder / "in.pcap")
    assert made.returncode == 0, made.stderr
    source = {**LIVE[0], "device": "pcap:in.pcap,loop,rate=200k"}
    bench.configure([source, *LIVE[1:]], ROUTES, NEIGHBOURS, workers=workers)
    with bench.start() as router:

        def unsent():
            return {(row["stage"], row["reason"]): row["packets"] for row in router.show("drops")}

        def ports():
            rows = router.show("ports")
            return sum(row["rx_packets"] for row in rows), sum(row["tx_packets"] for row in rows)

        router.wait_for_packets(count=1000)
        received, sent, reasons = 0, 0, {}
        for _ in range(20):
            earlier_received, earlier_sent, earlier_reasons = received, sent, reasons
            received, sent = ports()
            assert earlier_sent + sum(earlier_reasons.values()) <= received
            assert sent <= received
            assert earlier_received <= sent + sum((reasons := unsent()).values()) + workers * chunk
            assert earlier_received <= received and earlier_sent <= sent
            assert all(earlier_reasons[reason] <= reasons[reason] for reason in earlier_reasons)
        summary = router.stop()
    assert summary.received >= received and summary.sent >= sent
    assert sum(summary.reasons.values()) >= sum(reasons.values()) > 0
    assert summary.received == summary.sent + sum(summary.reasons.values())


def test_trace(bench):
    ether = Ether(dst="02:00:00:00:00:01")
    frames = [bytes(ether / IP(src="192.0.2.9", dst="8.8.8.8") / UDP(sport=5, dport=53))] * 9
    frames += [bytes(ether / IP(src="192.0.2.9", dst="8.8.8.8", ttl=1) / ICMP())]
    bench.configure(
        [{**PORTS[0], "device": "pcap:in.pcap,loop,rate=5000", "sink": "count"}, *LIVE[1:]], ROUTES, NEIGHBOURS
    )
    write_pcap(bench.folder / "in.pcap", frames_of(frames))
    with bench.start() as router:

        def trace(*arguments):
            done = penumbra("trace", *arguments, "-j", "--socket", router.socket)
            assert done.returncode == 0, done.stderr
            return json.loads(done.stdout)

        def traced(count):
            deadline = time.monotonic() + conftest.PATIENCE
            while len(traces := trace("show")) < count and time.monotonic() < deadline:
                time.sleep(0.05)
            return traces

        assert trace("show") == []
        assert penumbra("trace", "show", "--socket", router.socket).stdout.startswith("no packets traced yet")
        # No traffic is TCP, so this request waits until it is replaced.
        never = penumbra("trace", "add", "4", "--filter", "tcp", "--socket", router.socket)
        assert never.stdout == "waiting for 4 packets\n"
        again = penumbra("trace", "add", "2", "--filter", "tcp", "--socket", router.socket)
        assert "replaces" in again.stdout and again.stdout.endswith("waited for 4\n")
        trace("add", "3", "--filter", "icmp", "--port", "wan")
        traces = traced(3)
        assert len(traces) == 3
        for packet in traces:
            assert packet["port"] == "wan" and "8.8.8.8" in packet["frame"]
            assert any("ttl_expired" in line for line in packet["lines"])
        trace("clear")
        trace("add", "2", "--filter", "udp and dst host 8.8.8.8")
        assert all(any("send lan" in line for line in packet["lines"]) for packet in traced(2))
        text = penumbra("trace", "show", "--socket", router.socket).stdout
        assert "192.0.2.9 > 8.8.8.8" in text and "to 02:aa:00:00:00:01 out of lan" in text
        wrong = penumbra("trace", "add", "2", "--filter", "upd", "--socket", router.socket)
        assert wrong.returncode == 2 and "upd" in wrong.stderr
        nowhere = penumbra("trace", "add", "2", "--port", "wam", "--socket", router.socket)
        assert nowhere.returncode == 2 and "did you mean 'wan'?" in nowhere.stderr
        none = penumbra("trace", "add", "0", "--socket", router.socket)
        assert none.returncode == 2 and "from 1 to" in none.stderr
        assert router.stop().sent > 0


# The following tests cover the help, the man page and the completions.


COMMANDS = ["run", "check", "lookup", "gen", "show", "trace", "verify", "completion", "man"]


def test_version_and_help():
    version = penumbra("--version")
    assert version.returncode == 0 and version.stdout.startswith("penumbra ") and "DPDK 22.11" in version.stdout
    overview = penumbra("--help").stdout
    for command in COMMANDS:
        assert f"  {command} " in overview
        told = penumbra(command, "--help")
        assert told.returncode == 0 and told.stdout


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_completion_of_other_shells(tmp_path, shell):
    script = tmp_path / "completion"
    script.write_text(penumbra("completion", shell).stdout)
    assert "penumbra" in script.read_text()
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed: its syntax is not checked")
    assert subprocess.run([shell, "-n", script], timeout=30).returncode == 0


@pytest.mark.parametrize("device", ["net_null0", "net_ring0", "net_vhost0,iface=FOLDER/socket"])
def test_virtual_devices_of_dpdk(bench, device):
    """The devices are configured by devargs only. Other devices have their own tests."""
    port = {"name": "wan", "device": device.replace("FOLDER", str(bench.folder)), "sink": None}
    bench.configure([port, {"name": "lan", "device": "none", "sink": "count"}])
    done = penumbra("run", bench.config, "--for", "100ms")
    assert done.returncode == 0, done.stderr
