# SPDX-License-Identifier: Apache-2.0
"""DPDK's example ipsec-secgw, with ipsec-mb as its cipher, is the peer of `ipsec`, packet by packet (make test-secgw)."""

from collections import Counter

import pytest

import ipsec_world
import secgw
from captures import frames_of, read_capture, write_pcap
from ipsec_world import LINK, aged, configure, frame, reasons

pytestmark = [
    pytest.mark.peers,
    pytest.mark.release_only,
    pytest.mark.skipif(not secgw.PROGRAM.exists(), reason=f"needs {secgw.PROGRAM} (make test-secgw)"),
]

LENGTHS = (0, 1, 2, 3, 90, 1300)


@pytest.fixture(params=[False, True], ids=["32-bit", "ESN"])
def combinations(request):
    """Returns what ipsec-secgw can do. The rest must be what is known, and no more. Its switch for ESN is for all SAs."""
    found = ipsec_world.combinations_by_pairs()
    lacks = Counter(filter(None, map(secgw.lack_of_secgw, found)))
    able = [c for c in found if secgw.lack_of_secgw(c) is None and c.out.esn == request.param]
    print(f"{len(able)} combinations; without {dict(lacks)}")
    assert len(able) > 40 and len(lacks) == 4
    for combination in able:
        secgw.fit_keys(combination)
    return able


def forward(bench, combinations, *, arriving, count):
    output = secgw.forward(bench.folder, combinations, arriving=arriving, count=count)
    return [each.data[len(LINK) + 2 :] for each in read_capture(output).frames]


def test_secgw_opens_what_the_gateway_seals(bench, combinations):
    configure(bench, combinations)
    sent = [(c, c.leaving(length)) for length in LENGTHS for c in combinations]
    write_pcap(bench.folder / "in.pcap", frames_of(frame(packet) for _, packet in sent))
    summary = bench.run()
    sealed = bench.outputs()["wan"]
    assert reasons(summary) == {} and len(sealed) == len(sent)
    write_pcap(bench.folder / "secgw_in.pcap", frames_of(sealed))
    opened = forward(bench, combinations, arriving=1, count=len(sent))
    wanted = Counter(aged(packet) if c.mode == "tunnel" else packet for c, packet in sent)
    assert Counter(opened) == wanted


def test_the_gateway_opens_what_secgw_seals(bench, combinations):
    sent = [c.arriving(length) for length in LENGTHS for c in combinations]
    write_pcap(bench.folder / "secgw_in.pcap", frames_of(map(frame, sent)))
    sealed = forward(bench, combinations, arriving=0, count=len(sent))
    configure(bench, combinations)
    write_pcap(bench.folder / "in.pcap", frames_of(map(frame, sealed)))
    summary = bench.run()
    opened = [ipsec_world.echoed(data) for data in bench.outputs()["wan"]]
    assert reasons(summary) == {}
    assert Counter(opened) == Counter(sent)
