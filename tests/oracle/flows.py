# SPDX-License-Identifier: Apache-2.0
"""Implements a slow and simple switch by flows in the syntax of ovs-ofctl. It tries all flows one after another."""

import ipaddress
import struct

PROTOCOLS = {
    "ip": (0x0800, None),
    "icmp": (0x0800, 1),
    "tcp": (0x0800, 6),
    "udp": (0x0800, 17),
    "sctp": (0x0800, 132),
    "arp": (0x0806, None),
    "rarp": (0x8035, None),
    "ipv6": (0x86DD, None),
    "icmp6": (0x86DD, 58),
    "tcp6": (0x86DD, 6),
    "udp6": (0x86DD, 17),
    "sctp6": (0x86DD, 132),
    "mpls": (0x8847, None),
    "mplsm": (0x8848, None),
}
#: Names in flows, the field that they name, and its bits.
FIELDS = {
    "in_port": ("in_port", 16),
    "dl_src": ("eth_src", 48),
    "dl_dst": ("eth_dst", 48),
    "dl_type": ("eth_type", 16),
    "vlan_tci": ("tci", 16),
    "nw_src": ("nw_src", 32),
    "nw_dst": ("nw_dst", 32),
    "arp_spa": ("nw_src", 32),
    "arp_tpa": ("nw_dst", 32),
    "arp_sha": ("arp_sha", 48),
    "arp_tha": ("arp_tha", 48),
    "ipv6_src": ("ipv6_src", 128),
    "ipv6_dst": ("ipv6_dst", 128),
    "ipv6_label": ("label", 20),
    "nw_proto": ("proto", 8),
    "arp_op": ("proto", 8),
    "nw_ttl": ("ttl", 8),
    "tp_src": ("tp_src", 16),
    "tp_dst": ("tp_dst", 16),
    "icmp_type": ("tp_src", 16),
    "icmp_code": ("tp_dst", 16),
    "icmpv6_type": ("tp_src", 16),
    "icmpv6_code": ("tp_dst", 16),
    "nd_target": ("nd_target", 128),
    "nd_sll": ("arp_sha", 48),
    "nd_tll": ("arp_tha", 48),
    "mpls_label": ("mpls_label", 20),
    "mpls_tc": ("mpls_tc", 3),
    "mpls_bos": ("mpls_bos", 1),
    "mpls_ttl": ("mpls_ttl", 8),
}
FRAGMENTS = {"no": (0, 3), "first": (1, 3), "later": (3, 3), "yes": (1, 1), "not_later": (0, 2)}
TCP_FLAGS = ("fin", "syn", "rst", "psh", "ack", "urg", "ece", "cwr", "ns")


def _number(text, bits):
    if text.count(":") == 5 and bits == 48:
        return int(text.replace(":", ""), 16)
    if bits == 128:
        return int(ipaddress.IPv6Address(text))
    return int(ipaddress.IPv4Address(text)) if "." in text else int(text, 0)


def _tcp_flags(text):
    if not text.startswith(("+", "-")):
        value, _, mask = text.partition("/")
        return int(value, 0), int(mask or "0xfff", 0)
    value = mask = 0
    for word in text.replace("+", " +").replace("-", " -").split():
        bit = 1 << TCP_FLAGS.index(word[1:])
        mask |= bit
        value |= bit if word[0] == "+" else 0
    return value, mask


def conditions(word):
    """Returns the conditions of a word of a match: field, value, mask."""
    name, has_value, text = word.partition("=")
    if not has_value:
        ethertype, protocol = PROTOCOLS[name]
        return [("eth_type", ethertype, 0xFFFF)] + ([] if protocol is None else [("proto", protocol, 0xFF)])
    if name == "dl_vlan":
        vlan = int(text, 0)
        return [("tci", 0, 0xFFFF) if vlan == 0xFFFF else ("tci", 0x1000 | vlan, 0x1FFF)]
    if name == "dl_vlan_pcp":
        return [("tci", 0x1000 | int(text) << 13, 0xF000)]
    if name in ("nw_frag", "ip_frag"):
        return [("frag", *FRAGMENTS[text])]
    if name == "tcp_flags":
        return [("tcp_flags", *_tcp_flags(text))]
    if name in ("nw_tos", "nw_ecn"):
        return [("tos", int(text), 0xFC if name == "nw_tos" else 3)]
    field, bits = FIELDS[name]
    value, _, mask = text.partition("/")
    everything = (1 << bits) - 1
    if not mask:
        mask = everything
    elif bits in (32, 128) and mask.isdecimal():
        mask = everything & ~(everything >> int(mask))
    else:
        mask = _number(mask, bits)
    return [(field, _number(value, bits) & mask, mask)]


def _neighbour(message, fields):
    fields["nd_target"] = int.from_bytes(message[8:24], "big")
    options, seen = message[24:], {}
    while len(options) >= 8 and 0 < options[1] * 8 <= len(options):
        if options[1] == 1 and options[0] in (1, 2):
            seen.setdefault(("arp_sha", "arp_tha")[options[0] - 1], int.from_bytes(options[2:8], "big"))
        options = options[options[1] * 8 :]
    fields.update(seen)


