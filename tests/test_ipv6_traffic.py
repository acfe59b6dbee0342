# SPDX-License-Identifier: Apache-2.0
"""Tests generated IPv6 traffic through the router with `penumbra verify`, which must accept correct output and find
each fault."""

import ipaddress
import json

import pytest
from scapy.layers.inet import UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Ether

from captures import frames_of, read_capture, write_pcap
from conftest import penumbra

PORTS = [
    {"name": "wan", "device": "pcap:wan.pcap", "addresses": ["2001:db8:7::1/64", "192.0.2.1/24"]},
    {"name": "lan", "device": "pcap:lan.pcap"},
    {"name": "dmz", "device": "none", "mtu": 1280},
    {"name": "core", "device": "none"},
]
ROUTES = """
2000::/4 nexthop via fe80::1 dev lan weight 3 nexthop via fe80::2 dev core
2001:db8:1::/48 via fe80::1 dev lan
2001:db8:1:8000::/49 via fe80::1 dev dmz       # with a small MTU, and another neighbour of that address
2001:db8:1:8000::/65 via fe80::2 dev core metric 10
2001:db8:1:8000::/65 via fe80::1 dev lan metric 20
2001:db8:3::/64 dev lan                        # on the link: one neighbour is known
2001:db8:6::/48 via fe80::9 dev core           # a gateway that does not answer
blackhole 2001:db8:4::/48
unreachable 2001:db8:5::/48
"""
NEIGHBOURS = """
fe80::1 dev lan lladdr 02:aa:00:00:00:01
fe80::2 dev core lladdr 02:bb:00:00:00:02
fe80::1 dev dmz lladdr 02:cc:00:00:00:01
2001:db8:3::7 dev lan lladdr 02:aa:00:00:00:07
192.0.2.7 dev wan lladdr 02:dd:00:00:00:07
"""
#: The traffic goes to each route, a known neighbour, the router's own addresses, and an address without route.
DESTINATIONS = ROUTES + "2001:db8:3::7 dev lan\n2001:db8:7::/127 dev wan\n3000::/4 dev wan\n"
STAGE = "  - ipv6: {{routes: routes.txt, neighbours: neighbours.txt, lookup: {}}}"
PIPELINE = STAGE.format("trie")
LOOKUPS = ["trie", "lengths", "runs"]
EVERY_REASON = {
    *("runt", "arp", "ipv4", "other_ethertype", "truncated", "bad_version", "bad_payload_length", "martian_source"),
    *("martian_destination", "neighbour_discovery", "multicast", "link_group", "link_local", "local", "no_route"),
    *("blackhole", "unreachable", "hop_limit_exceeded", "unknown_neighbour", "packet_too_big"),
}


def generate(file, *arguments):
    done = penumbra("gen", "traffic", "-o", file, *arguments)
    assert done.returncode == 0, done.stderr


def generate_ipv6(folder):
    """Generates packets to all of DESTINATIONS for one port and flows of many packets for another port, both with odd
    packets."""
    (folder / "destinations.txt").write_text(DESTINATIONS)
    to_prefixes = ("--dst", "prefixes", "--routes", folder / "destinations.txt")
    generate(folder / "wan.pcap", "-6", "--packets", "10k", "--odd", 25, *to_prefixes)
    generate(folder / "lan.pcap", "-6", "--packets", "10k", "--odd", 5, "--dst", "zipf:300", "--size", 68, "--seed", 2)


def verify(bench):
    """Returns the exit code and the findings of `penumbra verify`."""
    done = penumbra("verify", bench.config, "-j")
    return done.returncode, json.loads(done.stdout)


def reasons_of(summary):
    """Returns packets by reason. A reason may be a drop of one function and a punt of another."""
    packets = {}
    for (_, reason), count in summary.reasons.items():
        packets[reason] = packets.get(reason, 0) + count
    return packets


def check(bench):
    """Runs the router and asserts that `verify` agrees with the sent packets and with the reasons for all others."""
    summary = bench.run()
    code, findings = verify(bench)
    assert code == 0, (findings["differences"], findings["examples"])
    assert findings["sent"] == findings["agreed"] == summary.sent > 0
    assert findings["received"] == summary.received
    assert findings["unsent"] == reasons_of(summary)
    return findings


# The following tests run `penumbra gen traffic`.


