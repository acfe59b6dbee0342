#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs inside the virtual machine of tools/test-service, whose kernel has ESP. Joins a host and Linux's ESP by a gateway:

host - lan, Penumbra, wan - Linux with the policies of the far networks
"""

import contextlib
import ctypes
import json
import pathlib
import select
import socket
import struct
import subprocess
import tempfile
import time

import esp_codec
import ipsec_world
from ipsec_world import OWN, OWN6, PEER, PEER6, Combination

PATIENCE = 240  # seconds
PORT = 2000
UDP_ENCAP, UDP_ENCAP_ESPINUDP = 100, 2
#: Level, and options: path MTU discovery, its result, and a policy of a socket.
OPTIONS = {socket.AF_INET: (socket.IPPROTO_IP, 10, 14, 17), socket.AF_INET6: (socket.IPPROTO_IPV6, 23, 24, 35)}
PMTUDISC_DO = 2
LIBC = ctypes.CDLL(None, use_errno=True)
CLONE_NEWNET = 0x40000000
LENGTHS = (0, 1, 100, 1300)
LONG = 1600  #: The source, or Linux after it has sealed the packet, makes two fragments.
CONFIGURATION = """
ports:
  - {name: lan, device: "net_af_packet0,iface=lan-wire", twin: true, addresses: [172.16.0.1/24, "fd00:ff::1/64"]}
  - {name: wan, device: "net_af_packet1,iface=wan-wire", twin: true, addresses: [192.0.2.1/24, "2001:db8::1/64"]}
  - {name: ipsec0, device: net_ring0, mac: "02:00:00:00:00:42", promiscuous: true, addresses: [10.255.0.1/30], twin: ipsec0}
control: {socket: esp.sock}
pipeline:
  - reassembly: {to: [192.0.2.1/32, "2001:db8::1/128"]}
  - ipsec: {states: sa.txt, policies: sp.txt, marks: marks, sas: 4096, interfaces: {ipsec0: 42}}
  - ipv4: {follow: [kernel]}
  - ipv6: {follow: [kernel]}
