# SPDX-License-Identifier: Apache-2.0
"""Tests the function `ids`: captures go in, packets and events come out; a reload under traffic; and hosts around it."""

import contextlib
import json
import re
import socket
import subprocess
import sys
import threading

import pytest
from scapy.layers.inet import ICMP, IP, TCP, UDP
from scapy.layers.l2 import ARP, Ether
from scapy.packet import Raw, raw

import conftest
import needs
import netns
from captures import frames_of, write_pcap

PAGE = (conftest.ROOT / "docs" / "functions" / "ids.md").read_text()
A, B = "02:00:00:00:00:0a", "02:00:00:00:00:0b"
PORTS = [{"name": "wan", "device": "pcap:in.pcap"}, {"name": "lan", "device": "none"}]
IDLE = {"name": "idle", "device": "synth:rate=1"}
ECHO = "  - echo: {offset: 26}"
RULES = """
alert udp any any -> any 53 (msg:"a name"; content:"evil"; sid:1;)
drop udp any any -> any any (msg:"an attack"; content:"attack"; sid:2;)
reject tcp-pkt any any -> any any (msg:"a worm"; content:"worm"; sid:3;)
pass udp any any -> any any (content:"attack but good"; sid:4;)
"""


def packet(layer, data=b"", source="10.0.0.1"):
    return Ether(src=A, dst=B) / IP(src=source, dst="10.0.0.2", ttl=9) / layer / Raw(data)


def udp(data, port=1000):
    return packet(UDP(sport=port, dport=53), data)


def configure(bench, frames, settings, *, ports=PORTS, workers=1):
    write_pcap(bench.folder / "in.pcap", frames_of([raw(frame) for frame in frames]))
    return bench.configure(ports, workers=workers, pipeline=f"  - ids: {{rules: [a.rules], {settings}}}\n{ECHO}")


def run(bench, frames, settings, **options):
    (bench.folder / "a.rules").write_text(RULES)
    configure(bench, frames, settings, **options)
    return bench.run()


def events(bench, *types, lines=None):
    """The written events of the given types; without types, the alerts and drops."""
    lines = (bench.folder / "eve.json").read_text().splitlines() if lines is None else lines
    found = map(json.loads, lines)
    return [event for event in found if event["event_type"] in (types or ("alert", "drop"))]


FRAMES = [
    udp(b"evil"),
    udp(b"an attack but good"),
    udp(b"an attack"),
    udp(b"of the same flow"),
    udp(b"of another flow", 1001),
    packet(TCP(sport=5, dport=80, flags="PA", seq=7, ack=9), b"worm"),
    Ether(src=A, dst=B) / ARP(psrc="10.0.0.1", pdst="10.0.0.2"),
]


def test_a_sensor_passes_everything(bench):
    summary = run(bench, FRAMES, "eve: eve.json, community_id: true")
    assert summary.received == len(FRAMES) and summary.sent == len(FRAMES)
    found = events(bench)
    assert [(event["alert"]["signature_id"], event["alert"]["action"]) for event in found] == [
        (1, "allowed"),
        (2, "allowed"),
        (3, "allowed"),
    ]
    first = found[0]
    assert (first["src_ip"], first["src_port"], first["dest_ip"], first["dest_port"]) == ("10.0.0.1", 1000, "10.0.0.2", 53)
    assert (first["proto"], first["event_type"], first["in_iface"]) == ("UDP", "alert", "wan")
    # The frames of a capture have their own time, which begins in 1970.
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}\+0000", first["timestamp"])
    assert first["community_id"].startswith("1:") and first["community_id"] == found[1]["community_id"]


