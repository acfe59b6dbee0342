#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs inside the virtual machine of tools/test-service, whose kernel has ESP. `ip xfrm` gives SAs and policies to the
kernel of a gateway. The keeper follows it, and Penumbra seals in place of the kernel:

host - lan, Penumbra, wan - Linux with the far networks
"""

import contextlib
import json
import pathlib
import re
import secrets
import signal
import subprocess
import tempfile
import time

from ipsec_world import OWN, PEER
from linux_esp import World, ip, run, until

GCM = "aead 'rfc4106(gcm(aes))' {} 128"
CBC = "enc 'cbc(aes)' {} auth-trunc 'hmac(sha256)' 0x" + 32 * "5a" + " 128"
CONFIGURATION = """
ports:
  - {name: lan, device: "net_af_packet0,iface=lan-wire", twin: true, addresses: [172.16.0.1/24]}
  - {name: wan, device: "net_af_packet1,iface=wan-wire", twin: true, addresses: [192.0.2.1/24]}
control: {socket: follow.sock}
pipeline:
  - ipsec: {follow: [xfrm], socket: xfrm.sock}
  - ipv4: {follow: [kernel]}
"""


class Tunnel:
    """The tunnel to 10.16.NUMBER.0/24. Each end has its SAs and policies."""

    def __init__(self, number, algorithm=GCM, flags="", window=32):
        self.number, self.far = number, f"10.16.{number}.1"
        bits = 160 if algorithm == GCM else 128
        keys = [algorithm.format(f"0x{secrets.token_hex(bits // 8)}") for _ in range(2)]
        common = f"proto esp reqid {number} mode tunnel {flags} replay-window {window}"
        self.sas = [
            f"xfrm state add src {OWN} dst {PEER} spi {0x100 + number:#x} {common} {keys[0]}",
            f"xfrm state add src {PEER} dst {OWN} spi {0x200 + number:#x} {common} {keys[1]}",
        ]
        near = "172.16.0.0/24"
        out = f"src {near} dst 10.16.{number}.0/24 dir {{}} tmpl src {OWN} dst {PEER} proto esp reqid {number} mode tunnel"
        back = f"src 10.16.{number}.0/24 dst {near} dir {{}} tmpl src {PEER} dst {OWN} proto esp reqid {number} mode tunnel"
        self.policies = {
            "gate": [out.format("out"), back.format("in"), back.format("fwd")],
            "linux": [back.format("out"), out.format("in"), out.format("fwd")],
        }

    def add(self, sas=True):
        for name, policies in self.policies.items():
            if name == "linux":
                ip(name, f"address add {self.far}/32 dev lo")
            if sas:
                ip(name, *self.sas)
            ip(name, *(f"xfrm policy add {policy}" for policy in policies))


class Gateway:
    def __init__(self, folder):
        self.folder = folder
        for name in ("host", "gate", "linux"):
            run("ip", "netns", "add", name)
        World.cable("host", "eth0", "lan-wire")
        World.cable("linux", "eth0", "wan-wire")
        run("ip", "netns", "exec", "gate", "sysctl", "-qw", "net.ipv4.ip_forward=1", "net.ipv4.conf.all.accept_local=1")
        run("ip", "netns", "exec", "gate", "sysctl", "-qw", "net.ipv4.conf.all.rp_filter=0", "net.ipv4.conf.default.rp_filter=0")
        ip("host", "address add 172.16.0.2/24 dev eth0", "route add default via 172.16.0.1")
        ip("linux", f"address add {PEER}/24 dev eth0", f"route add 172.16.0.0/24 via {OWN}")
        ip("gate", "link set lo up")
        (folder / "router.yaml").write_text(CONFIGURATION)
        self.keeper = self.router = None
        self.start_keeper()
        self.router = self.start("run", folder / "router.yaml")
        until("carriers", lambda: run("ip", "-n", "gate", "-brief", "link", "show", "type", "tun").count("LOWER_UP") == 2)
        ip("gate", f"route add 10.16.0.0/16 via {PEER}")

    def start(self, *words):
        log = open(self.folder / "log", "a")
        return subprocess.Popen(["ip", "netns", "exec", "gate", "penumbra", *words], stdout=subprocess.DEVNULL, stderr=log, cwd=self.folder)

    def start_keeper(self):
        self.keeper = self.start("xfrm", "run", "--follow-kernel", "--socket", self.folder / "xfrm.sock", "--state", self.folder)
        until("the keeper", self.status)

    def status(self):
        words = ["penumbra", "xfrm", "status", "--json", "--socket", str(self.folder / "xfrm.sock")]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        return done.returncode == 0 and json.loads(done.stdout)

    def sas(self):
        rows = json.loads(run("penumbra", "show", "sa", "all", "-j", "--socket", str(self.folder / "follow.sock")))["sas"]
        return {int(row["spi"], 16): row for row in rows}

    @staticmethod
    def answers(namespace, address, *words):
        command = ["ip", "netns", "exec", namespace, "ping", "-c", "1", "-W", "1", *words, address]
        return subprocess.run(command, capture_output=True, check=False).returncode == 0

    @staticmethod
    def state(number):
        """Returns what the kernel of the gateway says of the outbound SA."""
        return run("ip", "-n", "gate", "-s", "xfrm", "state", "get", "src", OWN, "dst", PEER, "proto", "esp", "spi", hex(0x100 + number))

    @staticmethod
    def refused():
        """Returns how many packets the kernel of the gateway refused, because the numbers of an SA were at their end."""
        lines = run("ip", "netns", "exec", "gate", "cat", "/proc/net/xfrm_stat").splitlines()
        return int(dict(map(str.split, lines))["XfrmOutStateSeqError"])

    @contextlib.contextmanager
    def hears(self, group, pattern):
        """Expects a message of the kernel, as an IKE daemon would get it."""
        monitor = subprocess.Popen(["ip", "-n", "gate", "xfrm", "monitor", group], stdout=open(self.folder / group, "w"))
        time.sleep(0.5)
        try:
            yield
            until(f"{group} of {pattern}", lambda: re.search(pattern, (self.folder / group).read_text(), re.S))
        finally:
            monitor.kill()
            monitor.wait()

    def close(self):
        for process in (self.router, self.keeper):
            if process is not None:
                process.kill()
                process.wait()
        for name in ("host", "gate", "linux"):
            subprocess.run(["ip", "netns", "delete", name], check=False)


def test_penumbra_seals_and_the_kernel_does_not(gateway):
    for tunnel in (Tunnel(1), Tunnel(2, flags="flag esn", window=64), Tunnel(3, CBC)):
        tunnel.add()
        until(f"an answer through tunnel {tunnel.number}", lambda: gateway.answers("host", tunnel.far))
        assert gateway.sas()[0x100 + tunnel.number]["packets"] > 0
        assert re.search(r"oseq 0xffffffff", gateway.state(tunnel.number)), gateway.state(tunnel.number)
        assert re.search(r"\(bytes\), 0\(packets\)", gateway.state(tunnel.number)), gateway.state(tunnel.number)
        before = gateway.refused()
        for _ in range(3):
            assert not gateway.answers("gate", tunnel.far, "-I", "172.16.0.1")
        assert gateway.refused() >= before + 3
        assert re.search(r"\(bytes\), 0\(packets\)", gateway.state(tunnel.number)), "the kernel has sealed"
    status = gateway.status()
    assert status["locks"] == 6 and status["unsealed_sas"] == 0, status


def test_the_kernel_takes_opened_packets_without_its_policies(gateway):
    def received():
        lines = run("ip", "netns", "exec", "gate", "cat", "/proc/net/snmp").splitlines()
        names, values = (line.split() for line in lines if line.startswith("Icmp:"))
        return int(values[names.index("InEchos")])

    def ask():
        assert not gateway.answers("linux", "172.16.0.1", "-I", Tunnel(1).far), "the kernel has sealed the answer"

    before = received()
    ask()
    assert received() == before
    run("ip", "netns", "exec", "gate", "sysctl", "-qw", *(f"net.ipv4.conf.{name}.disable_policy=1" for name in ("wan", "lan")))
    ask()
    assert received() == before + 1


def test_numbers_continue_in_a_new_keeper(gateway):
    before = gateway.sas()[0x101]["sent"]
    gateway.keeper.kill()
    gateway.keeper.wait()
    gateway.start_keeper()
    until("an answer after the keeper began again", lambda: gateway.answers("host", Tunnel(1).far))
    assert gateway.sas()[0x101]["sent"] > before
    status = gateway.status()
    assert status["sas"] == 6 and status["unsealed_sas"] == 0 and status["locks"] == 0, status


def test_the_daemon_hears_what_is_missing(gateway):
    tunnel = Tunnel(4)
    with gateway.hears("acquire", r"reqid 4 "):
        tunnel.add(sas=False)
        gateway.answers("host", tunnel.far)
    ip("linux", *tunnel.sas)
    ip("gate", *tunnel.sas)
    until("an answer of the negotiated tunnel", lambda: gateway.answers("host", tunnel.far))


def test_an_sa_that_the_kernel_has_used_is_replaced(gateway):
    tunnel = Tunnel(5)
    gateway.keeper.send_signal(signal.SIGSTOP)
    ip("gate", "link add used type dummy", "link set used up", "route add 10.16.5.0/24 dev used")
    tunnel.add()
    gateway.answers("gate", tunnel.far, "-I", "172.16.0.1")
    assert re.search(r"\(bytes\), 1\(packets\)", gateway.state(5)), gateway.state(5)
    ip("gate", "link del used")
    with gateway.hears("expire", r"Expired.*spi 0x00000105.*hard 0"):
        gateway.keeper.send_signal(signal.SIGCONT)
        until("the SA", lambda: gateway.status()["unsealed_sas"] == 1)
        gateway.answers("host", tunnel.far)
    assert gateway.sas()[0x105]["packets"] == 0


def test_extended_numbers_are_refused_with_an_offload(gateway):
    run("modprobe", "esp4_offload")
    before = gateway.status()["unsealed_sas"]
    Tunnel(6, flags="flag esn", window=64).add()
    Tunnel(7).add()
    until("the SAs", lambda: gateway.status()["sas"] == 14)
    assert gateway.status()["unsealed_sas"] == before + 2, "both directions of the first one"
    until("an answer through tunnel 7", lambda: gateway.answers("host", Tunnel(7).far))


def main():
    tests = [each for name, each in globals().items() if name.startswith("test_")]
    with tempfile.TemporaryDirectory() as folder, contextlib.closing(Gateway(pathlib.Path(folder))) as gateway:
        for test in tests:
            try:
                test(gateway)
                print(f"ok the kernel is followed: {test.__name__}", flush=True)
            except (AssertionError, OSError, KeyError) as error:
                log = (gateway.folder / "log").read_text()
                print(f"not ok the kernel is followed: {test.__name__}\n{error!r}\n{gateway.status()}\n{log}", flush=True)
    print("ok the kernel is followed: the end", flush=True)


if __name__ == "__main__":
    main()
