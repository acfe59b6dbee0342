# SPDX-License-Identifier: Apache-2.0
"""Tests `penumbra explain`: its answer equals the result for a real packet, and a request changes nothing."""

import json

import pytest
from scapy.layers.inet import IP, TCP, UDP
from scapy.layers.l2 import Ether

from captures import frames_of, write_pcap
from conftest import penumbra

#: No packet comes from this device, so that the router does not end.
IDLE = {"device": "net_null0,no-rx=1", "mac": "02:00:00:00:00:01", "sink": None}
PORTS = [
    {"name": "wan", **IDLE, "addresses": ["192.0.2.1/24", "2001:db8:1::1/64"]},
    {"name": "lan", "device": "none", "addresses": ["198.51.100.1/24", "2001:db8:2::1/64"]},
    {"name": "dmz", "device": "none", "mtu": 1280},
]
ROUTES = "10.0.0.0/8 via 198.51.100.7 dev lan\n10.9.0.0/16 via 198.51.100.9 dev lan\nblackhole 10.8.0.0/16\n"
NEIGHBOURS = "198.51.100.7 dev lan lladdr 02:00:00:00:00:77\n"
ENTRIES = "deny proto tcp dport 23\npermit proto udp\n\npermit proto tcp # the rest\n"
ROUTER = """
  - acl: {rules: entries.txt, default: deny}
  - flows
  - ipv4: {routes: routes.txt, neighbours: neighbours.txt}
  - ipv6: {}
"""
WEB = ["src", "192.0.2.9", "dst", "10.1.2.3", "proto", "tcp", "dport", "80", "ttl", "2"]


def explain(router, *arguments):
    done = penumbra("explain", "-j", "--socket", router.socket, *arguments)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture
def running(bench):
    (bench.folder / "entries.txt").write_text(ENTRIES)
    bench.configure(PORTS, ROUTES, NEIGHBOURS, pipeline=ROUTER)
    with bench.start() as router:
        yield router


def test_says_entry_flow_route_and_neighbour(running):
    answer = explain(running, "--port", "wan", *WEB)
    tables = {stage["stage"]: stage["tables"] for stage in answer["stages"]}
    assert list(tables) == ["acl", "flows", "ipv4"]
    assert tables["acl"] == {"entry": "permit proto tcp", "line": 4}
    assert tables["flows"]["record"] == "would be opened"
    assert tables["ipv4"] == {
        "route": "10.0.0.0/8",
        "leads_to": "via 198.51.100.7 dev lan",
        "neighbour": "198.51.100.7 lladdr 02:00:00:00:00:77",
    }
    assert (answer["verdict"], answer["reason"]) == ("send", None)
    [sent] = answer["sent"]
    assert sent["port"] == "lan"
    frame = Ether(bytes.fromhex(sent["hex"]))
    assert (frame.dst, frame.src, frame[IP].ttl, frame[TCP].dport) == ("02:00:00:00:00:77", "02:00:00:00:00:02", 1, 80)


@pytest.mark.parametrize(
    ("words", "verdict", "reason", "tables"),
    [
        ({"dport": "23"}, "drop", "acl.denied", {"entry": "deny proto tcp dport 23", "line": 1}),
        ({"proto": "gre", "dport": None}, "drop", "acl.denied_by_default", {"line": None}),
        ({"ttl": "1"}, "punt", "ipv4.ttl_expired", {"route": "10.0.0.0/8"}),
        ({"dst": "10.8.1.1"}, "drop", "ipv4.blackhole", {"route": "10.8.0.0/16", "leads_to": "blackhole"}),
        ({"dst": "10.9.1.1"}, "punt", "ipv4.unknown_neighbour", {"leads_to": "via 198.51.100.9 dev lan"}),
        ({"dst": "172.16.0.1"}, "drop", "ipv4.no_route", {"route": None}),
        ({"dst": "198.51.100.1"}, "punt", "ipv4.local", {"route": "198.51.100.1/32"}),
    ],
)
def test_says_why_a_packet_goes_no_further(running, words, verdict, reason, tables):
    header = dict(zip(WEB[::2], WEB[1::2])) | words
    answer = explain(running, "--port", "wan", *(part for pair in header.items() if pair[1] for part in pair))
    assert answer["reason"] == reason
    assert answer["verdict"] == verdict
    assert answer["sent"] == []
    last = answer["stages"][-1]["tables"]
    assert {key: last[key] for key in tables} == tables


def test_explains_ipv6(running):
    answer = explain(running, "--port", "wan", "src", "2001:db8:1::9", "dst", "2001:db8:2::9", "proto", "udp")
    assert answer["stages"][-1]["tables"]["route"] == "2001:db8:2::/64"


