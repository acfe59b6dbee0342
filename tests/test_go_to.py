# SPDX-License-Identifier: Apache-2.0
"""Tests `go_to`: packets with an outcome of one stage continue with another stage, which its name names."""

import json

import pytest
from scapy.layers.inet import IP, TCP, UDP
from scapy.layers.l2 import Ether
from scapy.packet import Raw, raw

from captures import frames_of, write_pcap
from conftest import penumbra

A, B = "02:00:00:00:00:0a", "02:00:00:00:00:0b"
PORTS = [{"name": "wan", "device": "pcap:in.pcap"}, {"name": "lan", "device": "none"}]
#: The first list lets trusted sources skip the second one, which sees only what the first one matches by no entry.
PIPELINE = """\
  - acl: {rules: [permit src 10.0.0.1, deny src 10.0.0.9], go_to: {pass: echo, denied_by_default: acl.2}}
  - acl: {rules: [permit proto udp]}
  - echo: {offset: 26}
"""


def frame(source, layer):
    return raw(Ether(src=A, dst=B) / IP(src=source, dst="10.9.9.9") / layer / Raw(b"x" * 20))


FRAMES = [
    frame("10.0.0.1", TCP(dport=80)),
    frame("10.0.0.2", UDP(dport=53)),
    frame("10.0.0.3", TCP(dport=80)),
    frame("10.0.0.9", UDP(dport=53)),
]


def echoed(data):
    return data[6:12] + data[:6] + data[12:]


def test_packets_go_to_the_named_stage(bench):
    write_pcap(bench.folder / "in.pcap", frames_of(FRAMES * 50))
    bench.configure(PORTS, pipeline=PIPELINE)
    summary = bench.run()
    assert summary.reasons == {("drop", "denied"): 50, ("drop", "denied_by_default"): 50}
    sent = bench.outputs()
    assert sorted(sent["wan"] + sent["lan"]) == sorted([echoed(FRAMES[0]), echoed(FRAMES[1])] * 50)
    by_stage = {(reason["stage"], reason["reason"]) for reason in summary.json["reasons"] if reason["packets"]}
    assert by_stage == {("acl", "denied"), ("acl.2", "denied_by_default")}


def test_trace_explain_and_show_name_the_stage(bench):
    write_pcap(bench.folder / "in.pcap", frames_of(FRAMES))
    ports = [{**PORTS[0], "device": "pcap:in.pcap,loop,rate=100"}, PORTS[1]]
    bench.configure(ports, pipeline=PIPELINE)
    with bench.start() as router:

        def ask(*arguments):
            done = penumbra(*arguments, "-j", "--socket", router.socket)
            assert done.returncode == 0, done.stderr
            return json.loads(done.stdout)

        ask("trace", "add", "4")
        router.wait_for("four packets", lambda: len(ask("trace", "show")) == 4)
        traces = [trace["lines"] for trace in ask("trace", "show")]
        ways = sorted([line.split(":")[0] for line in lines if ":" in line] for lines in traces)
        assert ways == [["acl"], ["acl", "acl.2"], ["acl", "acl.2", "echo"], ["acl", "echo"]]
        verdicts = {lines[0].rsplit(" -> ", 1)[1] for lines in traces}
        assert verdicts == {"pass, go to echo", "drop acl.denied_by_default, go to acl.2", "drop acl.denied"}
        answer = ask("explain", "--port", "wan", "src", "10.0.0.2", "dst", "10.9.9.9", "proto", "udp", "dport", "53")
        assert [(stage["stage"], stage.get("go_to")) for stage in answer["stages"]] == [
            ("acl", "acl.2"),
            ("acl.2", None),
            ("echo", None),
        ]
        assert answer["verdict"] == "send"
        text = penumbra("explain", "--socket", router.socket, "--port", "wan", "src", "10.0.0.1", "dst", "10.9.9.9").stdout
        assert "  go to echo\n" in text
        assert [row["go_to"] for row in router.show("functions")] == [["pass: echo", "denied_by_default: acl.2"], [], []]
        assert "denied_by_default: acl.2" in penumbra("show", "functions", "--socket", router.socket, "--wide").stdout
        bench.configure(ports, pipeline=PIPELINE.replace("pass: echo, ", ""))
        refused = penumbra("reload", "--socket", router.socket)
        assert refused.returncode == 1 and "a change of pipeline takes a restart" in refused.stderr


@pytest.mark.parametrize(
    ("pipeline", "message"),
    [
        ("  - acl: {rules: [permit], go_to: {pass: ecko}}\n  - echo\n", "there is no stage 'ecko' in the pipeline; did you mean 'echo'?"),
        (
            "  - acl: {rules: [permit]}\n  - acl: {rules: [permit], go_to: {denied: acl}}\n  - echo\n",
            "packets of 'acl.2' that go to 'acl' come back to 'acl.2'",
        ),
        ("  - acl: {rules: [permit], go_to: {dennied: echo}}\n  - echo\n", "acl has no outcome 'dennied'; did you mean 'denied'?"),
        ("  - acl: {rules: [permit], go_to: {pass: echo}}\n  - flows\n  - echo\n", "no packet reaches 'flows'"),
    ],
    ids=["unknown stage", "loop", "unknown outcome", "unreached stage"],
)
def test_check_refuses(bench, pipeline, message):
    write_pcap(bench.folder / "in.pcap", frames_of(FRAMES))
    done = penumbra("check", bench.configure(PORTS, pipeline=pipeline))
    assert done.returncode == 3 and message in done.stderr, done.stderr
