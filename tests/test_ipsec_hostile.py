# SPDX-License-Identifier: Apache-2.0
"""Peers of `ipsec` that know their keys and send garbage: all tags are right, and nothing inside can be trusted."""

import ipaddress
import random
import struct

import pytest

import esp_codec
import ipsec_world
from captures import frames_of, write_pcap
from esp_codec import SUITES
from ipsec_world import Combination, configure, echoed, frame, reasons
from test_ipsec import plain

SHAPES = {
    "IPv4 in IPv4": ("tunnel", False, False, False),
    "IPv6 in IPv4, in UDP": ("tunnel", False, True, True),
    "IPv4 in IPv6": ("tunnel", True, False, False),
    "IPv6 in IPv6, in UDP": ("tunnel", True, True, True),
    "transport of IPv4": ("transport", False, False, False),
    "transport of IPv6, in UDP": ("transport", True, True, True),
}
#: What may happen to such packets. Each has its counter.
NAMES = {
    "bad_pad", "bad_inner", "dummy", "bad_ecn", "policy_mismatch", "malformed", "fragment_wanted", "no_sa", "wrong_encapsulation",
    "cut", "ike", "keepalive",
}  # fmt: skip
COUNT = 6000


def ends_of(packet):
    if packet[0] >> 4 == 6:
        return ipaddress.ip_address(packet[8:24]), ipaddress.ip_address(packet[24:40])
    return ipaddress.ip_address(packet[12:16]), ipaddress.ip_address(packet[16:20])


class Hostile:
    """Makes payloads. Most are almost right, so that checks deep inside are reached."""

    def __init__(self, combination, seed):
        self.combination, self.chance = combination, random.Random(seed)
        others = ("10.99.0.1", "127.0.0.1", "224.0.0.1", "255.255.255.255", ipsec_world.OWN)
        others6 = ("fd00:99::1", "::1", "ff02::1", ipsec_world.OWN6)
        self.addresses = [combination.near, combination.far, *(others6 if combination.inner_is_ipv6 else others)]

    def inner(self):
        """Returns an IP packet between any addresses, of which some bytes may be wrong."""
        c, chance = self.combination, self.chance
        kind = chance.randrange(5)
        if kind == 0:
            return chance.randbytes(chance.randrange(0, 90))
        source, destination = (c.far, c.near) if kind < 3 else chance.choices(self.addresses, k=2)
        packet = bytearray(ipsec_world.ip_packet(source, destination, chance.randrange(0, 60), ttl=chance.choice([0, 1, 9, 255])))
        for _ in range(chance.choice([0, 0, 1, 1, 2, 5])):
            packet[chance.randrange(min(len(packet), 48))] = chance.randrange(256)
        if kind == 2 and not c.inner_is_ipv6:
            # Lengths that lie, with a right checksum.
            packet[0] = 0x40 | chance.choice([0, 4, 5, 6, 15])
            packet[2:4] = struct.pack("!H", chance.choice([0, 19, 20, len(packet) + 1, 65535, chance.randrange(len(packet) + 1)]))
            packet[6:8] = struct.pack("!H", chance.choice([0, 0x2000, 0x1FFF, 0x3FFF]))
            packet[10:12] = b"\0\0"
            packet[10:12] = struct.pack("!H", esp_codec.checksum(bytes(packet[: max(4 * (packet[0] & 15), 20)])))
        if kind == 2 and c.inner_is_ipv6:
            # Extension headers that do not end.
            packet[6] = chance.choice([0, 43, 44, 50, 51, 59, 60, 135])
            packet[40:42] = bytes([chance.choice([0, 43, 44, 60, 17]), chance.choice([0, 1, 255])])
        return bytes(packet[: chance.randrange(len(packet) + 1)] if chance.random() < 0.2 else packet)

    def frame(self, number):
        c, chance, sa = self.combination, self.chance, self.combination.back
        right = (41 if c.inner_is_ipv6 else 4) if c.mode == "tunnel" else 17
        next_header = chance.choice([right] * 7 + [59, *chance.choices(range(256), k=2)])
        payload = self.inner()
        if c.mode == "transport" and chance.random() < 0.5:
            payload = payload[40 if c.inner_is_ipv6 else 20 :]
        need = -(len(payload) + 2) % sa.suite.alignment
        padding = chance.choice([None, None, None, bytes(need), chance.randbytes(need), bytes(range(1, need + 5))])
        esp = sa.seal_payload(number, payload, next_header, padding=padding)
        esp = sa.udp(esp) if sa.ports else esp
        return frame(sa.header(len(esp), esp_codec.UDP if sa.ports else esp_codec.ESP, traffic=chance.randrange(4)) + esp)


@pytest.mark.parametrize("shape", SHAPES)
def test_valid_tags_over_garbage_are_counted_drops(bench, shape):
    mode, outer_is_ipv6, inner_is_ipv6, has_udp = SHAPES[shape]
    combination, other = Combination(0, SUITES[0], mode, outer_is_ipv6, inner_is_ipv6, has_udp, False, window=64), plain(1)
    configure(bench, [combination, other])
    hostile = Hostile(combination, len(shape))
    good = combination.arriving(7)
    frames = [hostile.frame(number) for number in range(1, COUNT + 1)]
    # The same SA and another one serve on.
    frames += [frame(combination.back.seal(COUNT + 1, good)), frame(other.back.seal(1, other.arriving(7))), frame(other.leaving(7))]
    write_pcap(bench.folder / "in.pcap", frames_of(frames))
    summary = bench.run()
    counted = reasons(summary)
    outputs = [echoed(data) for data in bench.outputs()["wan"]]
    assert set(counted) <= NAMES, counted
    assert sum(counted.values()) + len(outputs) == len(frames), counted
    print(f"{shape}: {counted}, {len(outputs)} passed")
    assert counted["bad_pad"] > 100 and counted["dummy"] > 100
    assert mode == "transport" or counted["bad_inner"] > 100
    assert other.out.open(outputs[-1])[2] and outputs[-2] == other.arriving(7) and outputs[-3] == good
    for inner in outputs[:-3]:
        source, destination = ends_of(inner)
        # Only addresses that the policy selects pass: no peer can speak for others, or to this router's neighbours.
        if mode == "tunnel":
            far, near = (ipaddress.ip_network(ipsec_world.network(side, 0, inner_is_ipv6)) for side in (1, 0))
            assert source in far and destination in near, inner.hex()
        else:
            assert (source, destination) == tuple(map(ipaddress.ip_address, (combination.far, combination.near))), inner.hex()
        length = 40 + int.from_bytes(inner[4:6]) if inner[0] >> 4 == 6 else int.from_bytes(inner[2:4])
        assert length == len(inner), "a length that lies has left"


def test_a_peer_that_jumps_to_the_last_number_harms_only_itself(bench):
    jumps, other = plain(0, window=64), plain(1, window=64)
    configure(bench, [jumps, other])
    last = (1 << 32) - 1
    numbers = [1, last, 2, last - 63, last - 64, last, 0]
    frames = [frame(jumps.back.seal(number, jumps.arriving(i))) for i, number in enumerate(numbers)]
    frames += [frame(other.back.seal(number, other.arriving(5))) for number in (1, 2)]
    write_pcap(bench.folder / "in.pcap", frames_of(frames))
    summary = bench.run()
    assert reasons(summary) == {"late": 3, "replayed": 1}
    assert [echoed(data) for data in bench.outputs()["wan"]] == [jumps.arriving(i) for i in (0, 1, 3)] + [other.arriving(5)] * 2
