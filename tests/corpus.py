# SPDX-License-Identifier: Apache-2.0
"""The thousands of real captures of shared/data/pcap, sorted by what the router has to do with them."""

import functools
import pathlib
from typing import NamedTuple

from captures import ETHERNET, Capture, Damaged, Libpcap, read_capture, unpack_corpus

#: Link types whose packets begin with an IP header after so many bytes: given an Ethernet header they take part too.
RAW_IP_OFFSETS = {0: 4, 101: 0, 108: 4, 113: 16, 228: 0, 276: 20}
LARGEST_FRAME = 65535  #: bytes


class CorpusFile(NamedTuple):
    path: pathlib.Path
    capture: Capture | None  #: none: damaged


class Corpus(NamedTuple):
    ethernet: list[CorpusFile]
    foreign: list[CorpusFile]  #: whole, but of another link type
    damaged: list[CorpusFile]
    oversized: list[CorpusFile]  #: Ethernet, with a frame that no packet buffer of DPDK holds

    def frames(self) -> list[bytes]:
        """Every packet of the Ethernet captures, cut where the capture cut it and at the largest frame there is; and
        every packet of the others twice: as it stands, which makes a malformed frame, and if it holds an IP packet,
        with an Ethernet header."""
        frames = [
            frame.data[:LARGEST_FRAME] for file in self.ethernet + self.oversized for frame in file.capture.frames
        ]
        for file in self.foreign:
            offset = RAW_IP_OFFSETS.get(file.capture.link_type)
            for frame in file.capture.frames:
                frames.append(frame.data[:LARGEST_FRAME])
                if offset is not None:
                    packet = frame.data[offset:]
                    ethertype = b"\x86\xdd" if packet[:1] and packet[0] >> 4 == 6 else b"\x08\x00"
                    frames.append((b"\x02\0\0\0\0\x01\x02\0\0\0\0\x99" + ethertype + packet)[:LARGEST_FRAME])
        return frames


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
        # Two readers must agree before the router is measured by them.
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