def _transport(protocol, data, fields):
    if protocol == 6 and len(data) >= 20 and data[12] >> 4 >= 5 and (data[12] >> 4) * 4 <= len(data):
        fields["tp_src"], fields["tp_dst"] = struct.unpack(">HH", data[:4])
        fields["tcp_flags"] = int.from_bytes(data[12:14], "big") & 0xFFF
    elif (protocol == 17 and len(data) >= 8) or (protocol == 132 and len(data) >= 12):
        fields["tp_src"], fields["tp_dst"] = struct.unpack(">HH", data[:4])
    elif protocol in (1, 58) and len(data) >= 8 and protocol == (1 if fields["eth_type"] == 0x0800 else 58):
        fields["tp_src"], fields["tp_dst"] = data[0], data[1]
        if protocol == 58 and data[0] in (135, 136) and data[1] == 0 and len(data) >= 24:
            _neighbour(data, fields)


def _ipv4(data, fields):
    if len(data) < 20 or data[0] >> 4 != 4:
        return
    header, total = (data[0] & 15) * 4, int.from_bytes(data[2:4], "big")
    if header < 20 or total < header or total > len(data):
        return
    offset = int.from_bytes(data[6:8], "big")
    fields.update(tos=data[1], ttl=data[8], proto=data[9])
    fields.update(nw_src=int.from_bytes(data[12:16], "big"), nw_dst=int.from_bytes(data[16:20], "big"))
    if offset & 0x3FFF:
        fields["frag"] = 3 if offset & 0x1FFF else 1
    if not offset & 0x1FFF:
        _transport(data[9], data[header:total], fields)


def _ipv6(data, fields):
    if len(data) < 40 or data[0] >> 4 != 6:
        return
    first, length, protocol, ttl = struct.unpack(">IHBB", data[:8])
    if 40 + length > len(data):
        return
    rest = data[40 : 40 + length]
    frag = 0
    while protocol in (0, 43, 44, 60) and frag != 3:
        if len(rest) < 8:
            return
        if protocol == 44:
            offset = int.from_bytes(rest[2:4], "big")
            frag = 3 if offset & 0xFFF8 else offset & 1
            protocol, rest = (44 if frag == 3 else rest[0]), rest[8:]
        else:
            protocol, rest = rest[0], rest[(rest[1] + 1) * 8 :]
    fields.update(tos=first >> 20 & 0xFF, label=first & 0xFFFFF, ttl=ttl, proto=protocol, frag=frag)
    fields.update(ipv6_src=int.from_bytes(data[8:24], "big"), ipv6_dst=int.from_bytes(data[24:40], "big"))
    if frag != 3:
        _transport(protocol, rest, fields)


def fields_of(frame, in_port):
    """Returns the fields of a frame. A field that is missing is 0. Fragments have no ports."""
    fields = {"in_port": in_port, "eth_dst": int.from_bytes(frame[:6], "big"), "eth_src": int.from_bytes(frame[6:12], "big")}
    ethertype, payload = int.from_bytes(frame[12:14], "big"), frame[14:]
    if ethertype in (0x8100, 0x88A8):
        fields["tci"] = int.from_bytes(payload[:2], "big") | 0x1000
        ethertype, payload = int.from_bytes(payload[2:4], "big"), payload[4:]
    if ethertype < 0x0600:
        ethertype = 0x05FF
        if payload[:6] == bytes.fromhex("aaaa03000000") and payload[6:8] >= b"\x06\x00":
            ethertype, payload = int.from_bytes(payload[6:8], "big"), payload[8:]
    fields["eth_type"] = ethertype
    if ethertype == 0x0800:
        _ipv4(payload, fields)
    elif ethertype == 0x86DD:
        _ipv6(payload, fields)
    elif ethertype in (0x0806, 0x8035) and len(payload) >= 28 and payload[:6] == bytes.fromhex("000108000604"):
        operation = int.from_bytes(payload[6:8], "big")
        fields.update(proto=operation if operation < 256 else 0, arp_sha=int.from_bytes(payload[8:14], "big"))
        fields.update(nw_src=int.from_bytes(payload[14:18], "big"), arp_tha=int.from_bytes(payload[18:24], "big"))
        fields["nw_dst"] = int.from_bytes(payload[24:28], "big")
    elif ethertype in (0x8847, 0x8848) and len(payload) >= 4:
        entry = int.from_bytes(payload[:4], "big")
        fields.update(mpls_label=entry >> 12, mpls_tc=entry >> 9 & 7, mpls_bos=entry >> 8 & 1, mpls_ttl=entry & 0xFF)
    if fields.get("frag"):
        fields.update(tp_src=0, tp_dst=0)
    return fields


class Switch:
    """A switch whose flows have outputs as their only actions."""

    def __init__(self, text, ports):
        self.ports = ports
        self.flows = []
        for line in text.splitlines():
            match, _, actions = line.partition(" actions=")
            words = match.split(",")
            priority = next((int(word[9:]) for word in words if word.startswith("priority=")), 32768)
            wanted = [each for word in words if word and not word.startswith("priority=") for each in conditions(word)]
            self.flows.append((priority, wanted, actions.split(",")))
        self.flows.sort(key=lambda flow: -flow[0])

    def take(self, frame, in_port):
        """Returns the ports that the frame leaves by."""
        fields = fields_of(frame, in_port)
        for _, wanted, actions in self.flows:
            if all(fields.get(field, 0) & mask == value for field, value, mask in wanted):
                outputs = {int(action.partition(":")[2]) for action in actions if action.startswith("output:")}
                return {in_port} if actions == ["in_port"] else outputs - {in_port}
        return set()
