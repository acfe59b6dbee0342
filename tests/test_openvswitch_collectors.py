# SPDX-License-Identifier: Apache-2.0
"""Tests what collectors get from Open vSwitch on Penumbra (`make test-ovs`). NetFlow counts packets of Penumbra, too. A
sampled flow (sFlow, IPFIX) stays with Open vSwitch, which makes the samples."""

import contextlib
import socket
import struct

import pytest
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether

import conftest
import netns
import openvswitch
from openvswitch import PIPELINE, World, switch
from test_switch import A, B, hear

pytestmark = openvswitch.NEEDS
hosts = netns.fixture(openvswitch.BridgedHosts)

FRAMES = 200
FRAME = bytes(Ether(src=A, dst=B) / IP(src="10.0.0.1", dst="10.0.0.2") / UDP(sport=7, dport=9) / b"payload of a frame")


@contextlib.contextmanager
def collector(router):
    with router.inside(), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as made:
        made.bind(("127.0.0.1", 0))
        made.settimeout(0.1)
        yield made


def datagrams(made):
    """Returns the datagrams that have arrived."""
    received = []
    with contextlib.suppress(TimeoutError):
        while True:
            received.append(made.recv(65536))
    return received


def export(ovs, table, made, *words):
    host, port = made.getsockname()
    named = ("--", "--id=@new", "create", table, f'targets="{host}:{port}"', *words)
    ovs.vsctl("set", "bridge", "br0", f"{table}=@new", *named)


def netflow_packets(received):
    """Returns the packets of UDP in records of NetFlow 5."""
    header, record = 24, 48
    packets = 0
    for datagram in received:
        version, count = struct.unpack_from("!HH", datagram)
        assert version == 5 and len(datagram) == header + count * record
        for at in range(header, len(datagram), record):
            if datagram[at + 38] == socket.IPPROTO_UDP:
                packets += struct.unpack_from("!I", datagram, at + 16)[0]
    return packets


def test_netflow_counts_the_packets_of_the_router(bench, hosts):
    bench.configure(hosts.ports(), pipeline=PIPELINE)
    with bench.start(command=hosts.router.command()) as router, hosts.sockets() as sockets:
        with switch(hosts.router, bench.folder / "megaflows.sock") as ovs, collector(hosts.router) as made:
            export(ovs, "netflow", made, "active_timeout=1")
            ovs.set_flows("priority=2,udp,in_port=1 actions=output:2")
            world = World(ovs, sockets, router)
            world.send([(1, FRAME)])
            world.settle()
            found = world.found()
            for _ in range(FRAMES):
                sockets[1].send(FRAME)
            router.wait_for("the frames", lambda: world.found() - found >= FRAMES)
            counted = 0

            def all_counted():
                nonlocal counted
                counted += netflow_packets(datagrams(made))
                return counted >= FRAMES + 1

            conftest.wait_until("the records", all_counted)
            assert counted == FRAMES + 1
        router.stop()


@pytest.mark.parametrize(
    ("table", "words"), [("sflow", ["sampling=4", "header=128", "agent=lo"]), ("ipfix", ["sampling=4", "obs_domain_id=1"])]
)
def test_a_sampled_flow_stays_with_the_switch(bench, hosts, table, words):
    bench.configure(hosts.ports(), pipeline=PIPELINE)
    with bench.start(command=hosts.router.command()) as router, hosts.sockets() as sockets:
        with switch(hosts.router, bench.folder / "megaflows.sock") as ovs, collector(hosts.router) as made:
            export(ovs, table, made, *words)
            ovs.set_flows("priority=2,udp,in_port=1 actions=output:2")
            world = World(ovs, sockets, router)
            found = world.found()
            for _ in range(FRAMES // 20):
                world.send(20 * [(1, FRAME)])
            assert [each for each in hear(sockets[2]) if each == FRAME] == FRAMES * [FRAME]
            assert world.found() == found and "nw_proto=17" not in str(router.show("megaflows"))
            conftest.wait_until("a sample", lambda: [each for each in datagrams(made) if has_sample(table, each)])
            # The flow goes to the router when nobody samples it.
            ovs.vsctl("clear", "bridge", "br0", table)
            conftest.wait_until("the megaflow", lambda: world.send([(1, FRAME)]) or world.found() > found)
        router.stop()


def has_sample(table, datagram):
    """Returns True for samples of the frame. IPFIX sends templates, too, and sFlow counters of ports."""
    return b"payload of a frame" in datagram if table == "sflow" else bytes.fromhex("0a000001") in datagram
