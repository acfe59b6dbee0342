# SPDX-License-Identifier: Apache-2.0
"""Tests how `penumbra ids -r` reassembles fragments, follows tunnels and simulates an inline system."""

import json
import os
import subprocess

import pytest
from scapy.layers.inet import ICMP, IP, TCP, UDP
from scapy.layers.inet6 import IPv6, IPv6ExtHdrFragment, fragment6
from scapy.layers.l2 import Ether
from scapy.packet import Raw

import conftest
from captures import frames_of, write_pcap
from conftest import penumbra, wait_until

RULES = 'alert udp any any -> any 5001 (msg:"whole"; content:"needle"; sid:1;)\n'
SERVER = "198.51.100.9"


def alerts_of(folder, packets, *options):
    """Returns the alerts as pairs of sid and frame, and the printed counts."""
    (folder / "a.rules").write_text(RULES)
    write_pcap(folder / "a.pcap", frames_of(packets))
    done = penumbra("ids", "-r", folder / "a.pcap", "-S", folder / "a.rules", "-l", folder, *options)
    assert done.returncode == 0, done.stderr
    events = [json.loads(line) for line in (folder / "eve.json").read_text().splitlines()]
    found = [(e["alert"]["signature_id"], e["pcap_cnt"]) for e in events if e["event_type"] == "alert"]
    return found, {name: int(count) for count, name in (line.split(maxsplit=1) for line in done.stdout.splitlines())}


def parts(cuts, payload, **fields):
    """Fragments of IPv4 that begin and end at `cuts`, multiples of 8."""
    whole = IP(src="192.0.2.1", dst=SERVER, id=7, proto=17, **fields)
    data = bytes(UDP(sport=4001, dport=5001, len=8 + len(payload), chksum=0) / Raw(payload))
    cuts = [*cuts, len(data)]
    for begin, end in zip([0, *cuts], cuts):
        header = whole.copy()
        header.frag, header.flags = begin // 8, "MF" if end < len(data) else 0
        yield Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:02") / header / Raw(data[begin:end])


PAYLOAD = b"x" * 4 + b"needle" + b"y" * 40  # bytes 12 to 17 of the datagram


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 0, 2)])
def test_a_pattern_across_fragments_is_found_with_the_last_of_them(tmp_path, order):
    fragments = list(parts([16, 32], PAYLOAD))
    found, counts = alerts_of(tmp_path, [fragments[i] for i in order])
    assert found == [(1, 3)]
    assert (counts["datagrams reassembled"], counts["fragments not used"]) == (1, 0)


def test_a_pattern_within_the_first_fragment_alerts_once(tmp_path):
    found, counts = alerts_of(tmp_path, list(parts([32], PAYLOAD)))
    assert found == [(1, 2)]
    assert counts["datagrams reassembled"] == 1


def test_fragments_without_their_rest_are_counted(tmp_path):
    found, counts = alerts_of(tmp_path, list(parts([16, 32], PAYLOAD))[:2])
    assert found == []
    assert (counts["datagrams reassembled"], counts["fragments not used"]) == (0, 2)


def test_a_fragment_with_a_wrong_checksum_is_not_used(tmp_path):
    wrong, last = parts([32], PAYLOAD)
    wrong[IP].chksum = 0x1234
    found, counts = alerts_of(tmp_path, [wrong, last])
    assert found == []
    assert counts["fragments not used"] == 2


def test_fragments_of_ipv6(tmp_path):
    packet = Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:02") / IPv6(src="2001:db8::1", dst="2001:db8::2")
    packet = packet / IPv6ExtHdrFragment(id=9) / UDP(sport=4001, dport=5001) / Raw(b"x" * 1300 + PAYLOAD)
    fragments = fragment6(packet, 1300)
    assert len(fragments) == 2
    found, counts = alerts_of(tmp_path, fragments)
    assert found == [(1, 2)]
    assert counts["datagrams reassembled"] == 1


@pytest.mark.parametrize(("policy", "expected"), [("first", []), ("last", [(1, 3)])])
def test_the_policy_of_the_receiver_decides_about_overlaps(tmp_path, policy, expected):
    """Both bytes of an overlap differ: the second has the pattern."""
    config = tmp_path / "suricata.yaml"
    config.write_text(f"host-os-policy:\n  {policy}: [{SERVER}]\n")
    begin, hidden, rest = parts([8, 32], b"a" * 56)
    _, shown, _ = parts([8, 32], PAYLOAD + b"z" * 6)
    found, _ = alerts_of(tmp_path, [hidden, shown, begin, rest], "-c", config)
    assert [sid for sid, _ in found] == [sid for sid, _ in expected]


