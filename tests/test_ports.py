# SPDX-License-Identifier: Apache-2.0
"""Tests ports that change while the router runs."""

import shutil
import subprocess

import pytest

import conftest
import needs
import netns
from test_netns import DEVICES
from test_twin import Network, addresses_of, ping

pytestmark = [needs.NAMESPACES, needs.TAPS, needs.tools("ping")]


network = netns.fixture(Network)


def row_of(router, port):
    return next(row for row in router.show("ports") if row["name"] == port)


def connect(network, net, wire, mtu=1500):
    """Returns a host of that network, at the other end of a new cable."""
    host = netns.Namespace(f"h{net}")
    network.namespaces.append(host)
    peer = ("peer", "name", wire, "mtu", str(mtu), "netns", network.router.name)
    host.ip("link", "add", "eth0", "mtu", str(mtu), "type", "veth", *peer)  # sets the MTU from the beginning
    for namespace, link in ((host, "eth0"), (network.router, wire)):
        namespace.ip("link", "set", link, "up")
        if shutil.which("ethtool"):
            namespace.run("ethtool", "-K", link, "tx", "off", "gso", "off", "gro", "off", check=False)
    host.ip("address", "add", f"10.{net}.0.2/24", "dev", "eth0")
    host.ip("route", "add", "default", "via", f"10.{net}.0.1")
    return host


def is_answered(host, address):
    return "1 received" in host.run("ping", "-c", "1", "-W", "1", address, check=False).stdout


@pytest.mark.parametrize("driver", DEVICES)
def test_an_interface_that_goes_away_and_comes_back(bench, network, driver):
    """The interface disappears like that of a restarted container: the host's namespace ends, and with it both ends of
    its cable."""
    bench.configure(network.ports(driver), pipeline="  - ipv4: {follow: [kernel]}")
    with bench.start(command=network.router.command()) as router:
        router.wait_for("both links", lambda: [row["link"] for row in router.show("ports")] == ["up", "up"])
        router.wait_for("an answer", lambda: is_answered(network.h1, "10.2.0.2"))
        assert row_of(router, "a")["reopened"] == 0
        for round_, mtu in enumerate((1400, 1500), start=1):
            before = row_of(router, "a")
            network.h1.delete()
            router.wait_for("its end", lambda: "there is no interface veth-a" in row_of(router, "a").get("advice", ""))
            assert row_of(router, "a")["link"] == "down"
            ping(network.h2, "10.2.0.1")  # the other port continues
            network.h2.run("ping", "-c", "1", "-W", "0.1", "10.1.0.2", check=False)
            network.h1 = connect(network, 1, "veth-a", mtu)
            router.wait_for("the port", lambda round_=round_: row_of(router, "a")["reopened"] == round_)
            # The host's stack is isolated from the new interface before the port receives packets from it.
            assert network.router.run("sysctl", "-n", "net.ipv4.conf.veth-a.rp_filter").stdout.strip() == "1"
            router.wait_for("an answer", lambda: is_answered(network.h1, "10.2.0.2"))
            ping(network.h1, "10.1.0.1")
            after = row_of(router, "a")
            assert after["mac"] == network.router.mac("veth-a") == network.router.mac("twin-a") != before["mac"]
            assert after["mtu"] == mtu and f"mtu {mtu}" in network.router.ip("link", "show", "twin-a")
            assert after["rx_packets"] > before["rx_packets"] and after["link"] == "up"
        assert row_of(router, "b")["reopened"] == 0
        router.process.terminate()
        _, log = router.process.communicate(timeout=netns.PATIENCE)
    assert router.process.returncode == 0, log
    assert log.count("port 'a': its interface veth-a is gone") == 2
    assert log.count("port 'a': open again on veth-a, MAC address") == 2


