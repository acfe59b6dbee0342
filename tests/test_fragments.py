# SPDX-License-Identifier: Apache-2.0
"""Compares fragmentation and reassembly (src/packet) with tshark, on real captures, and with the kernel's IP stack in a
network namespace. The program fragment_replay runs both on a capture."""

import collections
import contextlib
import json
import random
import shutil
import socket
import subprocess

import pytest
from scapy.layers.inet import IP, UDP, IPOption_Router_Alert
from scapy.layers.inet6 import IPv6, IPv6ExtHdrDestOpt, IPv6ExtHdrFragment, IPv6ExtHdrHopByHop, PadN
from scapy.layers.l2 import Ether
from scapy.packet import Raw, raw

import conftest
import netns
from captures import frames_of, write_pcap

REPLAY = conftest.PROGRAM.parent.parent / "tests" / "fragment_replay"
needs_namespaces = pytest.mark.skipif(netns.unavailable() is not None, reason=f"{netns.unavailable()}")


@pytest.fixture(autouse=True)
def _replay():
    if not REPLAY.exists():
        pytest.skip(f"{REPLAY} is not built")


def replay(*words):
    """Returns the results of fragment_replay."""
    done = subprocess.run([REPLAY, *map(str, words)], capture_output=True, text=True, timeout=conftest.PATIENCE, check=False)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def network_of(frame):
    """Returns the IP packet of an Ethernet frame, or nothing."""
    at = 12
    while frame[at : at + 2] in (b"\x81\x00", b"\x88\xa8"):
        at += 4
    return frame[at + 2 :] if frame[at : at + 2] in (b"\x08\x00", b"\x86\xdd") else b""


def is_fragment(frame):
    packet = network_of(frame)
    if len(packet) < 20:
        return False
    if packet[0] >> 4 == 4:
        return packet[6] & 0x3F != 0 or packet[7] != 0
    next_header, at = packet[6], 40
    while next_header in (0, 43, 60) and len(packet) >= at + 2:
        next_header, at = packet[at], at + 8 * (packet[at + 1] + 1)
    return next_header == 44


def datagrams_by_tshark(path):
    """Returns the payload of each outermost datagram that a frame completes, by the frame's number."""
    fields = ["frame.number", "ip.reassembled.data", "ipv6.reassembled.data"]
    command = ["tshark", "-n", "-r", path, "-o", "ip.defragment:TRUE", "-o", "ipv6.defragment:TRUE"]
    command += ["-T", "fields", "-E", "occurrence=f", *(word for field in fields for word in ("-e", field))]
    lines = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout.splitlines()
    found = {}
    for line in lines:
        number, four, six = line.split("\t")
        if four or six:
            found[int(number)] = bytes.fromhex(four or six)
    return found


@pytest.mark.skipif(shutil.which("tshark") is None, reason="needs tshark")
def test_datagrams_of_real_captures_are_those_of_tshark(corpus):
    files = [
        file.path for file in corpus.ethernet if sum(is_fragment(frame.data) for frame in file.capture.frames) > 1
    ]
    assert len(files) > 10
    counts = collections.Counter()
    for path in files:
        by_tshark = datagrams_by_tshark(path)
        ours = {result["frame"]: result for result in replay("reassemble", "first", path) if "packet" in result}
        for number, result in ours.items():
            packet = bytes.fromhex(result["packet"])
            payload = by_tshark.pop(number, None)
            if payload is None and result["fragments"] == 1:
                counts["atomic"] += 1  # tshark shows no reassembly
                continue
            assert payload is not None, (path, number)
            if result["conflict"]:
                counts["conflicts"] += 1  # tshark orders overlaps by their offsets
                continue
            assert packet.endswith(payload) and len(packet) - len(payload) in (20, 40, 48), (path, number)
            counts["joined"] += 1
        counts["of tunnels"] += len(by_tshark)  # fragments in tunnels, which this parser does not enter
    assert counts["joined"] > 100 and counts["conflicts"] < 10


class Hosts:
    """A sender and a receiver on a cable."""

    def __init__(self):
        self.sender, self.receiver = self.namespaces = [netns.Namespace(name) for name in ("from", "to")]
        netns.veth(self.sender, "eth0", self.receiver, "eth0")
        self.ethernet = Ether(src=self.sender.mac("eth0"), dst=self.receiver.mac("eth0"))
        # The kernel must keep as many incomplete datagrams as a test sends, and accept IPv6.
        settings = ["net.ipv6.conf.eth0.disable_ipv6=0", "net.ipv4.ipfrag_max_dist=0"]
        self.receiver.run("sysctl", "-qw", *settings)
        self.receiver.ip("address", "add", "10.0.0.2/24", "dev", "eth0")
        self.receiver.ip("address", "add", "2001:db8::2/64", "dev", "eth0", "nodad")
        self.receiver.ip("route", "add", "default", "dev", "eth0")
        self.receiver.ip("-6", "route", "add", "default", "dev", "eth0")

    def close(self):
        for namespace in self.namespaces:
            namespace.delete()

    def ip(self, family, **fields):
        if family == 4:
            return IP(src="10.0.0.1", dst="10.0.0.2", **fields)
        return IPv6(src="2001:db8::1", dst="2001:db8::2", **fields)

    def datagrams_of_kernel(self, family, frames):
        """Sends the frames, then a datagram that marks the end. Returns the payloads that a UDP socket receives."""
        mark = b"the end"
        with contextlib.ExitStack() as stack:
            with self.receiver.inside():
                listener = stack.enter_context(
                    socket.socket(socket.AF_INET if family == 4 else socket.AF_INET6, socket.SOCK_DGRAM)
                )
            listener.setsockopt(socket.SOL_SOCKET, 33, 64 << 20)  # SO_RCVBUFFORCE
            listener.bind(("", 7000))
            listener.settimeout(conftest.PATIENCE)
            wire = stack.enter_context(self.sender.socket("eth0"))
            netns.send(wire, frames)
            netns.send(wire, [raw(self.ethernet / self.ip(family) / UDP(sport=7000, dport=7000) / Raw(mark))])
            received = []
            while (payload := listener.recv(65535)) != mark:
                received.append(payload)
            return received


