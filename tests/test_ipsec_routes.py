# SPDX-License-Identifier: Apache-2.0
"""Runs two gateways whose tunnel is an interface that routes lead to. strongSwan negotiates it with an `if_id`."""

import pytest

import conftest
import netns
from test_ipsec_charon import Gateway, Wire, drops, pytestmark, run_gateways  # noqa: F401 - marks
from test_twin import ping

MAC = "02:00:00:00:00:42"
ENDS_OF_TUNNEL = {"left": ("10.255.0.1", "10.255.0.2"), "right": ("10.255.0.2", "10.255.0.1")}


class RoutedGateway(Gateway):
    settings = ", interfaces: {ipsec0: 42}"

    @property
    def more_ports(self):
        own = ENDS_OF_TUNNEL[self.name][0]
        return [{"name": "ipsec0", "device": "net_ring0", "mac": MAC, "addresses": [f"{own}/30"], "twin": "ipsec0", "promiscuous": True}]

    def add_route(self, peer, net):
        # A tunnel has no neighbours to ask, so that the route's next hop is the port itself.
        other = ENDS_OF_TUNNEL[self.name][1]
        self.namespace.ip("neighbour", "replace", other, "lladdr", MAC, "dev", "ipsec0", "nud", "permanent")
        self.namespace.ip("route", "replace", f"{net}.0/24", "via", other, "dev", "ipsec0")

    def negotiate(self, proposal, **more):
        super().negotiate(proposal, "0.0.0.0/0", "0.0.0.0/0", child="if_id_in = 42\n if_id_out = 42", **more)


class RoutedGateway6(RoutedGateway):
    """Carries IPv6 and IPv4 in a tunnel over IPv4."""

    routing = "  - ipv4: {follow: [kernel]}\n  - ipv6: {follow: [kernel]}"

    def __init__(self, name, host, folder):
        super().__init__(name, host, folder)
        self.number = list(ENDS_OF_TUNNEL).index(name)
        self.more_addresses = (f"fd00:{self.number}::1/64",)
        for namespace in (host, self.namespace):
            namespace.run("sysctl", "-qw", *(f"net.ipv6.conf.{group}.disable_ipv6=0" for group in ("all", "default")))
        self.namespace.run("sysctl", "-qw", "net.ipv6.conf.all.forwarding=1", "net.ipv6.conf.default.accept_dad=0")
        host.ip("address", "add", f"fd00:{self.number}::2/64", "dev", "eth0", "nodad")
        host.ip("-6", "route", "add", "default", "via", f"fd00:{self.number}::1")

    @property
    def more_ports(self):
        (port,) = super().more_ports
        return [{**port, "addresses": [*port["addresses"], f"fd00:255::{1 + self.number}/64"]}]

    def add_route(self, peer, net):
        super().add_route(peer, net)
        other = f"fd00:255::{2 - self.number}"
        self.namespace.ip("-6", "neighbour", "replace", other, "lladdr", MAC, "dev", "ipsec0", "nud", "permanent")
        self.namespace.ip("-6", "route", "replace", f"fd00:{1 - self.number}::/64", "via", other, "dev", "ipsec0")

    def negotiate(self, proposal):
        both = "0.0.0.0/0, ::/0"
        Gateway.negotiate(self, proposal, both, both, child="if_id_in = 42\n if_id_out = 42")


def wait_for_an_answer(host, address):
    conftest.wait_until("an answer", lambda: host.run("ping", "-c", "1", "-W", "1", address, check=False).returncode == 0)


@pytest.fixture
def gateways(tmp_path, request):
    yield from run_gateways(getattr(request, "param", RoutedGateway), tmp_path)


