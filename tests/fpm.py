# SPDX-License-Identifier: Apache-2.0
"""Implements an FPM client like FRR's zebra, which sends the messages of a test."""

import ipaddress
import socket
import struct
from collections.abc import Iterable

from netns import Namespace

PORT = 2620
NEWROUTE, DELROUTE, NEWNEXTHOP, DELNEXTHOP = 24, 25, 104, 105
_RTA_DST, _RTA_OIF, _RTA_GATEWAY, _RTA_PRIORITY, _RTA_MULTIPATH, _RTA_TABLE, _RTA_NH_ID = 1, 4, 5, 6, 9, 15, 30
_NHA_ID, _NHA_GROUP, _NHA_OIF, _NHA_GATEWAY = 1, 2, 5, 6
_UNICAST, _BLACKHOLE = 1, 6
STATIC, KERNEL = 196, 2  # protocol numbers of zebra

#: (gateway or "", index of the interface, weight)
Hop = tuple[str, int, int]


def _attribute(kind: int, payload: bytes) -> bytes:
    return struct.pack("HH", len(payload) + 4, kind) + payload + bytes(-len(payload) % 4)


def _gateway(hop: Hop) -> bytes:
    return _attribute(_RTA_GATEWAY, ipaddress.ip_address(hop[0]).packed) if hop[0] else b""


def _message(kind: int, body: bytes) -> bytes:
    return struct.pack("IHHII", len(body) + 16, kind, 0x501, 0, 0) + body


def _family(version: int) -> int:
    return socket.AF_INET if version == 4 else socket.AF_INET6


def route(
    prefix: str,
    *hops: Hop,
    kind: int = NEWROUTE,
    table: int = 254,
    metric: int = 20,
    nexthop_id: int | None = None,
    protocol: int = STATIC,
) -> bytes:
    """Encodes a route message. Without next hops and next-hop object, the route is a blackhole."""
    network = ipaddress.ip_network(prefix)
    leads = _BLACKHOLE if not hops and nexthop_id is None else _UNICAST
    fixed = (_family(network.version), network.prefixlen, 0, 0, min(table, 255), protocol, 0, leads, 0)
    body = struct.pack("BBBBBBBBI", *fixed)
    body += _attribute(_RTA_DST, network.network_address.packed)
    body += _attribute(_RTA_PRIORITY, struct.pack("I", metric)) + _attribute(_RTA_TABLE, struct.pack("I", table))
    if len(hops) == 1:
        body += _gateway(hops[0]) + _attribute(_RTA_OIF, struct.pack("I", hops[0][1]))
    elif hops:
        ways = (struct.pack("HBBi", 8 + len(_gateway(h)), 0, h[2] - 1, h[1]) + _gateway(h) for h in hops)
        body += _attribute(_RTA_MULTIPATH, b"".join(ways))
    if nexthop_id is not None:
        body += _attribute(_RTA_NH_ID, struct.pack("I", nexthop_id))
    return _message(kind, body)


def delete(prefix: str, table: int = 254) -> bytes:
    """Encodes the removal of a route in the same way as zebra, which omits the next hops."""
    return route(prefix, kind=DELROUTE, table=table)


def nexthop(number: int, hop: Hop) -> bytes:
    body = struct.pack("BBBBI", _family(ipaddress.ip_address(hop[0]).version), 0, 0, 0, 0)
    body += _attribute(_NHA_ID, struct.pack("I", number)) + _attribute(_NHA_OIF, struct.pack("I", hop[1]))
    return _message(NEWNEXTHOP, body + _attribute(_NHA_GATEWAY, ipaddress.ip_address(hop[0]).packed))


def group(number: int, members: Iterable[tuple[int, int]], behind: bytes = b"") -> bytes:
    """Encodes a group of next hops, given their numbers and weights."""
    body = struct.pack("BBBBI", 0, 0, 0, 0, 0) + _attribute(_NHA_ID, struct.pack("I", number))
    packed = b"".join(struct.pack("IBBH", member, weight - 1, 0, 0) for member, weight in members)
    return _message(NEWNEXTHOP, body + _attribute(_NHA_GROUP, packed + behind))


def delete_nexthop(number: int) -> bytes:
    return _message(DELNEXTHOP, struct.pack("BBBBI", 0, 0, 0, 0, 0) + _attribute(_NHA_ID, struct.pack("I", number)))


def frame(*messages: bytes) -> bytes:
    payload = b"".join(messages)
    return struct.pack("!BBH", 1, 1, len(payload) + 4) + payload


class FpmClient:
    """Connects to the router on entry of the context."""

    def __init__(self, namespace: Namespace) -> None:
        self._namespace = namespace

    def __enter__(self) -> "FpmClient":
        with self._namespace.inside():
            self.socket = socket.create_connection(("127.0.0.1", PORT), timeout=30)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()

    def tell(self, *messages: bytes) -> None:
        """Sends all messages in one frame."""
        self.send(frame(*messages))

    def send(self, data: bytes) -> None:
        self.socket.sendall(data)

    def is_closed(self) -> bool:
        """Waits until the router closes the connection, which is the only event that can come from it."""
        try:
            return self.socket.recv(1) == b""
        except ConnectionResetError:
            return True


__all__ = ["FpmClient", "delete", "delete_nexthop", "frame", "group", "nexthop", "route"]