hosts = netns.fixture(Hosts)


def cut(packet, generator, family, number):
    """Returns fragments of a UDP datagram, cut at random multiples of 8."""
    payload = raw(packet)
    places = {8 * generator.randrange(1, len(payload) // 8) for _ in range(generator.randrange(1, 12))}
    places = sorted(places | set(range(1400, len(payload), 1400)))  # a link takes 1,500 bytes
    parts = []
    for begin, end in zip([0, *places], [*places, len(payload)], strict=True):
        more = end < len(payload)
        part = Raw(payload[begin:end])
        if family == 4:
            parts.append((dict(id=number, frag=begin // 8, flags="MF" if more else 0, proto=17), part))
        else:
            parts.append((IPv6ExtHdrFragment(id=number, offset=begin // 8, m=int(more), nh=17), part))
    return parts


def frames_with_fragments(hosts, family, generator):
    """Returns frames with fragments of many datagrams: out of order, repeated, mixed, some of them incomplete."""
    frames = []
    for number in range(1, 301):
        payload = number.to_bytes(2, "big") + generator.randbytes(generator.randrange(60, 3000))
        packet = hosts.ip(family) / UDP(sport=7000, dport=7000) / Raw(payload)
        parts = cut(type(packet)(raw(packet))[UDP], generator, family, number)
        if generator.randrange(3):
            generator.shuffle(parts)
        if generator.randrange(5) == 0:
            parts.remove(generator.choice(parts))
        for _ in range(generator.randrange(3)):
            if parts:
                parts.insert(generator.randrange(len(parts) + 1), generator.choice(parts))
        if generator.randrange(6) == 0 and family == 4:
            # The kernel rounds the length of a fragment down to a multiple of 8.
            parts = [(fields, Raw(part.load + b"x" * generator.randrange(8)) if fields["flags"] else part) for fields, part in parts]
        for header, part in parts:
            ip = hosts.ip(4, **header) if family == 4 else hosts.ip(6) / header
            frames.append((generator.random() * 20 + number, raw(hosts.ethernet / ip / part)))
    return [frame for _, frame in sorted(frames, key=lambda pair: pair[0])]


@needs_namespaces
@pytest.mark.parametrize("family", [4, 6])
def test_the_kernel_joins_the_same_datagrams(hosts, tmp_path, family):
    frames = frames_with_fragments(hosts, family, random.Random(family))
    capture = tmp_path / "fragments.pcap"
    write_pcap(capture, frames_of(frames))
    ours = [bytes.fromhex(result["packet"]) for result in replay("reassemble", "linux", capture) if "packet" in result]
    assert len(ours) > 150
    by_kernel = hosts.datagrams_of_kernel(family, frames)
    assert [packet[28 if family == 4 else 48 :] for packet in ours] == by_kernel


@needs_namespaces
@pytest.mark.parametrize("family", [4, 6])
def test_the_kernel_joins_our_fragments(hosts, tmp_path, family):
    generator = random.Random(family)
    payloads, frames = [], []
    for _ in range(60):
        payloads.append(generator.randbytes(generator.choice([1500, 4000, 9000, 40000])))
        if family == 4:
            headers = hosts.ip(4, id=len(payloads), options=generator.choice([[], [IPOption_Router_Alert()]]))
        else:
            headers = hosts.ip(6)
            if generator.randrange(2):
                headers /= IPv6ExtHdrHopByHop(options=[PadN(optdata=b"\0" * 4)])
            if generator.randrange(2):
                headers /= IPv6ExtHdrDestOpt(options=[PadN(optdata=b"\0" * 4)])
        frames.append(raw(hosts.ethernet / headers / UDP(sport=7000, dport=7000) / Raw(payloads[-1])))
    capture = tmp_path / "datagrams.pcap"
    write_pcap(capture, frames_of(frames))
    results = replay("fragment", 1280, capture)
    assert [result["fault"] for result in results] == ["none"] * len(frames)
    fragments = [bytes.fromhex(fragment) for result in results for fragment in result["fragments"]]
    assert max(map(len, fragments)) <= 1280 + 14
    assert hosts.datagrams_of_kernel(family, fragments) == payloads
