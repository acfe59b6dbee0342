# SPDX-License-Identifier: Apache-2.0
"""Tests two routers that are connected by shared memory: net_memif, which needs neither root nor a network."""

from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether

import conftest
from captures import frames_of, write_pcap

ROUTES = "default via 192.0.2.1 dev out\n"
NEIGHBOURS = "192.0.2.1 dev out lladdr 02:aa:00:00:00:0{}\n"


def router(folder, name, source, out, number):
    """Returns a router that sends all packets from `source` to `out`."""
    (folder / name).mkdir()
    bench = conftest.Bench(folder / name)
    bench.configure([{"name": "in", **source}, {"name": "out", **out}], ROUTES, NEIGHBOURS.format(number))
    return bench


FRAMES = [
    bytes(Ether(dst="02:00:00:00:00:01") / IP(src="198.51.100.1", dst=f"203.0.113.{i}", ttl=9) / UDP() / bytes(18))
    for i in range(250)
]


def two_routers(folder, rate, sink):
    """Returns two routers. The first sends FRAMES repeatedly to the second, which sends them to a sink."""
    memif = f"socket={folder}/memif.sock,socket-abstract=no"
    one = router(
        *(folder, "one", {"device": f"pcap:../in.pcap,loop{rate}", "sink": "count"}),
        *({"device": f"net_memif0,role=server,{memif}", "sink": None}, 1),
    )
    two = router(
        *(folder, "two", {"device": f"net_memif0,role=client,{memif}", "sink": None, "promiscuous": True}),
        *({"device": "none", "sink": sink}, 2),
    )
    write_pcap(folder / "in.pcap", frames_of(FRAMES))
    return one, two


def test_two_routers_joined_by_memif(tmp_path):
    one, two = two_routers(tmp_path, ",rate=20k", "out.pcap")
    with one.start() as first, two.start() as second:
        second.wait_for_packets("in", 1000)
        last, end = second.stop(), first.stop()
    # The first router's port sends nothing before the second router starts and after it ends.
    assert end.reasons.keys() <= {("drop", "tx_full")} and end.sent_by_port["out"] >= last.received >= 1000
    assert last.sent == last.received
    between = [one.oracle().judge(frame, "in")[0].frame for frame in FRAMES]
    right = {two.oracle().judge(frame, "in")[0].frame for frame in between}
    assert len(right) == len(FRAMES) and set(two.outputs()["out"]) == right


def test_peers_come_and_go_in_mid_traffic(tmp_path):
    """The driver unmaps the shared memory as soon as a peer ends. No worker may use it at that time."""
    one, two = two_routers(tmp_path, "", "count")
    with one.start() as first:
        for turn in range(4):
            with two.start() as second:
                second.wait_for_packets("in", 1000)
                if turn % 2 == 0:
                    assert second.stop().sent >= 1000
        assert first.stop().sent_by_port["out"] >= 4_000
    with one.start() as first, two.start() as second:
        second.wait_for_packets("in", 1000)
        first.process.kill()
        first.process.wait()
        second.wait_for("the peer's end", lambda: second.show("ports")[0]["link"] == "down")
        assert second.stop().sent >= 1000
