# SPDX-License-Identifier: Apache-2.0
"""Tests python-ndn's consumers and producers on two hosts, with a live forwarder between them."""

import json
import pathlib
import subprocess
import sys

import pytest
import needs
from ndn.encoding import InterestParam, MetaInfo, Name, make_data, make_interest, make_network_nack, parse_data, parse_interest
from ndn.encoding import parse_lp_packet_v2
from ndn.encoding.ndnlp_v2 import LpPacket, LpPacketValue, NackReason
from ndn.security import NullSigner

import conftest
import netns
from test_hosts import driver  # noqa: F401 - a fixture
from test_twin import network  # noqa: F401 - a fixture

pytestmark = [needs.NAMESPACES, needs.TAPS]
PEER = pathlib.Path(__file__).parent / "ndn_peer.py"
GROUP = bytes.fromhex("01005e0017aa")
ETHERTYPE = b"\x86\x24"


@pytest.fixture
def start(bench, network):
    """Starts a forwarder with these faces and routes. The router's host answers ARP."""

    def go(faces, routes, driver="net_af_packet"):  # noqa: F811
        (bench.folder / "names.txt").write_text(routes)
        lines = ["  - ndn:", "      routes: names.txt", "      faces:", *(f"        - {json.dumps(face)}" for face in faces)]
        bench.configure(network.ports(driver), pipeline="\n".join(lines))
        router = bench.start(command=network.router.command())
        router.__enter__()
        network.address_twins()
        return router

    return go


def udp_faces(network):
    return [
        {"name": "h1", "port": "a", "remote": "udp4://10.1.0.2", "mac": network.h1.mac("eth0")},
        {"name": "h2", "port": "b", "remote": "udp4://10.2.0.2", "mac": network.h2.mac("eth0")},
    ]


class Producer:
    def __init__(self, host, forwarder, *prefixes):
        command = host.command(sys.executable, str(PEER), "produce", forwarder, *prefixes)
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def __enter__(self):
        assert self.process.stdout.readline() == "ready\n", self.process.communicate()[1]
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.communicate(timeout=conftest.PATIENCE)


def consume(host, forwarder, *names):
    done = host.run(sys.executable, str(PEER), "consume", forwarder, *names, timeout=netns.PATIENCE)
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_consumers_and_producers_reach_each_other(network, start, driver):  # noqa: F811
    with start(udp_faces(network), "/one h1\n/two h2\n/two/back h1\n", driver) as router:
        with Producer(network.h2, "10.2.0.1", "/two"), Producer(network.h1, "10.1.0.1", "/one", "/two"):
            names = ["/two/a", "/two/a/b/%00", "/none", "/two/c/sub", "/localhost/x"]
            answers = consume(network.h1, "10.1.0.1", *names[:4])
            assert [answer.get("data") for answer in answers] == ["/two/a", "/two/a/b/%00", None, "/two/c/sub"]
            assert all(answer["content"]["token"] for answer in answers if "content" in answer)
            assert answers[2] == {"nack": NackReason.NO_ROUTE}
            there = consume(network.h2, "10.2.0.1", "/one/x", "/two/back/y", "/two/z")
            assert [answer.get("data") for answer in there[:2]] == ["/one/x", "/two/back/y"]
            assert there[2] == {"nack": NackReason.NO_ROUTE}, "it would go back where it came from"
            faces = {row["face"]: row for row in router.show("faces")}
        assert router.show("names", "/two/back/y")["names"] == [{"prefix": "/two/back", "face": "h1"}]
        summary = router.stop()
    assert faces["h1"]["in"] == {"interests": 4, "data": 2, "nacks": 0}
    assert faces["h1"]["out"] == {"interests": 2, "data": 3, "nacks": 1}
    assert faces["h2"]["in"] == {"interests": 3, "data": 3, "nacks": 0}
    assert faces["h2"]["out"] == {"interests": 3, "data": 2, "nacks": 1}
    assert set(summary.reasons) == {("punt", "not_ndn")}


