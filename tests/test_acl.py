# SPDX-License-Identifier: Apache-2.0
"""Tests access lists in front of routers with hosts, a capture and a reload under load."""

import collections
import ipaddress
import random

import pytest
from scapy.layers.inet import UDP
from scapy.layers.inet6 import IPv6, IPv6ExtHdrDestOpt, IPv6ExtHdrFragment, PadN
from scapy.layers.l2 import Ether
from scapy.utils import wrpcap

import conftest
import needs
from conftest import penumbra
from test_flows import PLAIN, tshark
from iperf3 import PORT
from test_hosts import iperf3, network  # noqa: F401 - a fixture
from test_twin import ping

SYNTHETIC = {"name": "idle", "device": "synth:dst=prefixes:routes.txt,rate=10", "sink": "count"}
NOWHERE = "198.51.100.1 dev idle\n"
NOBODY = "deny dst 198.51.100.1\n"  # traffic to this address is synthetic


def write_list(bench, text):
    (bench.folder / "list").write_text(text)


def reload(router):
    done = penumbra("reload", "--socket", router.socket)
    assert done.returncode == 0, done.stderr
    return done.stdout


def packets_by_entry(router):
    return {row["entry"]: row["packets"] for row in router.show("acl", "all")["acl"]}


def denials(count, seed):
    """Returns entries for networks that no host has."""
    generator = random.Random(seed)
    nets = generator.sample(range(2**16), count)
    return "".join(
        f"deny src 100.{64 + (n >> 10)}.{n >> 2 & 255}.{(n & 3) << 6}/{generator.randint(26, 32)}"
        f" proto {generator.choice(['tcp', 'udp'])} dport {generator.randint(1, 30000)}-{generator.randint(30001, 65535)}\n"
        for n in nets
    )


@needs.NAMESPACES
@needs.TAPS
@needs.tools("iperf3")
def test_hosts_behind_a_list_of_ten_thousand(bench, network):  # noqa: F811
    """Permitted traffic passes at speed. A reload that denies or permits traffic takes effect immediately."""
    entries = denials(10_000, seed=1)
    write_list(bench, entries + "permit\n")
    pipeline = "  - acl: {rules: list}\n  - ipv4: {follow: [kernel]}\n  - ipv6: {follow: [kernel]}"
    bench.configure(network.ports(), pipeline=pipeline)
    with bench.start(command=network.router.command()) as router:
        network.address_twins()
        routes = {"10.1.0.0/24", "10.2.0.0/24"}
        router.wait_for(
            "the routes", lambda: routes <= {row["prefix"] for row in router.show("routes", "all")["ipv4"]["routes"]}
        )
        ping(network.h1, "10.2.0.2")
        sent = iperf3(network, "10.2.0.2")["sum_received"]["bytes"]
        assert sent > 100_000
        assert packets_by_entry(router)["permit"] > sent / 1500

        write_list(bench, f"deny proto icmp icmp-type 8\ndeny proto tcp dport {PORT}\n" + entries + "permit\n")
        assert "entries added: 2" in reload(router)
        lost = network.h1.run("ping", "-c", "3", "-i", "0.05", "-W", "1", "10.2.0.2", check=False).stdout
        assert "100% packet loss" in lost
        client = network.h1.run("iperf3", "-c", "10.2.0.2", "-p", str(PORT), "--connect-timeout", "500", check=False)
        assert client.returncode != 0
        counts = packets_by_entry(router)
        assert counts["deny proto icmp icmp-type 8"] == 3
        assert counts[f"deny proto tcp dport {PORT}"] >= 1
        assert counts["permit"] > sent / 1500, "it counts on"

        write_list(bench, entries + "permit\n")
        assert "entries removed: 2" in reload(router)
        ping(network.h1, "10.2.0.2")
        summary = router.stop()
    assert summary.reasons[("drop", "denied")] == 3 + counts[f"deny proto tcp dport {PORT}"]


