# SPDX-License-Identifier: Apache-2.0
"""Sorts the thousands of real captures in shared/data/pcap by the treatment that the router must give them."""

import functools
import pathlib
from typing import NamedTuple

from captures import ETHERNET, Capture, Damaged, Libpcap, read_capture, unpack_corpus

#: Maps link types whose packets have an IP header to the offset of that header. Packets of such link types get an
#: Ethernet header for the tests.
RAW_IP_OFFSETS = {0: 4, 101: 0, 108: 4, 113: 16, 228: 0, 276: 20}
LARGEST_FRAME = 65535  #: bytes


class CorpusFile(NamedTuple):
    path: pathlib.Path
    capture: Capture | None  #: None if the file is damaged


class Corpus(NamedTuple):
    ethernet: list[CorpusFile]
    foreign: list[CorpusFile]  #: undamaged, but of another link type
    damaged: list[CorpusFile]
    oversized: list[CorpusFile]  #: Ethernet, with a frame that no packet buffer of DPDK can hold

    def frames(self) -> list[bytes]:
        """Returns every packet of the Ethernet captures, limited to the captured bytes and the largest frame. Packets
        of other link types appear twice. The first copy is unchanged, which gives a malformed frame. The second copy
        has an Ethernet header if the packet contains an IP packet."""
        frames = [
            frame.data[:LARGEST_FRAME] for file in self.ethernet + self.oversized for frame in file.capture.frames
        ]
        for file in self.foreign:
            offset = RAW_IP_OFFSETS.get(file.capture.link_type)
            for frame in file.capture.frames:
                frames.append(frame.data[:LARGEST_FRAME])
                if offset is not None:
                    frames.append(with_ethernet(frame.data[offset:])[:LARGEST_FRAME])
        return frames


def with_ethernet(packet: bytes) -> bytes:
    """Returns an IP packet with an Ethernet header."""
    ethertype = b"\x86\xdd" if packet[:1] and packet[0] >> 4 == 6 else b"\x08\x00"
    return b"\x02\0\0\0\0\x01\x02\0\0\0\0\x99" + ethertype + packet


@functools.cache
def load(data: pathlib.Path, cache: pathlib.Path) -> Corpus:
    libpcap = Libpcap()
    corpus = Corpus([], [], [], [])
    for path in unpack_corpus(data, cache):
        try:
            capture = read_capture(path)
        except Damaged:
            capture = None
        file = CorpusFile(path, capture)
        # Two readers must agree before their result is used to check the router.
        judged = libpcap.read(path)
        assert (judged is None) == (capture is None), path
        if capture is None:
            corpus.damaged.append(file)
            continue
        assert judged[1] == [len(frame.data) for frame in capture.frames], path
        assert (judged[0] == ETHERNET) == (capture.link_type == ETHERNET), path
        if capture.link_type != ETHERNET:
            corpus.foreign.append(file)
        elif any(len(frame.data) > LARGEST_FRAME for frame in capture.frames):
            corpus.oversized.append(file)
        else:
            corpus.ethernet.append(file)
    return corpus