def test_takes_a_frame_in_hexadecimal_or_out_of_a_capture(running, bench):
    frames = [
        bytes(Ether(dst="02:00:00:00:00:01") / IP(src="192.0.2.9", dst=f"10.1.2.{i}") / UDP(dport=i)) for i in range(3)
    ]
    write_pcap(bench.folder / "in.pcap", frames_of(frames))
    by_capture = explain(running, "--port", "wan", "-r", bench.folder / "in.pcap", "--packet", "3")
    assert by_capture["hex"] == frames[2].hex()
    assert by_capture == explain(running, "--port", "wan", "--hex", frames[2].hex())
    for wrong in ([], ["--hex", "00", *WEB], ["--packet", "1", *WEB], ["-r", bench.folder / "in.pcap", "--packet", "4"]):
        assert penumbra("explain", "--port", "wan", "--socket", running.socket, *wrong).returncode == 2, wrong


def test_reads_well(running):
    done = penumbra("explain", "--port", "wan", "--socket", running.socket, *WEB)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    for line in (
        "received on wan",
        "acl: pass",
        "  entry: permit proto tcp",
        "  route: 10.0.0.0/8",
        "  leads to: via 198.51.100.7 dev lan",
        "result: send",
    ):
        assert line in lines, done.stdout
    assert any(line.startswith("  out of lan: 60 bytes, 02:00:00:00:00:02 > 02:00:00:00:00:77") for line in lines)
    punted = penumbra("explain", "--port", "wan", "--socket", running.socket, *WEB[:-1], "1").stdout
    assert "result: punt ipv4.ttl_expired (" in punted
    assert "has no twin" in punted


def test_explains_by_a_configuration_alone(bench):
    (bench.folder / "entries.txt").write_text(ENTRIES)
    config = bench.configure(PORTS, ROUTES, NEIGHBOURS, pipeline=ROUTER)
    with bench.start() as router:
        there = explain(router, "--port", "wan", *WEB)
    done = penumbra("explain", "-j", "-c", config, "--port", "wan", *WEB)
    assert json.loads(done.stdout) == there
    wrong = penumbra("explain", "-c", config, "--port", "wam", *WEB)
    assert wrong.returncode == 2 and "did you mean 'wan'?" in wrong.stderr
    (bench.folder / "routes.txt").write_text("nonsense\n")
    assert penumbra("explain", "-c", config, "--port", "wan", *WEB).returncode == 3


MACS = ["smac", "02:00:00:00:00:aa", "dmac", "02:00:00:00:00:bb"]
#: An Interest for /a in an Ethernet frame from that station.
INTEREST = "020000000001" + "0200000000aa" + "8624" + "050b" + "0703080161" + "0a0401020304"
#: The first fragment of a datagram of UDP from 192.0.2.1 to 192.0.2.2.
FRAGMENT = "020000000001" + "0200000000aa" + "0800" + "45000024000120004011d6c4c0000201c0000202" + "1234003500100000" + 8 * "00"
#: Everything goes through a tunnel.
SA = f"src 192.0.2.1 dst 192.0.2.2 proto esp spi 0x100 mode tunnel aead 'rfc4106(gcm(aes))' 0x{'01' * 20} 128\n"
SP = "src 0.0.0.0/0 dst 0.0.0.0/0 dir out tmpl src 192.0.2.1 dst 192.0.2.2 proto esp mode tunnel\n"
#: Each function has a pipeline, the topics that a packet may change, and a packet that would change them.
FUNCTIONS = {
    "acl": ("  - acl: {rules: entries.txt}", [["acl"]], WEB),
    "flows": ("  - flows", [["flows", "all"], ["exporter"]], WEB),
    "ipv4": ("  - ipv4: {routes: routes.txt, neighbours: neighbours.txt}", [["neighbours"]], WEB),
    "ipv6": ("  - ipv6: {}", [["neighbours"]], ["src", "2001:db8:1::9", "dst", "2001:db8:2::9"]),
    "l2": ("  - l2", [["stations"], ["learning"]], MACS),
    "gswitch": ("  - gswitch: {flows: flows.txt, miss: flood}", [["gswitch"], ["gswitch-shader"]], MACS),
    "megaflows": ("  - megaflows: {socket: megaflows.sock}", [["megaflows"], ["megaflows-status"], ["megaflows-meters"]], MACS),
    "ndn": (
        '  - ndn: {routes: names.txt, faces: [{name: a, port: wan, remote: "ether://[02:00:00:00:00:aa]"}]}',
        [["faces"], ["names"]],
        ["--hex", INTEREST],
    ),
    "ipsec": ("  - ipsec: {states: sa.txt, policies: sp.txt, marks: marks}", [["sa"], ["policy"], ["ipsec"]], WEB),
    "ids": ("  - ids: {rules: [ids.rules]}", [["ids"], ["ids", "flows"], ["ids", "profile"]], [*WEB[:4], "proto", "udp"]),
    "reassembly": ("  - reassembly", [["reassembly"]], ["--hex", FRAGMENT]),
    "echo": ("  - echo", [], MACS),
}


