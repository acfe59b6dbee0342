# SPDX-License-Identifier: Apache-2.0
"""A client of the socket of `megaflows` (src/functions/megaflows/wire.h), written from docs/functions/megaflows.md."""

import pathlib
import socket
import struct
from typing import NamedTuple

ADD, DELETE, FLUSH, COUNTS, PORTS, METER_SET, METER_DELETE, METER_COUNTS = range(1, 9)
_OUTPUT, _SET, _METER = 1, 4, 5
#: Fields by name: word, shift, bits.
FIELDS = {
    "in_port": (0, 0, 16),
    "eth_src": (0, 16, 48),
    "eth_dst": (1, 16, 48),
    "eth_type": (1, 0, 16),
    "nw_dst": (3, 0, 32),
    "nw_proto": (4, 24, 8),
    "tp_dst": (4, 32, 16),
}
#: Numbers of fields that can be set.
SETTABLE = {"eth_dst": 2, "nw_ttl": 13}


class Reply(NamedTuple):
    error: int
    ports: dict[int, str]
    packets: int
    bytes: int
    used_ms: int
    bands: list[tuple[int, int]]  #: packets and bytes that each band of a meter dropped


def output(port: int) -> bytes:
    return struct.pack("=II4Q", _OUTPUT, port, 0, 0, 0, 0)


def meter(number: int) -> bytes:
    return struct.pack("=II4Q", _METER, number, 0, 0, 0, 0)


def set_field(name: str, value: int, mask: int) -> bytes:
    return struct.pack("=II4Q", _SET, SETTABLE[name], 0, value, 0, mask)


class Client:
    def __init__(self, path: pathlib.Path) -> None:
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._socket.settimeout(60)
        self._socket.connect(str(path))
        self._id = 0

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def _ask(self, kind: int, body: bytes) -> Reply:
        self._id += 1
        self._socket.send(struct.pack("=BBHI", 1, kind, 8 + len(body), self._id) + body)
        reply = self._socket.recv(1 << 20)
        version, answered, _, number, error, ports, *counts = struct.unpack_from("=BBHIII3Q", reply)
        assert (version, answered, number) == (1, kind | 0x80, self._id)
        if kind in (METER_DELETE, METER_COUNTS):
            bands = [struct.unpack_from("=QQ", reply, 40 + 16 * i) for i in range(ports)]
            return Reply(error, {}, *counts, bands)
        names = {}
        for i in range(ports):
            port, _, name = struct.unpack_from("=II64s", reply, 40 + 72 * i)
            names[port] = name.rstrip(b"\0").decode()
        return Reply(error, names, *counts, [])

    def add(self, ufid: int, match: dict[str, int], actions: list[bytes]) -> Reply:
        words: dict[int, list[int]] = {}
        for name, value in match.items():
            word, shift, bits = FIELDS[name]
            pair = words.setdefault(word, [0, 0])
            pair[0] |= value << shift
            pair[1] |= ((1 << bits) - 1) << shift
        body = struct.pack("=QQHHI", 1, ufid, sum(1 << word for word in words), len(actions), 0)
        body += b"".join(struct.pack("=QQ", *words[word]) for word in sorted(words))
        return self._ask(ADD, body + b"".join(actions))

    def set_meter(self, number: int, in_packets: bool, bands: list[tuple[int, int]]) -> Reply:
        body = struct.pack("=IBBH", number, in_packets, len(bands), 0)
        return self._ask(METER_SET, body + b"".join(struct.pack("=II", *band) for band in bands))

    def meter_counts(self, number: int, removes: bool = False) -> Reply:
        return self._ask(METER_DELETE if removes else METER_COUNTS, struct.pack("=QQ", number, 0))

    def request(self, kind: int, ufid: int = 0) -> Reply:
        return self._ask(kind, struct.pack("=QQ", 1 if ufid else 0, ufid))