def test_an_inline_system_drops_and_rejects(bench):
    summary = run(bench, FRAMES, "mode: ips, eve: eve.json")
    assert summary.reasons == {("drop", "dropped_by_rule"): 1, ("drop", "dropped_flow"): 1, ("drop", "rejected_by_rule"): 1}
    assert summary.sent == len(FRAMES) - 3 + 1
    [reset] = [frame for frame in map(Ether, bench.outputs()["wan"]) if TCP in frame and frame[TCP].flags == "R"]
    assert (reset.src, reset.dst, reset[IP].src, reset[IP].dst) == (B, A, "10.0.0.2", "10.0.0.1")
    assert (reset[TCP].sport, reset[TCP].dport, reset[TCP].flags, reset[TCP].seq) == (80, 5, "R", 9)
    again = Ether(raw(reset))
    del again[TCP].chksum, again[IP].chksum
    assert raw(again) == raw(reset), "checksums"
    kinds = [(event["event_type"], event["alert"]["signature_id"], event["alert"]["action"]) for event in events(bench)]
    assert kinds == [
        ("alert", 1, "allowed"),
        ("alert", 2, "blocked"),
        ("drop", 2, "blocked"),
        ("alert", 3, "blocked"),
        ("drop", 3, "blocked"),
    ]


def test_rejected_datagrams_are_answered(bench):
    (bench.folder / "a.rules").write_text('rejectboth udp any any -> any any (content:"worm"; sid:1;)\n')
    configure(bench, [udp(b"a worm")], "mode: ips")
    assert bench.run().reasons == {("drop", "rejected_by_rule"): 1}
    [error] = [Ether(frame) for frame in bench.outputs()["wan"]]
    assert (error[ICMP].type, error[ICMP].code, error[IP].dst) == (3, 3, "10.0.0.1")
    assert raw(error[ICMP].payload) == raw(udp(b"a worm")[IP])


@pytest.mark.parametrize("engine", ["scalar", "gopt"])
def test_many_packets_on_workers_and_engines(bench, engine):
    """Every packet with the pattern is dropped, and no other one, whatever the place of the pattern."""
    (bench.folder / "a.rules").write_text(RULES)
    frames = []
    for i in range(600):
        data = bytearray(b"x" * (i * 7 % 900) + bytes([i % 256]))
        if i % 3 == 0:
            data[i % len(data) : i % len(data)] = b"attack"
        frames.append(udp(bytes(data), 2000 + i))
    configure(bench, frames, f"mode: ips, engine: {engine}", workers=2)
    summary = bench.run()
    assert summary.reasons == {("drop", "dropped_by_rule"): 200}
    assert summary.sent == 400


def test_shows_metrics_traces_and_explanations(bench):
    (bench.folder / "a.rules").write_text(RULES)
    configure(bench, FRAMES, "mode: ips, eve: eve.json", ports=[*PORTS, IDLE])
    with bench.start() as router:
        router.wait_for("the packets", lambda: router.show("ids")["packets"]["inspected"] >= 4)
        shown = router.show("ids")
        assert shown["alerts"] == 3 and shown["rejections"] == {"sent": 1, "lost": 0}
        router.wait_for("the events", lambda: router.show("ids")["eve"]["written"] == 5)
        assert router.show("ids", "rules")["evaluated"] == 4
        assert router.show("ids", "flows")["open"] >= 3
        [group] = router.show("ids", "matcher")["groups"]
        assert (group["buffer"], group["patterns"]) == ("pkt_data", 4)
        profile = {row["rule"]: row for row in router.show("ids", "profile")["profile"]}
        assert (profile["1:2"]["matches"], profile["1:2"]["checks"]) == (1, 1), "after the pass rule"
        wrong = conftest.penumbra("show", "ids", "rule", "--socket", router.socket)
        assert wrong.returncode != 0 and "there are: rules, flows, matcher, profile" in wrong.stderr
        for frame, verdict, decided in ((udp(b"attack"), "drop", "1:2 an attack"), (udp(b"evil"), "send", None)):
            done = conftest.penumbra("explain", "-j", "--port", "wan", "--hex", raw(frame).hex(), "--socket", router.socket)
            answer = json.loads(done.stdout)
            assert (answer["verdict"], answer["stages"][0]["tables"]["decided_by"]) == (verdict, decided)
            assert answer["stages"][0]["tables"]["alerts"] == 1


