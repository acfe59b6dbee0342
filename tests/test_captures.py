# SPDX-License-Identifier: Apache-2.0
"""Tests every packet of every real capture against the oracle, and captures that cannot be read."""

import random
from collections import Counter

import pytest
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether

import captures
import conftest
from captures import frames_of, read_capture, write_pcap, write_pcapng
from network import (
    DEFAULT_ROUTE,
    HALF_A_DEFAULT_ROUTE,
    NEIGHBOURS,
    PORTS,
    ROUTES,
    crafted,
    sample_frames,
)
from oracle.compare import compare, expect
from oracle.ipv4 import explain

EVERY_REASON = {
    *("runt", "wrong_mac", "truncated", "bad_version", "bad_header_length", "bad_total_length", "bad_checksum"),
    *("martian_source", "martian_destination", "link_broadcast", "no_route", "blackhole", "unreachable", "link_local"),
    *("arp", "ipv6", "ipv6_neighbour_discovery", "ipv6_link"),
    *("other_ethertype", "broadcast", "multicast", "options", "local", "ttl_expired"),
    *("unknown_neighbour", "fragmentation_needed"),
}
#: Many frames of the corpus have this destination MAC address.
FREQUENT_MAC = "02:00:00:00:00:02"


def check(bench, summary, frames, *, total_order):
    """Asserts that the counters and captures of the run equal the oracle's results for the frames."""
    expected = expect(bench.oracle(), frames, bench.ports[0]["name"])
    assert summary.received == expected.received
    assert summary.reasons == dict(expected.counted)
    assert summary.sent == len(expected.sent)
    outputs = bench.outputs()
    assert {port: len(sent) for port, sent in outputs.items()} == summary.sent_by_port
    compare(expected, outputs, total_order=total_order)
    return expected


#: Routers that do not start get one route. A default route would first fill the whole table, which takes half a second
#: with a sanitizer.
ONE_ROUTE = "10.0.0.0/24 via 203.0.113.1 dev core\n"


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("promiscuous", [True, False])
def test_every_packet_of_every_capture(bench, corpus, workers, promiscuous):
    whole = workers == 1 or conftest.SANITIZED  # else a third, because the oracle needs a minute for all frames
    frames = corpus.frames()[:: 1 if whole else 3]
    wan = {} if promiscuous else {"promiscuous": False, "mac": FREQUENT_MAC}
    others = {} if promiscuous else {"mac": "02:00:00:00:00:f1"}
    ports = [{**PORTS[0], **wan}, {**PORTS[1], **others}, *PORTS[2:]]
    bench.configure(
        ports, ROUTES + (DEFAULT_ROUTE if promiscuous else HALF_A_DEFAULT_ROUTE), NEIGHBOURS, workers=workers
    )
    write_pcap(bench.folder / "in.pcap", frames_of(frames))
    expected = check(bench, bench.run(timeout=300), frames, total_order=workers == 1)
    occurred = {reason for _, reason in expected.counted}
    if not whole:
        assert len(expected.sent) > 10_000 and len(occurred) > 10
    elif promiscuous:
        assert occurred == EVERY_REASON - {"wrong_mac", "no_route"}
        assert all(bench.outputs().values())
    else:
        assert occurred >= {"wrong_mac", "no_route"}


@pytest.mark.parametrize("part", range(8))
def test_every_ethernet_capture_in_its_own_format(bench, corpus, part):
    """Each capture has its own port and the format on disk: pcap or pcapng, either byte order, micro- or
    nanoseconds."""
    files = corpus.ethernet[part::8]
    ports = [{"name": f"p{i}", "device": f"pcap:{file.path}", "sink": "count"} for i, file in enumerate(files)]
    out = {"name": "out", "device": "none", "sink": "out.pcap"}
    bench.configure([out, *ports], "default via 10.0.0.1 dev out\n", "10.0.0.1 dev out lladdr 02:aa:00:00:00:01\n")
    summary = bench.run()
    expected = [expect(bench.oracle(), [f.data for f in file.capture.frames], f"p{i}") for i, file in enumerate(files)]
    assert [summary.received_by_port[f"p{i}"] for i in range(len(files))] == [e.received for e in expected]
    assert summary.reasons == dict(sum((e.counted for e in expected), Counter()))
    sent = Counter(f.data for f in read_capture(bench.folder / "out.pcap").frames)
    assert sent == Counter(outcomes[0].frame for e in expected for outcomes in e.sent)