def test_what_is_for_a_port_without_a_device_is_counted(bench, network):
    """The route leads to the port, and the neighbour's address is known."""
    ports = [{key: value for key, value in port.items() if key != "twin"} for port in network.ports()]
    neighbours = "10.1.0.9 dev a lladdr 02:00:00:00:00:09 PERMANENT\n"
    bench.configure(ports, "", neighbours, pipeline="  - ipv4: {neighbours: neighbours.txt}")
    network.h2.ip("neighbour", "add", "10.2.0.1", "lladdr", network.router.mac("veth-b"), "dev", "eth0")
    with bench.start(command=network.router.command()) as router:
        network.h1.delete()
        router.wait_for("its end", lambda: "advice" in row_of(router, "a"))
        network.h2.run("ping", "-c", "3", "-i", "0.05", "-W", "0.1", "10.1.0.9", check=False)
        router.wait_for("the drops", lambda: any(row["reason"] == "port_gone" for row in router.show("drops")))
        summary = router.stop()
    assert summary.reasons[("drop", "port_gone")] == 3


def test_an_interface_that_is_down_is_told(bench, network):
    network.router.ip("link", "set", "veth-a", "down")
    bench.configure(network.ports(), pipeline="  - ipv4: {follow: [kernel]}")
    log = bench.folder / "log"
    with log.open("w") as stderr, bench.start(command=network.router.command(), stderr=stderr) as router:
        assert row_of(router, "a")["link"] == "down"
        router.wait_for("its word", lambda: "port 'a': link down: veth-a is down; ip link set veth-a up\n" in log.read_text())
        network.router.ip("link", "set", "veth-a", "up")
        router.wait_for("the link", lambda: "port 'a': link up\n" in log.read_text())
        assert row_of(router, "a")["link"] == "up"
        router.process.terminate()
        router.process.communicate(timeout=netns.PATIENCE)


def counts(router):
    return {row["name"]: row["rx_packets"] for row in router.show("ports")}


def reload(router, action="reload", code=0):
    done = conftest.penumbra(action, "--socket", router.socket)
    assert done.returncode == code, done.stderr
    return done.stdout + done.stderr


@pytest.mark.parametrize("driver", DEVICES)
def test_ports_are_added_and_removed_under_traffic(bench, network, driver):
    """The other ports must lose no packet, and the result for every packet must be known."""
    two = network.ports(driver)
    third = {**two[0], "name": "c", "device": f"{driver}2,iface=veth-c", "addresses": ["10.3.0.1/24"], "twin": "twin-c"}
    h3 = connect(network, 3, "veth-c")
    bench.configure(two, pipeline="  - ipv4: {follow: [kernel]}")
    with bench.start(command=network.router.command()) as router:
        router.wait_for("an answer", lambda: is_answered(network.h1, "10.2.0.2"))
        pings = ("ping", "-q", "-i", "0.005", "-c", "600", "-W", "5", "10.2.0.2")
        with subprocess.Popen(network.h1.command(*pings), stdout=subprocess.PIPE, text=True) as stream:
            for _ in range(2 if driver == "net_af_packet" else 1):
                bench.configure([*two, third], pipeline="  - ipv4: {follow: [kernel]}")
                assert "ports.c: added" in reload(router, "plan")
                assert set(counts(router)) == {"a", "b"}
                assert "ports.c: added" in reload(router)
                assert set(counts(router)) == {"a", "b", "c"}
                router.wait_for("its answer", lambda: is_answered(h3, "10.3.0.1"))
                router.wait_for("an answer through it", lambda: is_answered(h3, "10.2.0.2"))
                bench.configure(two, pipeline="  - ipv4: {follow: [kernel]}")
                assert "ports.c: removed" in reload(router)
                assert set(counts(router)) == {"a", "b"}
                assert "twin-c" not in network.router.ip("-brief", "link", "show")
                assert not is_answered(h3, "10.3.0.1")
            said, _ = stream.communicate(timeout=netns.PATIENCE)
        assert " 0% packet loss" in said, said
        summary = router.stop()
    assert summary.received_by_port["c"] > 0 and summary.sent_by_port["c"] > 0