def test_every_function_stands_here(bench):
    done = penumbra("check", bench.configure(PORTS, pipeline="  - qqqqqqqqqq"))
    assert sorted(done.stderr.split("there are: ")[1].strip().split(", ")) == sorted(FUNCTIONS)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_changes_nothing(bench, function):
    pipeline, topics, packet = FUNCTIONS[function]
    files = {
        "entries.txt": ENTRIES,
        "flows.txt": "priority=1,in_port=2 actions=drop\n",
        "names.txt": "",
        "ids.rules": "alert udp any any -> any any (sid:1;)\n",
        "sa.txt": SA,
        "sp.txt": SP,
    }
    for file, text in files.items():
        (bench.folder / file).write_text(text)
    bench.configure(PORTS, ROUTES, NEIGHBOURS, pipeline=pipeline)
    with bench.start() as router:
        watched = [*topics, ["drops", "all"], ["ports"], ["workers"]]

        def state():
            shown = {tuple(topic): router.show(*topic) for topic in watched}
            for worker in shown[("workers",)]:
                for key in [key for key in worker if key not in ("rx_packets", "tx_packets", "replicated")]:
                    del worker[key]  # cycles and sleep continue
            return shown

        before = state()
        answers = [explain(router, "--port", "wan", *packet) for _ in range(5)]
        assert all(answer == answers[0] for answer in answers)
        assert len(answers[0]["stages"]) == 1
        assert state() == before
        summary = router.stop()
        assert (summary.received, summary.sent, summary.dropped, summary.punted) == (0, 0, 0, 0)


def test_explains_a_switch(bench):
    ports = [{"name": "a", **IDLE}, {"name": "b", "device": "none"}, {"name": "c", "device": "none"}]
    bench.configure(ports, pipeline='  - l2: {static: [{mac: "02:00:00:00:00:bb", port: b}]}')
    with bench.start() as router:
        known = explain(router, "--port", "a", *MACS)
        assert [sent["port"] for sent in known["sent"]] == ["b"]
        tables = known["stages"][0]["tables"]
        assert tables["source_station"] == "02:00:00:00:00:aa is unknown"
        assert tables["destination_station"] == "02:00:00:00:00:bb is static on b"
        flooded = explain(router, "--port", "a", *MACS[:3], "02:00:00:00:00:cc")
        assert flooded["verdict"] == "replicate"
        assert sorted(sent["port"] for sent in flooded["sent"]) == ["b", "c"]


def test_follows_ports_and_tables_that_change(bench):
    port = {name: {"name": name, "device": "none"} for name in ("b", "c", "d")}
    switch = "  - acl: {rules: entries.txt}\n  - l2"
    (bench.folder / "entries.txt").write_text("deny src 192.0.2.9\n")
    bench.configure([{"name": "a", **IDLE}, port["b"], port["c"]], pipeline=switch)
    with bench.start() as router:

        def flooded():
            answer = explain(router, "--port", "a", *MACS)
            return [sent["port"] for sent in answer["sent"]], answer.get("dropped_copies")

        assert flooded() == (["b", "c"], None)
        bench.configure([{"name": "a", **IDLE}, port["b"], port["d"]], pipeline=switch)
        assert penumbra("reload", "--socket", router.socket).returncode == 0
        assert flooded() == (["b", "d"], None)
        wrong = penumbra("explain", "--socket", router.socket, "--port", "c", *MACS)
        assert wrong.returncode == 2 and "there is no port 'c'" in wrong.stderr
        added = penumbra("acl", "add", "--socket", router.socket, "at", "1", "permit", "src", "192.0.2.9")
        assert added.returncode == 0, added.stderr
        [entry, _] = [stage["tables"] for stage in explain(router, "--port", "d", *WEB)["stages"]]
        assert entry == {"entry": "permit src 192.0.2.9", "line": None}


def test_explains_a_flow_table(bench):
    (bench.folder / "flows.txt").write_text("priority=9,in_port=1,tcp actions=mod_dl_dst:02:00:00:00:00:99,output:2\n")
    bench.configure(PORTS, pipeline="  - gswitch: {flows: flows.txt, miss: drop}")
    with bench.start() as router:
        answer = explain(router, "--port", "wan", *WEB)
        assert answer["stages"][0]["tables"]["line"] == 1
        assert "priority=9" in answer["stages"][0]["tables"]["flow"]
        assert Ether(bytes.fromhex(answer["sent"][0]["hex"])).dst == "02:00:00:00:00:99"
        assert explain(router, "--port", "wan", *MACS)["reason"] == "gswitch.miss"