@pytest.mark.parametrize("writer", [write_pcap, write_pcapng])
@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("nanoseconds", [False, True])
def test_formats(bench, writer, order, nanoseconds):
    frames = sample_frames()
    bench.configure(PORTS, DEFAULT_ROUTE, NEIGHBOURS)
    writer(bench.folder / "in.pcap", frames_of(frames), order=order, nanoseconds=nanoseconds)
    check(bench, bench.run(), frames, total_order=True)


def refused(bench, *fragments):
    """Asserts that a run with this configuration does not start, reports place and reason, and leaves no file."""
    before = sorted(bench.folder.iterdir())
    done = conftest.penumbra("run", bench.config)
    assert done.returncode == 3, done.stderr
    assert done.stdout == ""
    assert sorted(bench.folder.iterdir()) == before
    for fragment in fragments:
        assert fragment in done.stderr
    return done.stderr


def test_damaged_captures_are_refused(bench, corpus):
    assert corpus.damaged and corpus.oversized
    for file in corpus.damaged + corpus.oversized:
        bench.configure([{**PORTS[0], "device": f"pcap:{file.path}"}, *PORTS[1:]], ONE_ROUTE, NEIGHBOURS)
        refused(bench, str(file.path), "router.yaml:2:")


def test_captures_of_every_other_link_type_are_refused(bench, corpus):
    """The error must have the tcpdump group's name of the link type."""
    by_type = {file.capture.link_type: file for file in corpus.foreign}
    assert len(by_type) > 30
    names = {127: "IEEE802_11_RADIO", 113: "LINUX_SLL", 0: "NULL", 228: "IPV4"}
    for link_type, file in by_type.items():
        bench.configure([{**PORTS[0], "device": f"pcap:{file.path}"}, *PORTS[1:]], ONE_ROUTE, NEIGHBOURS)
        refused(bench, str(file.path), names.get(link_type, ""), "Ethernet")


@pytest.mark.parametrize("writer", [write_pcap, write_pcapng])
def test_truncated_captures_are_refused(bench, writer):
    """A capture that is truncated within a record must be refused (libpcap decides)."""
    whole = bench.folder / "whole.pcap"
    writer(whole, frames_of(sample_frames(3)))
    content = whole.read_bytes()
    cut = bench.folder / "in.pcap"
    cut.touch()
    bench.configure(PORTS, ONE_ROUTE, NEIGHBOURS)
    judge = captures.Libpcap()
    refusals = 0
    for length in sorted(
        {0, 1, 3, 4, 23, 24, 27, 28, 33, 39, 40, 41, *random.Random(1).sample(range(len(content)), 8)}
    ):
        cut.write_bytes(content[:length])
        if judge.read(cut) is None:
            refused(bench, "in.pcap")
            refusals += 1
    assert refusals > 10


def test_a_capture_that_is_none(bench):
    bench.configure(PORTS, ONE_ROUTE, NEIGHBOURS)
    (bench.folder / "in.pcap").write_text("ports: this is no capture\n")
    refused(bench, "in.pcap")
    (bench.folder / "in.pcap").unlink()
    refused(bench, "in.pcap", "No such file")
    (bench.folder / "in.pcap").mkdir()
    refused(bench, "in.pcap")


def test_an_empty_capture(bench):
    bench.configure(PORTS, ONE_ROUTE, NEIGHBOURS)
    write_pcap(bench.folder / "in.pcap", [])
    summary = bench.run()
    assert (summary.received, summary.sent) == (0, 0)
    assert bench.outputs() == {"wan": [], "lan": [], "dmz": [], "core": []}


