# SPDX-License-Identifier: Apache-2.0
"""Sends numbered UDP packets from one namespace to another, and records when each packet was sent and whether it
arrived."""

import ipaddress
import socket
import struct
import threading
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import conftest
from netns import Namespace

_PORT = 4791
_PAYLOAD = struct.Struct("!4sI")
_MARK = b"\x0fPEN"
_HEADERS = {b"\x08\x00": 14 + 20 + 8, b"\x86\xdd": 14 + 40 + 8}  # bytes, by ethertype
_SILENCE = 1.0  # seconds without a packet after which none is in flight


class Stream:
    """Sends packets while the context is entered. Packet i belongs to flow i % len(addresses). Each flow has its own
    UDP port and destination address.

    `interfaces` of the target are those at which packets may arrive. `rate` is in packets per second for all flows
    together. Packets that the machine has no time for are not sent later."""

    def __init__(
        self, source: Namespace, target: Namespace, interfaces: Iterable[str], addresses: Sequence[str], rate: int = 500
    ) -> None:
        self.times: list[float] = []  #: send time of packet i, by time.monotonic
        self.arrivals: list[tuple[int, bytes]] = []  #: packet and destination MAC address, in order of arrival
        self.flows = len(addresses)
        self._pause = 1 / rate
        self._stopped, self._left = threading.Event(), threading.Event()
        self._ears = [target.socket(interface) for interface in interfaces]
        self._mouths = [self._mouth(source, flow, address) for flow, address in enumerate(addresses)]
        self._sender = threading.Thread(target=self._send)
        self._receivers = [threading.Thread(target=self._receive, args=(ear,)) for ear in self._ears]

    @staticmethod
    def _mouth(source: Namespace, flow: int, address: str) -> tuple[socket.socket, tuple[str, int]]:
        family = socket.AF_INET if ipaddress.ip_address(address).version == 4 else socket.AF_INET6
        with source.inside():
            mouth = socket.socket(family, socket.SOCK_DGRAM)
        mouth.bind(("", 20000 + flow))
        return mouth, (address, _PORT)

    def __enter__(self) -> "Stream":
        for thread in (*self._receivers, self._sender):
            thread.start()
        return self

    def __exit__(self, *_: Any) -> None:
        self._stopped.set()
        self._left.set()
        for thread in (self._sender, *self._receivers):
            thread.join()
        for opened in (*self._ears, *(mouth for mouth, _ in self._mouths)):
            opened.close()

    def _send(self) -> None:
        while not self._stopped.wait(self._pause):
            number = len(self.times)
            mouth, there = self._mouths[number % self.flows]
            self.times.append(time.monotonic())
            mouth.sendto(_PAYLOAD.pack(_MARK, number), there)

    def _receive(self, ear: socket.socket) -> None:
        ear.settimeout(0.1)
        while not self._left.is_set():
            try:
                frame = ear.recv(65536)
            except TimeoutError:
                continue
            header = _HEADERS.get(frame[12:14])
            if header and len(frame) >= header + _PAYLOAD.size:
                mark, number = _PAYLOAD.unpack_from(frame, header)
                if mark == _MARK:
                    self.arrivals.append((number, frame[:6]))

    def wait_for_arrivals(self, each: int = 5) -> dict[int, set[bytes]]:
        """Waits until `each` packets of each flow, sent from now on, have arrived. Returns the destination MAC
        addresses by flow."""
        first, place = len(self.times), len(self.arrivals)

        def new() -> list[tuple[int, bytes]]:
            return [(number % self.flows, mac) for number, mac in self.arrivals[place:] if number >= first]

        def enough() -> bool:
            counted = Counter(flow for flow, _ in new())
            return len(counted) == self.flows and min(counted.values()) >= each

        conftest.wait_until("the stream's packets", enough)
        macs: dict[int, set[bytes]] = {}
        for flow, mac in new():
            macs.setdefault(flow, set()).add(mac)
        return macs

    def stop(self) -> list[int]:
        """Stops sending, waits for packets in flight, and returns the numbers of lost packets. Asserts that no packet
        arrived twice."""
        self._stopped.set()
        self._sender.join()
        seen, since = -1, time.monotonic()
        while len(self.arrivals) < len(self.times) and time.monotonic() < since + _SILENCE:
            if len(self.arrivals) != seen:
                seen, since = len(self.arrivals), time.monotonic()
            time.sleep(0.01)
        numbers = [number for number, _ in self.arrivals]
        assert len(numbers) == len(set(numbers)), "packets came twice"
        return sorted(set(range(len(self.times))) - set(numbers))
