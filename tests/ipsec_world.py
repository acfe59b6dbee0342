# SPDX-License-Identifier: Apache-2.0
"""Makes SAs, policies and inner packets for tests of `ipsec`: combination number i has networks of its own."""

import itertools
import random
import struct

import esp_codec
from esp_codec import Sa

OWN, PEER = "192.0.2.1", "192.0.2.2"
OWN6, PEER6 = "2001:db8::1", "2001:db8::2"
LINK = bytes.fromhex("020000000001" "020000000002")
PORTS = [{"name": "wan", "device": "pcap:in.pcap", "addresses": [f"{OWN}/24", f"{OWN6}/64"]}]


def network(side, number, is_ipv6):
    return f"fd00:{side}:{number:x}::/64" if is_ipv6 else f"10.{16 * side + number // 256}.{number % 256}.0/24"


def host(side, number, is_ipv6):
    return f"fd00:{side}:{number:x}::7" if is_ipv6 else f"10.{16 * side + number // 256}.{number % 256}.7"


def ip_packet(source, destination, payload_bytes, *, ttl=9, seed=0, **fields):
    """Returns a UDP packet of either family with random data."""
    data = random.Random(seed * 65536 + payload_bytes).randbytes(payload_bytes)
    ends = Sa(0, esp_codec.SUITES[0], source, destination)
    return ends.header(8 + len(data), 17, ttl=ttl, **fields) + struct.pack("!HHHH", 1000, 2000, 8 + len(data), 0) + data


def frame(packet):
    return LINK + (b"\x86\xdd" if packet[0] >> 4 == 6 else b"\x08\x00") + packet


def aged(packet):
    """Returns a packet as a router forwards it: with a TTL one less."""
    if packet[0] >> 4 == 6:
        return packet[:7] + bytes([packet[7] - 1]) + packet[8:]
    header = packet[:8] + bytes([packet[8] - 1]) + packet[9:10] + b"\0\0" + packet[12:20]
    return header[:10] + struct.pack("!H", esp_codec.checksum(header)) + header[12:] + packet[20:]


def joined(packets):
    """Returns the IPv4 packets that fragments and whole packets make. Asserts that fragments are complete."""
    whole, groups = [], {}
    for packet in packets:
        if struct.unpack("!H", packet[6:8])[0] & 0x3FFF:
            groups.setdefault(packet[4:6] + packet[12:20], []).append(packet)
        else:
            whole.append(packet)
    for group in groups.values():
        group.sort(key=lambda packet: struct.unpack("!H", packet[6:8])[0] & 0x1FFF)
        fields = [struct.unpack("!H", packet[6:8])[0] for packet in group]
        ends = list(itertools.accumulate(len(packet) - 20 for packet in group))
        assert [8 * (field & 0x1FFF) for field in fields] == [0, *ends[:-1]]
        assert [field >> 13 for field in fields] == [1] * (len(group) - 1) + [0]
        head = group[0][:6] + b"\0\0" + group[0][8:20]
        whole.append(esp_codec.replaced(head, head[9], b"".join(packet[20:] for packet in group)))
    return whole


class Combination:
    """One SA of each direction, and the policies that use them."""

    def __init__(self, number, suite, mode, outer_is_ipv6, inner_is_ipv6, has_udp, esn, window=64, flags=""):
        self.number, self.inner_is_ipv6, self.mode = number, inner_is_ipv6, mode
        own, peer = (OWN6, PEER6) if outer_is_ipv6 else (OWN, PEER)
        self.near, self.far = host(0, number, inner_is_ipv6), host(1, number, inner_is_ipv6)
        own, peer = (own, peer) if mode == "tunnel" else (self.near, self.far)
        if outer_is_ipv6 != inner_is_ipv6:
            flags += " af-unspec"  # Otherwise an SA takes only packets of its own family.
        more = {"suite": suite, "mode": mode, "esn": esn, "ports": (4500, 4500) if has_udp else None, "reqid": number + 1}
        self.out = Sa(0x1000 + number, source=own, destination=peer, window=window, flags=flags, **more)
        self.back = Sa(0x8000 + number, source=peer, destination=own, window=window, flags=flags, **more)

    def __str__(self):
        return f"{self.number}: {self.out.text()}"

    def states(self):
        return self.out.text() + self.back.text()

    def policies(self):
        # In transport mode the ends of the SA are those of the packets.
        def one(direction, source, destination, sa):
            ends = f"src {sa.source} dst {sa.destination} " if self.mode == "tunnel" else ""
            return f"src {source} dst {destination} dir {direction} priority 5 tmpl {ends}proto esp reqid {sa.reqid} mode {self.mode}\n"

        if self.mode == "tunnel":
            near, far = network(0, self.number, self.inner_is_ipv6), network(1, self.number, self.inner_is_ipv6)
        else:
            near, far = (f"{end}/{128 if self.inner_is_ipv6 else 32}" for end in (self.near, self.far))
        return one("out", near, far, self.out) + one("fwd", far, near, self.back) + one("in", far, near, self.back)

    def leaving(self, payload_bytes, **fields):
        return ip_packet(self.near, self.far, payload_bytes, seed=self.number, **fields)

    def arriving(self, payload_bytes, **fields):
        return ip_packet(self.far, self.near, payload_bytes, seed=self.number, **fields)


def combinations_by_pairs():
    """Returns SAs in which each algorithm meets each mode, each family, each encapsulation and both kinds of numbers."""
    shapes = [("tunnel", o, i) for o in (False, True) for i in (False, True)] + [("transport", f, f) for f in (False, True)]
    cross = list(itertools.product(esp_codec.SUITES, shapes, (False, True), (False, True)))
    each_third = [c for i, c in enumerate(cross) if (i + i // (4 * len(shapes))) % 3 == 0]
    return [Combination(number, suite, *shape, has_udp, esn) for number, (suite, shape, has_udp, esn) in enumerate(each_third)]


def configure(bench, combinations, *, more="", states="", policies="", settings="", workers=1, ports=None):
    """Writes the files and a pipeline that sends all packets back where they came from."""
    (bench.folder / "sa.txt").write_text("".join(c.states() for c in combinations) + states)
    (bench.folder / "sp.txt").write_text("".join(c.policies() for c in combinations) + policies)
    bench.configure(
        ports or PORTS,
        workers=workers,
        pipeline=f"  - ipsec: {{states: sa.txt, policies: sp.txt, marks: marks, sas: 4096{settings}}}\n{more}  - echo: {{offset: 0}}",
    )


def echoed(data):
    """Returns the IP packet of a frame that `echo` sent."""
    return data[14:]


def reasons(summary):
    return {name: count for (stage, name), count in summary.reasons.items() if count}