def inner(payload):
    return IP(src="192.0.2.1", dst=SERVER) / UDP(sport=4001, dport=5001) / Raw(payload)


@pytest.mark.parametrize(
    ("config", "sources"),
    [
        ("decoder: {}\n", ["ipv4 tunnel", "vxlan encapsulation"]),
        ("decoder: {ipv4: {ipip: {enabled: no}}}\n", ["vxlan encapsulation"]),
        ("decoder: {vxlan: {ports: [8472]}}\n", ["ipv4 tunnel"]),
    ],
)
def test_the_configuration_says_what_is_a_tunnel(tmp_path, config, sources):
    (tmp_path / "suricata.yaml").write_text(config)
    ether = Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:02")
    outer = ether / IP(src="10.0.0.1", dst="10.0.0.2")
    vxlan = outer / UDP(sport=1, dport=4789) / Raw(b"\x08" + bytes(7)) / ether / inner(b"a needle in VXLAN")
    alerts_of(tmp_path, [outer / inner(b"a needle"), vxlan], "-c", tmp_path / "suricata.yaml")
    events = [json.loads(line) for line in (tmp_path / "eve.json").read_text().splitlines()]
    assert [event["pkt_src"] for event in events if event["event_type"] == "alert"] == sources


@pytest.mark.parametrize(("options", "kinds"), [((), ["alert", "alert"]), (("--simulate-ips",), ["alert", "drop"])])
def test_an_inline_system_drops_the_rest_of_a_flow(tmp_path, monkeypatch, options, kinds):
    """A rule about addresses is about the flow."""
    monkeypatch.setattr("test_ids_capture.RULES", f"drop ip any any -> {SERVER} any (sid:1;)\n"
                        'alert udp any any -> any any (content:"second"; sid:2;)\n')
    ether = Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:02")
    alerts_of(tmp_path, [ether / inner(b"first"), ether / inner(b"second")], *options)
    events = [json.loads(line) for line in (tmp_path / "eve.json").read_text().splitlines()]
    assert [event["event_type"] for event in events if event["event_type"] in ("alert", "drop")] == kinds
    assert events[0]["alert"]["action"] == ("blocked" if options else "allowed")
    assert events[-1]["flow"].get("action") == ("drop" if options else None)


def test_the_order_of_actions(tmp_path, monkeypatch):
    monkeypatch.setattr("test_ids_capture.RULES", 'alert udp any any -> any any (content:"needle"; sid:1;)\n'
                        'pass udp any any -> any any (content:"needle"; sid:2;)\n')
    packet = Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:02") / inner(b"needle")
    assert alerts_of(tmp_path, [packet])[0] == []
    (tmp_path / "suricata.yaml").write_text("action-order: [drop, alert, reject, pass]\n")
    assert alerts_of(tmp_path, [packet], "-c", tmp_path / "suricata.yaml")[0] == [(1, 1)]


def event_types(folder):
    """Returns the events of a run as pairs of type and reason of a drop."""
    events = [json.loads(line) for line in (folder / "eve.json").read_text().splitlines()]
    return [(event["event_type"], event.get("drop", {}).get("reason")) for event in events]


@pytest.mark.parametrize(
    ("config", "options", "expected"),
    [
        ("{}", (), [("alert", None), ("flow", None)]),
        ("exception-policy: auto", (), [("alert", None), ("flow", None)]),
        ("stream: {midstream-policy: bypass}", (), [("flow", None)]),
        ("exception-policy: auto", ("--simulate-ips",), [("drop", "stream midstream"), ("flow", None)]),
        ("exception-policy: auto\nstream: {midstream: yes}", ("--simulate-ips",), [("alert", None), ("flow", None)]),
        ("stream: {midstream-policy: reject}", ("--simulate-ips",), [("drop", "stream midstream"), ("flow", None)]),
    ],
)
def test_exception_policies_have_suricatas_names(tmp_path, monkeypatch, config, options, expected):
    monkeypatch.setattr("test_ids_capture.RULES", 'alert tcp-pkt any any -> any any (content:"needle"; sid:1;)\n')
    (tmp_path / "suricata.yaml").write_text(config + "\n")
    ether = Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:02")
    segment = ether / IP(src="192.0.2.1", dst=SERVER) / TCP(sport=9, dport=80, seq=7, ack=9, flags="PA") / Raw(b"needle")
    alerts_of(tmp_path, [segment], "-c", tmp_path / "suricata.yaml", *options)
    assert event_types(tmp_path) == expected


