# SPDX-License-Identifier: Apache-2.0
"""Tests `reassembly` with captures: fragments go in, and the datagrams that scapy made them of come out."""

import itertools
import json
import random

from scapy.layers.inet import IP, TCP, UDP, fragment
from scapy.layers.inet6 import IPv6, IPv6ExtHdrFragment, fragment6
from scapy.layers.l2 import Ether
from scapy.packet import Raw, raw

import conftest
from captures import Frame, frames_of, write_pcap

A, B = "02:00:00:00:00:0a", "02:00:00:00:00:0b"
PORTS = [{"name": "wan", "device": "pcap:in.pcap"}, {"name": "lan", "device": "none"}]
#: `echo` sends by the last byte of the IPv4 source address, or a word of the IPv6 source address.
ECHO = "  - echo: {offset: 26}"
UDP_BYTES = 8


def payload(size, seed=0):
    return bytes(random.Random(seed).randbytes(size))


def ipv4(data, *, identification=1, source="10.0.0.1", destination="10.0.0.2", layer=None):
    header = IP(src=source, dst=destination, id=identification, ttl=9)
    return Ether(src=A, dst=B) / header / (layer or UDP(sport=1000, dport=2000)) / Raw(data)


def ipv6(data):
    return Ether(src=A, dst=B) / IPv6(src="2001:db8:0:1::1", dst="2001:db8::2") / UDP(sport=1000, dport=2000) / Raw(data)


def fragments_of(packet, size=64):
    """Returns the frames of the fragments of an IPv4 packet, each with `size` bytes of payload."""
    return [raw(Ether(src=A, dst=B) / each) for each in fragment(IP(raw(packet[IP])), fragsize=size)]


def echoed(packet):
    """Returns the frame as `echo` sends it."""
    frame = raw(packet)
    return frame[6:12] + frame[:6] + frame[12:]


def run(bench, frames, settings="", *, workers=1, ports=PORTS):
    frames = list(frames)
    write_pcap(bench.folder / "in.pcap", frames if isinstance(frames[0], Frame) else frames_of(frames))
    bench.configure(ports, workers=workers, pipeline=f"  - reassembly: {{{settings}}}\n{ECHO}")
    return bench.run()


def test_joins_fragments_in_every_order(bench):
    frames, wanted = [], []
    for identification, order in enumerate(itertools.permutations(range(4))):
        packet = ipv4(payload(4 * 64 - UDP_BYTES, identification), identification=identification)
        fragments = fragments_of(packet)
        assert len(fragments) == 4
        frames += [fragments[i] for i in order]
        wanted.append(echoed(packet))
    summary = run(bench, frames)
    assert bench.outputs()["lan"] == wanted
    assert summary.json["absorbed"] == 4 * 24 and summary.json["created"] == 24 and summary.json["held"] == 0


def test_joins_ipv6(bench):
    frames, wanted = [], []
    for identification, order in enumerate(itertools.permutations(range(3))):
        packet = ipv6(payload(3000, identification))
        with_header = packet.copy()
        with_header[IPv6].payload = IPv6ExtHdrFragment(id=identification) / packet[IPv6].payload
        fragments = [raw(each) for each in fragment6(with_header, 1280)]
        assert len(fragments) == 3
        frames += [fragments[i] for i in order]
        wanted.append(echoed(packet))
    summary = run(bench, frames)
    sent = bench.outputs()
    assert sorted(sent["lan"] + sent["wan"]) == sorted(wanted)
    assert summary.json["absorbed"] == 18


def test_joins_only_what_goes_to_the_chosen_destinations(bench):
    joined, other = (ipv4(payload(300, i), destination=f"10.0.0.{i}") for i in (2, 3))
    sixth = ipv6(payload(2000))
    sixth[IPv6].payload = IPv6ExtHdrFragment(id=7) / sixth[IPv6].payload
    kept = [*map(Ether, fragments_of(other, 104)), *fragment6(sixth, 1280)]
    summary = run(bench, [*fragments_of(joined, 104), *map(raw, kept)], "to: [10.0.0.2/32, '2001:db8:1::/48']")
    sent = bench.outputs()
    assert sorted(sent["lan"] + sent["wan"]) == sorted([echoed(joined), *map(echoed, kept)])
    assert summary.json["absorbed"] == 3 and summary.json["created"] == 1


