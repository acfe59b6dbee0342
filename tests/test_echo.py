# SPDX-License-Identifier: Apache-2.0
"""Tests `echo` with a capture: each frame leaves by the port that its integer names, with exchanged MAC addresses."""

from captures import frames_of, write_pcap

PORTS = [{"name": "wan", "device": "pcap:in.pcap"}, {"name": "lan", "device": "none"}]
A, B = bytes.fromhex("02000000000a"), bytes.fromhex("02000000000b")


def test_sends_by_the_integer(bench):
    rests = [bytes(30) + integer.to_bytes(4, "big") + bytes(14) for integer in (0, 1, 2, 2**32 - 1)]
    write_pcap(bench.folder / "in.pcap", frames_of([*(B + A + rest for rest in rests), bytes(45)]))
    bench.configure(PORTS, pipeline="  - echo")
    assert bench.run().reasons == {("drop", "truncated"): 1}
    sent = [A + B + rest for rest in rests]
    assert bench.outputs() == {"wan": sent[0::2], "lan": sent[1::2]}
