# SPDX-License-Identifier: Apache-2.0
"""Provides a namespace whose kernel routes over interfaces that represent ports, and its routes in the router's
notation."""

import ipaddress
import json
import subprocess
from collections.abc import Iterable

from netns import Namespace

#: Maps the kernel's names of types to those of the router.
TYPES = {"anycast": "local", "prohibit": "unreachable", "throw": "unreachable"}


class Kernel(Namespace):
    """Creates the interfaces wan0 and lan0, which are twins of the ports wan and lan, and eth0, the host's own
    interface."""

    TWINS = {"wan0": "wan", "lan0": "lan"}
    ADDRESSES = {"wan0": "192.0.2.1/24", "lan0": "10.0.0.1/16", "eth0": "172.16.0.1/24"}

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.run("sysctl", "-qw", "net.ipv6.conf.all.disable_ipv6=0", "net.ipv6.conf.default.disable_ipv6=0")
        for interface in self.ADDRESSES:
            self.add_interface(interface)

    def add_interface(self, interface: str) -> None:
        self.ip("tuntap", "add", interface, "mode", "tap")
        self.ip("link", "set", interface, "up")
        self.ip("address", "add", self.ADDRESSES[interface], "dev", interface)

    def batch(self, commands: Iterable[str]) -> None:
        """Runs commands of `ip`. A failing command does not stop the batch."""
        subprocess.run(
            ["ip", "-n", self.name, "-force", "-batch", "-"],
            input="\n".join(commands),
            text=True,
            capture_output=True,
            timeout=120,
        )

    def routes(self, *tables: str, family: str = "-4") -> dict[str, list]:
        """Returns by prefix, in the kernel's order: (metric, type, next hops, id of the next-hop object)."""
        found: dict[str, list] = {}
        for table in tables or ("local", "main"):
            # A table that never had a route of the family causes an error.
            shown = self.run("ip", family, "-j", "route", "show", "table", table, check=False)
            for route in json.loads(shown.stdout) if shown.returncode == 0 and shown.stdout else []:
                kind = TYPES.get(route.get("type"), route.get("type", "unicast"))
                if kind == "multicast" or "tos" in route:
                    continue
                default = "0.0.0.0/0" if family == "-4" else "::/0"
                prefix = default if route["dst"] == "default" else str(ipaddress.ip_network(route["dst"]))
                hops = [hop for hop in route.get("nexthops", [route]) if "dead" not in hop.get("flags", [])]
                ways = sorted(self._hop(hop) for hop in hops) if kind not in ("blackhole", "unreachable") else []
                row = (route.get("metric", 0), kind, tuple(ways), route.get("nhid"))
                # Routes that do not differ in these fields count once.
                if row not in found.setdefault(prefix, []):
                    found[prefix].append(row)
        return found

    def _hop(self, hop: dict) -> tuple[str, str, int]:
        gateway = hop.get("gateway") or hop.get("via", {}).get("host", "")
        return (self.TWINS.get(hop["dev"], hop["dev"]), gateway, hop.get("weight", 1))


def many_prefixes(count: int) -> list[str]:
    return [f"{ipaddress.ip_address(0x14000000 + i * 256)}/24" for i in range(count)]


def overflows(router) -> int:
    """Returns the number of times that the kernel's messages exceeded the router's socket buffer."""
    return {row["source"]: row for row in router.show("sources")}["kernel"]["overflows"]


def shown_routes(answer: dict, version: int = 4) -> dict[str, list]:
    """Returns the routes of `show routes` in the format of Kernel.routes(), without adjacencies."""
    found: dict[str, list] = {}
    for row in answer["routes"]:
        if row["source"] == "neighbour" or ipaddress.ip_network(row["prefix"]).version != version:
            continue
        ways = sorted((hop["dev"], hop.get("via", ""), hop["weight"]) for hop in row.get("next_hops", []))
        found.setdefault(row["prefix"], []).append((row["metric"], row["type"], tuple(ways), row.get("nexthop_id")))
    return found
