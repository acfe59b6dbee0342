# SPDX-License-Identifier: Apache-2.0
"""Tests an hour of an operator. A router without ports gets ports, an access list and a flow exporter, while packets
flow. Then the program is killed, and the restarted program must be the same router."""

import re
import signal
import socket
import subprocess

import pytest

import conftest
import needs
import netns

pytestmark = [needs.NAMESPACES, needs.TAPS, needs.tools("ping")]
#: The configuration that the package installs, with a separate control socket.
EMPTY = (conftest.ROOT / "packaging" / "router.yaml").read_text() + "control: {socket: ctl}\n"
PINGS = 200


class Hour:
    """Builds hosts h1, h2 and h3 on wires w1, w2 and w3 of a machine, and runs the operator's commands on its
    router."""

    def __init__(self, folder, program):
        self.folder, self.program = folder, program
        self.machine = netns.Namespace("machine")
        self.hosts = [netns.Namespace(f"h{net}") for net in (1, 2, 3)]
        for net, host in enumerate(self.hosts, start=1):
            netns.veth(host, "eth0", self.machine, f"w{net}")
            host.ip("address", "add", f"10.{net}.0.2/24", "dev", "eth0")
            host.ip("route", "add", "default", "via", f"10.{net}.0.1")
        self.machine.run("sysctl", "-qw", "net.ipv4.ip_forward=1")
        self.config = folder / "router.yaml"
        self.config.write_text(EMPTY)
        self.collector = self._collector()

    def _collector(self):
        with self.machine.inside():
            collector = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        collector.bind(("127.0.0.1", 0))
        collector.settimeout(conftest.PATIENCE)
        return collector

    def close(self):
        self.collector.close()
        for namespace in (self.machine, *self.hosts):
            namespace.delete()

    def start(self):
        return conftest.RunningRouter(self.config, command=self.machine.command(), program=self.program)

    def do(self, *words):
        """Runs a command that must succeed. Returns its output."""
        command = self.machine.command(str(self.program), *words, "--socket", str(self.folder / "ctl"))
        done = subprocess.run(command, capture_output=True, text=True, timeout=conftest.PATIENCE, check=False)
        conftest.check_sanitizers(done.stderr)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def ping(self, host, address):
        return "1 received" in self.hosts[host - 1].run("ping", "-c", "1", "-W", "1", address, check=False).stdout


def port(net, driver="net_af_packet"):
    """Returns an entry of `port add`."""
    return f"p{net} device {driver}{net},iface=w{net} twin true addresses 10.{net}.0.1/24"


def program_of_package(folder):
    """Returns the program of the Debian package if the package is newer than the build's program, else the build's
    program."""
    packages = sorted((conftest.ROOT / "build" / "deb").glob("*.deb"), key=lambda package: package.stat().st_mtime)
    if not packages or packages[-1].stat().st_mtime < conftest.PROGRAM.stat().st_mtime or conftest.SANITIZED:
        return conftest.PROGRAM
    subprocess.run(["dpkg", "-x", packages[-1], folder / "package"], check=True, timeout=conftest.PATIENCE)
    return folder / "package" / "usr" / "bin" / "penumbra"


@pytest.fixture
def hour(tmp_path):
    hour = Hour(tmp_path, program_of_package(tmp_path))
    yield hour
    hour.close()


def state(router):
    """Returns the state to compare: ports with their twins, the access list, the routes."""
    ports = [(row["name"], row["device"], row["mtu"], row["twin"]) for row in router.show("ports")]
    rules = [row["entry"] for row in router.show("acl")["acl"]]
    neighbours = {f"10.{net}.0.2/32" for net in (1, 2, 3)}  # depend on traffic
    routes = {route["prefix"] for route in router.show("routes", "all")["ipv4"]["routes"]} - neighbours
    return ports, rules, routes