def fields_by_tshark(capture):
    """Yields the fields of each packet's outermost headers: source address, protocol, destination port."""
    fields = ["ip.src", "ipv6.src", "ip.proto", "ipv6.nxt", "tcp.dstport", "udp.dstport", "ip.frag_offset"]
    options = ["-T", "fields", "-E", "occurrence=f", *(word for field in fields for word in ("-e", field))]
    for line in tshark(capture, *options):
        source, source6, protocol, next_header, tcp, udp, offset = line.split("\t")
        number = int(protocol or next_header)
        port = {6: tcp, 17: udp}.get(number, "") if not offset or offset == "0" else ""
        yield ipaddress.ip_address(source or source6), number, int(port or 0)


ENTRIES = {
    "deny proto udp dport 53": lambda source, protocol, port: (protocol, port) == (17, 53),
    "permit proto tcp dport 443": lambda source, protocol, port: (protocol, port) == (6, 443),
    "deny proto tcp dport 80-8080": lambda source, protocol, port: protocol == 6 and 80 <= port <= 8080,
    "permit proto icmp": lambda source, protocol, port: protocol == 1,
    "permit ipv6": lambda source, protocol, port: source.version == 6,
    "deny src 10.0.0.0/8": lambda source, protocol, port: source in ipaddress.ip_network("10.0.0.0/8"),
    "permit src 128.0.0.0/1": lambda source, protocol, port: source in ipaddress.ip_network("128.0.0.0/1"),
    "deny (default)": lambda source, protocol, port: True,
}


@needs.tools("tshark")
@pytest.mark.parametrize("name", ["tcpreplay_test.pcap", "snabb_sanitized4k.pcap"])
def test_entries_count_as_tshark_does(bench, data, tmp_path, name):
    capture = tmp_path / "plain.pcap"
    tshark(data / "pcap" / name, "-Y", PLAIN, "-F", "pcap", "-w", capture)
    expected = collections.Counter()
    for fields in fields_by_tshark(capture):
        expected[next(entry for entry, matches in ENTRIES.items() if matches(*fields))] += 1
    write_list(bench, NOBODY + "".join(f"{entry}\n" for entry in ENTRIES if "default" not in entry))
    ports = [{"name": "in", "device": f"pcap:{capture}", "sink": "count"}, SYNTHETIC]
    bench.configure(ports, NOWHERE, pipeline="  - acl: {rules: list}")
    with bench.start() as router:
        router.wait_for("the capture's end", lambda: router.received("in") == expected.total())
        router.wait_for("the last decision", lambda: sum(packets_by_entry(router).values()) >= expected.total())
        counts = packets_by_entry(router)
        router.stop()
    counts.pop(NOBODY.strip())
    assert counts == {entry: expected[entry] for entry in ENTRIES}
    assert sum(1 for count in expected.values() if count > 0) >= 4


@pytest.mark.parametrize("engine", ["auto", "scalar"])
def test_a_reload_under_load_loses_nothing_that_both_lists_permit(bench, engine):
    """A reload changes a thousand of ten thousand entries and the entry that permits all packets. No packet may be
    denied."""
    common = denials(9_000, seed=2)
    lists = (
        common + denials(1_000, seed=3) + "permit dst 0.0.0.0/1\npermit dst 128.0.0.0/1\n",
        denials(1_000, seed=4) + common + "permit\n",
    )
    write_list(bench, lists[0])
    ports = [
        {"name": "wan", "device": "synth:dst=uniform,seed=3", "sink": "count"},
        {"name": "lan", "device": "none", "sink": "count"},
    ]
    pipeline = "  - acl: {rules: list}\n  - ipv4: {routes: routes.txt, neighbours: neighbours.txt}"
    bench.configure(
        ports,
        "default via 192.0.2.1 dev lan\n",
        "192.0.2.1 dev lan lladdr 02:aa:00:00:00:01\n",
        pipeline=pipeline,
        engine=engine,
    )
    with bench.start() as router:
        router.wait_for_packets()
        for i in range(4 if conftest.SANITIZED else 10):
            write_list(bench, lists[(i + 1) % 2])
            said = reload(router)
            assert "entries added: 100" in said and "entries removed: 100" in said
            router.wait_for_packets(count=router.received() + 1000)
        summary = router.stop()
    assert summary.received > (4_000 if conftest.SANITIZED else 10_000)
    assert {reason for reason in summary.reasons if reason[0] == "drop" and "denied" in reason[1]} == set()