def test_a_reload_under_traffic_loses_nothing(bench):
    """200 reloads, each second of bad rules: no packet is lost, and each packet with the old pattern is dropped."""
    rules = bench.folder / "a.rules"
    rules.write_text(RULES)
    frames = [udp(b"attack" if i % 4 == 0 else b"harmless", 3000 + i) for i in range(400)]
    ports = [{"name": "wan", "device": "pcap:in.pcap,loop,rate=20000"}, PORTS[1]]
    configure(bench, frames, "mode: ips, scope: packet", ports=ports)
    with bench.start() as router:
        for i in range(200 if not conftest.SANITIZED else 20):
            bad = i % 2 == 1
            rules.write_text(RULES + ("drop udp (" if bad else f'alert udp any any -> any any (content:"new{i}"; sid:9;)\n'))
            done = conftest.penumbra("reload", "--socket", router.socket)
            assert done.returncode == (3 if bad else 0), done.stderr
            if bad:
                assert "1 rules are refused" in done.stderr
        assert router.show("ids", "rules")["evaluated"] == 5
        summary = router.stop()
    dropped = summary.reasons.pop(("drop", "dropped_by_rule"))
    assert not summary.reasons
    assert summary.received == summary.sent + dropped
    assert abs(dropped - summary.received / 4) <= len(frames)


def test_events_go_to_a_socket(bench):
    reader = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    reader.bind(str(bench.folder / "eve.sock"))
    reader.listen()
    received = []

    def read():
        connection, _ = reader.accept()
        with connection:
            while part := connection.recv(65536):
                received.append(part)

    thread = threading.Thread(target=read)
    thread.start()
    run(bench, FRAMES, "eve: unix:eve.sock")
    thread.join(conftest.PATIENCE)
    reader.close()
    found = events(bench, lines=b"".join(received).splitlines())
    assert [event["alert"]["signature_id"] for event in found] == [1, 2, 3]


def test_events_without_a_reader_are_counted(bench):
    (bench.folder / "a.rules").write_text(RULES)
    configure(bench, FRAMES, "eve: unix:eve.sock", ports=[*PORTS, IDLE])
    with bench.start() as router:
        router.wait_for("the losses", lambda: router.show("ids")["eve"]["lost"] == 3)
        assert router.show("ids")["eve"]["written"] == 0


def connection(*says, port=1000, opens=True):
    """The frames of a connection. Each of `says` is a client's text, or a server's text after `<`; the other end acknowledges it."""
    client, server = 100, 500

    def segment(is_client, flags, data=b""):
        source, destination = (port, 80) if is_client else (80, port)
        tcp = TCP(sport=source, dport=destination, flags=flags, window=60000)
        tcp.seq, tcp.ack = (client, server) if is_client else (server, client)
        ends = {"src": "10.0.0.1", "dst": "10.0.0.2"} if is_client else {"src": "10.0.0.2", "dst": "10.0.0.1"}
        return Ether(src=A, dst=B) / IP(**ends) / tcp / Raw(data)

    frames = []
    if opens:
        syn = segment(True, "S")
        syn[TCP].ack = 0
        client += 1
        frames += [syn, segment(False, "SA")]
        server += 1
        frames.append(segment(True, "A"))
    for text in says:
        is_client = not text.startswith(b"<")
        data = text if is_client else text[1:]
        frames.append(segment(is_client, "PA", data))
        if is_client:
            client += len(data)
        else:
            server += len(data)
        frames.append(segment(not is_client, "A"))
    return frames


STREAM_RULES = """
alert tcp any any -> any any (msg:"cut"; content:"attack"; flow:to_server,established; sid:1;)
drop http any any -> any any (msg:"uri"; http.uri; content:"/evil"; sid:2;)
alert http any any -> any any (msg:"body"; flow:to_client; file_data; content:"secret"; sid:3;)
"""
GET = [b"GET /%65v", b"il HTTP/1.1\r\nHost: h\r\n", b"\r\n", b"<HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\na sec", b"<ret."]


