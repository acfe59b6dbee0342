# SPDX-License-Identifier: Apache-2.0
"""Reads and writes captures without libpcap, which the router itself uses, and unpacks the corpus of real captures.

The reader supports the formats of the files in shared/data/pcap. The formats are pcap of both byte orders, with
micro- and nanoseconds and the "modified" format of Kuznetzov, and pcapng with several sections and interfaces. The
reader is strict: a file that ends within a record is damaged."""

import ctypes
import ctypes.util
import gzip
import hashlib
import os
import pathlib
import struct
import tarfile
from collections.abc import Iterable
from typing import NamedTuple

from exclusive import exclusive

ETHERNET = 1
MAXIMUM_CAPTURED = 256 * 1024  #: largest frame, bytes; libpcap treats a larger record as damage


class Damaged(Exception):
    """Reports that a file is not a capture, or ends within its last record."""


class Frame(NamedTuple):
    time_ns: int
    data: bytes
    original_length: int


class Capture(NamedTuple):
    link_type: int
    frames: list[Frame]


def read_capture(path: os.PathLike | str) -> Capture:
    """Returns all frames of a pcap or pcapng file whose interfaces share one link type. Raises Damaged."""
    content = pathlib.Path(path).read_bytes()
    magic = content[:4]
    if magic in PCAP_MAGICS:
        return _read_pcap(content, *PCAP_MAGICS[magic])
    if magic == b"\x0a\x0d\x0d\x0a":
        return _read_pcapng(content)
    raise Damaged("unknown file format")


#: Maps the magic number to the byte order, the nanoseconds per tick and the size of a record's header in bytes.
PCAP_MAGICS = {
    b"\xd4\xc3\xb2\xa1": ("<", 1000, 16),
    b"\xa1\xb2\xc3\xd4": (">", 1000, 16),
    b"\x4d\x3c\xb2\xa1": ("<", 1, 16),
    b"\xa1\xb2\x3c\x4d": (">", 1, 16),
    b"\x34\xcd\xb2\xa1": ("<", 1000, 24),
    b"\xa1\xb2\xcd\x34": (">", 1000, 24),
}


def _read_pcap(content: bytes, order: str, tick_ns: int, record_header: int) -> Capture:
    if len(content) < 24:
        raise Damaged("the file header is cut")
    snapshot_length, link_type = struct.unpack_from(order + "II", content, 16)
    link_type &= 0xFFFF
    if snapshot_length == 0 or snapshot_length > 0x7FFFFFFF:
        snapshot_length = MAXIMUM_CAPTURED
    record = struct.Struct(order + "IIII")
    frames = []
    at = 24
    while at < len(content):
        if at + record_header > len(content):
            raise Damaged("a record header is cut")
        seconds, ticks, captured, original = record.unpack_from(content, at)
        at += record_header
        if captured > MAXIMUM_CAPTURED:
            raise Damaged(f"a record of {captured} bytes")
        if at + captured > len(content):
            raise Damaged("a record is cut")
        frames.append(
            Frame(seconds * 10**9 + ticks * tick_ns, content[at : at + min(captured, snapshot_length)], original)
        )
        at += captured
    return Capture(link_type, frames)


def _read_pcapng(content: bytes) -> Capture:
    order = "<"
    interfaces: list[tuple[int, int, int]] = []  # link type, snapshot length, ticks per second
    link_types: list[int] = []
    snapshot_lengths: set[int] = set()
    frames = []
    at = 0
    while at < len(content):
        if at + 12 > len(content):
            raise Damaged("a block is cut")
        if content[at : at + 4] == b"\x0a\x0d\x0d\x0a":
            order = "<" if content[at + 8 : at + 12] == b"\x4d\x3c\x2b\x1a" else ">"
            interfaces = []
        kind, length = struct.unpack_from(order + "II", content, at)
        if length < 12 or length % 4 or at + length > len(content):
            raise Damaged("a block is cut")
        body = content[at + 8 : at + length - 4]
        if kind == 1:
            link_type, _, snapshot_length = struct.unpack_from(order + "HHI", body)
            interfaces.append((link_type, snapshot_length, _ticks_per_second(body[8:], order)))
            link_types.append(link_type)
            snapshot_lengths.add(snapshot_length)
            if len(set(link_types)) > 1:
                raise Damaged("interfaces with different link types")
            if len(snapshot_lengths) > 1:
                raise Damaged("interfaces with different snapshot lengths")
        elif kind in (2, 6):  # (obsolete) packet block, enhanced packet block
            if kind == 6:
                interface, high, low, captured, original = struct.unpack_from(order + "IIIII", body)
            else:
                interface, _, high, low, captured, original = struct.unpack_from(order + "HHIIII", body)
            if interface >= len(interfaces):
                raise Damaged("a packet of an unknown interface")
            if 20 + captured > len(body):
                raise Damaged("a packet is longer than its block")
            ticks = (high << 32 | low) * 10**9 // interfaces[interface][2]
            frames.append(Frame(ticks, body[20 : 20 + captured], original))
        elif kind == 3:  # simple packet block
            (original,) = struct.unpack_from(order + "I", body)
            captured = min(original, interfaces[0][1] or original, len(body) - 4)
            frames.append(Frame(0, body[4 : 4 + captured], original))
        at += length
    if not link_types:
        raise Damaged("no interface is described")
    return Capture(link_types[0], frames)


