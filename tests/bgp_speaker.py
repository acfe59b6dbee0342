# SPDX-License-Identifier: Apache-2.0
"""Implements the parts of BGP-4 (RFC 4271) that open a session from a namespace and announce IPv4 prefixes."""

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
    """Encodes a prefix (section 4.3): its length in bits, and as many bytes as the length requires."""
    address, _, length = prefix.partition("/")
    return bytes([int(length)]) + socket.inet_aton(address)[: (int(length) + 7) // 8]


class BgpSpeaker:
    """Runs a BGP session as a context manager. The session is established on entry. The hold time is 0, so no
    keepalives are sent and no thread is needed."""

    def __init__(self, namespace: Namespace, router: str, number: int, identifier: str) -> None:
        """`number` is the AS number of the speaker. `identifier` is its address as the router sees it."""
        self._namespace, self._router, self._number = namespace, router, number
        self._identifier = ipaddress.IPv4Address(identifier).packed

    def __enter__(self) -> "BgpSpeaker":
        conftest.wait_until("a BGP session", self._open)
        return self

    def __exit__(self, *_: Any) -> None:
        self._socket.close()

    def _open(self) -> bool:
        """Returns False if the router refuses or closes the connection because it is not ready."""
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
        """Sends a message. Returns True if the answer has the same type."""
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
    """Yields all pieces in order, joined to parts of at most `size` bytes."""
    part = bytearray()
    for piece in itertools.chain(pieces, [b""]):
        if part and (not piece or len(part) + len(piece) > size):
            yield bytes(part)
            part.clear()
        part += piece