# The following tests use crafted packets: every verdict and all its boundary cases.


def test_every_verdict(bench):
    cases = crafted()
    frames = [frame for _, frame, _ in cases]
    bench.configure(PORTS, ROUTES + DEFAULT_ROUTE, NEIGHBOURS)
    judged = [explain(bench.oracle().judge(frame, "wan")) for frame in frames]
    assert [(name, verdict) for (name, _, _), verdict in zip(cases, judged)] == [
        (name, verdict) for name, _, verdict in cases
    ]
    write_pcap(bench.folder / "in.pcap", frames_of(frames))
    check(bench, bench.run(), frames, total_order=True)


def test_no_route_and_wrong_mac(bench):
    ports = [{**PORTS[0], "promiscuous": False, "mac": "02:00:00:00:00:77"}, *PORTS[1:]]
    udp = IP(src="192.0.2.7", dst="8.8.8.8") / UDP()
    frames = [
        bytes(Ether(dst=mac) / udp)
        for mac in [
            "02:00:00:00:00:77",
            "02:00:00:00:00:78",
            "03:00:00:00:00:77",
            "ff:ff:ff:ff:ff:ff",
            "02:00:00:00:00:77",
        ]
    ]
    bench.configure(ports, "8.8.8.0/29 via 203.0.113.1 dev core\n", NEIGHBOURS)
    write_pcap(bench.folder / "in.pcap", frames_of(frames))
    expected = check(bench, bench.run(), frames, total_order=True)
    assert expected.counted == {("drop", "wrong_mac"): 1, ("drop", "no_route"): 2, ("drop", "link_broadcast"): 2}


def test_multipath_shares_flows_by_weight(bench):
    """One flow must use one next hop, which compare() checks. Thousands of flows must be shared 3 : 1, with a tolerance
    of a tenth."""
    generator = random.Random(3)
    frame = Ether(dst="02:00:00:00:00:01") / IP(src="192.0.2.7", dst="10.1.1.1") / UDP()
    flows = []
    for _ in range(4000):
        frame[IP].src, frame[UDP].sport = f"192.0.2.{generator.randrange(1, 255)}", generator.randrange(65536)
        flows.append(bytes(frame))
    frames = [generator.choice(flows) for _ in range(8000)] + flows
    bench.configure(PORTS, ROUTES, NEIGHBOURS, workers=2)
    write_pcap(bench.folder / "in.pcap", frames_of(frames))
    check(bench, bench.run(), frames, total_order=False)
    share = len({f for f in bench.outputs()["lan"]}) / len(set(flows))
    assert 0.65 < share < 0.85


@pytest.mark.parametrize("port", range(1000, 1008))
def test_fragments_and_whole_datagrams_of_a_flow_stay_in_order(bench, port):
    packet = Ether(dst="02:00:00:00:00:01") / IP(src="192.0.2.7", dst="10.1.1.1") / UDP(sport=port, dport=53)
    frames = []
    for number in range(2000):
        packet[IP].id, packet[IP].flags = number, "MF" if number % 2 else 0
        frames.append(bytes(packet))
    bench.configure(PORTS, "10.0.0.0/8 via 203.0.113.1 dev core\n", NEIGHBOURS, workers=2)
    write_pcap(bench.folder / "in.pcap", frames_of(frames))
    assert bench.run().sent == len(frames)
    numbers = [int.from_bytes(frame[18:20], "big") for frame in bench.outputs()["core"]]
    assert numbers == list(range(len(frames)))


def test_a_sink_is_written_while_the_router_has_time(bench):
    bench.configure([{**PORTS[0], "device": "pcap:in.pcap,loop,rate=500"}, *PORTS[1:]], DEFAULT_ROUTE, NEIGHBOURS)
    write_pcap(bench.folder / "in.pcap", frames_of(sample_frames()))
    with bench.start() as router:
        router.wait_for_packets()  # the files may be empty before that
        router.wait_for("packets in the sinks' files", lambda: any(bench.outputs().values()))
        router.stop()
