# SPDX-License-Identifier: Apache-2.0
"""Tests groups of Open vSwitch on Penumbra (`make test-ovs`)."""

import collections

import pytest
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether

import netns
import openvswitch
from openvswitch import PIPELINE, World, switch
from test_switch import A, B

pytestmark = openvswitch.NEEDS
hosts = netns.fixture(openvswitch.BridgedHosts)

FLOWS, BUCKETS, BURST = 300, 3, 25
FRAMES = [
    bytes(Ether(src=A, dst=B) / IP(src="10.0.0.1", dst="10.0.0.2") / UDP(sport=1000 + flow, dport=9) / b"payload of a frame")
    for flow in range(FLOWS)
]


def ports_by_bucket(world):
    """Sends all frames and returns which source ports arrived from which bucket. A bucket sets the last byte of the
    destination."""
    arrived = collections.defaultdict(list)
    for begin in range(0, FLOWS, BURST):
        world.send([(1, frame) for frame in FRAMES[begin : begin + BURST]])
        for frame in world.heard()[2]:
            if b"payload of a frame" in frame:
                arrived[frame[5]].append(int.from_bytes(frame[34:36], "big"))
    return {bucket: sorted(ports) for bucket, ports in arrived.items()}


def add_group(ovs, method):
    """Adds a group, and then its buckets one by one."""
    ovs.allow("OpenFlow15")

    def ofctl(command, words):
        ovs.run("ovs-ofctl", "-O", "OpenFlow15", command, f"unix:{ovs.folder}/br0.mgmt", words)

    ofctl("add-group", f"group_id=1,type=select,selection_method={method}")
    for number in range(1, BUCKETS + 1):
        bucket = f"bucket_id:{number},weight:1,actions=set_field:02:00:00:00:01:{number:02x}->eth_dst,output:2"
        ofctl("insert-buckets", f"group_id=1,command_bucket_id=last,bucket={bucket}")
    ofctl("add-flow", "priority=2,udp,in_port=1 actions=group:1")


@pytest.mark.parametrize("method", ["hash,fields(udp_src)", "dp_hash"])
def test_flows_take_the_buckets_of_open_vswitch_alone(bench, hosts, method):
    """openvswitch/ovs-issues#357: with `dp_hash`, all flows go to the bucket that was inserted last in Open vSwitch 3.1. A
    group by `dp_hash` needs recirculation, so its flows stay with Open vSwitch."""
    with hosts.sockets() as sockets:
        with switch(hosts.router) as ovs:
            add_group(ovs, method)
            alone = ports_by_bucket(World(ovs, sockets))
        bench.configure(hosts.ports(), pipeline=PIPELINE)
        with bench.start(command=hosts.router.command()) as router:
            with switch(hosts.router, bench.folder / "megaflows.sock") as ovs:
                add_group(ovs, method)
                world = World(ovs, sockets, router)
                assert ports_by_bucket(world) == alone
                world.settle()
                found = world.found()
                assert ports_by_bucket(world) == alone
                assert world.found() - found == (0 if method == "dp_hash" else FLOWS)
            router.stop()
    assert sorted(port for ports in alone.values() for port in ports) == [1000 + flow for flow in range(FLOWS)]
    if method != "dp_hash":
        assert sorted(alone) == [1, 2, 3] and min(map(len, alone.values())) > FLOWS // (2 * BUCKETS), alone
