# SPDX-License-Identifier: Apache-2.0
"""Every packet of every real capture through the router, against the oracle; captures that cannot be read; runs that
are killed in the middle."""

import random
import signal
import time
from collections import Counter

import pytest
from scapy.layers.inet import ICMP, IP, UDP, IPOption_RR
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import ARP, Dot1Q, Ether
from scapy.utils import checksum

import captures
import conftest
import corpus as corpora
from captures import frames_of, read_capture, write_pcap, write_pcapng
from oracle.compare import compare, expect
from oracle.ipv4 import explain

PORTS = [
    {"name": "wan", "device": "pcap:in.pcap", "addresses": ["192.168.2.1/24", "10.0.2.2/24"]},
    {"name": "lan", "device": "none", "addresses": ["192.168.1.1/24"]},
    {"name": "dmz", "device": "none", "mtu": 576},
    {"name": "core", "device": "none"},
]
#: Around the addresses that are frequent in the corpus, so that every verdict occurs.
ROUTES = """
10.0.0.0/8 nexthop via 198.51.100.1 dev lan weight 3 nexthop via 203.0.113.2 dev core  # two ways
10.0.2.0/24 dev wan
10.235.149.0/24 dev lan                      # on the link: some neighbours are known
10.3.22.91 via 203.0.113.2 dev core
85.134.13.165/32 via 203.0.113.77 dev core   # a gateway that does not answer
95.237.48.208/32 via 192.0.2.1 dev wan       # back where it came from
172.16.0.0/12 via 198.51.100.9 dev dmz       # with a small MTU
192.168.0.0/16 via 198.51.100.2 dev lan metric 20
192.168.0.0/16 via 203.0.113.1 dev core metric 10
192.168.1.0/24 dev lan
192.168.2.0/24 dev wan
192.168.12.128/25 via 198.51.100.2 dev lan
blackhole 64.13.134.0/24
unreachable 203.205.0.0/16
"""
NEIGHBOURS = """
198.51.100.1 dev lan lladdr 02:aa:00:00:00:01
198.51.100.2 dev lan lladdr 02:aa:00:00:00:02
10.235.149.243 dev lan lladdr 02:aa:00:00:00:03
192.168.1.29 dev lan lladdr 02:aa:00:00:00:04
192.168.2.110 dev wan lladdr 02:bb:00:00:00:01
192.0.2.1 dev wan lladdr 02:bb:00:00:00:02
203.0.113.1 dev core lladdr 02:cc:00:00:00:01
203.0.113.2 dev core lladdr 02:cc:00:00:00:02
198.51.100.9 dev dmz lladdr 02:dd:00:00:00:01
"""
DEFAULT_ROUTE = "default via 203.0.113.1 dev core\n"
HALF_A_DEFAULT_ROUTE = "0.0.0.0/1 via 203.0.113.1 dev core\n"
EVERY_REASON = {
    *("runt", "wrong_mac", "truncated", "bad_version", "bad_header_length", "bad_total_length", "bad_checksum"),
    *("martian_source", "martian_destination", "link_broadcast", "no_route", "blackhole", "unreachable"),
    *("arp", "ipv6", "other_ethertype", "broadcast", "multicast", "options", "local", "ttl_expired"),
    *("unknown_neighbour", "fragmentation_needed"),
}
#: A MAC address that many frames of the corpus are destined to.
FREQUENT_MAC = "02:00:00:00:00:02"


@pytest.fixture(scope="session")
def corpus(data):
    return corpora.load(data / "pcap", conftest.CACHE)