def test_routes_lead_into_a_tunnel(gateways):
    left, right = gateways
    wire = Wire(right)
    for gateway in gateways:
        gateway.negotiate("aes128gcm16")
    # Packets for a tunnel without an SA never leave in clear.
    assert left.host.run("ping", "-c", "2", "-i", "0.2", "-W", "1", "10.1.0.2", check=False).returncode != 0
    left.daemon.swanctl("--initiate", "--child", "c")
    for gateway in gateways:
        gateway.wait_for_sas()
        assert [row["if_id"] for row in gateway.router.show("sa", "all")["sas"]] == [42, 42]
    left.host.run("ping", "-c", "3", "-i", "0.2", "-W", "2", "10.1.0.2", check=False)  # neighbours are resolved
    ping(left.host, "10.1.0.2")
    ping(right.host, "10.0.0.2")
    outbound, inbound = left.shown()
    assert outbound[0]["packets"] >= 10 and inbound[0]["packets"] >= 10 and inbound[0]["bad_icv"] == 0

    # The gateways reach each other inside the tunnel, as routing daemons do, also with a TTL of 1.
    wait_for_an_answer(left.namespace, "10.255.0.2")
    said = left.namespace.run("ping", "-c", "5", "-i", "0.2", "-W", "2", "-t", "1", "10.255.0.2", check=False).stdout
    assert netns.has_answers(said, 5), said

    # The source of a packet that is too long hears of it. The error is routed to it.
    said = left.host.run("ping", "-c", "3", "-i", "0.3", "-W", "1", "-M", "do", "-s", "1450", "10.1.0.2", check=False).stdout
    assert f"From 10.255.0.1 icmp_seq=1 Frag needed and DF set (mtu = {outbound[0]['mtu']})" in said, said
    assert wire.check() > 10

    # Policies with an `if_id` apply to what a route leads into the tunnel, although they select all packets.
    assert {row["if_id"] for row in left.router.show("policy", "all")["policies"]} == {42}
    left.host.ip("route", "add", "192.0.2.0/24", "via", "10.0.0.1")
    before = left.shown()[0][0]["packets"]
    left.host.run("ping", "-c", "2", "-i", "0.2", "-W", "1", "192.0.2.2", check=False)
    assert left.shown()[0][0]["packets"] == before
    clear = [data for data in netns.receive(wire.socket, 1, patience=5) if data[14 + 9] == 1]
    assert {data[14 + 12 : 14 + 20] for data in clear} == {bytes([10, 0, 0, 2, 192, 0, 2, 2])}


def test_a_tunnel_takes_neither_its_own_packets_nor_what_no_policy_protects(gateways):
    left, right = gateways
    for gateway in gateways:
        gateway.negotiate("aes128gcm16")
    left.daemon.swanctl("--initiate", "--child", "c")
    for gateway in gateways:
        gateway.wait_for_sas()
    other = ENDS_OF_TUNNEL["left"][1]
    left.namespace.ip("route", "add", "192.0.2.2/32", "via", other, "dev", "ipsec0")
    left.host.run("ping", "-c", "2", "-i", "0.2", "-W", "1", "10.1.0.2", check=False)
    left.router.wait_for("the loop", lambda: drops(left.router).get("tunnel_loop", 0) > 0)
    left.namespace.ip("route", "delete", "192.0.2.2/32")

    explained = conftest.penumbra(
        "explain", "--socket", left.router.socket, "--port", "ipsec0", "src", "10.0.0.2", "dst", "10.1.0.2", "proto", "icmp"
    )
    assert "if_id 0x2a: protect" in explained.stdout, explained.stdout + explained.stderr
    left.daemon.swanctl("--terminate", "--ike", "t")
    left.router.wait_for("the end of the policies", lambda: not left.router.show("policy")["policies"])


@pytest.mark.parametrize("gateways", [RoutedGateway6], indirect=True)
def test_a_routed_tunnel_carries_ipv6(gateways):
    left, right = gateways
    wire, listener = Wire(right), right.namespace.socket("veth-b")
    for gateway in gateways:
        gateway.negotiate("aes128gcm16")
    assert left.host.run("ping", "-c", "2", "-i", "0.2", "-W", "1", "fd00:1::2", check=False).returncode != 0
    left.daemon.swanctl("--initiate", "--child", "c")
    for gateway in gateways:
        gateway.wait_for_sas()
    for host, address in ((left.host, "fd00:1::2"), (right.host, "fd00:0::2"), (left.host, "10.1.0.2")):
        wait_for_an_answer(host, address)
        assert "ttl=62" in ping(host, address)
    # The gateways reach each other inside the tunnel, also with a hop limit of 1.
    wait_for_an_answer(left.namespace, "fd00:255::2")
    said = left.namespace.run("ping", "-c", "5", "-i", "0.2", "-W", "2", "-t", "1", "fd00:255::2", check=False).stdout
    assert netns.has_answers(said, 5), said
    # The source of a packet that is too long learns the MTU of the tunnel, and fragments.
    outbound, inbound = left.shown()
    said = left.host.run("ping", "-c", "3", "-i", "0.3", "-W", "1", "-M", "do", "-s", "1450", "fd00:1::2", check=False).stdout
    assert f"From fd00:255::1 icmp_seq=1 Packet too big: mtu={outbound[0]['mtu']}" in said, said
    assert inbound[0]["bad_icv"] == 0
    explained = conftest.penumbra(
        "explain", "--socket", left.router.socket, "--port", "ipsec0", "src", "fd00:0::2", "dst", "fd00:1::2", "proto", "icmpv6"
    )
    assert "if_id 0x2a: protect" in explained.stdout, explained.stdout + explained.stderr
    assert wire.check() > 20
    for data in netns.receive(listener, 1 << 30, patience=0.2):
        assert data[12:14] != b"\x86\xdd" or data[20] != 58 or data[54] not in (128, 129), "a ping is in clear"