def test_a_fragment_header_of_a_whole_packet_is_removed(bench):
    """RFC 6946."""
    packet = ipv6(payload(100))
    atomic = packet.copy()
    atomic[IPv6].payload = IPv6ExtHdrFragment(id=7, nh=17) / packet[IPv6].payload
    run(bench, [raw(atomic)])
    sent = bench.outputs()
    assert sent["lan"] + sent["wan"] == [echoed(packet)]


def test_a_datagram_keeps_its_place_among_other_packets(bench):
    """The last fragment's place, although all packets are in one chunk."""
    before, after = ipv4(b"before", identification=1), ipv4(b"after", identification=3)
    packet = ipv4(payload(300), identification=2)
    first, *rest = fragments_of(packet, 104)
    run(bench, [first, raw(before), *rest, raw(after)])
    assert bench.outputs()["lan"] == [echoed(before), echoed(packet), echoed(after)]


def test_hands_datagrams_to_the_workers_of_their_flows(bench):
    """All fragments go to one worker, by their addresses. Whole TCP packets go to workers by their ports."""
    flows, rounds = 32, 20
    frames, wanted = [], {}
    for number, flow in itertools.product(range(rounds), range(flows)):
        layer = TCP(sport=10_000 + flow, dport=80, seq=number)
        packet = ipv4(payload(200, number), identification=flows * number + flow + 1, layer=layer)
        frames += fragments_of(packet, 80)
        wanted.setdefault(10_000 + flow, []).append(echoed(packet))
    write_pcap(bench.folder / "in.pcap", frames_of(frames))
    idle = {"name": "idle", "device": "synth:rate=1"}
    bench.configure([*PORTS, idle], workers=2, pipeline="  - reassembly\n  - echo: {offset: 34}")
    with bench.start() as router:
        router.wait_for("all datagrams", lambda: router.show("reassembly")["datagrams"] == flows * rounds)
        router.wait_for("all packets", lambda: sum(port["tx_packets"] for port in router.show("ports")) >= flows * rounds)
        summary = router.stop()
    assert summary.json["absorbed"] == len(frames) and summary.json["created"] == flows * rounds
    seen = {}
    for frame in itertools.chain.from_iterable(bench.outputs().values()):
        if frame[23] == 6:
            seen.setdefault(int.from_bytes(frame[34:36], "big"), []).append(frame)
    assert seen == wanted, "each flow has its datagrams, in order"


def test_trace_follows_a_datagram_to_another_worker(bench):
    """The flows differ in their ports, so about half of the datagrams are handed over."""
    flows = [ipv4(payload(200), identification=i + 1, layer=TCP(sport=10_000 + i, dport=80)) for i in range(16)]
    write_pcap(bench.folder / "in.pcap", frames_of([each for packet in flows for each in fragments_of(packet, 80)]))
    ports = [{"name": "wan", "device": "pcap:in.pcap,loop,rate=2000"}, PORTS[1]]
    bench.configure(ports, workers=2, pipeline="  - reassembly\n  - echo: {offset: 34}")
    with bench.start() as router:
        assert conftest.penumbra("trace", "add", "200", "--socket", router.socket).returncode == 0

        def traced():
            done = conftest.penumbra("trace", "show", "-j", "--socket", router.socket)
            return json.loads(done.stdout)

        router.wait_for("200 packets", lambda: len(traced()) == 200)
        over = [trace for trace in traced() if "hand over" in " ".join(trace["lines"])]
        assert over
        for trace in over:
            assert len(trace["lines"]) == 4, trace
            handed, taken, echoed_line, sent = trace["lines"]
            assert handed == "reassembly: completes a datagram -> hand over to the worker of its flow"
            other = 1 - trace["worker"]
            assert taken.startswith(f"worker {other}: ") and "10.0.0.1:100" in taken and "10.0.0.2:80" in taken
            assert echoed_line.startswith("echo: ") and echoed_line.endswith("-> " + sent)
            assert sent in ("send wan", "send lan")


