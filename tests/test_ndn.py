# SPDX-License-Identifier: Apache-2.0
"""Tests Interests from a capture against an oracle that stores names as lists of components."""

import json
import random
from collections import Counter

from ndn.encoding import Component, InterestParam, make_interest, parse_interest, parse_lp_packet_v2
from ndn.encoding.ndnlp_v2 import NackReason
from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import ARP, Ether

from captures import frames_of, write_pcap

PORTS = [
    {"name": "wan", "device": "pcap:in.pcap", "addresses": ["192.0.2.1/24", "2001:db8:1::1/64"]},
    {"name": "lan", "device": "none", "addresses": ["198.51.100.1/24"]},
    {"name": "dmz", "device": "none", "mtu": 1280, "addresses": ["2001:db8:2::1/64"]},
]
PORT_MAC = "02:00:00:00:00:01"
FACES = [
    {"name": "ether", "port": "wan", "remote": "ether://[02:00:00:00:00:aa]"},
    {"name": "group", "port": "wan", "remote": "ether://[01:00:5e:00:17:aa]"},
    {"name": "udp", "port": "wan", "remote": "udp4://192.0.2.7", "mac": "02:00:00:00:00:bb"},
    {"name": "udp6", "port": "wan", "remote": "udp6://[2001:db8:1::7]:7000", "mac": "02:00:00:00:00:bb"},
    {"name": "four", "port": "lan", "remote": "udp4://198.51.100.7:7001", "mac": "02:00:00:00:00:cc"},
    {"name": "six", "port": "dmz", "remote": "udp6://[2001:db8:2::7]", "mac": "02:00:00:00:00:dd"},
    {"name": "link", "port": "lan", "remote": "ether://[02:00:00:00:00:ee]"},
]
#: Interests arrive by these faces of wan.
ARRIVALS = {
    "ether": lambda packet: Ether(dst=PORT_MAC, src="02:00:00:00:00:aa", type=0x8624) / packet,
    "group": lambda packet: Ether(dst="01:00:5e:00:17:aa", src="02:00:00:00:00:99", type=0x8624) / packet,
    "udp": lambda packet: Ether(dst=PORT_MAC, src="02:00:00:00:00:bb")
    / IP(src="192.0.2.7", dst="192.0.2.1")
    / UDP(sport=50000, dport=6363)
    / packet,
    "udp6": lambda packet: Ether(dst=PORT_MAC, src="02:00:00:00:00:bb")
    / IPv6(src="2001:db8:1::7", dst="2001:db8:1::1")
    / UDP(sport=7000, dport=6363)
    / packet,
}


def configure(bench, routes):
    (bench.folder / "names.txt").write_text(routes)
    lines = ["  - ndn:", "      routes: names.txt", "      faces:", *(f"        - {json.dumps(face)}" for face in FACES)]
    bench.configure(PORTS, pipeline="\n".join(lines))


def any_name(generator, most):
    """Returns a name of few different components, so that names share prefixes."""
    return [
        Component.from_bytes(generator.choice([b"", b"a", b"b", b"\0", b"long" * 30]), generator.choice([8, 8, 8, 32]))
        for _ in range(generator.randrange(1, most + 1))
    ]


def uri(name):
    """Returns the URI of a name with every byte escaped, independently of python-ndn."""
    parts = []
    for component in name:
        value = bytes(Component.get_value(component))
        text = "".join(f"%{byte:02x}" for byte in value) if value else "..."
        parts.append(f"/{Component.get_type(component)}={text}")
    return "".join(parts) or "/"


def unframed(frame):
    """Returns the face that a frame belongs to by its addresses and ports, and its NDN packet. Asserts correct
    checksums."""
    packet = Ether(frame)
    for face in FACES:
        if face["remote"].startswith("ether") and face["remote"][9:26] == packet.dst and packet.type == 0x8624:
            return face["name"], frame[14:], None
    layer = packet[IP] if IP in packet else packet[IPv6]
    again = Ether(frame)
    del again[UDP].chksum
    if IP in again:
        del again[IP].chksum
    assert bytes(Ether(bytes(again))) == frame, "checksums"
    face = next(face["name"] for face in FACES if layer.dst in face["remote"])
    return face, bytes(layer[UDP].payload), layer[UDP].dport