def check(bench, summary, frames, *, total_order):
    """The run's counters and captures are what the oracle says of the frames."""
    expected = expect(bench.oracle(), frames, bench.ports[0]["name"])
    assert summary.received == expected.received
    assert summary.reasons == dict(expected.counted)
    assert summary.sent == len(expected.sent)
    outputs = bench.outputs()
    assert {port: len(sent) for port, sent in outputs.items()} == summary.sent_by_port
    compare(expected, outputs, total_order=total_order)
    return expected


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("promiscuous", [True, False])
def test_every_packet_of_every_capture(bench, corpus, workers, promiscuous):
    frames = corpus.frames()
    wan = {} if promiscuous else {"promiscuous": False, "mac": FREQUENT_MAC}
    others = {} if promiscuous else {"mac": "02:00:00:00:00:f1"}
    ports = [{**PORTS[0], **wan}, {**PORTS[1], **others}, *PORTS[2:]]
    bench.configure(
        ports, ROUTES + (DEFAULT_ROUTE if promiscuous else HALF_A_DEFAULT_ROUTE), NEIGHBOURS, workers=workers
    )
    write_pcap(bench.folder / "in.pcap", frames_of(frames))
    expected = check(bench, bench.run(timeout=300), frames, total_order=workers == 1)
    occurred = {reason for _, reason in expected.counted}
    if promiscuous:
        assert occurred == EVERY_REASON - {"wrong_mac", "no_route"}
        assert all(bench.outputs().values())
    else:
        assert occurred >= {"wrong_mac", "no_route"}


@pytest.mark.parametrize("part", range(8))
def test_every_ethernet_capture_in_its_own_format(bench, corpus, part):
    """As they are on disk: pcap, pcapng, either byte order, micro- and nanoseconds. A port each."""
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


def sample_frames(count=200):
    """Well-formed packets of two hundred flows."""
    generator = random.Random(7)
    frames = []
    for i in range(count):
        packet = (
            Ether(dst="02:00:00:00:00:01", src="02:00:00:00:00:99")
            / IP(
                src=f"192.0.2.{generator.randrange(1, 255)}",
                dst=f"8.{i % 256}.0.{generator.randrange(256)}",
                ttl=generator.randrange(2, 256),
                id=i,
            )
            / UDP(sport=i, dport=53)
            / bytes(generator.randrange(100))
        )
        frames.append(bytes(packet))
    return frames


@pytest.mark.parametrize("writer", [write_pcap, write_pcapng])
@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("nanoseconds", [False, True])
def test_formats(bench, writer, order, nanoseconds):
    frames = sample_frames()
    bench.configure(PORTS, DEFAULT_ROUTE, NEIGHBOURS)
    writer(bench.folder / "in.pcap", frames_of(frames), order=order, nanoseconds=nanoseconds)
    check(bench, bench.run(), frames, total_order=True)


def refused(bench, *fragments):
    """A run with this configuration must not start: it says where and why, and leaves no file behind."""
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
        bench.configure([{**PORTS[0], "device": f"pcap:{file.path}"}, *PORTS[1:]], DEFAULT_ROUTE, NEIGHBOURS)
        refused(bench, str(file.path), "router.yaml:2:")


def test_captures_of_every_other_link_type_are_refused(bench, corpus):
    """With the name that the tcpdump group gives the link type."""
    by_type = {file.capture.link_type: file for file in corpus.foreign}
    assert len(by_type) > 30
    names = {127: "IEEE802_11_RADIO", 113: "LINUX_SLL", 0: "NULL", 228: "IPV4"}
    for link_type, file in by_type.items():
        bench.configure([{**PORTS[0], "device": f"pcap:{file.path}"}, *PORTS[1:]], DEFAULT_ROUTE, NEIGHBOURS)
        refused(bench, str(file.path), names.get(link_type, ""), "Ethernet")


@pytest.mark.parametrize("writer", [write_pcap, write_pcapng])
def test_truncated_captures_are_refused(bench, writer):
    """Cut anywhere but between two records (libpcap is the judge), a capture is not half-read."""
    whole = bench.folder / "whole.pcap"
    writer(whole, frames_of(sample_frames(3)))
    content = whole.read_bytes()
    cut = bench.folder / "in.pcap"
    cut.touch()
    bench.configure(PORTS, DEFAULT_ROUTE, NEIGHBOURS)
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
    bench.configure(PORTS, DEFAULT_ROUTE, NEIGHBOURS)
    (bench.folder / "in.pcap").write_text("ports: this is no capture\n")
    refused(bench, "in.pcap")
    (bench.folder / "in.pcap").unlink()
    refused(bench, "in.pcap", "No such file")
    (bench.folder / "in.pcap").mkdir()
    refused(bench, "in.pcap")


def test_an_empty_capture(bench):
    bench.configure(PORTS, DEFAULT_ROUTE, NEIGHBOURS)
    write_pcap(bench.folder / "in.pcap", [])
    summary = bench.run()
    assert (summary.received, summary.sent) == (0, 0)
    assert bench.outputs() == {"wan": [], "lan": [], "dmz": [], "core": []}


