# SPDX-License-Identifier: Apache-2.0
"""Translates addresses and ports of one gateway on its way to the other."""

import select
import struct
import threading

import netns
from esp_codec import checksum

INSIDE, OUTSIDE = (b"\xc0\x00\x02\x01", b"\xc0\x00\x02\x09")  # 192.0.2.1 and 192.0.2.9
ARP, IPV4, UDP = b"\x08\x06", b"\x08\x00", 17


class Nat:
    """A box between two gateways: the left one appears as 192.0.2.9, and its UDP ports as others. The box passes on what
    it does not translate."""

    def __init__(self, left, right):
        self.namespace = netns.Namespace("nat")
        netns.veth(left.namespace, "veth-b", self.namespace, "left")
        netns.veth(right.namespace, "veth-b", self.namespace, "right")
        self.left, self.right = self.namespace.socket("left"), self.namespace.socket("right")
        self.offset = 20_000  #: of ports
        self.end = threading.Event()
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def run(self):
        while not self.end.is_set():
            for source in select.select([self.left, self.right], [], [], 0.1)[0]:
                if source is self.left:
                    self.right.send(self.outwards(bytearray(source.recv(1 << 16))))
                else:
                    self.left.send(self.inwards(bytearray(source.recv(1 << 16))))

    def outwards(self, frame):
        if frame[12:14] == ARP and frame[28:32] == INSIDE:
            frame[28:32] = OUTSIDE
        elif frame[12:14] == IPV4 and frame[26:30] == INSIDE:
            frame[26:30] = OUTSIDE
            self.translate(frame, 34, self.offset)
        return frame

    def inwards(self, frame):
        if frame[12:14] == ARP and frame[38:42] == OUTSIDE:
            frame[38:42] = INSIDE
        elif frame[12:14] == IPV4 and frame[30:34] == OUTSIDE:
            frame[30:34] = INSIDE
            self.translate(frame, 36, -self.offset)
        return frame

    @staticmethod
    def translate(frame, port_at, offset):
        frame[24:26] = b"\0\0"
        frame[24:26] = struct.pack("!H", checksum(bytes(frame[14:34])))
        if frame[23] == UDP:
            port = struct.unpack_from("!H", frame, port_at)[0]
            # A packet to a port of before the change has lost its way; it goes to port 0.
            struct.pack_into("!H", frame, port_at, port + offset if 0 < port + offset < 1 << 16 else 0)
            frame[40:42] = b"\0\0"  # IPv4 needs no checksum of UDP.

    def close(self):
        self.end.set()
        self.thread.join()
        self.left.close()
        self.right.close()
        self.namespace.delete()