def test_interests_equal_the_oracle(bench):
    generator = random.Random(3)
    fib = {tuple(map(bytes, any_name(generator, 5))): generator.choice(FACES)["name"] for _ in range(300)}
    configure(bench, "".join(f"{uri(name)} {face}\n" for name, face in fib.items()))

    expected, frames, reasons = [], [], Counter()
    for i in range(2000):
        name, arrival = any_name(generator, 8), generator.choice(list(ARRIVALS))
        limit = generator.choice([None, None, 0, 1, 2, 255])
        interest = bytes(make_interest(name, InterestParam(nonce=i, hop_limit=limit)))
        frames.append(bytes(ARRIVALS[arrival](interest)))
        prefixes = (tuple(map(bytes, name[:count])) for count in range(len(name), -1, -1))
        face = next((fib[prefix] for prefix in prefixes if prefix in fib), None)
        if limit is not None and limit < 2:
            reasons["drop", "hop_limit_used_up"] += 1
        elif face is not None and face != arrival:
            expected.append((i, face, None, None if limit is None else limit - 1, name))
        elif arrival == "group":
            reasons["drop", "no_route"] += 1
        else:
            expected.append((i, arrival, NackReason.NO_ROUTE, limit, name))
    write_pcap(bench.folder / "in.pcap", frames_of(frames))
    summary = bench.run()
    assert summary.reasons == dict(reasons)

    sent = {}
    for out in bench.outputs().values():
        for frame in out:
            face, packet, port = unframed(frame)
            framed = parse_lp_packet_v2(packet)
            name, param, _, _ = parse_interest(framed.fragment)
            sent[param.nonce] = (face, framed.nack and framed.nack.nack_reason, param.hop_limit, list(map(bytes, name)))
            nacked = framed.nack is not None
            assert (framed.pit_token is None) == nacked
            assert port == {"udp": 50000 if nacked else 6363, "udp6": 7000, "four": 7001, "six": 6363}.get(face)
    assert len(sent) == len(expected) > 1000
    for i, face, nack, limit, name in expected:
        assert sent[i] == (face, nack, limit, list(map(bytes, name))), i
    assert {face for face, *_ in sent.values()} == {face["name"] for face in FACES}


def test_what_is_wrong_has_its_reason(bench):
    configure(bench, "/ four\n")
    interest = bytes(make_interest("/a", InterestParam(nonce=1)))
    ether, udp, udp6 = (ARRIVALS[face] for face in ("ether", "udp", "udp6"))
    broken, bare6 = udp(interest), udp6(interest)
    broken[UDP].chksum = 1
    bare6[UDP].chksum = 0
    unchecked = udp(interest)
    unchecked[UDP].chksum = 0
    cases = [
        ("sent", ether(interest)),
        ("sent", ether(interest + bytes(30))),
        ("sent", unchecked),
        ("runt", bytes(Ether(dst=PORT_MAC))[:13]),
        ("not_ndn", Ether(dst="ff:ff:ff:ff:ff:ff") / ARP()),
        ("not_ndn", Ether(dst=PORT_MAC) / IP(src="192.0.2.7", dst="192.0.2.1") / UDP(dport=53) / interest),
        ("not_ndn", Ether(dst=PORT_MAC) / IP(src="192.0.2.7", dst="192.0.2.1", flags="MF") / UDP(dport=6363) / interest),
        ("unknown_face", Ether(dst=PORT_MAC) / IP(src="192.0.2.8", dst="192.0.2.1") / UDP(dport=6363) / interest),
        ("unknown_face", Ether(dst=PORT_MAC, src="02:00:00:00:00:ab", type=0x8624) / interest),
        ("bad_checksum", broken),
        ("bad_checksum", bare6),
        ("truncated", bytes(udp(interest))[:-1]),
        ("malformed", ether(interest[:-1])),
        ("malformed", udp(interest + b"x")),
        ("malformed", ether(b"\x05\x02\x07\x00")),
        ("unknown_type", ether(b"\x09\x00")),
        ("unknown_lp_field", ether(b"\x64\x05\xfd\x03\x21\x00\x50" + interest)),
        ("fragmented", ether(b"\x64" + bytes([5 + len(interest)]) + b"\x53\x01\x02\x50" + bytes([len(interest)]) + interest)),
        ("idle", ether(b"\x64\x00")),
        ("localhost", ether(bytes(make_interest("/localhost/nfd", InterestParam(nonce=2))))),
        ("too_long", ether(bytes(make_interest(["a" * 1470], InterestParam(nonce=3))))),
    ]  # fmt: skip
    write_pcap(bench.folder / "in.pcap", frames_of(bytes(frame) for _, frame in cases))
    summary = bench.run()
    wanted = Counter(reason for reason, _ in cases)
    assert summary.sent == wanted.pop("sent")
    assert {reason: count for (_, reason), count in summary.reasons.items()} == dict(wanted)