def overlapping(destination):
    """Returns fragments of 8 bytes A, 16 bytes B over the last 8 of 16 bytes A, and the last ones C."""
    header = {"src": "10.0.0.1", "dst": destination, "id": 5, "proto": 253}
    parts = [(0, "MF", b"A" * 16), (1, "MF", b"B" * 16), (3, 0, b"C" * 8)]
    return [raw(Ether(src=A, dst=B) / IP(**header, frag=at, flags=flags) / Raw(data)) for at, flags, data in parts]


def test_overlaps_follow_the_policy_of_the_destination(bench):
    hosts = {"10.0.1.1": "first", "10.0.2.1": "last", "10.0.2.2": "bsd", "10.0.3.1": "drop"}
    settings = (
        "policy: drop, hosts: [{prefix: 10.0.1.0/24, policy: first}, {prefix: 10.0.2.0/24, policy: last},"
        " {prefix: 10.0.2.2/32, policy: bsd}]"
    )
    summary = run(bench, itertools.chain.from_iterable(map(overlapping, hosts)), settings)
    by_host = {".".join(map(str, frame[30:34])): frame[34:] for frame in bench.outputs()["lan"]}
    kept, replaced = b"A" * 16 + b"B" * 8 + b"C" * 8, b"A" * 8 + b"B" * 16 + b"C" * 8
    assert by_host == {"10.0.1.1": kept, "10.0.2.1": replaced, "10.0.2.2": kept}
    assert summary.reasons == {("drop", "overlap"): 3}


def first_fragments(count, size=1400):
    return [fragments_of(ipv4(payload(3000), identification=i + 1), size)[0] for i in range(count)]


def test_memory_is_limited(bench):
    summary = run(bench, first_fragments(1000), "memory: 1")
    evicted, left = summary.reasons[("drop", "no_memory")], summary.reasons[("drop", "flushed")]
    assert evicted + left == 1000 and 100 < left < 500


def test_datagrams_are_limited(bench):
    summary = run(bench, first_fragments(100), "datagrams: 16")
    assert summary.reasons[("drop", "no_room")] + summary.reasons[("drop", "flushed")] == 100
    assert summary.reasons[("drop", "flushed")] <= 16


def test_datagrams_time_out_by_the_clock_of_the_capture(bench):
    """A chunk of 64 frames has the time of its reception, so each time has a chunk of its own."""
    first, last = fragments_of(ipv4(payload(100)), 80)
    other = raw(ipv4(b"x", identification=9))
    frames = [(at, one) for at, one in ((0, first), (30, other), (40, other), (41, last), (42, other))]
    frames = [(at, frame) for at, one in frames for frame in (one, *[other] * 63)]
    second = 1_000_000_000
    summary = run(bench, [Frame(10**18 + at * second, data, len(data)) for at, data in frames], "timeout: 35s")
    assert summary.reasons == {("drop", "timeout"): 1, ("drop", "flushed"): 1}
    assert summary.sent == len(frames) - 2


def test_counts_what_it_cannot_use(bench):
    first, last = fragments_of(ipv4(payload(100)), 80)
    damaged = bytearray(first)
    damaged[24] ^= 1
    tiny = raw(Ether(src=A, dst=B) / IP(src="10.0.0.1", dst="10.0.0.2", id=3, flags="MF") / Raw(b"x" * 8))
    odd = raw(Ether(src=A, dst=B) / IP(src="10.0.0.1", dst="10.0.0.2", id=4, flags="MF") / Raw(b"x" * 33))
    cut = first[:60]
    summary = run(bench, [bytes(damaged), tiny, odd, cut, first, first, last], "least_payload: 16")
    reasons = {"bad_checksum": 1, "tiny": 1, "bad_length": 1, "bad_header": 1, "duplicate": 1}
    assert summary.reasons == {("drop", reason): count for reason, count in reasons.items()}
    assert summary.sent == 1