"""


def run(*words, text=None):
    done = subprocess.run(words, input=text, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.returncode == 0, f"{words}: {done.stdout}{done.stderr}"
    return done.stdout


def ip(namespace, *lines):
    """Runs lines of `ip -batch`."""
    return run("ip", "-n", namespace, "-batch", "-", text="\n".join(lines))


@contextlib.contextmanager
def inside(namespace):
    """A socket that is made here stays in the namespace."""
    with open("/proc/thread-self/ns/net") as home, open(f"/run/netns/{namespace}") as there:
        assert LIBC.setns(there.fileno(), CLONE_NEWNET) == 0
        try:
            yield
        finally:
            assert LIBC.setns(home.fileno(), CLONE_NEWNET) == 0


def datagram_socket(namespace, address, port=0):
    with inside(namespace):
        made = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_DGRAM)
        if address == "::":
            made.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
    made.bind((address, port))
    return made


def until(what, condition):
    deadline = time.monotonic() + PATIENCE
    while not (result := condition()):
        assert time.monotonic() < deadline, f"waited too long for {what}"
        time.sleep(0.02)
    return result


def encapsulated_socket(address):
    """Returns a socket that takes ESP in UDP. Policies do not apply to it, as an IKE daemon demands."""
    made = datagram_socket("linux", address, 4500)
    level, *_, policy = OPTIONS[made.family]
    for direction in (0, 1):
        made.setsockopt(level, policy, struct.pack("=40xH118xB7x", made.family, direction))
    made.setsockopt(socket.IPPROTO_UDP, UDP_ENCAP, UDP_ENCAP_ESPINUDP)
    return made


class AboutToWrap(Combination):
    """Its sequence numbers pass 2^32 soon."""

    def states(self):
        return super().states().replace(" replay-window", " replay-seq 0xfffffff0 replay-oseq 0xfffffff0 replay-window")


def of_linux(combination):
    """Returns the commands that give Linux the other end of a combination."""
    yield from (f"xfrm state add {line}" for line in combination.states().splitlines())
    for line in combination.policies().splitlines():
        if " dir out " in line:
            yield "xfrm policy add " + line.replace(" dir out ", " dir in ")
        elif " dir in " in line:
            yield "xfrm policy add " + line.replace(" dir in ", " dir out ")


class Routed(Combination):
    """Routes and not selectors lead packets into its tunnel, on both sides."""

    def states(self):
        return super().states().replace(" replay-window", " if_id 0x2a replay-window")

    def policies(self):
        text = super().policies().replace(" tmpl", " if_id 0x2a tmpl")
        for side in (0, 1):
            text = text.replace(ipsec_world.network(side, self.number, False), "0.0.0.0/0")
        return text

    def add_routes(self):
        ip("linux", "link add ipsec0 type xfrm dev eth0 if_id 0x2a", "link set ipsec0 up", f"route add {self.near}/32 dev ipsec0")
        ip("gate", "neighbour replace 10.255.0.2 lladdr 02:00:00:00:00:42 dev ipsec0 nud permanent")
        ip("gate", f"route add {self.far}/32 via 10.255.0.2 dev ipsec0")


class World:
    """Builds the network and starts the gateway."""

    def __init__(self, folder, combinations):
        self.folder, self.combinations = folder, combinations
        for name in ("host", "gate", "linux"):
            run("ip", "netns", "add", name)
            settings = ("all.accept_dad=0", "default.accept_dad=0", "all.forwarding=1")
            run("ip", "netns", "exec", name, "sysctl", "-qw", *(f"net.ipv6.conf.{each}" for each in settings))
        self.cable("host", "eth0", "lan-wire")
        self.cable("linux", "eth0", "wan-wire")
        ipv4 = [f"net.ipv4.conf.{each}" for each in ("all.accept_local=1", "all.rp_filter=0", "default.rp_filter=0")]
        run("ip", "netns", "exec", "gate", "sysctl", "-qw", "net.ipv4.ip_forward=1", *ipv4)
        near, far = ([getattr(c, end) for c in combinations] for end in ("near", "far"))
        ip("host", "address add 172.16.0.2/24 dev eth0", "address add fd00:ff::2/64 dev eth0 nodad")
        ip("host", "route add default via 172.16.0.1", "route add default via fd00:ff::1")
        ip("linux", f"address add {PEER}/24 dev eth0", f"address add {PEER6}/64 dev eth0 nodad")
        ip("linux", f"route add 10.0.0.0/12 via {OWN}", f"route add fd00::/32 via {OWN6}")
        for namespace, addresses in (("host", near), ("linux", far)):
            ip(namespace, *(f"address add {each} dev lo" for each in addresses))
        ip("linux", *(line for c in combinations for line in of_linux(c)))
        self.encapsulated = [encapsulated_socket(each) for each in ("0.0.0.0", "::")]
        (folder / "sa.txt").write_text("".join(c.states() for c in combinations))
        (folder / "sp.txt").write_text("".join(c.policies() for c in combinations))
        (folder / "router.yaml").write_text(CONFIGURATION)
        self.router = subprocess.Popen(
            ["ip", "netns", "exec", "gate", "penumbra", "run", folder / "router.yaml"],
            stdout=subprocess.DEVNULL,
            stderr=open(folder / "log", "w"),
        )
        self.sockets = {
            c: (datagram_socket("host", c.near), datagram_socket("linux", c.far, PORT)) for c in combinations
        }
        try:
            until("carriers", self.has_carriers)
            routes = ("10.0.0.0/12 via 172.16.0.2", f"10.16.0.0/12 via {PEER}", "fd00::/32 via fd00:ff::2", f"fd00:1::/32 via {PEER6}")
            ip("gate", *(f"route add {each}" for each in routes))
            for address in ("172.16.0.2", PEER, "fd00:ff::2", PEER6):
                until(f"an answer of {address}", lambda: self.answers(address))
        except BaseException:
            self.close()
            raise

    @staticmethod
    def cable(namespace, name, wire):
        run("ip", "-n", namespace, "link", "add", name, "type", "veth", "peer", "name", wire, "netns", "gate")
        for end, interface in ((namespace, name), ("gate", wire)):
            run("ip", "-n", end, "link", "set", interface, "up")
            run("ip", "netns", "exec", end, "ethtool", "-K", interface, "tx", "off", "gso", "off", "gro", "off")
        run("ip", "-n", namespace, "link", "set", "lo", "up")

    def has_carriers(self):
        assert self.router.poll() is None, (self.folder / "log").read_text()
        return run("ip", "-n", "gate", "-brief", "link", "show", "type", "tun").count("LOWER_UP") == 3

    @staticmethod
    def answers(address):
        words = ["ip", "netns", "exec", "gate", "ping", "-c", "1", "-W", "1", address]
        return subprocess.run(words, capture_output=True, check=False).returncode == 0

    def show(self, *words):
        return json.loads(run("penumbra", "show", *words, "-j", "--socket", str(self.folder / "esp.sock")))

    def sas(self):
        return {int(row["spi"], 16): row for row in self.show("sa", "all")["sas"]}

    def linux_errors(self):
        lines = run("ip", "netns", "exec", "linux", "cat", "/proc/net/xfrm_stat").splitlines()
        return {name: int(count) for name, count in map(str.split, lines) if int(count)}

    def exchange(self, combination, length):
        """Sends a datagram to the far end, which sends it back. Returns whether it came back unchanged."""
        near, far = self.sockets[combination]
        data = bytes(i % 251 for i in range(length))
        near.sendto(data, (combination.far, PORT))
        for end in (far, near):
            if not select.select([end], [], [], 5)[0]:
                return False
            received, sender = end.recvfrom(65536)
            if end is far:
                far.sendto(received, sender)
        return received == data

    def mtu_of_linux(self, combination):
        """Returns the longest packet that Linux seals for its end of a tunnel."""
        with contextlib.closing(datagram_socket("linux", combination.far)) as made:
            made.connect((combination.near, PORT))
            return made.getsockopt(OPTIONS[made.family][0], OPTIONS[made.family][2])

    def learned_mtu(self, combination):
        """Sends packets that are too long and must not be fragmented, until their source knows the MTU."""
        with contextlib.closing(datagram_socket("host", combination.near)) as made:
            level, discover, mtu, _ = OPTIONS[made.family]
            made.connect((combination.far, PORT))
            made.setsockopt(level, discover, PMTUDISC_DO)

            def learned():
                with contextlib.suppress(OSError):
                    made.send(bytes(1440))
                return (found := made.getsockopt(level, mtu)) < 1500 and found

            return until("an ICMP error", learned)

    def close(self):
        self.router.kill()
        self.router.wait()
        for each in [*self.encapsulated, *(end for ends in self.sockets.values() for end in ends)]:
            each.close()
        for name in ("host", "gate", "linux"):
            subprocess.run(["ip", "netns", "delete", name], check=False)


def test_exchange(world, combinations):
    lost = [(length, str(c)) for length in LENGTHS for c in combinations if not world.exchange(c, length)]
    for c in combinations:
        # Fragments have no transport mode (RFC 4303, section 3.3.4).
        if c.mode == "transport":
            continue
        if c.inner_is_ipv6:  # Otherwise the first fragment would be too long.
            world.learned_mtu(c)
        if not world.exchange(c, LONG):
            lost.append((LONG, str(c)))
    assert not lost, lost
    sas = world.sas()
    for c in combinations:
        for sa in (c.out, c.back):
            assert sas[sa.spi]["packets"] >= len(LENGTHS), str(c)


def test_wrap(world, combinations):
    """Both ends recover the high half of the sequence numbers."""
    assert all(world.exchange(c, 100) for _ in range(40) for c in combinations)
    sas = world.sas()
    assert all(sas[c.out.spi]["sent"] > 1 << 32 and sas[c.back.spi]["received"] > 1 << 32 for c in combinations)


def test_routes(world, combinations):
    """An interface of Linux (xfrm) and a port of the gateway are the ends of a tunnel."""
    for c in combinations:
        c.add_routes()
        until("the route", lambda c=c: world.exchange(c, 1))
        before = world.sas()[c.out.spi]["packets"]
        assert all(world.exchange(c, length) for length in (*LENGTHS, LONG))
        assert world.sas()[c.out.spi]["packets"] >= before + len(LENGTHS)
    assert all(world.exchange(c, 1) for c in world.combinations[:5]), "other tunnels go on"


def test_mtu(world, combinations):
    """Both ends agree on the longest packet. A source learns it, and then its packets pass."""
    sas = world.sas()
    tunnels = [c for c in combinations if c.mode == "tunnel"]
    differences = [(world.mtu_of_linux(c), sas[c.out.spi]["mtu"], str(c)) for c in tunnels]
    assert all(of_linux == ours for of_linux, ours, _ in differences), [each for each in differences if each[0] != each[1]]
    for c in tunnels[::5]:
        mtu = sas[c.out.spi]["mtu"]
        assert world.learned_mtu(c) == mtu, str(c)
        assert world.exchange(c, mtu - (48 if c.inner_is_ipv6 else 28)), str(c)


def main():
    # Each fifth still has all algorithms, and all modes, families, encapsulations and kinds of numbers.
    combinations = ipsec_world.combinations_by_pairs()[::5]
    shapes = [(esp_codec.SUITES[0], "tunnel", False, False), (esp_codec.SUITES[7], "transport", True, True)]
    wrapping = [AboutToWrap(900 + i, *shape, False, True) for i, shape in enumerate(shapes)]
    routed = [Routed(950, esp_codec.SUITES[0], "tunnel", False, False, False, True)]
    with tempfile.TemporaryDirectory() as folder:
        world = World(pathlib.Path(folder), combinations + wrapping + routed)
        try:
            for test, its in ((test_exchange, combinations), (test_wrap, wrapping), (test_routes, routed), (test_mtu, combinations)):
                name = f"ESP with Linux: {test.__name__}, {len(its)} tunnels"
                try:
                    test(world, its)
                    print(f"ok {name}", flush=True)
                except (AssertionError, OSError) as error:
                    print(f"not ok {name}\n{error!r}\n{world.linux_errors()}\n{world.show('drops')}", flush=True)
            errors = world.linux_errors()
            print(f"{'not ' if errors else ''}ok ESP with Linux: no errors in /proc/net/xfrm_stat {errors}", flush=True)
        finally:
            world.close()


if __name__ == "__main__":
    main()