@pytest.mark.parametrize("size", ["62", "68", "1514", "imix"])
def test_generated_packets_are_those_that_scapy_makes(tmp_path, size):
    """The lengths and checksums must equal those that scapy computes."""
    generate(tmp_path / "a.pcap", "-6", "--packets", 500, "--size", size)
    frames = [frame.data for frame in read_capture(tmp_path / "a.pcap").frames]
    assert {len(frame) for frame in frames} == ({62, 590, 1514} if size == "imix" else {int(size)})
    for number, frame in enumerate(frames):
        packet = Ether(frame)
        assert packet.haslayer(IPv6) and packet[IPv6].nh == 17 and packet[IPv6].hlim >= 2
        for address in (packet[IPv6].src, packet[IPv6].dst):
            assert ipaddress.IPv6Address(address) in ipaddress.IPv6Network("2000::/3")
        payload = bytes(packet[UDP].payload)
        assert len(payload) < 6 or int.from_bytes(payload[:6], "big") == number
        del packet[IPv6].plen, packet[UDP].len, packet[UDP].chksum
        assert bytes(packet) == frame


def test_generated_traffic_is_seeded_and_stays_in_its_prefixes(tmp_path):
    (tmp_path / "routes.txt").write_text("2001:db8::/61 dev a\nfd00:1:2:3:4::/80 dev a\n")
    contents = []
    for seed in (1, 1, 2):
        routes = ("--dst", "prefixes", "--routes", tmp_path / "routes.txt")
        generate(tmp_path / "a.pcap", "--ipv6", "--packets", 200, "--seed", seed, *routes)
        contents.append((tmp_path / "a.pcap").read_bytes())
    assert contents[0] == contents[1] != contents[2]
    prefixes = [ipaddress.IPv6Network(prefix) for prefix in ("2001:db8::/61", "fd00:1:2:3:4::/80")]
    found = [ipaddress.IPv6Address(frame.data[38:54]) for frame in read_capture(tmp_path / "a.pcap").frames]
    shares = [sum(address in prefix for address in found) for prefix in prefixes]
    assert sum(shares) == 200 and min(shares) > 50


def test_what_ipv6_traffic_cannot_be_is_said(tmp_path):
    target = tmp_path / "a.pcap"
    done = penumbra("gen", "traffic", "-6", "--size", 61, "-o", target)
    assert done.returncode == 2 and "62 to 9214" in done.stderr and "IPv6" in done.stderr
    (tmp_path / "routes.txt").write_text("10.0.0.0/8 dev a\n")
    done = penumbra("gen", "traffic", "-6", "--dst", "prefixes", "--routes", tmp_path / "routes.txt", "-o", target)
    assert done.returncode == 3 and "routes.txt:1:" in done.stderr and "IPv6" in done.stderr
    assert not target.exists()


def test_a_synthetic_source_has_the_same_frames(bench):
    generate(bench.folder / "generated.pcap", "-6", "--packets", 1000, "--size", "imix", "--seed", 5)
    port = {"name": "wan", "device": "synth:ipv6,count=1000,size=imix,seed=5"}
    bench.configure([port], pipeline="  - echo")
    assert bench.run().sent == 1000
    generated = [frame.data[14:] for frame in read_capture(bench.folder / "generated.pcap").frames]
    assert [frame[14:] for frame in bench.outputs()["wan"]] == generated


# The following tests run `penumbra verify`.


def engines():
    listed = json.loads(penumbra("show", "engines", "-j").stdout)
    return [engine["engine"] for engine in listed if engine["available"]]


@pytest.mark.parametrize("lookup", LOOKUPS)
def test_every_structure_on_every_engine(bench, lookup):
    generate_ipv6(bench.folder)
    seen = []
    for engine in engines():
        bench.configure(PORTS, ROUTES, NEIGHBOURS, pipeline=STAGE.format(lookup), engine=engine, workers=2)
        seen.append(check(bench))
        assert set(seen[-1]["unsent"]) == EVERY_REASON
        assert all(bench.outputs()[port] for port in ("lan", "dmz", "core"))
    assert seen and all(findings == seen[0] for findings in seen)


