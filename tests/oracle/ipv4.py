# SPDX-License-Identifier: Apache-2.0
"""Implements an IPv4 router according to the standards, with scapy and without code of the router.

The standards are RFC 791 and RFC 1812 (5.2.2 header validation, 5.3.1 TTL, 5.3.4 link-layer broadcasts, 5.3.5
broadcasts, 5.3.7 martians). Where the RFCs leave a choice, the documented order of checks of the function ipv4
applies.

scapy dissects every Ethernet and IP header, computes every checksum and rebuilds every header that is sent. scapy
processes some ten thousand packets per second, so results are cached by the bytes of the header. learn() keeps
results of repeated questions on disk. Nothing else judges a packet, and the payload is never read."""

import functools
import ipaddress
import pathlib
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from scapy.layers.inet import IP
from scapy.layers.l2 import Ether
from scapy.utils import checksum

from .memory import Remembered
from .routes import LongestPrefixMatch, NextHop, Route, dotted, parse_neighbours, parse_routes

ETHERNET_HEADER = 14
IPV6_HEADER = 40
IP_HEADER = 20
IPV4 = 0x0800  #: ethertype


class Port(NamedTuple):
    name: str
    mac: bytes
    mtu: int = 1500
    promiscuous: bool = True
    addresses: tuple[str, ...] = ()  #: "A.B.C.D/LENGTH"


class Outcome(NamedTuple):
    """Represents the result for a packet. `kind` is "send", "drop" or "punt". `where` is the egress port of a sent
    packet, else the reason."""

    kind: str
    where: str
    frame: bytes = b""


class Header(NamedTuple):
    """Holds scapy's result for the headers of a frame: a verdict that no route can change, or the fields that routes
    depend on."""

    verdict: Outcome | None
    destination: int = 0
    total_length: int = 0
    ttl: int = 0
    forwarded: bytes = b""  #: the IP header with TTL - 1
    link_local: bool = False  #: from or to 169.254/16, which no router forwards (RFC 3927, 7)


def _within(address: str, *networks: str) -> bool:
    return any(ipaddress.IPv4Address(address) in ipaddress.IPv4Network(network) for network in networks)


def _drop(reason: str) -> Header:
    return Header(Outcome("drop", reason))


def _punt(reason: str) -> Header:
    return Header(Outcome("punt", reason))


@functools.cache
def _ethernet(header: bytes) -> tuple[bool, int]:
    """Returns (destined to a group, ethertype)."""
    ether = Ether(header)
    ethertype = ether.type if isinstance(ether, Ether) and "type" in ether.fields else ether.len  # 802.3: a length
    return bool(int(ether.dst[:2], 16) & 1), ethertype


@functools.cache
def _addresses_verdict(source: str, destination: str) -> Header | None:
    broadcast, multicast = destination == "255.255.255.255", _within(destination, "224.0.0.0/4")
    asks_for_an_address = source == "0.0.0.0" and (broadcast or multicast)
    if _within(source, "0.0.0.0/8", "127.0.0.0/8", "224.0.0.0/4", "240.0.0.0/4") and not asks_for_an_address:
        return _drop("martian_source")
    if broadcast:
        return _punt("broadcast")
    if multicast:
        return _punt("multicast")
    if _within(destination, "0.0.0.0/8", "127.0.0.0/8", "240.0.0.0/4"):
        return _drop("martian_destination")
    return None


@Remembered
def _ip(header: bytes, room: int, to_group: bool) -> Header:
    """Dissects a header. `header` is the captured part of the IP header. `room` is the size of the frame after the
    Ethernet header, in bytes."""
    if len(header) < IP_HEADER:
        return _drop("truncated")
    ip = IP(header[:IP_HEADER])
    if ip.version != 4:
        return _drop("bad_version")
    if ip.ihl < 5:
        return _drop("bad_header_length")
    if ip.len < ip.ihl * 4:
        return _drop("bad_total_length")
    if ip.len > room:
        return _drop("truncated")
    if checksum(header[: ip.ihl * 4]) != 0:
        return _drop("bad_checksum")
    if (verdict := _addresses_verdict(ip.src, ip.dst)) is not None:
        return verdict
    if to_group:
        return _drop("link_broadcast")
    if ip.ihl > 5:
        return _punt("options")
    destination = int(ipaddress.IPv4Address(ip.dst))
    link_local = any(ipaddress.IPv4Address(address).is_link_local for address in (ip.src, ip.dst))
    if ip.ttl <= 1:
        return Header(None, destination, ip.len, ip.ttl, link_local=link_local)
    ttl = ip.ttl
    ip.ttl -= 1
    del ip.chksum
    ip.explicit = 1  # one packet, not a set: saves scapy most of its time
    return Header(None, destination, ip.len, ttl, bytes(ip), link_local)


def _dissected(frame: bytes, to_group: bool) -> tuple[Header, int]:
    """Returns (the result for the frame's IP header, the end of that header). The frame must have an Ethernet
    header."""
    end = ETHERNET_HEADER + max(IP_HEADER, (frame[14] & 0xF) * 4 if len(frame) > 14 else 0)
    return _ip(frame[ETHERNET_HEADER:end], len(frame) - ETHERNET_HEADER, to_group), end


