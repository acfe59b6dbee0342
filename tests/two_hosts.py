# SPDX-License-Identifier: Apache-2.0
"""Two hosts of one network, with the router between them."""

import netns
from test_switch import A, B


class TwoHosts:
    """Two hosts on veth pairs, whose other ends are the router's."""

    def __init__(self):
        self.namespaces = [netns.Namespace(name) for name in ("h1", "r", "h2")]
        self.h1, self.router, self.h2 = self.namespaces
        for host, name, mac, address in ((self.h1, "a", A, 1), (self.h2, "b", B, 2)):
            netns.veth(host, "eth0", self.router, f"veth-{name}")
            host.ip("link", "set", "eth0", "address", mac)
            host.ip("address", "add", f"10.0.0.{address}/24", "dev", "eth0")

    def ports(self):
        return [
            {"name": name, "device": f"net_af_packet{i},iface=veth-{name}", "twin": True, "sink": None}
            for i, name in enumerate(("a", "b"))
        ]

    def close(self):
        for namespace in self.namespaces:
            namespace.delete()
