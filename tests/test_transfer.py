# SPDX-License-Identifier: Apache-2.0
"""Tests TCP and UDP through the router between hosts that leave checksums and segmentation to a network card, which a
veth does not have."""

import subprocess
import sys

import pytest
from scapy.layers.inet import IP, TCP, UDP
from scapy.layers.l2 import Ether

import needs
import netns
from test_netns import DEVICES, ROUTES, Network

pytestmark = [needs.NAMESPACES, needs.tools("ethtool")]

BYTES = 50_000_000
#: The client sends a million bytes at a time, with bytes that depend on their position. The client exits when the
#: server closes the connection.
SERVER = """
import hashlib, socket
listening = socket.create_server(("", 5001))
print("listening", flush=True)
connection, _ = listening.accept()
digest, count = hashlib.sha256(), 0
while piece := connection.recv(1 << 20):
    digest.update(piece)
    count += len(piece)
print(count, digest.hexdigest(), flush=True)
connection.close()
"""
CLIENT = """
import hashlib, random, socket, sys
digest, left = hashlib.sha256(), int(sys.argv[1])
piece = random.Random(1).randbytes(999_983)
with socket.create_connection(("10.2.0.2", 5001), timeout=20) as connection:
    while left > 0:
        part = piece[:left]
        connection.sendall(part)
        digest.update(part)
        left -= len(part)
    connection.shutdown(socket.SHUT_WR)
    assert connection.recv(1) == b""
print(sys.argv[1], digest.hexdigest())
"""


@pytest.fixture(params=["every offload on", "no offload"])
def network(request):
    network = Network(offloads=request.param == "every offload on")
    network.offloads = request.param == "every offload on"
    for port in ("veth-a", "veth-b"):  # as on most network cards
        network.router.run("ethtool", "-K", port, "gro", "on")
    yield network
    network.close()


def transfer(network, count):
    """Sends bytes from one host to the other by TCP. Returns the reports of both."""
    with subprocess.Popen(
        network.h2.command(sys.executable, "-c", SERVER), stdout=subprocess.PIPE, text=True
    ) as server:
        try:
            assert server.stdout.readline() == "listening\n"
            client = network.h1.run(sys.executable, "-c", CLIENT, str(count), check=False, timeout=120)
            assert client.returncode == 0, client.stderr
            return client.stdout, server.stdout.readline()
        finally:
            server.kill()


@pytest.mark.parametrize("driver", DEVICES)
def test_tcp_through_the_router(bench, network, driver):
    bench.configure(network.ports(driver), ROUTES, network.neighbours)
    with bench.start(command=network.router.command()) as router:
        sent, received = transfer(network, BYTES)
        completed = sum(row["completed_checksums"] for row in router.show("ports"))
        router.stop()
    assert sent == received
    assert (completed > 0) == network.offloads


@pytest.mark.parametrize("network", ["every offload on"], indirect=True)
@pytest.mark.parametrize("driver", DEVICES)
def test_hosts_get_whole_checksums_and_no_large_frames(bench, network, driver):
    """The test records the link after the router, and scapy computes each checksum."""
    bench.configure(network.ports(driver), ROUTES, network.neighbours)
    frames = []
    with network.h2.socket("eth0") as link, bench.start(command=network.router.command()) as router:
        sent, received = transfer(network, 300_000)
        send_udp = "import socket; s = socket.socket(type=socket.SOCK_DGRAM); s.sendto(b'x' * 1001, ('10.2.0.2', 9))"
        network.h1.run(sys.executable, "-c", send_udp)
        router.wait_for("the datagram", lambda: frames.extend(netns.receive(link, 1)) or any(UDP in Ether(f) for f in frames))
        router.stop()
    assert sent == received
    seen = {TCP: 0, UDP: 0}
    for frame in frames:
        packet = Ether(frame)
        if IP not in packet:
            continue
        assert len(packet[IP]) <= 1500
        transport = TCP if TCP in packet else UDP
        found = packet[transport].chksum
        del packet[transport].chksum
        assert Ether(bytes(packet))[transport].chksum == found
        seen[transport] += 1
    assert seen[TCP] > 200 and seen[UDP] == 1


@pytest.mark.parametrize("network", ["every offload on"], indirect=True)
def test_nothing_stays_attached_to_the_interface(bench, network):
    """The program must be detached after a stop and after a kill."""
    bench.configure(network.ports("net_af_packet"), ROUTES, network.neighbours)
    for end in ("stop", "kill"):
        with bench.start(command=network.router.command()) as router:
            assert "xdp" in network.router.ip("link", "show", "veth-a")
            assert "generic-receive-offload: off" in network.router.run("ethtool", "-k", "veth-a").stdout
            assert not any("advice" in row for row in router.show("ports"))
            if end == "stop":
                router.stop()
                assert "generic-receive-offload: on" in network.router.run("ethtool", "-k", "veth-a").stdout
        assert "xdp" not in network.router.ip("link", "show", "veth-a")