def test_routes_change_while_packets_go_through(bench, network, start):
    with start(udp_faces(network), "/two h1\n") as router, Producer(network.h2, "10.2.0.1", "/two"):
        assert consume(network.h1, "10.1.0.1", "/two/a") == [{"nack": NackReason.NO_ROUTE}]
        (bench.folder / "names.txt").write_text("/two h2\n/three h1\n")
        done = conftest.penumbra("reload", "--socket", router.socket)
        assert done.returncode == 0, done.stderr
        assert "1 added, 0 removed, 1 changed" in done.stdout
        assert consume(network.h1, "10.1.0.1", "/two/a")[0]["data"] == "/two/a"
        router.stop()


def lp(packet, token):
    framed = LpPacket()
    framed.lp_packet = LpPacketValue()
    framed.lp_packet.pit_token = token
    framed.lp_packet.fragment = packet
    return framed.encode()


def test_faces_over_ethernet(network, start):
    """A station is on a and the group on b. python-ndn encodes and decodes their packets."""
    h1, h2 = network.h1.mac("eth0"), network.h2.mac("eth0")
    faces = [
        {"name": "station", "port": "a", "remote": f"ether://[{h1}]"},
        {"name": "group", "port": "b", "remote": "ether://[01:00:5e:00:17:aa]"},
    ]
    with start(faces, "/two group\n") as router, network.h1.socket("eth0") as one, network.h2.socket("eth0") as two:
        port = {row["name"]: bytes.fromhex(row["mac"].replace(":", "")) for row in router.show("ports")}
        mac1, mac2 = (bytes.fromhex(mac.replace(":", "")) for mac in (h1, h2))

        def heard(raw):
            """Returns the next NDN packet, with the addresses of its frame."""
            raw.settimeout(conftest.PATIENCE)
            while True:
                frame = raw.recv(65536)
                if frame[12:14] == ETHERTYPE:
                    return frame[:6], frame[6:12], frame[14:]

        asked = bytes(make_interest("/two/%01", InterestParam(nonce=7, hop_limit=3)))
        netns.send(one, [port["a"] + mac1 + ETHERTYPE + bytes(lp(asked, b"hers"))])
        to, source, packet = heard(two)
        assert (to, source) == (GROUP, port["b"])
        framed = parse_lp_packet_v2(packet)
        name, param, _, _ = parse_interest(framed.fragment)
        assert (Name.to_str(name), param.nonce, param.hop_limit) == ("/two/%01", 7, 2)
        token = bytes(framed.pit_token)

        answer = bytes(make_data("/two/%01", MetaInfo(), b"c" * 1000, NullSigner()))
        netns.send(two, [GROUP + mac2 + ETHERTYPE + bytes(lp(answer, token))])
        to, source, packet = heard(one)
        assert (to, source) == (mac1, port["a"])
        framed = parse_lp_packet_v2(packet)
        assert bytes(framed.pit_token) == b"hers"
        assert bytes(framed.fragment) == answer
        assert bytes(parse_data(framed.fragment)[2]) == b"c" * 1000

        nack = bytes(make_network_nack(asked, NackReason.CONGESTION))
        framed = LpPacket.parse(nack).lp_packet
        framed.pit_token = token
        wrapped = LpPacket()
        wrapped.lp_packet = framed
        netns.send(two, [GROUP + mac2 + ETHERTYPE + bytes(wrapped.encode())])
        framed = parse_lp_packet_v2(heard(one)[2])
        assert (bytes(framed.pit_token), framed.nack.nack_reason) == (b"hers", NackReason.CONGESTION)

        netns.send(one, [port["a"] + mac1 + ETHERTYPE + answer, port["a"] + mac1 + ETHERTYPE + bytes(lp(answer, token))])
        router.wait_for("both", lambda: sum(r["packets"] for r in router.show("drops") if "pit_token" in r["reason"]) == 2)
        summary = router.stop()
    assert summary.reasons[("drop", "no_pit_token")] == 1
    assert summary.reasons[("drop", "bad_pit_token")] == 1