def test_streams_and_messages_are_inspected(bench):
    """A sensor finds what is cut between packets. Inline, the packet that completes a request ends its flow."""
    (bench.folder / "a.rules").write_text(STREAM_RULES)
    frames = [*connection(b"an att", b"ack"), *connection(*GET, port=1001), *connection(b"x", port=1002, opens=False)]
    configure(bench, frames, "eve: eve.json", workers=2)
    summary = bench.run()
    assert summary.sent == summary.received == len(frames)
    assert sorted((event["alert"]["signature_id"], event["src_port"]) for event in events(bench)) == [(1, 1000), (2, 1001), (3, 80)]
    configure(bench, frames, "mode: ips, eve: eve.json, exceptions: {midstream: drop}", workers=2)
    summary = bench.run()
    later = len(connection(*GET)) - len(connection(*GET[:3])) + 1
    assert summary.reasons == {
        ("drop", "dropped_by_rule"): 1,
        ("drop", "dropped_flow"): later + 1,
        ("drop", "midstream"): 1,
    }


def test_the_settings_of_streams(bench):
    """They come from suricata.yaml, or from the function's own section. The depth ends the inspection."""
    (bench.folder / "a.rules").write_text(STREAM_RULES)
    (bench.folder / "suricata.yaml").write_text("%YAML 1.1\n---\nstream:\n  midstream: true\n")
    frames = [*connection(b"an att", b"ack", opens=False), *connection(b"x" * 1000, b"attack", port=1001)]
    for settings, ports in (
        ("eve: eve.json", {1001}),
        ("eve: eve.json, config: suricata.yaml", {1000, 1001}),
        ("eve: eve.json, streams: {midstream: true, depth: 1000}", {1000}),
    ):
        (bench.folder / "eve.json").unlink(missing_ok=True)
        configure(bench, frames, settings)
        bench.run()
        assert {event["src_port"] for event in events(bench)} == ports


def test_exception_policies_of_suricata_yaml(bench):
    """The function's own section precedes the configuration of Suricata."""
    (bench.folder / "a.rules").write_text(STREAM_RULES)
    (bench.folder / "suricata.yaml").write_text("exception-policy: drop-packet\napp-layer: {error-policy: drop-flow}\n")
    malformed = [b"GET /a HTTP/1.1\r\nContent-Length: many\r\n\r\n", b"more"]
    frames = [*connection(b"x", opens=False), *connection(*malformed, port=1001)]
    configure(bench, frames, "mode: ips, eve: eve.json, config: suricata.yaml")
    summary = bench.run()
    unseen = len(connection(b"x", opens=False))
    assert summary.reasons == {
        ("drop", "midstream"): unseen,
        ("drop", "malformed_message"): 1,
        ("drop", "dropped_flow"): len(connection(*malformed)) - 4,
    }
    dropped = [event["drop"]["reason"] for event in events(bench, "drop")]
    assert sorted(dropped) == ["applayer error"] + ["stream midstream"] * unseen
    configure(bench, frames, "mode: ips, config: suricata.yaml, exceptions: {midstream: pass, application: ignore}")
    assert bench.run().reasons == {}
    configure(bench, frames, "mode: ids, config: suricata.yaml")
    assert bench.run().reasons == {}


