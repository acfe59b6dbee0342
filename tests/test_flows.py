# SPDX-License-Identifier: Apache-2.0
"""Tests flow records with nfcapd, an independent collector. For captures, records are compared with sums by scapy and
with tshark's statistics of conversations. For real hosts, they are compared with the counters of the hosts and of the
router's ports."""

import collections
import ipaddress
import json
import pathlib
import shutil
import signal
import socket
import subprocess

import pytest
from scapy.layers.inet import ICMP, IP, TCP, UDP
from scapy.layers.inet6 import IPv6, IPv6ExtHdrFragment
from scapy.layers.l2 import Dot1Q, Ether
from scapy.packet import Packet

import conftest
import needs
import test_metrics
from captures import read_capture
from iperf3 import PORT
from test_hosts import iperf3
from test_twin import Network

pytestmark = [
    pytest.mark.skipif(shutil.which(tool) is None, reason=f"needs {tool} (Debian: nfdump)")
    for tool in ("nfcapd", "nfdump")
]
FLAGS = "FSRPAUEC"


def free_port():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class Collector:
    """Runs nfcapd on 127.0.0.1, in the namespace of `command`. On entry of the context it listens."""

    def __init__(self, folder: pathlib.Path, command=(), port=None):
        self.folder = folder / "flows"
        self.folder.mkdir()
        self.port = port or free_port()
        self.process = subprocess.Popen(
            [*command, "nfcapd", "-w", self.folder, "-p", str(self.port), "-b", "127.0.0.1", "-B", "8000000"],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def __enter__(self):
        conftest.wait_until("nfcapd", self._socket)
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate(timeout=conftest.PATIENCE)

    def _socket(self):
        """Returns the collector's line in the kernel's list of sockets, from the third word on."""
        assert self.process.poll() is None, self.process.communicate()[0]
        for line in pathlib.Path(f"/proc/{self.process.pid}/net/udp").read_text().splitlines():
            words = line.split()
            if words[1].endswith(f":{self.port:04X}"):
                return words[2:]
        return None

    def records(self):
        """Returns all received records, after nfcapd has read them. Ends nfcapd."""
        conftest.wait_until("nfcapd to read all", lambda: self._socket()[2].endswith(":00000000"))
        self.process.send_signal(signal.SIGTERM)
        log = self.process.communicate(timeout=conftest.PATIENCE)[0]
        assert "Sequence Errors: 0, Bad Packets: 0" in log, log
        dump = subprocess.run(
            ["nfdump", "-R", self.folder, "-o", "json"], capture_output=True, text=True, check=True, timeout=60
        )
        return json.loads(dump.stdout)


def sums(records):
    """Returns packets, bytes and flags of each flow."""
    flows = collections.defaultdict(lambda: [0, 0, set()])
    for record in records:
        source = record.get("src4_addr") or record["src6_addr"]
        destination = record.get("dst4_addr") or record["dst6_addr"]
        if "icmp_type" in record:
            ports = (0, record["icmp_type"] * 256 + record["icmp_code"])
        else:
            ports = (record.get("src_port", 0), record.get("dst_port", 0))
        addresses = (ipaddress.ip_address(source), ipaddress.ip_address(destination))
        flow = flows[(*addresses, *ports, record["proto"], record.get("src_vlan", 0))]
        flow[0] += record["in_packets"]
        flow[1] += record["in_bytes"]
        if record["proto"] == 6:
            flow[2] |= set(record["tcp_flags"]) - {"."}
    return {key: tuple(value) for key, value in flows.items()}


def flow_of(data: bytes):
    """Returns key, bytes and TCP flags of a frame, computed by scapy, or None if the frame has no complete IP
    packet."""
    frame = Ether(data)
    vlan, layer, tags = 0, frame.payload, 0
    while isinstance(layer, Dot1Q) and tags < 2:
        vlan = layer.vlan if tags == 0 else vlan
        layer, tags = layer.payload, tags + 1
    at = 14 + 4 * tags
    if isinstance(layer, IP) and len(data) >= at + 20:
        length, protocol, header = layer.len, layer.proto, layer.ihl * 4
        fragment = bool(layer.flags.MF) or layer.frag > 0
        if layer.version != 4 or header < 20 or length < header:
            return None
    elif isinstance(layer, IPv6) and len(data) >= at + 40:
        length, protocol, fragment = 40 + layer.plen, layer.nh, False
        upper: Packet = layer.payload
        while type(upper).__name__.startswith("IPv6ExtHdr"):
            protocol, fragment = upper.nh, fragment or isinstance(upper, IPv6ExtHdrFragment)
            upper = upper.payload
    else:
        return None
    if at + length > len(data):
        return None
    ports, flags = (0, 0), set()
    if not fragment and isinstance(layer, IP) and protocol == 1 and ICMP in layer:
        ports = (0, layer[ICMP].type * 256 + layer[ICMP].code)
    elif not fragment and protocol == 58 and isinstance(layer, IPv6):
        ports = (0, int.from_bytes(bytes(upper)[:2], "big"))
    elif not fragment and protocol in (6, 17):
        transport = layer[TCP] if protocol == 6 else layer[UDP]
        ports = (transport.sport, transport.dport)
        flags = {FLAGS[i] for i in range(8) if protocol == 6 and int(transport.flags) >> i & 1}
    key = (ipaddress.ip_address(layer.src), ipaddress.ip_address(layer.dst), *ports, protocol, vlan)
    return key, length, flags


def sums_by_scapy(frames):
    flows = collections.defaultdict(lambda: [0, 0, set()])
    others = 0
    for data in frames:
        seen = flow_of(data)
        if seen is None:
            others += 1
            continue
        key, length, flags = seen
        flows[key][0] += 1
        flows[key][1] += length
        flows[key][2] |= flags
    return {key: tuple(value) for key, value in flows.items()}, others


@pytest.mark.parametrize("engine", ["scalar", "gopt"])
@pytest.mark.parametrize("name", ["tcpreplay_test.pcap", "snabb_sanitized4k.pcap"])
def test_the_flows_of_a_capture(bench, data, tmp_path, name, engine):
    expected, others = sums_by_scapy(frame.data for frame in read_capture(data / "pcap" / name).frames)
    assert len(expected) > 20
    with Collector(tmp_path) as collector:
        export = f"{{collector: '127.0.0.1:{collector.port}', observation_domain: 42}}"
        port = {"name": "in", "device": f"pcap:{data / 'pcap' / name}", "sink": None}
        bench.configure([port], pipeline=f"  - flows: {{export: {export}}}", engine=engine)
        summary = bench.run()
        assert summary.received == sum(flow[0] for flow in expected.values()) + others
        assert sums(collector.records()) == expected


def test_the_exporters_metrics(bench, data, tmp_path):
    """The metrics must equal `show exporter` and the records that the collector received."""
    metrics_port = test_metrics.free_port()
    with Collector(tmp_path) as collector:
        ports = [
            {"name": "in", "device": f"pcap:{data / 'pcap' / 'tcpreplay_test.pcap'}", "sink": None},
            {"name": "idle", "device": "synth:rate=1", "sink": "count"},
        ]
        export = f"{{collector: '127.0.0.1:{collector.port}'}}"
        bench.configure(ports, pipeline=f"  - flows: {{idle_timeout: 100ms, export: {export}}}")
        bench.config.write_text(bench.config.read_text() + f"metrics: {{listen: '127.0.0.1:{metrics_port}'}}\n")
        with bench.start() as router:
            router.wait_for("records", lambda: router.show("exporter")["exported"]["flows"] > 20)
            before = test_metrics.scrape(metrics_port)
            shown = router.show("exporter")
            after = test_metrics.scrape(metrics_port)
            router.stop()
        records = collector.records()
    stage = ("stage", "flows")
    names = {
        "flows": "exported_records",
        "packets": "exported_packets",
        "bytes": "exported_bytes",
        "messages": "export_messages",
        "templates": "export_templates",
        "lost_messages": "export_failed_messages",
        "lost_flows": "export_lost_records",
    }
    assert shown["exported"].keys() == names.keys()
    for key, name in names.items():
        metric = (f"flows_{name}_total", stage)
        assert before[metric] <= shown["exported"][key] <= after[metric]
    for group, name in (("closed", "closed"), ("not_accounted", "not_accounted_packets")):
        for reason, count in shown[group].items():
            metric = (f"flows_{name}_total", ("reason", reason), stage)
            assert before[metric] <= count <= after[metric]
    assert before["flows_opened_total", stage] <= shown["flows"]["opened"] <= after["flows_opened_total", stage]
    assert 20 < after["flows_exported_records_total", stage] <= len(records)
    assert after["flows_export_failed_messages_total", stage] == 0


#: Selects Ethernet frames with a single IP packet, apart from those that ICMP errors quote. tshark counts packets in
#: tunnels too.
PLAIN = r'frame.protocols matches "^eth:ethertype:(vlan:ethertype:)*ip(v6)?(?!.*(?<!icmp)(?<!icmpv6):ip(v6)?(:|$))"'


def tshark(capture, *options):
    """Returns tshark's output for a capture without reassembly of fragments, because accounts do not reassemble
    either."""
    command = ["tshark", "-n", "-r", capture, "-o", "ip.defragment:FALSE", "-o", "ipv6.defragment:FALSE", *options]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout.splitlines()


def conversations_by_tshark(capture):
    """Returns packets by source and destination: of IP addresses ("ip") and of addresses with ports ("tcp", "udp")."""
    kinds = {"IPv4": "ip", "IPv6": "ip", "TCP": "tcp", "UDP": "udp"}
    found = {kind: {} for kind in kinds.values()}
    table = {}
    for line in tshark(capture, "-q", *(word for kind in ("ip", "ipv6", "tcp", "udp") for word in ("-z", f"conv,{kind}"))):
        words = line.split()
        if words[1:] == ["Conversations"]:
            table = found[kinds[words[0]]]
        elif "<->" in words:
            one, _, other, back, _, _, there = words[:7]
            table.update({(one, other): int(there), (other, one): int(back)})
    return {kind: {ends: packets for ends, packets in table.items() if packets} for kind, table in found.items()}


def bytes_by_tshark(capture):
    """Returns bytes of IP packets by source and destination, by the lengths in their outermost headers."""
    fields = ["ip.src", "ip.dst", "ip.len", "ipv6.src", "ipv6.dst", "ipv6.plen"]
    options = ["-T", "fields", "-E", "occurrence=f", *(word for field in fields for word in ("-e", field))]
    found = collections.Counter()
    for line in tshark(capture, *options):
        source, destination, length, source6, destination6, payload = line.split("\t")
        if length:
            found[source, destination] += int(length)
        elif payload:
            found[source6, destination6] += 40 + int(payload)
    return found


@needs.tools("tshark")
@pytest.mark.parametrize("name", ["tcpreplay_test.pcap", "snabb_sanitized4k.pcap"])
def test_the_flows_of_a_capture_are_those_of_tshark(bench, data, tmp_path, name):
    capture = tmp_path / "plain.pcap"
    tshark(data / "pcap" / name, "-Y", PLAIN, "-F", "pcap", "-w", capture)
    with Collector(tmp_path) as collector:
        port = {"name": "in", "device": f"pcap:{capture}", "sink": None}
        bench.configure([port], pipeline=f"  - flows: {{export: {{collector: '127.0.0.1:{collector.port}'}}}}")
        summary = bench.run()
        flows = sums(collector.records())
    assert summary.received == sum(flow[0] for flow in flows.values()) > 100
    packets = {kind: collections.Counter() for kind in ("ip", "tcp", "udp")}
    octets = collections.Counter()
    for (source, destination, source_port, destination_port, protocol, _), (count, size, _) in flows.items():
        ends = (str(source), str(destination))
        packets["ip"][ends] += count
        octets[ends] += size
        if protocol in (6, 17) and source_port + destination_port:
            kind = "tcp" if protocol == 6 else "udp"
            packets[kind][f"{source}:{source_port}", f"{destination}:{destination_port}"] += count
    assert packets == conversations_by_tshark(capture)
    assert octets == bytes_by_tshark(capture)


@pytest.fixture
def network():
    network = Network(offloads=False)
    network.router.ip("link", "set", "lo", "up")
    yield network
    network.close()


@needs.NAMESPACES
@needs.TAPS
@needs.tools("iperf3")
def test_the_flows_of_hosts(bench, network, tmp_path):
    """The records must have both directions of a transfer and all packets that the ports received. A reload changes the
    timeouts."""
    with Collector(tmp_path, network.router.command(), 2055) as collector:
        flows = "  - flows: {{idle_timeout: {}, export: {{collector: '127.0.0.1:2055'}}}}\n  - ipv4: {{follow: [kernel]}}"
        bench.configure(network.ports(), pipeline=flows.format("60s"))
        with bench.start(command=network.router.command()) as router:
            network.address_twins()
            routes = {"10.1.0.0/24", "10.2.0.0/24"}
            router.wait_for(
                "the routes", lambda: routes <= {row["prefix"] for row in router.show("routes", "all")["routes"]}
            )
            received = iperf3(network, "10.2.0.2")["sum_received"]["bytes"]
            shown = router.show("flows", "src", "10.1.0.2", "dport", PORT)["flows"]
            assert sum(flow["bytes"] for flow in shown) > received
            bench.configure(network.ports(), pipeline=flows.format("500ms"))
            done = conftest.penumbra("reload", "--socket", router.socket)
            assert done.returncode == 0, done.stderr
            assert "idle timeout" in done.stdout
            router.wait_for("the flows' end", lambda: not router.show("flows", "port", PORT)["flows"])
            router.wait_for("their export", lambda: router.show("exporter")["exported"]["flows"] > 0)
            ignored = router.show("exporter")["not_accounted"]
            summary = router.stop()
        records = collector.records()
    lost = {reason: count for reason, count in ignored.items() if reason not in ("not_ip", "malformed")}
    assert set(lost.values()) == {0}
    accounted = sum(record["in_packets"] for record in records)
    # Later ARP packets are in neither counter.
    assert summary.received - ignored["not_ip"] - 20 <= accounted <= summary.received
    there, back = (ipaddress.ip_address(address) for address in ("10.1.0.2", "10.2.0.2"))
    flows = sums(records)
    data = [value for key, value in flows.items() if key[:2] == (there, back) and key[3] == PORT]
    answers = [value for key, value in flows.items() if key[:2] == (back, there) and key[2] == PORT]
    assert sum(flow[1] for flow in data) > received
    assert data and len(data) == len(answers)
    for flow in data + answers:
        assert {"S", "A"} <= flow[2]