@pytest.mark.parametrize("policy", ["ignore", "drop-packet", "pass-packet"])
def test_fragments_without_memory_have_a_policy(tmp_path, monkeypatch, policy):
    """Each fragment occupies a buffer of packets. A datagram of many fragments exceeds the memory."""
    monkeypatch.setattr("test_ids_capture.RULES", f"alert ip any any -> {SERVER} any (sid:1;)\n")
    (tmp_path / "suricata.yaml").write_text(f"defrag: {{memcap: 700kb, memcap-policy: {policy}}}\n")
    fragments = list(parts(range(8, 250 * 8, 8), b"x" * 2000))
    found, _ = alerts_of(tmp_path, fragments, "-c", tmp_path / "suricata.yaml", "--simulate-ips")
    assert found == [(1, 1)]
    kinds = {event for event in event_types(tmp_path) if event[0] == "drop"}
    assert kinds == ({("drop", "defrag memcap")} if policy == "drop-packet" else set())


def test_too_little_memory_for_fragments_is_refused(tmp_path):
    (tmp_path / "suricata.yaml").write_text("defrag: {memcap: 1kb}\n")
    (tmp_path / "a.rules").write_text(RULES)
    write_pcap(tmp_path / "a.pcap", [])
    done = penumbra("ids", "-r", tmp_path / "a.pcap", "-S", tmp_path / "a.rules", "-c", tmp_path / "suricata.yaml")
    assert done.returncode == 3
    assert "suricata.yaml: defrag.memcap: reassembly of 4096 datagrams takes at least" in done.stderr


def test_a_dropped_packet_drops_the_packet_around_it(tmp_path, monkeypatch):
    monkeypatch.setattr("test_ids_capture.RULES", "alert ip any any -> 10.0.0.0/8 any (sid:1;)\n"
                        f"drop icmp any any -> {SERVER} any (sid:2;)\n")
    ether = Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:02")
    tunnels = [ether / IP(src="10.0.0.1", dst="10.0.0.2") / IP(src="192.0.2.1", dst=SERVER) / ICMP(id=i) for i in range(2)]
    assert alerts_of(tmp_path, tunnels)[0] == [(2, 1), (1, 1), (2, 2), (1, 2)]
    assert alerts_of(tmp_path, tunnels, "--simulate-ips")[0] == [(2, 1), (2, 2)]


def test_events_are_not_written_to_what_a_link_names(tmp_path):
    (tmp_path / "precious").write_text("precious")
    (tmp_path / "eve.json").symlink_to(tmp_path / "precious")
    (tmp_path / "a.rules").write_text(RULES)
    write_pcap(tmp_path / "a.pcap", [])
    done = penumbra("ids", "-r", tmp_path / "a.pcap", "-S", tmp_path / "a.rules", "-l", tmp_path)
    assert done.returncode == 1
    assert "eve.json is a symbolic link" in done.stderr
    assert (tmp_path / "precious").read_text() == "precious"


@pytest.mark.skipif(conftest.SANITIZED, reason="sanitizers need system calls that the filter refuses")
def test_the_process_gives_up_what_it_does_not_need(tmp_path):
    """The capture is a pipe, so that the process waits for frames."""
    (tmp_path / "a.rules").write_text(RULES)
    os.mkfifo(tmp_path / "a.pcap")
    write_pcap(tmp_path / "whole.pcap", frames_of(list(parts([32], PAYLOAD))))
    command = [conftest.PROGRAM, "ids", "-r", tmp_path / "a.pcap", "-S", tmp_path / "a.rules", "-l", tmp_path]
    whole = (tmp_path / "whole.pcap").read_bytes()
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        with (tmp_path / "a.pcap").open("wb") as pipe:
            pipe.write(whole[:24])
            pipe.flush()

            def statuses():
                tasks = os.listdir(f"/proc/{process.pid}/task")
                return [status_of(f"/proc/{process.pid}/task/{task}/status") for task in tasks]

            wait_until("a filter of system calls", lambda: all(status["Seccomp"] == "2" for status in statuses()))
            assert all(status["NoNewPrivs"] == "1" for status in statuses())
            assert all(int(status[kind], 16) == 0 for status in statuses() for kind in ("CapEff", "CapPrm", "CapInh"))
            pipe.write(whole[24:])
        assert process.wait(conftest.PATIENCE) == 0, process.stderr.read()
    assert ("alert", None) in event_types(tmp_path)


def status_of(path):
    with open(path) as file:
        return dict(line.rstrip("\n").split(":\t", 1) for line in file if ":\t" in line)