@pytest.mark.parametrize("order", ["ipv4 first", "ipv6 first"])
def test_both_families_in_one_pipeline(bench, order):
    """Each function must ignore packets of the other family, in either order."""
    generate_ipv6(bench.folder)
    (bench.folder / "routes4.txt").write_text("0.0.0.0/1 via 192.0.2.7 dev wan\nblackhole 8.0.0.0/8\n")
    generate(bench.folder / "dmz.pcap", "--packets", "10k", "--odd", 20)
    ports = [{**port, "device": "pcap:dmz.pcap"} if port["name"] == "dmz" else port for port in PORTS]
    stages = ["  - ipv4: {routes: routes4.txt, neighbours: neighbours.txt}", PIPELINE]
    bench.configure(ports, ROUTES, NEIGHBOURS, pipeline="\n".join(stages if order == "ipv4 first" else stages[::-1]))
    findings = check(bench)
    assert set(findings["unsent"]) > (EVERY_REASON - {"ipv4"}) | {"ttl_expired", "options", "bad_checksum", "broadcast"}
    assert "ipv4" not in findings["unsent"] and "ipv6" not in findings["unsent"]
    outputs = bench.outputs()
    assert {frame[12:14].hex() for frames in outputs.values() for frame in frames} == {"86dd", "0800"}
    assert all(frame[12:14].hex() == "0800" for frame in outputs["wan"])


def test_verify_finds_a_fault(bench):
    """The faults are: a byte, a MAC address, a place, a missing packet, an extra packet, an order, a split flow."""
    generate_ipv6(bench.folder)
    bench.configure(PORTS, ROUTES, NEIGHBOURS, pipeline=PIPELINE, workers=2)
    check(bench)
    lan, core = (read_capture(bench.folder / f"{port}.out.pcap").frames for port in ("lan", "core"))

    # The two packets belong to a flow with two next hops.
    places = {}
    for place, frame in enumerate(lan):
        places.setdefault(frame.data[14:18] + frame.data[20:21] + frame.data[22:58], []).append(place)
    first, second = next(each for each in places.values() if len(each) > 5 and lan[each[0]].data[20] == 17)[:2]

    def changed(at, value=None):
        data = bytearray(lan[first].data)
        data[at] = data[at] ^ 1 if value is None else value
        return [*lan[:first], lan[first]._replace(data=bytes(data)), *lan[first + 1 :]]

    def without(place):
        return lan[:place] + lan[place + 1 :]

    swapped = lan.copy()
    swapped[first], swapped[second] = swapped[second], swapped[first]
    torn_off = lan[second]._replace(data=bytes.fromhex("02bb00000002020000000004") + lan[second].data[12:])
    faults = {  # fault: (lan's capture, core's capture, the difference that must be found)
        "a payload": (changed(-1), core, "unexpected"),
        "a hop limit": (changed(21), core, "unexpected"),
        "a flow label": (changed(16), core, "unexpected"),
        "a neighbour's MAC address": (changed(5), core, "wrong MAC"),
        "a port's MAC address": (changed(11), core, "wrong MAC"),
        "a packet missing": (without(first), core, "missing"),
        "a packet twice": ([*lan, lan[first]], core, "duplicate"),
        "two packets swapped": (swapped, core, "reordered"),
        "a packet on another port": (without(first), [*core, lan[first]], "wrong MAC"),
        "a flow torn apart": (without(second), [*core, torn_off], "split flow"),
    }
    for what, (wrong_lan, wrong_core, difference) in faults.items():
        write_pcap(bench.folder / "lan.out.pcap", wrong_lan)
        write_pcap(bench.folder / "core.out.pcap", wrong_core)
        code, findings = verify(bench)
        assert code == 4 and findings["differences"][difference] > 0, (what, findings)
    write_pcap(bench.folder / "lan.out.pcap", lan)
    write_pcap(bench.folder / "core.out.pcap", core)
    assert verify(bench)[0] == 0


def test_verify_says_which_pipelines_it_knows(bench):
    write_pcap(bench.folder / "in.pcap", frames_of([]))
    for pipeline in ("  - echo", "  - flows\n" + PIPELINE):
        bench.configure([{"name": "lan", "device": "pcap:in.pcap"}, *PORTS[2:]], "", "", pipeline=pipeline)
        done = penumbra("verify", bench.config)
        assert done.returncode == 3 and "ipv4 and ipv6" in done.stderr, done.stderr
