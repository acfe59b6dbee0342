# SPDX-License-Identifier: Apache-2.0
"""Two routers joined by shared memory: net_memif, which needs neither root nor a network."""

from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether

import conftest
from captures import frames_of, write_pcap

ROUTES = "default via 192.0.2.1 dev out\n"
NEIGHBOURS = "192.0.2.1 dev out lladdr 02:aa:00:00:00:0{}\n"


def router(folder, name, source, out, number):
    """A router that sends whatever comes in at `source` to `out`."""
    (folder / name).mkdir()
    bench = conftest.Bench(folder / name)
    bench.configure([{"name": "in", **source}, {"name": "out", **out}], ROUTES, NEIGHBOURS.format(number))
    return bench


def test_two_routers_joined_by_memif(tmp_path):
    frames = [
        bytes(Ether(dst="02:00:00:00:00:01") / IP(src="198.51.100.1", dst=f"203.0.113.{i}", ttl=9) / UDP() / bytes(18))
        for i in range(250)
    ]
    memif = f"socket={tmp_path}/memif.sock,socket-abstract=no"
    one = router(
        *(tmp_path, "one", {"device": "pcap:../in.pcap,loop,rate=20k", "sink": "count"}),
        *({"device": f"net_memif0,role=server,{memif}", "sink": None}, 1),
    )
    two = router(
        *(tmp_path, "two", {"device": f"net_memif0,role=client,{memif}", "sink": None, "promiscuous": True}),
        *({"device": "none", "sink": "out.pcap"}, 2),
    )
    write_pcap(tmp_path / "in.pcap", frames_of(frames))
    with one.start() as first, two.start() as second:
        second.wait_for_packets("in", 1000)
        last, end = second.stop(), first.stop()
    # Before the second router is there and after it has gone, the first one's port takes nothing.
    assert end.reasons.keys() <= {("drop", "tx_full")} and end.sent_by_port["out"] >= last.received >= 1000
    assert last.sent == last.received
    between = [one.oracle().judge(frame, "in")[0].frame for frame in frames]
    right = {two.oracle().judge(frame, "in")[0].frame for frame in between}
    assert len(right) == len(frames) and set(two.outputs()["out"]) == right