def test_ports_of_either_driver_come_again(hour):
    """A new port uses the same interface, also with another driver, because removing a port releases its device."""
    with hour.start() as router:
        hour.do("port", "add", port(2))
        for driver in ("net_af_xdp", "net_af_xdp", "net_af_packet", "net_af_xdp"):
            hour.do("port", "add", port(1, driver))
            router.wait_for(f"the way through {driver}", lambda: hour.ping(1, "10.2.0.2"))
            hour.do("port", "del", "p1")
        router.stop()


def test_a_port_that_cannot_come_back_is_reported(hour):
    """Everything else of the change is undone."""
    with hour.start() as router:
        hour.do("port", "add", port(1))
        hour.do("port", "add", port(2))
        hour.do("port", "del", "p1", "--confirm", "300s")
        hour.do("acl", "add", "deny src 10.66.0.0/16")
        hour.machine.ip("link", "delete", "w1")
        command = hour.machine.command(str(hour.program), "rollback", "--socket", str(hour.folder / "ctl"))
        done = subprocess.run(command, capture_output=True, text=True, timeout=conftest.PATIENCE, check=False)
        assert done.returncode == 1 and done.stdout == "taken back\n" and "port 'p1': " in done.stderr, done.stderr
        assert len(router.show("acl")["acl"]) == 1 and [row["name"] for row in router.show("ports")] == ["p2"]
        assert f"not saved: ports: + {port(1)}\n" in hour.do("plan")
        router.stop()


def test_memory_of_ports_that_are_gone_comes_back(hour):
    """A port takes some tens of MiB of the 1 GiB that is available without huge pages."""
    with hour.start() as router:
        for _ in range(40):
            hour.do("port", "add", port(1))
            hour.do("port", "del", "p1")
        router.stop()


def test_an_operators_hour(hour):
    with hour.start() as router:
        assert router.show("ports") == []
        # Two ports are added without a restart.
        for net in (1, 2):
            assert hour.do("port", "add", port(net)) == "router: port: 1 added\n"
        router.wait_for("the way through", lambda: hour.ping(1, "10.2.0.2"))
        # An access list and a flow exporter are added.
        hour.do("acl", "add", "deny proto icmp src 10.1.0.2 dst 10.2.0.2")
        hour.do("set", "flows.idle_timeout", "100ms")
        hour.do("set", "flows.export", f"{{collector: '127.0.0.1:{hour.collector.getsockname()[1]}'}}")
        assert not hour.ping(1, "10.2.0.2")
        assert hour.collector.recv(65536)[:2] == b"\x00\x0a"  # IPFIX
        hour.do("acl", "replace", "at 1 deny proto icmp src 10.1.0.9")
        router.wait_for("the way through again", lambda: hour.ping(1, "10.2.0.2"))
        # A third port is added and removed under traffic. The other ports lose nothing.
        words = ("ping", "-c", str(PINGS), "-i", "0.02", "-W", "5", "10.2.0.2")
        with subprocess.Popen(hour.hosts[0].command(*words), stdout=subprocess.PIPE, text=True) as traffic:
            for _ in range(2):
                hour.do("port", "add", port(3))
                router.wait_for("the way to the third host", lambda: hour.ping(1, "10.3.0.2"))
                assert hour.do("port", "del", "p3") == "router: port: 1 removed\n"
            said = traffic.communicate(timeout=netns.PATIENCE)[0]
        assert re.search(rf"{PINGS} packets transmitted, {PINGS} received", said), said
        # A user who works through the router cannot lock himself out.
        hour.do("port", "del", "p1", "--confirm", "2s")
        router.wait_for("the way back", lambda: hour.ping(1, "10.2.0.2"))
        hour.do("port", "add", port(3))
        router.wait_for("the third port's routes", lambda: hour.ping(3, "10.1.0.2"))
        assert hour.do("save").split() == [str(hour.config)]
        before = state(router)
        router.process.send_signal(signal.SIGKILL)
        router.process.communicate(timeout=conftest.PATIENCE)
    with hour.start() as router:
        router.wait_for("routes", lambda: hour.ping(1, "10.3.0.2"))
        assert state(router) == before
        assert hour.do("plan") == "nothing would change\n"
        router.stop()