def test_events_of_flows_and_messages(bench):
    """The names of the fields are those that Suricata writes."""
    (bench.folder / "a.rules").write_text('drop udp any any -> any 99 (content:"evil"; sid:1;)\n')
    query = bytes.fromhex("123401000001000000000000016107") + b"example" + bytes.fromhex("0000010001")
    answer = bytearray(query + bytes.fromhex("c00c000100010000003c0004c0000201"))
    answer[2:4], answer[7] = b"\x81\x80", 1
    back = Ether(src=B, dst=A) / IP(src="10.0.0.2", dst="10.0.0.1") / UDP(sport=53, dport=1000) / Raw(bytes(answer))
    dropped = packet(UDP(sport=7, dport=99), b"evil")
    frames = [*connection(*GET[:3], b"<HTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n"), udp(query), back, dropped, dropped]
    configure(bench, frames, "mode: ips, eve: eve.json, community_id: true")
    bench.run()
    [http] = events(bench, "http")
    assert http["http"] == {
        "hostname": "h",
        "url": "/%65vil",
        "http_method": "GET",
        "protocol": "HTTP/1.1",
        "status": 404,
        "length": 0,
    }
    asked, answered = events(bench, "dns")
    assert (asked["dns"]["type"], asked["dns"]["rrname"], asked["dns"]["rrtype"]) == ("query", "a.example", "A")
    assert answered["dns"]["answers"] == [{"rrname": "a.example", "rrtype": "A", "ttl": 60, "rdata": "192.0.2.1"}]
    [blocked] = events(bench, "drop")
    assert blocked["drop"]["reason"] == "rules" and blocked["alert"]["action"] == "blocked"
    flows = {event["dest_port"]: event for event in events(bench, "flow")}
    assert set(flows) == {80, 53, 99}
    assert flows[80]["flow"].keys() == {
        *("pkts_toserver", "pkts_toclient", "bytes_toserver", "bytes_toclient"),
        *("start", "end", "age", "state", "reason", "alerted"),
    }
    assert (flows[80]["app_proto"], flows[53]["app_proto"]) == ("http", "dns")
    assert (flows[80]["flow"]["state"], flows[99]["flow"]["state"]) == ("established", "new")
    assert (flows[99]["flow"]["action"], flows[99]["flow"]["pkts_toserver"], flows[99]["flow"]["alerted"]) == ("drop", 2, True)
    assert flows[80]["tcp"]["syn"] is True
    for event in (http, asked, *flows.values()):
        assert event["in_iface"] == "wan" and event["community_id"].startswith("1:")
        assert {"timestamp", "flow_id", "src_ip", "src_port", "dest_ip", "proto", "ip_v"} <= event.keys()


def test_anomalies_and_statistics(bench):
    (bench.folder / "a.rules").write_text(STREAM_RULES)
    frames = connection(b"good", b"more")
    frames.insert(4, frames[3].copy())
    frames[4][Raw].load = b"evil"
    configure(bench, frames, "eve: eve.json, stats: 3600")
    bench.run()
    last = events(bench, "stats")[-1]["stats"]
    assert {"uptime", "decoder", "tcp", "flow", "ips", "detect", "app_layer"} <= last.keys()
    assert last["decoder"]["tcp"] == len(frames) and last["tcp"]["overlap_diff_data"] == 1
    [anomaly] = events(bench, "anomaly")
    assert anomaly["anomaly"] == {"type": "stream", "event": "stream.reassembly_overlap_different_data"}


def test_events_go_through_no_link(bench):
    (bench.folder / "a.rules").write_text(RULES)
    (bench.folder / "other").write_text("")
    (bench.folder / "eve.json").symlink_to("other")
    configure(bench, FRAMES, "eve: eve.json")
    done = conftest.penumbra("run", bench.config)
    assert done.returncode != 0 and "is a symbolic link; events need a file" in done.stderr
    assert (bench.folder / "other").read_text() == ""


def test_the_example_drops_its_name(bench):
    """Runs the configuration of the page, with the example's rules as drop rules."""
    shown = re.search(r"```yaml\n(pipeline:.*?)```", PAGE, re.DOTALL)[1].replace("/var/log/penumbra/eve.json", "eve.json")
    rules = (conftest.ROOT / "examples" / "ids" / "rules" / "local.rules").read_text()
    (bench.folder / "rules.txt").write_text(rules.replace("\nalert ", "\ndrop "))
    write_pcap(bench.folder / "in.pcap", frames_of([raw(udp(bytes(12) + b"\x04evil\x07example\x00")), raw(udp(b"harmless", 1001))]))
    (bench.folder / "router.yaml").write_text(f"ports: {json.dumps(PORTS)}\n{shown}")
    assert bench.run().reasons == {("drop", "dropped_by_rule"): 1}
    assert {event["alert"]["signature_id"] for event in events(bench)} == {1000002}