@pytest.mark.parametrize("driver", DEVICES)
def test_a_port_is_renamed_under_traffic(bench, network, driver):
    """No packet may be lost, and the twin must stay."""
    ports = network.ports(driver)
    pipeline = "  - ipv4: {{follow: [kernel], routes: [198.51.100.0/24 via 10.1.0.2 dev {}]}}"
    bench.configure(ports, pipeline=pipeline.format("a"))
    with bench.start(command=network.router.command()) as router:
        router.wait_for("an answer", lambda: is_answered(network.h1, "10.2.0.2"))
        twin = network.router.ip("link", "show", "twin-a")
        pings = ("ping", "-q", "-i", "0.005", "-c", "300", "-W", "5", "10.2.0.2")
        with subprocess.Popen(network.h1.command(*pings), stdout=subprocess.PIPE, text=True) as stream:
            for was, name in (("a", "wan"), ("wan", "outside")):
                ports[0]["name"] = name
                bench.configure(ports, pipeline=pipeline.format(name))
                assert f"ports.{name}: renamed, was {was}\n" in reload(router)
                assert set(counts(router)) == {name, "b"}
                routes = router.show("routes", "198.51.100.1")["routes"]
                assert [hop["dev"] for hop in routes[0]["next_hops"]] == [name]
            said, _ = stream.communicate(timeout=netns.PATIENCE)
        assert " 0% packet loss" in said, said
        assert network.router.ip("link", "show", "twin-a") == twin
        router.stop()


def test_a_port_changes_its_addresses_mtu_and_twin(bench, network):
    ports = network.ports()
    bench.configure(ports, pipeline="  - ipv4: {follow: [kernel]}")
    with bench.start(command=network.router.command()) as router:
        router.wait_for("an answer", lambda: is_answered(network.h1, "10.2.0.2"))
        ports[0]["addresses"] = ["10.1.0.1/24", "10.9.0.1/24"]
        bench.configure(ports, pipeline="  - ipv4: {follow: [kernel]}")
        assert "ports.a.addresses: " in reload(router)
        router.wait_for("the address", lambda: addresses_of(network, "twin-a") == ports[0]["addresses"])
        network.h1.ip("address", "add", "10.9.0.2/24", "dev", "eth0")
        assert is_answered(network.h1, "10.9.0.1")
        ports[0]["addresses"].pop()
        ports[0]["mtu"] = 1400
        bench.configure(ports, pipeline="  - ipv4: {follow: [kernel]}")
        assert "ports.a.mtu: " in reload(router)
        router.wait_for("the addresses", lambda: addresses_of(network, "twin-a") == ["10.1.0.1/24"])
        router.wait_for("the MTU", lambda: "mtu 1400" in network.router.ip("link", "show", "twin-a"))
        assert row_of(router, "a")["mtu"] == 1400
        ports[0]["twin"] = "other-a"
        bench.configure(ports, pipeline="  - ipv4: {follow: [kernel]}")
        assert "ports.a.twin: " in reload(router)
        router.wait_for("the twin", lambda: addresses_of(network, "other-a") == ["10.1.0.1/24"])
        assert "twin-a" not in network.router.ip("-brief", "link", "show")
        router.wait_for("an answer", lambda: is_answered(network.h1, "10.2.0.2"))
        ports[0]["queues"] = 2
        bench.configure(ports, pipeline="  - ipv4: {follow: [kernel]}")
        assert "ports.a.queues" in reload(router, code=1)
        ports[0]["name"] = "outside"
        bench.configure(ports, pipeline="  - ipv4: {follow: [kernel]}")
        assert "ports.outside.queues (ports.a until now)" in reload(router, code=1)
        assert set(counts(router)) == {"a", "b"} and is_answered(network.h1, "10.2.0.2")
        router.stop()


def test_the_twin_of_a_built_in_port_follows_its_mtu(bench, network):
    bench.configure([{"name": "lan", "device": "none", "sink": "count", "twin": "twin-l"}, *network.ports()], pipeline="  - ipv4: {follow: [kernel]}")
    with bench.start(command=network.router.command()) as router:

        def has_mtu(mtu):
            return f"mtu {mtu} " in network.router.ip("link", "show", "twin-l") and row_of(router, "lan")["mtu"] == mtu

        router.wait_for("the twin", lambda: has_mtu(1500))
        done = conftest.penumbra("set", "ports.lan.mtu", "1300", "--socket", router.socket)
        assert done.stdout == "ports.lan.mtu: '1300', was not set\n", done.stderr
        router.wait_for("the twin's MTU", lambda: has_mtu(1300))
        router.stop()
