# SPDX-License-Identifier: Apache-2.0
"""Defines the network of the capture tests, and packets that cross it."""

import random

from scapy.layers.inet import ICMP, IP, TCP, UDP, IPOption_RR
from scapy.layers.inet6 import ICMPv6EchoRequest, ICMPv6ND_NS, IPv6
from scapy.layers.l2 import ARP, Dot1Q, Ether
from scapy.utils import checksum

PORTS = [
    {"name": "wan", "device": "pcap:in.pcap", "addresses": ["192.168.2.1/24", "10.0.2.2/24"]},
    {"name": "lan", "device": "none", "addresses": ["192.168.1.1/24"]},
    {"name": "dmz", "device": "none", "mtu": 576},
    {"name": "core", "device": "none"},
]
#: The routes cover the frequent addresses of the corpus, so that every verdict occurs.
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
#: The routes without alternatives give the oracle exactly one result for each packet.
ONE_WAY_ROUTES = "".join(line for line in ROUTES.splitlines(True) if "nexthop" not in line) + DEFAULT_ROUTE


def sample_frames(count=200):
    """Returns well-formed packets of two hundred flows."""
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


def crafted():
    """Returns (description, frame, outcome) for PORTS, ROUTES and a default route."""
    to_router = Ether(dst="02:00:00:00:00:01", src="02:00:00:00:00:99")
    good = IP(src="192.0.2.7", dst="8.8.8.8", ttl=64)
    udp = UDP(sport=1, dport=2) / b"payload"
    frame = bytes(to_router / good / udp)

    def changed(offset, value):
        """Returns `frame` with other bytes at `offset` of the IP header, and a correct checksum."""
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
            ("IPv6", bytes(to_router / IPv6(dst="2001:db8::1") / UDP()), "punt ipv6"),
            ("IPv6, cut", bytes(to_router / IPv6(dst="fe80::1"))[:54], "punt ipv6"),
            ("IPv6, OSPF", bytes(to_router / IPv6(dst="ff02::5", nh=89) / bytes(16)), "punt ipv6_link"),
            ("IPv6, BGP on the link", bytes(to_router / IPv6(dst="fe80::1") / TCP(dport=179)), "punt ipv6_link"),
            ("IPv6, who has", bytes(to_router / IPv6(hlim=255) / ICMPv6ND_NS()), "punt ipv6_neighbour_discovery"),
            ("IPv6, ping", bytes(to_router / IPv6(dst="2001:db8::1", hlim=255) / ICMPv6EchoRequest()), "punt ipv6"),
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
            # The identifications cover checksums for incremental updates, including both zeros of one's complement.
            (f"identification {i}", towards("8.8.8.8", id=i), "send core")
            for i in range(0, 65536, 97)
        ]
        + [
            (f"checksum {value:#06x}", with_checksum(frame, value), "send core")
            for value in (0, 1, 0xFE, 0xFF, 0x100, 0xFEFF, 0xFFFE)
        ]
    )


def with_checksum(frame, wanted):
    """Returns `frame` with an identification that makes `wanted` its correct checksum."""
    header = bytearray(frame[14:34])
    header[4:6] = b"\0\0"
    header[10:12] = b"\0\0"
    without = checksum(bytes(header)) ^ 0xFFFF
    identification = (wanted ^ 0xFFFF) - without
    header[4:6] = (identification if identification >= 0 else identification + 0xFFFF).to_bytes(2, "big")
    header[10:12] = wanted.to_bytes(2, "big")
    assert checksum(bytes(header)) == 0
    return frame[:14] + bytes(header) + frame[34:]