def test_bad_lists(bench):
    """Neither the start nor a reload accepts a wrong list."""
    write_list(bench, "permit\n")
    bench.configure([SYNTHETIC], NOWHERE, pipeline="  - acl: {rules: list}")
    with bench.start() as router:
        write_list(bench, "permit\ndeny sport 5\n")
        done = penumbra("reload", "--socket", router.socket)
        assert done.returncode == 3 and "list:2:6: 'sport' needs a protocol with ports" in done.stderr
        assert list(packets_by_entry(router)) == ["permit", "deny (default)"]
        router.stop()
    done = penumbra("check", bench.config)
    assert done.returncode == 3 and "list:2:6:" in done.stderr


@pytest.mark.parametrize(
    "entry, column, mend",
    [
        ("deny ipv6 proto 44", 17, "'fragment any' for fragments"),
        ("deny ipv6 proto 43", 17, "'exthdr rt'"),
        ("deny proto udp dport 53 fragment later", 34, "leave out 'fragment later'"),
    ],
)
def test_check_refuses_an_entry_that_no_packet_matches(bench, entry, column, mend):
    write_list(bench, f"# the second line\n{entry}\npermit\n")
    bench.configure([SYNTHETIC], NOWHERE, pipeline="  - acl: {rules: list}")
    done = penumbra("check", bench.config)
    assert done.returncode == 3
    assert f"list:2:{column}: " in done.stderr and mend in done.stderr


def test_nothing_that_cannot_be_read_passes(bench, tmp_path):
    """The packets go to a denied port, with an increasing number of extension headers, and as fragments (RFC 7112)."""
    capture = tmp_path / "headers.pcap"
    ether, ip, udp = Ether(), IPv6(src="2001:db8::1", dst="2001:db8::2"), UDP(sport=1024, dport=53) / b"query"
    frames = []
    for headers in range(20):
        packet = ip
        for _ in range(headers):
            packet = packet / IPv6ExtHdrDestOpt(options=[PadN(optdata=b"\0" * 4)])
        frames.append(ether / packet / udp)
    chain = bytes(IPv6ExtHdrDestOpt(nh=17, options=[PadN(optdata=b"\0" * 12)]) / udp)
    frames.append(ether / ip / IPv6ExtHdrFragment(nh=60, offset=0, m=1) / chain[:16])
    wrpcap(str(capture), [Ether(bytes(frame)) for frame in frames])
    write_list(bench, NOBODY + "deny proto udp dport 53\npermit\n")
    ports = [{"name": "in", "device": f"pcap:{capture}", "sink": "count"}, SYNTHETIC]
    bench.configure(ports, NOWHERE, pipeline="  - acl: {rules: list}")
    with bench.start() as router:
        router.wait_for("the capture's end", lambda: router.received("in") == len(frames))
        router.wait_for("the last decision", lambda: packets_by_entry(router)["deny proto udp dport 53"] == 9)
        summary = router.stop()
    assert summary.reasons[("drop", "unparsable")] == len(frames) - 9


def test_trace_names_the_entry(bench):
    write_list(bench, "# first\ndeny proto tcp\npermit dst 198.51.100.1\n")
    bench.configure([SYNTHETIC], NOWHERE, pipeline="  - acl: {rules: list}")
    with bench.start() as router:
        assert penumbra("trace", "add", "1", "--socket", router.socket).returncode == 0

        def traced():
            return "permitted by the entry of line 3" in penumbra("trace", "show", "--socket", router.socket).stdout

        router.wait_for("a packet", traced)
        router.stop()


def test_the_entries_of_its_page_are_taken(bench):
    page = (conftest.ROOT / "docs/functions/acl.md").read_text()
    examples = [block for block in page.split("```") if block.startswith("\ndeny ")]
    assert len(examples) == 1
    write_list(bench, examples[0])
    bench.configure([SYNTHETIC], NOWHERE, pipeline="  - acl: {rules: list}")
    done = penumbra("check", bench.config)
    assert done.returncode == 0, done.stderr