def _ticks_per_second(options: bytes, order: str) -> int:
    at = 0
    while at + 4 <= len(options):
        code, length = struct.unpack_from(order + "HH", options, at)
        if code == 0:
            break
        if code == 9:
            resolution = options[at + 4]
            return 2 ** (resolution & 0x7F) if resolution & 0x80 else 10**resolution
        at += 4 + (length + 3) // 4 * 4
    return 10**6


def write_pcap(
    path: os.PathLike | str,
    frames: Iterable[Frame],
    link_type: int = ETHERNET,
    *,
    order: str = "<",
    nanoseconds: bool = True,
) -> None:
    tick_ns = 1 if nanoseconds else 1000
    parts = [struct.pack(order + "IHHIIII", 0xA1B23C4D if nanoseconds else 0xA1B2C3D4, 2, 4, 0, 0, 262144, link_type)]
    for frame in frames:
        seconds, rest = divmod(frame.time_ns, 10**9)
        parts.append(
            struct.pack(order + "IIII", seconds & 0xFFFFFFFF, rest // tick_ns, len(frame.data), frame.original_length)
        )
        parts.append(frame.data)
    pathlib.Path(path).write_bytes(b"".join(parts))


def write_pcapng(
    path: os.PathLike | str,
    frames: Iterable[Frame],
    link_type: int = ETHERNET,
    *,
    order: str = "<",
    nanoseconds: bool = True,
) -> None:
    def block(kind: int, body: bytes) -> bytes:
        body += bytes(-len(body) % 4)
        return struct.pack(order + "II", kind, len(body) + 12) + body + struct.pack(order + "I", len(body) + 12)

    tick_ns = 1 if nanoseconds else 1000
    resolution = struct.pack(order + "HHB3xI", 9, 1, 9 if nanoseconds else 6, 0)
    parts = [
        block(0x0A0D0D0A, struct.pack(order + "IHHq", 0x1A2B3C4D, 1, 0, -1)),
        block(1, struct.pack(order + "HHI", link_type, 0, 262144) + resolution),
    ]
    for frame in frames:
        ticks = frame.time_ns // tick_ns
        parts.append(
            block(
                6,
                struct.pack(order + "IIIII", 0, ticks >> 32, ticks & 0xFFFFFFFF, len(frame.data), frame.original_length)
                + frame.data,
            )
        )
    pathlib.Path(path).write_bytes(b"".join(parts))


def frames_of(data: Iterable[bytes]) -> list[Frame]:
    """Returns frames at intervals of a microsecond, captured completely."""
    return [Frame(10**18 + 1000 * i, bytes(d), len(d)) for i, d in enumerate(data)]


class Libpcap:
    """Reads files with libpcap, to determine which captures the router must accept."""

    class _Header(ctypes.Structure):
        _fields_ = [
            ("seconds", ctypes.c_long),
            ("fraction", ctypes.c_long),
            ("captured", ctypes.c_uint32),
            ("original", ctypes.c_uint32),
        ]

    def __init__(self) -> None:
        name = ctypes.util.find_library("pcap") or "libpcap.so.0.8"
        self._library = ctypes.CDLL(name)
        self._library.pcap_open_offline.restype = ctypes.c_void_p
        self._library.pcap_open_offline.argtypes = [ctypes.c_char_p, ctypes.c_char_p]
        self._library.pcap_next_ex.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p]
        self._library.pcap_datalink.argtypes = [ctypes.c_void_p]
        self._library.pcap_close.argtypes = [ctypes.c_void_p]

    def read(self, path: os.PathLike | str) -> tuple[int, list[int]] | None:
        """Returns (link type, captured length of every packet), or None if the file cannot be read to its end."""
        error = ctypes.create_string_buffer(256)
        handle = self._library.pcap_open_offline(os.fsencode(path), error)
        if not handle:
            return None
        try:
            header, data = ctypes.POINTER(self._Header)(), ctypes.c_void_p()
            lengths = []
            while (status := self._library.pcap_next_ex(handle, ctypes.byref(header), ctypes.byref(data))) == 1:
                lengths.append(header.contents.captured)
            return (self._library.pcap_datalink(handle), lengths) if status == -2 else None
        finally:
            self._library.pcap_close(handle)


def unpack_corpus(data: pathlib.Path, cache: pathlib.Path) -> list[pathlib.Path]:
    """Returns every capture of shared/data/pcap as a separate file, with compressed files unpacked. The files are
    created once and kept in `cache`."""
    archives = sorted(data.iterdir())
    stamp = hashlib.sha256(repr([(a.name, a.stat().st_size) for a in archives]).encode()).hexdigest()
    done = cache / "unpacked"
    with exclusive(cache):
        if not done.exists() or done.read_text() != stamp:
            for archive in archives:
                if archive.name.endswith(".tar.gz"):
                    _unpack(archive, cache / archive.name.removesuffix(".tar.gz"))
                else:
                    (cache / "single").mkdir(parents=True, exist_ok=True)
                    (cache / "single" / archive.name).write_bytes(archive.read_bytes())
            done.write_text(stamp)
    return sorted(f for f in cache.rglob("*") if f.is_file() and f != done)


def _unpack(archive: pathlib.Path, folder: pathlib.Path) -> None:
    with tarfile.open(archive) as tar:
        for member in tar:
            if not member.isfile() or ".." in pathlib.PurePath(member.name).parts:
                continue
            content = tar.extractfile(member).read()
            name = member.name
            if name.endswith(".gz"):
                content, name = gzip.decompress(content), name.removesuffix(".gz")
            file = folder / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)
