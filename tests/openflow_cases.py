# SPDX-License-Identifier: Apache-2.0
"""Reads the cases of os-ken's switch tester (shared/data/openflow) and speaks OpenFlow 1.0 and 1.3 with a bridge. Only the
codecs of os-ken serve here. The cases of meters and of groups compare rates, so they are left out."""

import importlib
import itertools
import json
import pathlib
import re
import select
import socket
import struct
import tarfile
import time
from typing import NamedTuple

from os_ken.ofproto import ofproto_parser, ofproto_protocol

#: Folders by the version of their messages.
FOLDERS = {"of10/match": 1, "of10/action": 1, "of13/match": 4, "of13/action": 4}
_PACKETS = "arp ethernet icmp icmpv6 ipv4 ipv6 mpls pbb sctp tcp udp vlan".split()
#: Classes of two modules have these names. The tester calls them so.
_ALIASES = {("ipv6", "option"): "ipv6option", ("icmpv6", "echo"): "icmpv6echo"}
_ERROR, _ECHO_REQUEST, _ECHO_REPLY, _SET_CONFIG, _PACKET_IN = 1, 2, 3, 9, 10
_NO_MATCH = 0  #: reason of a packet-in
PATIENCE = 10


def _packet_classes() -> dict:
    """Returns what the expressions of the cases name."""
    names = {}
    for name in _PACKETS:
        module = importlib.import_module(f"os_ken.lib.packet.{name}")
        for key, value in vars(module).items():
            if isinstance(value, type) and value.__module__ == module.__name__:
                names[_ALIASES.get((name, key), key)] = value
    return names


_CLASSES = _packet_classes()


class Case(NamedTuple):
    name: str  #: folder, file, number in the file, and description
    version: int
    messages: list[dict]
    frame: bytes  #: that port 1 receives
    kind: str  #: "egress", "PACKET_IN" or "table-miss"
    expected: bytes  #: frame that leaves by port 2 or goes to the controller


def _frame(layers: list[str]) -> bytes:
    packet = eval("/".join(layers), dict(_CLASSES))  # the data are constructor calls of os-ken
    packet.serialize()
    return bytes(packet.data)


def read(archive: pathlib.Path) -> list[Case]:
    cases = []
    with tarfile.open(archive) as files:
        for member in sorted(files.getmembers(), key=lambda each: each.name):
            found = re.fullmatch(r"oskentests/(of1[03]/(?:match|action))/(.*)\.json", member.name)
            if not found:
                continue
            folder, file = found.groups()
            names = itertools.count(1)
            for described in json.load(files.extractfile(member)):
                if isinstance(described, str):
                    continue
                name = f"{folder}/{file} {next(names)}: {described['description']}"
                [test] = described["tests"]
                [kind] = [key for key in test if key != "ingress"]
                expected = b"" if kind == "table-miss" else _frame(test[kind])
                version, messages = FOLDERS[folder], described["prerequisite"]
                cases.append(Case(name, version, messages, _frame(test["ingress"]), kind, expected))
    return cases


class Refused(Exception):
    """The switch has answered with an error."""


class Controller:
    """Connects to the management socket of a bridge."""

    def __init__(self, path: pathlib.Path, version: int) -> None:
        self._protocol = ofproto_protocol.ProtocolDesc(version)
        self._version = version
        self._numbers = itertools.count(1)
        self._left = b""
        self._packets: list[tuple[int, bytes]] = []
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.connect(str(path))
        self._socket.sendall(struct.pack("!BBHI", version, 0, 8, 0))
        # A management connection gets packets only after this request.
        self._socket.sendall(struct.pack("!BBHIHH", version, _SET_CONFIG, 12, 0, 0, 0xFFFF))

    def __enter__(self) -> "Controller":
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def _send(self, message) -> None:
        message.set_xid(next(self._numbers))
        message.serialize()
        self._socket.sendall(bytes(message.buf))

    def _read(self, patience: float) -> tuple[int, bytes] | None:
        """Returns the next message as type and bytes. Packets are kept, and echo requests are answered."""
        deadline = time.monotonic() + patience
        while True:
            if len(self._left) >= 8:
                _, kind, size, _ = struct.unpack_from("!BBHI", self._left)
                if len(self._left) >= size:
                    message, self._left = self._left[:size], self._left[size:]
                    if kind == _ECHO_REQUEST:
                        self._socket.sendall(message[:1] + bytes([_ECHO_REPLY]) + message[2:])
                    elif kind == _PACKET_IN:
                        self._packets.append(self._packet(message))
                    return kind, message
            if not select.select([self._socket], [], [], max(0, deadline - time.monotonic()))[0]:
                return None
            more = self._socket.recv(1 << 16)
            assert more, "the switch has closed the connection"
            self._left += more

    def _packet(self, message: bytes) -> tuple[int, bytes]:
        """Returns the reason and the frame of a packet-in."""
        if self._version == 1:
            return message[16], message[18:]
        match_bytes = struct.unpack_from("!H", message, 26)[0]
        return message[14], message[24 + (match_bytes + 7) // 8 * 8 + 2 :]

    def barrier(self) -> None:
        """Waits until the switch has carried out all messages. Throws Refused for an error."""
        parser = self._protocol.ofproto_parser
        self._send(parser.OFPBarrierRequest(self._protocol))
        error = None
        while True:
            received = self._read(PATIENCE)
            assert received, "no answer to a barrier"
            kind, message = received
            if kind == _ERROR:
                error = error or "error {}/{}".format(*struct.unpack_from("!HH", message, 8))
            elif kind == self._protocol.ofproto.OFPT_BARRIER_REPLY:
                if error:
                    raise Refused(error)
                return

    def clear(self) -> None:
        """Removes all flows."""
        parser, numbers = self._protocol.ofproto_parser, self._protocol.ofproto
        if self._version == 1:
            message = parser.OFPFlowMod(self._protocol, command=numbers.OFPFC_DELETE, out_port=numbers.OFPP_NONE)
        else:
            message = parser.OFPFlowMod(
                self._protocol,
                table_id=numbers.OFPTT_ALL,
                command=numbers.OFPFC_DELETE,
                out_port=numbers.OFPP_ANY,
                out_group=numbers.OFPG_ANY,
            )
        self._send(message)
        self.barrier()

    def carry_out(self, messages: list[dict]) -> None:
        for message in messages:
            self._send(ofproto_parser.ofp_msg_from_jsondict(self._protocol, message))
        self.barrier()

    def packets(self, patience: float) -> list[bytes]:
        """Returns the frames that actions gave to the controller, after a packet or `patience` seconds. OpenFlow 1.0 gives
        packets without a flow, too, which are left out."""
        deadline = time.monotonic() + patience
        while not self._packets and (left := deadline - time.monotonic()) > 0:
            self._read(left)
        while self._read(0):
            pass
        taken, self._packets = self._packets, []
        return [frame for reason, frame in taken if reason != _NO_MATCH]
