# SPDX-License-Identifier: Apache-2.0
"""Tests the controller faucet with Open vSwitch on Penumbra (`make test-ovs`): two hosts in a VLAN, an ACL, and a second
controller that takes over. PENUMBRA_FAUCET is the folder of a Python environment that has faucet."""

import contextlib
import os
import pathlib
import subprocess
import time

import pytest
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether

import conftest
import netns
import openvswitch
from openvswitch import PIPELINE, World, switch
from test_switch import A, B, hear

FAUCET = pathlib.Path(os.environ.get("PENUMBRA_FAUCET", "/nowhere")).absolute() / "bin" / "faucet"
pytestmark = [*openvswitch.NEEDS, pytest.mark.skipif(not FAUCET.exists(), reason="needs faucet (make test-ovs)")]
hosts = netns.fixture(openvswitch.BridgedHosts)

#: Percentage of the packets that Penumbra must forward while hosts talk.
_LEAST_HITS = 95
_PORTS = (6653, 6654)
_CONFIG = """
vlans:
  office: {vid: 100}
acls:
  no-echo:
    - rule: {dl_type: 0x800, nw_proto: 17, udp_dst: 7, actions: {allow: 0}}
    - rule: {actions: {allow: 1}}
dps:
  sw1:
    dp_id: 1
    hardware: Open vSwitch
    interfaces:
      1: {native_vlan: office, acls_in: [no-echo]}
      2: {native_vlan: office}
"""


@contextlib.contextmanager
def faucet(folder, router, port):
    """Runs the controller in the router's namespace."""
    (folder / "faucet.yaml").write_text(_CONFIG)
    (folder / "ryu.conf").write_text("")
    log = folder / f"faucet-{port}.log"
    words = {"CONFIG": folder / "faucet.yaml", "LOG": log, "EXCEPTION_LOG": folder / f"exceptions-{port}.log"}
    environment = {**os.environ, **{f"FAUCET_{key}": str(value) for key, value in words.items()}}
    environment["FAUCET_PROMETHEUS_PORT"] = str(port + 1000)
    environment["PATH"] = f"{FAUCET.parent}:{environment['PATH']}"
    command = [FAUCET, "--ryu-ofp-tcp-listen-port", port, "--ryu-config-file", folder / "ryu.conf"]
    process = subprocess.Popen(
        router.command(*map(str, command)), env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        yield log
    finally:
        process.terminate()
        process.wait(60)


def connect(ovs, ports):
    ovs.allow("OpenFlow13")
    ovs.vsctl("set", "bridge", "br0", "other_config:datapath-id=0000000000000001")
    ovs.vsctl("set-controller", "br0", *(f"tcp:127.0.0.1:{port}" for port in ports))
    for controller in ovs.vsctl("--bare", "--columns=_uuid", "list", "controller").split():
        ovs.vsctl("set", "controller", controller, "connection_mode=out-of-band")


def wait_for_configuration(*logs):
    for log in logs:
        conftest.wait_until("faucet", lambda log=log: log.exists() and "start configuring DP" in log.read_text(), patience=60)


def can_ping(host, address="10.0.0.2"):
    return "1 received" in host.run("ping", "-c", "1", "-W", "1", address, check=False).stdout


def flows(ovs):
    return ovs.run("ovs-ofctl", "-O", "OpenFlow13", "dump-flows", f"unix:{ovs.folder}/br0.mgmt")


def frame(port, source=A):
    packet = Ether(src=source, dst=B) / IP(src="10.0.0.1", dst="10.0.0.2") / UDP(sport=9, dport=port)
    return bytes(packet / b"payload of a frame")


def arrived(raw):
    return [each for each in hear(raw) if b"payload of a frame" in each]


def test_hosts_of_faucet_talk_by_the_router(bench, hosts):
    bench.configure(hosts.ports(), pipeline=PIPELINE)
    with bench.start(command=hosts.router.command()) as router, hosts.sockets() as sockets:
        with (
            switch(hosts.router, bench.folder / "megaflows.sock") as ovs,
            faucet(bench.folder, hosts.router, _PORTS[0]) as log,
        ):
            connect(ovs, _PORTS[:1])
            wait_for_configuration(log)
            conftest.wait_until("the way", lambda: can_ping(hosts.h1), patience=60)
            world = World(ovs, sockets, router)
            world.settle()
            found, looked_up = world.found(), world.looked_up()
            hosts.h1.run("ping", "-c", "200", "-i", "0.01", "10.0.0.2")
            found, looked_up = world.found() - found, world.looked_up() - looked_up
            assert found >= 100 and 100 * found >= _LEAST_HITS * (found + looked_up), (found, looked_up)

            world.heard()
            sent = 20
            for port in (7, 8):
                sockets[1].send(frame(port))
                world.settle()
                found = world.found()
                for _ in range(sent):
                    sockets[1].send(frame(port))
                router.wait_for("the frames", lambda found=found: world.found() - found >= sent)
            assert [each for each in arrived(sockets[2]) if frame(7)[36:38] == each[36:38]] == []
            assert "drop" in str(router.show("megaflows"))
        router.stop()


def test_a_second_controller_takes_over(bench, hosts):
    new = "02:00:00:00:00:77"
    bench.configure(hosts.ports(), pipeline=PIPELINE)
    with bench.start(command=hosts.router.command()) as router, hosts.sockets() as sockets:
        with contextlib.ExitStack() as stack:
            ovs = stack.enter_context(switch(hosts.router, bench.folder / "megaflows.sock"))
            second = stack.enter_context(faucet(bench.folder, hosts.router, _PORTS[1]))
            with faucet(bench.folder, hosts.router, _PORTS[0]) as first:
                connect(ovs, _PORTS)
                wait_for_configuration(first, second)
                conftest.wait_until("the way", lambda: can_ping(hosts.h1), patience=60)
            world = World(ovs, sockets, router)
            assert new not in flows(ovs)

            def is_learnt():
                sockets[1].send(frame(8, new))
                time.sleep(0.1)
                return new in flows(ovs)

            conftest.wait_until("the new host", is_learnt, patience=60)
            world.settle()
            world.heard()
            found = world.found()
            for _ in range(20):
                sockets[1].send(frame(8, new))
            router.wait_for("the frames", lambda: world.found() - found >= 20)
            assert arrived(sockets[2]) == 20 * [frame(8, new)]
        router.stop()
