# SPDX-License-Identifier: Apache-2.0
"""Tests examples/ecmp unchanged. Two nodes announce the same networks. The routers on both sides spread flows over them
and detect by BFD when one ends."""

import contextlib
import os
import signal

import pytest

import conftest
import frr
import needs
import netns
from stream import Stream

pytestmark = [needs.NAMESPACES, needs.TAPS, needs.FRR, needs.tools("ping")]

EXAMPLE = conftest.ROOT / "examples" / "ecmp"
FLOWS = 64
DAEMONS = ("zebra", "bgpd", "bfdd")


class Node:
    """Runs a node of the example: Penumbra and FRR, which start and end together."""

    def __init__(self, name, folder):
        self.namespace = netns.Namespace(name)
        self.namespace.run("sysctl", "-qw", "net.ipv4.ip_forward=1")
        self._socket = folder / name / "penumbra.sock"
        self._socket.parent.mkdir()
        self.frr = frr.Frr(self.namespace, (EXAMPLE / f"{name}.conf").read_text(), DAEMONS)

    def __enter__(self):
        self.start_penumbra()
        self.frr.__enter__()
        return self

    def __exit__(self, *_):
        self.frr.__exit__()
        self.router.__exit__()

    def start_penumbra(self):
        self.router = conftest.RunningRouter(
            EXAMPLE / "node.yaml",
            command=self.namespace.command(),
            socket=self._socket,
            env={**os.environ, "RUNTIME_DIRECTORY": str(self._socket.parent)},
        )
        self.router.__enter__()

    def kill(self):
        """Kills all programs of the node, like a power cut."""
        self.router.process.send_signal(signal.SIGKILL)
        self.frr.kill()
        self.router.process.communicate()

    def start_again(self):
        self.start_penumbra()
        self.frr.start()

    def sent(self, port):
        return next(row["tx_packets"] for row in self.router.show("ports") if row["name"] == port)


class Side:
    """Runs a router of the kernel, outside or inside, and a host connected to it."""

    def __init__(self, name, behind, network):
        self.namespace, self.host = netns.Namespace(name), netns.Namespace(behind)
        netns.veth(self.host, "eth0", self.namespace, behind)
        self.host.ip("address", "add", f"{network}.2/24", "dev", "eth0")
        self.host.ip("route", "add", "default", "via", f"{network}.1")
        self.namespace.run("sysctl", "-qw", "net.ipv4.ip_forward=1", "net.ipv4.fib_multipath_hash_policy=1")
        self.frr = frr.Frr(self.namespace, (EXAMPLE / f"{name}.conf").read_text(), DAEMONS)

    def ways(self, prefix):
        """Returns the number of next hops that the kernel has."""
        return self.namespace.ip("route", "show", prefix).count("via 10.")


class Network:
    def __init__(self, folder):
        self.nodes = [Node(name, folder) for name in ("node1", "node2")]
        self.outside = Side("outside", "clients", "203.0.113")
        self.inside = Side("inside", "servers", "198.51.100")
        for number, node in enumerate(self.nodes, 1):
            netns.veth(self.outside.namespace, f"node{number}", node.namespace, "outside-wire")
            netns.veth(self.inside.namespace, f"node{number}", node.namespace, "inside-wire")

    def wait_for_ways(self, count):
        for side, prefix in ((self.outside, "198.51.100.0/24"), (self.inside, "203.0.113.0/24")):
            side.frr.wait_for(f"{count} ways", lambda side=side, prefix=prefix: side.ways(prefix) == count)

    def streams(self):
        """Returns streams to the servers and to the clients. The streams are received at the interfaces that the nodes
        send to, which identify the node."""
        ways = ((self.outside, self.inside, "198.51.100.2"), (self.inside, self.outside, "203.0.113.2"))
        return [
            Stream(source.host, target.namespace, ["node1", "node2"], [address] * FLOWS, rate=500)
            for source, target, address in ways
        ]

    def close(self):
        for member in (*self.nodes, self.outside, self.inside):
            member.namespace.delete()
        for side in (self.outside, self.inside):
            side.host.delete()


@pytest.fixture
def network(tmp_path):
    network = Network(tmp_path)
    try:
        with contextlib.ExitStack() as running:
            for member in (*network.nodes, network.outside.frr, network.inside.frr):
                running.enter_context(member)
            network.wait_for_ways(2)
            yield network
    finally:
        network.close()


def nodes_of(flows, side):
    """Returns for each flow the numbers of the nodes that its packets passed."""
    macs = {bytes.fromhex(side.namespace.mac(f"node{n}").replace(":", "")): n for n in (1, 2)}
    return {flow: {macs[mac] for mac in seen} for flow, seen in flows.items()}


def test_a_node_dies_and_comes_again(network):
    """Flows of the dead node lose packets until BFD detects it. Other flows lose nothing, and no flow loses packets
    when the node returns."""
    dying = network.nodes[0]
    with contextlib.ExitStack() as sending:
        streams = [sending.enter_context(stream) for stream in network.streams()]
        pairs = list(zip(streams, (network.inside, network.outside), strict=True))
        before = [nodes_of(stream.wait_for_arrivals(), side) for stream, side in pairs]
        dying.kill()
        network.wait_for_ways(1)
        sent = [len(stream.times) for stream in streams]
        alone = [nodes_of(stream.wait_for_arrivals(), side) for stream, side in pairs]
        dying.start_again()
        network.wait_for_ways(2)
        after = [nodes_of(stream.wait_for_arrivals(), side) for stream, side in pairs]
        lost = [stream.stop() for stream in streams]
        for node in network.nodes:
            assert node.router.stop().sent > 0
    for stream, flows in zip(streams, before, strict=True):
        assert set.union(*flows.values()) == {1, 2} and all(len(nodes) == 1 for nodes in flows.values())
    assert all(nodes == {2} for flows in alone for nodes in flows.values())
    assert all(set.union(*flows.values()) == {1, 2} for flows in after)
    for flows, numbers, until_seen in zip(before, lost, sent, strict=True):
        nodes = {node for number in numbers for node in flows[number % FLOWS]}
        if conftest.SANITIZED:
            assert 1 in nodes  # BFD may miss a living node at any time, because sanitizers are slow
        else:
            assert nodes == {1} and max(numbers) < until_seen
