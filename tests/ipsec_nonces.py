# SPDX-License-Identifier: Apache-2.0
"""Collects all packets that a gateway sends, and checks that no key meets a sequence number or an IV twice."""

import select
import struct
import threading

import esp_codec

_SOL_PACKET, _PACKET_STATISTICS = 263, 6
#: One packet of this many is opened where its SPI had one key only.
_SAMPLE = 64


class Twice(Exception):
    """Reports a nonce that was used twice."""


class Nonces:
    """Knows the SAs that may seal. A sequence number counts for its SPI and key, an IV for its key."""

    def __init__(self):
        self.by_spi = {}
        self.seen = set()
        self.counts = {}  #: packets by number of the tunnel

    def know(self, sa, tunnel=0):
        its = self.by_spi.setdefault(sa.spi, [])
        if sa.key not in [other.key for other, _ in its]:
            its.append((sa, tunnel))

    def take(self, packet):
        """Records an IP packet. Raises Twice."""
        assert packet[0] >> 4 == 4 and packet[9] == esp_codec.ESP, f"no ESP: {packet.hex()}"
        esp = packet[20:]
        spi, number = struct.unpack("!II", esp[:8])
        sa, tunnel = self._sealed_by(spi, number, esp)
        iv = esp[8 : 8 + sa.suite.iv_bytes]
        for once in ((spi, sa.key, number), (sa.key, iv)):
            if once in self.seen:
                raise Twice(f"SPI {spi:#x}, number {number}, IV {iv.hex()}")
            self.seen.add(once)
        self.counts[tunnel] = self.counts.get(tunnel, 0) + 1

    def _sealed_by(self, spi, number, esp):
        candidates = self.by_spi[spi]
        if len(candidates) == 1 and number % _SAMPLE:
            return candidates[0]
        for sa, tunnel in candidates:
            try:
                sa.open_payload(esp)
            except esp_codec.Wrong:
                continue
            return sa, tunnel
        raise AssertionError(f"SPI {spi:#x}: no key opens number {number}")


class Tap:
    """Reads raw sockets in a thread of its own, so that packets of a killed router count too."""

    def __init__(self, sockets, nonces):
        self.sockets, self.nonces = sockets, nonces
        self.problem, self._ends = None, False
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self):
        while True:
            ready, _, _ = select.select(self.sockets, [], [], 0.1)
            if not ready and self._ends:
                return
            for raw in ready:
                try:
                    self.nonces.take(raw.recv(2048)[14:])
                except Exception as problem:  # The thread of the test reports it.
                    self.problem = self.problem or problem

    def close(self):
        """Reads the rest, and raises the first problem. No packet may have been lost on the way to the checker."""
        self._ends = True
        self._thread.join()
        lost = 0
        for raw in self.sockets:
            lost += struct.unpack("=II", raw.getsockopt(_SOL_PACKET, _PACKET_STATISTICS, 8))[1]
            raw.close()
        if self.problem:
            raise self.problem
        assert lost == 0, f"the checker missed {lost} packets"
