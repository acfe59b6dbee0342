# SPDX-License-Identifier: Apache-2.0
"""Parses routes and neighbours in iproute2's syntax. Implements the simplest longest-prefix match: a dictionary for
each prefix length."""

import ipaddress
import socket
from collections.abc import Iterable
from typing import NamedTuple


class NextHop(NamedTuple):
    gateway: int | None  #: None: the destination itself is on the link
    port: str
    weight: int = 1


class Route(NamedTuple):
    prefix: int
    length: int
    kind: str  #: "unicast", "blackhole" or "unreachable"
    next_hops: tuple[NextHop, ...] = ()
    metric: int = 0


def address(text: str) -> int:
    return int.from_bytes(socket.inet_aton(text), "big")


def dotted(value: int) -> str:
    return socket.inet_ntoa(value.to_bytes(4, "big"))


def parse_route(line: str, bits: int = 32) -> Route:
    read = address if bits == 32 else lambda text: int(ipaddress.IPv6Address(text))
    words = line.split()
    kind = words.pop(0) if words[0] in ("blackhole", "unreachable", "unicast") else "unicast"
    where = words.pop(0)
    kind_of_network = ipaddress.IPv4Network if bits == 32 else ipaddress.IPv6Network
    network = kind_of_network((0, 0) if where == "default" else where)
    metric, hops, current = 0, [], {}

    def finish() -> None:
        if current:
            hops.append(NextHop(current.get("via"), current["dev"], current.get("weight", 1)))
            current.clear()

    while words:
        word = words.pop(0)
        if word == "nexthop":
            finish()
        elif word == "via":
            current["via"] = read(words.pop(0))
        elif word == "dev":
            current["dev"] = words.pop(0)
        elif word == "weight":
            current["weight"] = int(words.pop(0))
        elif word == "metric":
            metric = int(words.pop(0))
        else:
            raise ValueError(f"cannot read '{word}' in '{line}'")
    finish()
    return Route(int(network.network_address), network.prefixlen, kind, tuple(hops), metric)


def parse_routes(text: str, bits: int = 32) -> list[Route]:
    """Parses routes for addresses of `bits` bits."""
    lines = (line.split("#")[0].strip() for line in text.splitlines())
    return [parse_route(line, bits) for line in lines if line]


def parse_neighbours(text: str) -> dict[tuple[str, int], bytes]:
    """Returns a map of (port, address) to MAC addresses."""
    neighbours = {}
    for line in text.splitlines():
        words = line.split("#")[0].split()
        if "lladdr" in words:
            mac = bytes.fromhex(words[words.index("lladdr") + 1].replace(":", ""))
            neighbours[words[words.index("dev") + 1], address(words[0])] = mac
    return neighbours


class LongestPrefixMatch:
    """Finds the longest prefix. Among several routes of a prefix the lowest metric decides. Addresses have `bits`
    bits."""

    def __init__(self, routes: Iterable[Route], bits: int = 32) -> None:
        self._by_length: list[dict[int, Route]] = [{} for _ in range(bits + 1)]
        for route in routes:
            known = self._by_length[route.length].get(route.prefix)
            if known is None or route.metric < known.metric:
                self._by_length[route.length][route.prefix] = route
        self._lengths = [(n, ~0 << (bits - n)) for n in range(bits, -1, -1) if self._by_length[n]]

    def find(self, destination: int) -> Route | None:
        for length, mask in self._lengths:
            route = self._by_length[length].get(destination & mask)
            if route is not None:
                return route
        return None
