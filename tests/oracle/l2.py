# SPDX-License-Identifier: Apache-2.0
"""Implements a slow and simple switch with VLANs, which computes the frames that leave by each port."""

BROADCAST = b"\xff" * 6


class Port:
    """Reads `access: N` or `trunk: {vlans: [...], native: N}`. The default is an access port of VLAN 1. `mtu` is in
    bytes."""

    def __init__(self, configuration, mtu):
        self.mtu = mtu
        trunk = configuration.get("trunk")
        if trunk is None:
            self.native = configuration.get("access", 1)
            self.vlans = {self.native}
            return
        self.native = trunk.get("native")
        self.vlans = {self.native} - {None}
        for vlan in trunk["vlans"]:
            first, _, last = str(vlan).partition("-")
            self.vlans |= set(range(int(first), int(last or first) + 1))


class Switch:
    def __init__(self, ports, mtus=None):
        """`ports` and `mtus` are by name. The default MTU is 1500."""
        self.ports = {name: Port(configuration, (mtus or {}).get(name, 1500)) for name, configuration in ports.items()}
        self.stations = {}
        self.too_long = 0  # frames and copies of frames

    def take(self, port, frame):
        """Returns the outgoing frames by port."""
        to, source, ethertype = frame[:6], frame[6:12], frame[12:14]
        if source[0] & 1 or (to[:5] == bytes.fromhex("0180c20000") and to[5] < 16):
            return {}
        tag, payload = 0, frame[12:]
        if ethertype == b"\x81\x00":
            tag, payload = int.from_bytes(frame[14:16], "big"), frame[16:]
        vlan = tag % 4096 or self.ports[port].native
        if vlan not in self.ports[port].vlans:
            return {}
        known = self.stations.get((vlan, to))
        self.stations[vlan, source] = port
        members = [name for name, each in self.ports.items() if vlan in each.vlans]
        targets = [name for name in (members if known is None or to[0] & 1 else [known]) if name != port]
        outputs = [name for name in targets if len(payload) - 2 <= self.ports[name].mtu]
        # A frame that no port sends has no copies.
        self.too_long += len(targets) - len(outputs) if outputs else bool(targets)
        return {name: to + source + self._tag(name, vlan, tag) + payload for name in outputs}

    def _tag(self, port, vlan, tag):
        if self.ports[port].native == vlan:
            return b""
        return b"\x81\x00" + (tag // 4096 * 4096 + vlan).to_bytes(2, "big")