# --- crafted packets: every verdict and every edge of it --------------------------------------------------------------


def crafted():
    """(what it is, frame, outcome) with PORTS, ROUTES and a default route."""
    to_router = Ether(dst="02:00:00:00:00:01", src="02:00:00:00:00:99")
    good = IP(src="192.0.2.7", dst="8.8.8.8", ttl=64)
    udp = UDP(sport=1, dport=2) / b"payload"
    frame = bytes(to_router / good / udp)

    def changed(offset, value):
        """`frame` with other bytes at `offset` of the IP header, and a right checksum."""
        header = bytearray(frame[14:34])
        header[offset : offset + len(value)] = value
        header[10:12] = b"\0\0"
        header[10:12] = checksum(bytes(header)).to_bytes(2, "big")
        return frame[:14] + bytes(header) + frame[34:]

    def towards(destination, **fields):
        return bytes(to_router / IP(src="192.0.2.7", dst=destination, **fields) / udp)

    def from_(source):
        return bytes(to_router / IP(src=source, dst="8.8.8.8") / udp)

    def sized(size, destination):
        return bytes(to_router / IP(src="192.0.2.7", dst=destination) / bytes(size - 20))

    ip_bytes = len(frame) - 14
    return (
        [
            ("an ordinary packet", frame, "send core"),
            ("nothing", b"", "drop runt"),
            ("13 bytes", frame[:13], "drop runt"),
            ("an Ethernet header alone", frame[:14], "drop truncated"),
            ("33 bytes", frame[:33], "drop truncated"),
            ("a header alone", bytes(to_router / IP(src="192.0.2.7", dst="8.8.8.8", len=20)), "send core"),
            ("one byte short", frame[:-1], "drop truncated"),
            ("padded", frame + bytes(30), "send core"),
            ("ARP", bytes(Ether() / ARP()), "punt arp"),
            ("ARP, cut", bytes(Ether(type=0x0806)), "punt arp"),
            ("IPv6", bytes(to_router / IPv6()), "punt ipv6"),
            ("VLAN", bytes(to_router / Dot1Q(vlan=5) / good / udp), "punt other_ethertype"),
            ("802.3", bytes(to_router)[:12] + b"\x00\x26" + bytes(46), "punt other_ethertype"),
            ("version 5", changed(0, b"\x55"), "drop bad_version"),
            ("version 0", changed(0, b"\x05"), "drop bad_version"),
            ("IHL 4", changed(0, b"\x44"), "drop bad_header_length"),
            ("IHL 0", changed(0, b"\x40"), "drop bad_header_length"),
            ("IHL beyond the total length", changed(0, b"\x4f"), "drop bad_total_length"),
            ("total length 19", changed(2, b"\x00\x13"), "drop bad_total_length"),
            ("total length 0", changed(2, b"\x00\x00"), "drop bad_total_length"),
            ("total length beyond the frame", changed(2, (ip_bytes + 1).to_bytes(2, "big")), "drop truncated"),
            ("total length 65535", changed(2, b"\xff\xff"), "drop truncated"),
            ("wrong checksum", frame[:24] + bytes([frame[24] ^ 1]) + frame[25:], "drop bad_checksum"),
            ("wrong TTL under the checksum", frame[:22] + b"\x3f" + frame[23:], "drop bad_checksum"),
            ("wrong checksum and TTL 1", frame[:22] + b"\x01" + frame[23:], "drop bad_checksum"),
            ("limited broadcast", towards("255.255.255.255"), "punt broadcast"),
            ("multicast", towards("224.0.0.1"), "punt multicast"),
            ("last multicast", towards("239.255.255.255"), "punt multicast"),
            ("reserved", towards("240.0.0.0"), "drop martian_destination"),
            ("last reserved", towards("255.255.255.254"), "drop martian_destination"),
            ("to 0/8", towards("0.1.2.3"), "drop martian_destination"),
            ("to loopback", towards("127.0.0.1"), "drop martian_destination"),
            ("from 0/8", from_("0.0.0.0"), "drop martian_source"),
            ("from loopback", from_("127.255.255.255"), "drop martian_source"),
            ("from multicast", from_("224.0.0.0"), "drop martian_source"),
            ("from broadcast", from_("255.255.255.255"), "drop martian_source"),
            ("from loopback to all", bytes(to_router / IP(dst="255.255.255.255", src="127.0.0.1")), "drop martian_source"),
            ("from loopback to a group", bytes(to_router / IP(dst="224.0.0.5", src="127.0.0.1")), "drop martian_source"),
            ("from nobody to a group", bytes(to_router / IP(dst="224.0.0.22", src="0.0.0.0")), "punt multicast"),
            ("from the last unicast address", from_("223.255.255.255"), "send core"),
            ("from 1.0.0.0", from_("1.0.0.0"), "send core"),
            ("unicast in a broadcast frame", bytes(Ether(dst="ff:ff:ff:ff:ff:ff") / good / udp), "drop link_broadcast"),
            ("unicast in a multicast frame", bytes(Ether(dst="01:00:5e:00:00:01") / good / udp), "drop link_broadcast"),
            (
                "broadcast in a broadcast frame",
                bytes(Ether(dst="ff:ff:ff:ff:ff:ff") / IP(dst="255.255.255.255", src="0.0.0.0")),
                "punt broadcast",
            ),
            (
                "options",
                bytes(to_router / IP(src="192.0.2.7", dst="8.8.8.8", options=[IPOption_RR()]) / udp),
                "punt options",
            ),
            (
                "options and a broadcast frame",
                bytes(
                    Ether(dst="ff:ff:ff:ff:ff:ff") / IP(src="192.0.2.7", dst="8.8.8.8", options=[IPOption_RR()]) / udp
                ),
                "drop link_broadcast",
            ),
            ("options, local, TTL 0", towards("192.168.1.1", options=[IPOption_RR()], ttl=0), "punt options"),
            ("local", towards("192.168.1.1"), "punt local"),
            ("local, TTL 1", towards("10.0.2.2", ttl=1), "punt local"),
            ("directed broadcast", towards("192.168.2.255"), "punt broadcast"),
            ("directed broadcast of old", towards("192.168.2.0"), "punt broadcast"),
            ("directed broadcast, TTL 0", towards("10.0.2.255", ttl=0), "punt broadcast"),
            ("blackhole", towards("64.13.134.255"), "drop blackhole"),
            ("blackhole, TTL 1", towards("64.13.134.0", ttl=1), "drop blackhole"),
            ("unreachable", towards("203.205.255.255"), "drop unreachable"),
            ("TTL 2", towards("8.8.8.8", ttl=2), "send core"),
            ("TTL 1", towards("8.8.8.8", ttl=1), "punt ttl_expired"),
            ("TTL 0", towards("8.8.8.8", ttl=0), "punt ttl_expired"),
            ("TTL 1 to an unknown neighbour", towards("85.134.13.165", ttl=1), "punt ttl_expired"),
            ("TTL 255", towards("8.8.8.8", ttl=255), "send core"),
            ("a gateway that does not answer", towards("85.134.13.165"), "punt unknown_neighbour"),
            ("a host that does not answer", towards("192.168.1.30"), "punt unknown_neighbour"),
            ("a host on the link", towards("192.168.1.29"), "send lan"),
            ("back where it came from", towards("95.237.48.208"), "send wan"),
            ("the route with the lower metric", towards("192.168.200.1"), "send core"),
            ("the longer prefix", towards("192.168.12.128"), "send lan"),
            ("just outside it", towards("192.168.12.127"), "send core"),
            ("as long as the MTU", sized(576, "172.16.0.1"), "send dmz"),
            ("longer than the MTU", sized(577, "172.16.0.1"), "punt fragmentation_needed"),
            (
                "longer than the MTU, may be fragmented not",
                bytes(to_router / IP(src="192.0.2.7", dst="172.31.255.255", flags="DF") / bytes(1000)),
                "punt fragmentation_needed",
            ),
            ("as long as Ethernet's MTU", sized(1500, "8.8.8.8"), "send core"),
            ("longer than Ethernet's MTU", sized(1501, "8.8.8.8"), "punt fragmentation_needed"),
            ("short, padding longer than the MTU", towards("172.16.0.1") + bytes(1000), "send dmz"),
            ("a jumbo frame", sized(9000, "8.8.8.8"), "punt fragmentation_needed"),
            ("the longest packet", sized(65521, "8.8.8.8"), "punt fragmentation_needed"),
            ("a first fragment", towards("8.8.8.8", flags="MF"), "send core"),
            ("a last fragment", towards("8.8.8.8", frag=100), "send core"),
            ("an unknown protocol", towards("8.8.8.8", proto=253), "send core"),
            ("ICMP", bytes(to_router / good / ICMP()), "send core"),
        ]
        + [
            # Every checksum that an incremental update may come from, the two zeros of one's complement among them.
            (f"identification {i}", towards("8.8.8.8", id=i), "send core")
            for i in range(0, 65536, 97)
        ]
        + [
            (f"checksum {value:#06x}", with_checksum(frame, value), "send core")
            for value in (0, 1, 0xFE, 0xFF, 0x100, 0xFEFF, 0xFFFE)
        ]
    )