@contextlib.contextmanager
def network():
    """Two hosts of one network, 10.0.0.1 and 10.0.0.2, with the router between them as a bridge."""
    spaces = [netns.Namespace(name) for name in ("h1", "r", "h2")]
    try:
        for number, host in ((1, spaces[0]), (2, spaces[2])):
            netns.veth(host, "eth0", spaces[1], f"veth-{number}")
            host.ip("address", "add", f"10.0.0.{number}/24", "dev", "eth0")
        yield spaces
    finally:
        for space in spaces:
            space.delete()


@contextlib.contextmanager
def background(command):
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield
    finally:
        process.terminate()
        process.wait(conftest.PATIENCE)


@needs.NAMESPACES
@needs.tools("curl", "ping")
def test_hosts_around_an_inline_system(bench):
    """curl and ping pass. A request that a rule drops gets no answer, one that a rule rejects is reset."""
    rules = """
drop tcp-pkt any any -> any 80 (msg:"evil"; content:"GET /evil"; sid:1;)
rejectboth tcp-pkt any any -> any 80 (msg:"worm"; content:"GET /worm"; sid:2;)
"""
    (bench.folder / "a.rules").write_text(rules)
    (bench.folder / "served").mkdir()
    (bench.folder / "served" / "good").write_text("good\n" * 20000)
    ports = [
        {"name": f"p{i}", "device": f"net_af_packet{i},iface=veth-{i},framecnt=4096", "sink": None} for i in (1, 2)
    ]
    bench.configure(ports, pipeline="  - ids: {rules: [a.rules], mode: ips, eve: eve.json}\n  - l2")
    with network() as (client, middle, server), bench.start(command=middle.command()) as router:
        command = [*server.command(), sys.executable, "-m", "http.server", "80", "--directory", bench.folder / "served"]

        def curl(path, *options):
            return client.run("curl", "-s", *options, f"http://10.0.0.2/{path}", check=False)

        with background(command):
            conftest.wait_until("the server", lambda: curl("good", "--max-time", "2").returncode == 0)
            assert curl("good", "--max-time", "20").stdout == "good\n" * 20000
            assert curl("evil", "--max-time", "2").returncode == 28, "no answer"
            assert curl("worm", "--max-time", "20").returncode == 56, "reset by the peer"
            assert curl("good", "--max-time", "20").stdout == "good\n" * 20000
            ping = client.run("ping", "-c", "5", "-i", "0.01", "-W", "2", "10.0.0.2", check=False)
            assert netns.has_answers(ping.stdout, 5), ping.stdout
        summary = router.stop()
    assert summary.reasons[("drop", "dropped_by_rule")] == 1
    assert summary.reasons[("drop", "rejected_by_rule")] == 1
    assert summary.reasons[("drop", "dropped_flow")] >= 1, "the flow died"
    dropped = {event["alert"]["signature_id"] for event in events(bench) if event["event_type"] == "drop"}
    assert dropped == {1, 2}


def test_a_section_about_tunnels_is_warned_of(bench):
    """Only a capture's packets are taken out of tunnels."""
    (bench.folder / "a.rules").write_text(RULES)
    (bench.folder / "suricata.yaml").write_text("decoder: {vxlan: {ports: [8472]}}\n")
    configure(bench, [], "config: suricata.yaml")
    done = conftest.penumbra("check", bench.folder / "router.yaml")
    assert done.returncode == 0
    assert "'decoder' has no effect here" in done.stdout + done.stderr
