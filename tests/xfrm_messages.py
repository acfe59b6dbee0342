# SPDX-License-Identifier: Apache-2.0
"""Builds and reads XFRM messages (linux/xfrm.h), and sends them to Linux or to the keeper."""

import errno
import socket
import struct

NEWSA, DELSA, GETSA, NEWPOLICY, DELPOLICY, GETPOLICY, ALLOCSPI, ACQUIRE, EXPIRE, UPDPOLICY, UPDSA = range(0x10, 0x1B)
POLEXPIRE, FLUSHSA, FLUSHPOLICY, NEWAE, GETAE, REPORT, MIGRATE, NEWSADINFO, GETSADINFO, NEWSPDINFO, GETSPDINFO = range(0x1B, 0x26)
MAPPING, SETDEFAULT, GETDEFAULT = range(0x26, 0x29)
HELLO, LEND = 0xF0, 0xF1
REQUEST, ACK, REPLACE, DUMP = 1, 4, 0x100, 0x300
IN, OUT, FORWARD = range(3)
ALG_AUTH, ALG_CRYPT, ALG_COMP, ENCAP, TMPL = range(1, 6)
REPLAY_VAL, SRCADDR, POLICY_TYPE, MOVES, ALG_AEAD, ALG_AUTH_TRUNC = 10, 13, 16, 17, 18, 20
MARK, TFCPAD, REPLAY_ESN_VAL, IF_ID = 21, 22, 23, 31
ESP, AH, COMP = 50, 51, 108
INFINITE = 2**64 - 1
NO_LIMITS = struct.pack("=8Q", *[INFINITE] * 4, *[0] * 4)
_NETLINK_XFRM = 6


def address(text):
    family = socket.AF_INET6 if ":" in text else socket.AF_INET
    return socket.inet_pton(family, text).ljust(16, b"\0")


def selector(destination="0.0.0.0", source="0.0.0.0", bits=(0, 0), family=socket.AF_INET, protocol=0, ports=(0, 0, 0, 0)):
    head = struct.pack(">4H", *ports) + struct.pack("=HBBBxxxiI", family, *bits, protocol, 0, 0)
    return address(destination) + address(source) + head


#: Source and destination of SAs and templates.
ENDS = ("192.0.2.1", "192.0.2.2")


def sa(
    spi, *, ends=ENDS, protocol=ESP, mode=1, family=socket.AF_INET, window=0, flags=0, limits=NO_LIMITS, reqid=0, seq=0, selected=None
):
    head = selected or selector()
    head += address(ends[1]) + struct.pack(">IB3x", spi, protocol) + address(ends[0])
    return head + limits + bytes(32) + bytes(12) + struct.pack("=IIHBBB7x", seq, reqid, family, mode, window, flags)


def sa_id(spi, protocol=ESP, family=socket.AF_INET):
    return address("192.0.2.2") + struct.pack(">I", spi) + struct.pack("=HBx", family, protocol)


def event_id(spi, flags=0):
    return sa_id(spi) + address("192.0.2.1") + struct.pack("=II", flags, 0)


def policy(direction, *, selected=None, priority=0, index=0, action=0, flags=0, share=0, limits=NO_LIMITS):
    head = selected or selector("10.1.0.0", "10.0.0.0", (16, 24))
    return head + limits + bytes(32) + struct.pack("=IIBBBB4x", priority, index, direction, action, flags, share)


def policy_id(direction, *, selected=None, index=0):
    return (selected or selector("10.1.0.0", "10.0.0.0", (16, 24))) + struct.pack("=IB3x", index, direction)


def move(old, new, reqid=0, mode=1, family=socket.AF_INET):
    """Returns a move of MIGRATE from the source and destination `old` to those of `new`."""
    ends = b"".join(map(address, (old[1], old[0], new[1], new[0])))
    return ends + struct.pack("=BBHIHH", ESP, mode, 0, reqid, family, family)


def migration(direction, *moves, selected=None):
    return policy_id(direction, selected=selected) + attribute(MOVES, b"".join(moves))


def template(*, ends=ENDS, protocol=ESP, mode=1, family=socket.AF_INET, optional=0, reqid=1, spi=0):
    head = address(ends[1]) + struct.pack(">IB3x", spi, protocol) + struct.pack("=HH", family, 0)
    return head + address(ends[0]) + struct.pack("=IBBBx3I", reqid, mode, 0, optional, *[0xFFFFFFFF] * 3)


def attribute(number, content):
    return struct.pack("=HH", 4 + len(content), number) + content + bytes(-len(content) % 4)


def algorithm(name, key, *numbers):
    return name.encode().ljust(64, b"\0") + struct.pack(f"={1 + len(numbers)}I", len(key) * 8, *numbers) + key


def gcm(key=bytes(range(1, 21)), icv=128):
    return attribute(ALG_AEAD, algorithm("rfc4106(gcm(aes))", key, icv))


def message(kind, content, flags=REQUEST | ACK, sequence=1):
    return struct.pack("=IHHII", 16 + len(content), kind, flags, sequence, 0) + content


def split(data):
    """Returns the messages of a datagram as (type, flags, content)."""
    found = []
    while len(data) >= 16:
        length, kind, flags = struct.unpack_from("=IHH", data)
        found.append((kind, flags, data[16:length]))
        data = data[(length + 3) & ~3 :]
    return found


class Peer:
    """A socket to Linux or to a keeper."""

    def __init__(self, path=None, groups=0):
        if path is None:
            self.socket = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _NETLINK_XFRM)
            self.socket.bind((0, groups))
        else:
            self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            self.socket.connect(str(path))
            if groups:
                self.ask(message(HELLO, struct.pack("=3I", 9, groups, 0)))
        self.socket.settimeout(20)

    def ask(self, request):
        """Returns the name of the error ("" for none) and the messages that came before the acknowledgement."""
        self.socket.send(request)
        before = []
        while True:
            data = self.socket.recv(1 << 17)
            assert data, "the peer closed the socket"
            for kind, _, content in split(data):
                if kind == 2:
                    code = -struct.unpack_from("=i", content)[0]
                    return errno.errorcode[code] if code else "", before
                if kind == 3:
                    return "", before
                before.append((kind, content))

    def event(self):
        return split(self.socket.recv(1 << 17))

    def close(self):
        self.socket.close()