def learn(frames: Sequence[bytes], folder: pathlib.Path) -> None:
    """Dissects the frames once for all processes and runs that share the folder."""

    def dissect_all() -> None:
        for frame in frames:
            if len(frame) >= ETHERNET_HEADER:
                to_group, ethertype = _ethernet(frame[:ETHERNET_HEADER])
                if ethertype == IPV4:
                    _dissected(frame, to_group)

    # A result depends only on the longest header (15 words) and the length.
    asked = (frame[: ETHERNET_HEADER + 60] + len(frame).to_bytes(4, "big") for frame in frames)
    _ip.keep(folder, pathlib.Path(__file__).read_bytes(), asked, dissect_all)


@functools.cache
def _ethernet_header(destination: bytes, source: bytes) -> bytes:
    return bytes(Ether(dst=destination.hex(":"), src=source.hex(":"), type=IPV4))


def _ipv6_reason(packet: bytes) -> str:
    if len(packet) <= IPV6_HEADER:
        return "ipv6"
    icmp, not_forwarded, neighbour_discovery = packet[6] == 58, packet[7] == 255, packet[40] in range(133, 138)
    if icmp and not_forwarded and neighbour_discovery:
        return "ipv6_neighbour_discovery"
    destination = ipaddress.IPv6Address(packet[24:40])
    return "ipv6_link" if destination.is_link_local or destination.is_multicast else "ipv6"


class Router:
    def __init__(self, ports: Iterable[Port], routes: str | Iterable[Route], neighbours: str = "") -> None:
        self.ports = {port.name: port for port in ports}
        self.table = LongestPrefixMatch(parse_routes(routes) if isinstance(routes, str) else routes)
        self.neighbours = parse_neighbours(neighbours)
        interfaces = [ipaddress.IPv4Interface(a) for port in self.ports.values() for a in port.addresses]
        self.local = {int(i.ip) for i in interfaces}
        # The host part of a broadcast address is all ones, or all zeros in its obsolete form (RFC 1812 4.2.3.1).
        networks = [i.network for i in interfaces if i.network.prefixlen < 31]
        self.broadcasts = {int(edge) for n in networks for edge in (n.broadcast_address, n.network_address)}
        self._route_verdict = functools.lru_cache(maxsize=None)(self._routed)

    def judge(self, frame: bytes, rx_port: str) -> tuple[Outcome, ...]:
        """Returns all correct outcomes. There are several if a route has several next hops."""
        if len(frame) < ETHERNET_HEADER:
            return (Outcome("drop", "runt"),)
        port = self.ports[rx_port]
        to_group, ethertype = _ethernet(frame[:ETHERNET_HEADER])
        if not port.promiscuous and not to_group and frame[:6] != port.mac:
            return (Outcome("drop", "wrong_mac"),)
        if ethertype != IPV4:
            reason = {0x0806: "arp", 0x86DD: _ipv6_reason(frame[ETHERNET_HEADER:])}
            return (Outcome("punt", reason.get(ethertype, "other_ethertype")),)
        header, header_end = _dissected(frame, to_group)
        if header.verdict is not None:
            return (header.verdict,)
        outcomes = self._route_verdict(header.destination, header.total_length, header.ttl, header.link_local)

        def sent(port: str, ethernet: bytes) -> Outcome:
            too_long = len(frame) > ETHERNET_HEADER + self.ports[port].mtu
            end = ETHERNET_HEADER + header.total_length if too_long else len(frame)
            return Outcome("send", port, ethernet + header.forwarded + frame[header_end:end])

        return tuple(sent(o.where, o.frame) if o.kind == "send" else o for o in outcomes)

    def _routed(self, destination: int, total_length: int, ttl: int, link_local: bool) -> tuple[Outcome, ...]:
        """Returns outcomes as judge() does, but the frame of a sent packet has its Ethernet header only."""
        if destination in self.local:
            return (Outcome("punt", "local"),)
        if destination in self.broadcasts:
            return (Outcome("punt", "broadcast"),)
        if link_local:
            return (Outcome("drop", "link_local"),)
        route = self.table.find(destination)
        if route is None:
            return (Outcome("drop", "no_route"),)
        if route.kind != "unicast":
            return (Outcome("drop", route.kind),)
        if ttl <= 1:
            return (Outcome("punt", "ttl_expired"),)
        return tuple(dict.fromkeys(self._towards(hop, destination, total_length) for hop in route.next_hops))

    def _towards(self, hop: NextHop, destination: int, total_length: int) -> Outcome:
        port = self.ports[hop.port]
        mac = self.neighbours.get((hop.port, destination if hop.gateway is None else hop.gateway))
        if mac is None:
            return Outcome("punt", "unknown_neighbour")
        if total_length > port.mtu:
            return Outcome("punt", "fragmentation_needed")
        return Outcome("send", port.name, _ethernet_header(mac, port.mac))


def explain(outcomes: tuple[Outcome, ...]) -> str:
    return " or ".join(f"{o.kind} {o.where}" for o in outcomes)


__all__ = ["Header", "Outcome", "Port", "Router", "dotted", "explain", "learn"]