def with_checksum(frame, wanted):
    """`frame` with such an identification that its right checksum is `wanted`."""
    header = bytearray(frame[14:34])
    header[4:6] = b"\0\0"
    header[10:12] = b"\0\0"
    without = checksum(bytes(header)) ^ 0xFFFF
    identification = (wanted ^ 0xFFFF) - without
    header[4:6] = (identification if identification >= 0 else identification + 0xFFFF).to_bytes(2, "big")
    header[10:12] = wanted.to_bytes(2, "big")
    assert checksum(bytes(header)) == 0
    return frame[:14] + bytes(header) + frame[34:]


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
    """One flow has one next hop, which compare() checks; thousands of flows share them 3 : 1, to within a tenth."""
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


# --- killed in the middle ---------------------------------------------------------------------------------------------


#: So that the oracle leaves nothing open.
ONE_WAY_ROUTES = "".join(line for line in ROUTES.splitlines(True) if "nexthop" not in line) + DEFAULT_ROUTE


def run_and_kill(bench, frames, *, rate, workers, delay, signal_number):
    """Runs the router on the frames in an endless loop and kills it. Conservation is exact (Summary sees to it), and the
    counters and the captures are what the oracle says of the packets received: with one worker these are the first so
    many of the loop, with several each has received the first so many of its own flows."""
    device = f"pcap:in.pcap,loop{rate}"
    bench.configure([{**PORTS[0], "device": device}, *PORTS[1:]], ONE_WAY_ROUTES, NEIGHBOURS, workers=workers)
    write_pcap(bench.folder / "in.pcap", frames_of(frames))
    with bench.start() as router:
        router.wait_for_packets()
        time.sleep(delay)
        summary = router.finish(signal_number)
    outputs = bench.outputs()  # each is a whole capture
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
        for port, sent in outputs.items():
            assert set(sent) <= {o.frame for o in judged if o.kind == "send" and o.where == port}
        assert summary.reasons.keys() <= {(o.kind, o.where) for o in judged}
    return summary