def test_shows_its_state(bench):
    first, last = fragments_of(ipv4(payload(100)), 80)
    write_pcap(bench.folder / "in.pcap", frames_of([first, last, *first_fragments(3)]))
    idle = {"name": "idle", "device": "synth:rate=1"}
    bench.configure([*PORTS, idle], pipeline=f"  - reassembly: {{memory: 4, timeout: 9s, policy: bsd}}\n{ECHO}")
    with bench.start() as router:
        router.wait_for("fragments", lambda: router.show("reassembly")["fragments"] == 5)
        shown = router.show("reassembly")
        assert shown["datagrams"] == 1 and shown["held_fragments"] == 3 and shown["incomplete_datagrams"] == 3
        assert 0 < shown["memory"] < shown["most_memory"] == 4 << 20
        assert shown["timeout"] == "9000ms" and shown["policies"] == "bsd"
        wrong = conftest.penumbra("show", "reassembly", "all", "--socket", router.socket)
        assert wrong.returncode != 0 and "no arguments" in wrong.stderr
        assert router.stop().reasons[("drop", "flushed")] == 3


def test_a_reload_changes_policies_alone(bench):
    frames = [fragments_of(ipv4(payload(100)), 80)[0]]
    write_pcap(bench.folder / "in.pcap", frames_of(frames))
    idle = {"name": "idle", "device": "synth:rate=1"}

    def configure(settings):
        bench.configure([*PORTS, idle], pipeline=f"  - reassembly: {{{settings}}}\n{ECHO}")

    def reload():
        return conftest.penumbra("reload", "--socket", router.socket)

    configure("policy: first")
    with bench.start() as router:
        configure("policy: last, hosts: [{prefix: 10.0.0.0/8, policy: windows}]")
        done = reload()
        assert done.returncode == 0, done.stderr
        assert "reassembly: policies: last, 10.0.0.0/8 windows, were first" in done.stdout
        assert router.show("reassembly")["policies"] == "last, 10.0.0.0/8 windows"
        configure("policy: last, timeout: 1s")
        done = reload()
        assert done.returncode != 0 and "take a restart" in done.stderr


def test_explains_and_traces_fragments(bench):
    first, last = fragments_of(ipv4(payload(100)), 80)
    write_pcap(bench.folder / "in.pcap", frames_of([first, last]))
    ports = [{"name": "wan", "device": "pcap:in.pcap,loop,rate=100"}, PORTS[1]]
    bench.configure(ports, pipeline=f"  - reassembly: {{policy: solaris}}\n{ECHO}")
    with bench.start() as router:
        done = conftest.penumbra("explain", "-j", "--port", "wan", "--hex", first.hex(), "--socket", router.socket)
        explained = json.loads(done.stdout)
        assert explained["verdict"] == "hold"
        assert explained["stages"][0]["tables"] == {"offset": 0, "more_fragments": True, "policy": "solaris"}
        conftest.penumbra("trace", "add", 2, "--socket", router.socket)

        def traces():
            return json.loads(conftest.penumbra("trace", "show", "-j", "--socket", router.socket).stdout)

        router.wait_for("both fragments", lambda: len(traces()) == 2)
        lines = [trace["lines"] for trace in traces()]
        assert ["reassembly: a fragment that waits for the rest of its datagram -> hold", "hold"] in lines
        assert ["reassembly: completes a datagram -> pass", "echo: port 1 -> send lan", "send lan"] in lines


def test_refuses_wrong_settings(bench):
    for settings, fault in (
        ("policy: windoes", "did you mean 'windows'"),
        ("hosts: [{prefix: 10.0.0.0/33, policy: last}]", "expected an IPv4 prefix"),
        ("hosts: [{prefix: 10.0.0.0/8, policy: last}, {prefix: 10.0.0.0/8, policy: last}]", "has a policy already"),
        ("timeout: 11m", "expected a time from 1ms to 10m"),
        ("memory: 0", "memory"),
        ("memory: 1, datagrams: 100000", "takes at least"),
        ("memry: 1", "did you mean 'memory'"),
        ("to: [10.0.0]", "expected a prefix (ADDRESS/LENGTH)"),
    ):
        bench.configure(PORTS, pipeline=f"  - reassembly: {{{settings}}}\n{ECHO}")
        write_pcap(bench.folder / "in.pcap", frames_of([]))
        assert fault in bench.refused(bench.config.read_text()), settings
