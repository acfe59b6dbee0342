# SPDX-License-Identifier: Apache-2.0
"""The least that speaks BGP-4 (RFC 4271): it opens a session from a namespace and announces IPv4 prefixes."""

import ipaddress
import itertools
import socket
import struct
from collections.abc import Iterable, Iterator
from typing import Any

import conftest
from netns import Namespace

_MARKER = b"\xff" * 16
_OPEN, _UPDATE, _KEEPALIVE = 1, 2, 4
_LONGEST_MESSAGE = 4096


def _message(kind: int, body: bytes = b"") -> bytes:
    return _MARKER + struct.pack("!HB", 19 + len(body), kind) + body


def _nlri(prefix: str) -> bytes:
    """Section 4.3: a length in bits, and as many bytes as it needs."""
    address, _, length = prefix.partition("/")
    return bytes([int(length)]) + socket.inet_aton(address)[: (int(length) + 7) // 8]


class BgpSpeaker:
    """A context manager: entered, the session is established. No keepalives (hold time 0), so nothing runs beside."""

    def __init__(self, namespace: Namespace, router: str, number: int, identifier: str) -> None:
        """`number` is its AS, `identifier` its own address as seen by the router."""
        self._namespace, self._router, self._number = namespace, router, number
        self._identifier = ipaddress.IPv4Address(identifier).packed

    def __enter__(self) -> "BgpSpeaker":
        conftest.wait_until("a BGP session", self._open)
        return self

    def __exit__(self, *_: Any) -> None:
        self._socket.close()

    def _open(self) -> bool:
        """A router that is not ready yet closes the connection, or is not there."""
        try:
            with self._namespace.inside():
                self._socket = socket.create_connection((self._router, 179), timeout=conftest.PATIENCE)
            hello = struct.pack("!BHH4sB", 4, self._number, 0, self._identifier, 0)
            if self._exchange(_OPEN, hello) and self._exchange(_KEEPALIVE):
                return True
            self._socket.close()
        except ConnectionError:
            pass
        return False

    def _exchange(self, kind: int, body: bytes = b"") -> bool:
        """Says something, and whether the answer is of its kind."""
        self._socket.sendall(_message(kind, body))
        with self._socket.makefile("rb", buffering=0) as answers:
            header = answers.read(19)
            answers.read(max(0, int.from_bytes(header[16:18], "big") - 19))
        return header[18:] == bytes([kind])

    def announce(self, next_hop: str, prefixes: Iterable[str]) -> None:
        path = struct.pack("!BBBBBH", 0x40, 2, 4, 2, 1, self._number)
        attributes = b"\x40\x01\x01\x00" + path + b"\x40\x03\x04" + socket.inet_aton(next_hop)
        start = struct.pack("!HH", 0, len(attributes)) + attributes
        for part in _parts(map(_nlri, prefixes), _LONGEST_MESSAGE - 19 - len(start)):
            self._socket.sendall(_message(_UPDATE, start + part))

    def withdraw(self, prefixes: Iterable[str]) -> None:
        for part in _parts(map(_nlri, prefixes), _LONGEST_MESSAGE - 19 - 4):
            self._socket.sendall(_message(_UPDATE, struct.pack("!H", len(part)) + part + b"\0\0"))


def _parts(pieces: Iterable[bytes], size: int) -> Iterator[bytes]:
    """All pieces in their order, as many together as fit."""
    part = bytearray()
    for piece in itertools.chain(pieces, [b""]):
        if part and (not piece or len(part) + len(piece) > size):
            yield bytes(part)
            part.clear()
        part += piece