@pytest.mark.parametrize("attempt", range(8))
def test_killed_in_the_middle(bench, attempt):
    """Whenever the signal comes, while packets are sent, dropped and punted: the run ends in order."""
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
    """Every packet of every capture, and again from the first, until the signal comes."""
    frames = corpus.frames()
    summary = run_and_kill(bench, frames, rate="", workers=1, delay=0.01, signal_number=signal.SIGINT)
    assert summary.sent > 0 and summary.dropped > 0 and summary.punted > 0


@pytest.mark.parametrize("signal_number", [signal.SIGINT, signal.SIGTERM])
def test_killed_while_starting(bench, signal_number):
    """Once its control socket is there, a run that has not begun ends like any other; it leaves no socket behind."""
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
    """Neither while it drains nor while it prints its summary."""
    bench.configure([{**PORTS[0], "device": "pcap:in.pcap,loop"}, *PORTS[1:]], DEFAULT_ROUTE, NEIGHBOURS)
    write_pcap(bench.folder / "in.pcap", frames_of(sample_frames()))
    with bench.start() as router:
        for _ in range(20):
            router.process.send_signal(signal.SIGTERM)
            time.sleep(0.002)
        summary = router.finish(signal.SIGTERM)
    assert {port: len(sent) for port, sent in bench.outputs().items()} == summary.sent_by_port
