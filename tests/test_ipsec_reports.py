# SPDX-License-Identifier: Apache-2.0
"""Faults that users reported of other IPsec gateways, each as a small test.

- FDio/vpp#2963: wrong flags of fragments after ESP of a ping of 1600 bytes. See test_a_ping_of_1600_bytes.
- FDio/vpp#3097: a crash when a packet is fragmented. See the same; test_ipsec.py: long packets.
- FDio/vpp#3138: frames of 9000 bytes, which span buffers, are dropped. See test_frames_that_span_buffers.
- FDio/vpp#3115: no traffic after a rekeying. See test_the_newest_sa_seals_and_all_open; test_ipsec_charon.py.
- FDio/vpp#2935: a crash if packets of two SAs come together. See test_ipsec.py: all tests with several combinations.
- FDio/vpp#2572: two workers: one direction is lost. See test_ipsec.py: test_two_workers_share_an_sa.
- FDio/vpp#2554: a crash with 1,000 tunnels and two workers. See test_a_thousand_tunnels_on_two_workers.
- FDio/vpp#3094: an opened packet meets the functions before ESP again. See test_functions_before_see_only_the_outer_packet.
- strongSwan#2946: the flag "nopmtudisc" of an inbound SA is refused. See test_an_inbound_sa_may_ignore_df.
- libreswan#1871: the window is 0 after MOBIKE. See test_an_sa_that_is_added_again_keeps_its_window.
- libreswan#529: ESN with window 0. See test_esn_needs_a_window.
- OpenDataPlane/odp#1296: the upper half of an ESN is not in the ICV. See test_ipsec.py: test_extended_numbers_go_on_over_the_wrap.
- OpenDataPlane/odp#1261: a window with one bucket too few. See test_ipsec.py: test_replays_are_counted_by_their_kind; window_test.cc.
- OpenDataPlane/odp#1261: packets with a bad ICV flood the log. See test_forged_packets_write_no_log.
- strongSwan#925: an ICMP error that nobody authenticated lowers the MTU. See test_an_icmp_error_in_clear_changes_no_mtu.
- strongSwan#1051: IPv6 in IPv4 leaves with the ethertype of the other family. See test_the_ethertype_is_that_of_the_new_packet.
- strongSwan#2664: a peer sends ESP to the port of its first message. See test_esp_may_come_to_another_udp_port.
- opnsense/core#6964: ESP in UDP over IPv6 is not opened. See test_ipsec.py: test_opens_what_the_oracle_sealed.
- cilium#47284: packets leave more than 4096 numbers out of order. See seal_order_test.cc.
- free5gc#992: the window is 0 by default. See test_check_warns_of_an_inbound_sa_without_a_window.
- odp-dpdk#216: ciphers fail on packets of several segments. See test_frames_that_span_buffers.
"""

import signal
import struct

import pytest
from scapy.layers.inet import ICMP, IP

import conftest
import esp_codec
import ipsec_world
import xfrm_messages as xfrm
from captures import frames_of, write_pcap
from esp_codec import SUITES, Sa
from ipsec_world import Combination, aged, configure, frame, reasons
from test_ipsec import GCM, plain, run
from test_xfrm import SaKeeper
from xfrm_messages import attribute, message

ESN_FLAG, NO_PMTU_FLAG = 0x80, 0x04


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_ping_of_1600_bytes(bench, when):
    combination = plain()
    configure(bench, [combination], settings=f", fragment: {when}")
    ping = bytes(IP(src=combination.near, dst=combination.far, id=99) / ICMP() / bytes(1600))
    summary, outputs = run(bench, [frame(ping)] * 3)
    assert reasons(summary) == {} and len(outputs) == 6
    fields = [struct.unpack("!H", outer[6:8])[0] for outer in outputs]
    assert all(esp_codec.checksum(outer[:20]) == 0 and len(outer) <= 1500 for outer in outputs)
    if when == "before":
        assert set(fields) == {0}
        inner = [combination.out.open(outer)[2] for outer in outputs]
        # All three have one identification, and the parts are equal.
        assert inner.count(inner[0]) == 3 and ipsec_world.joined([inner[0], next(p for p in inner if p != inner[0])]) == [aged(ping)]
    else:
        assert sorted(field >> 13 for field in fields) == [0, 0, 0, 1, 1, 1]
        assert all(combination.out.open(whole)[2] == aged(ping) for whole in ipsec_world.joined(outputs))


def test_frames_that_span_buffers(bench):
    combinations = [plain(i, suite) for i, suite in enumerate(SUITES)]
    configure(bench, combinations)
    sent = [(c, c.leaving(length, identification=length)) for length in (2100, 8900) for c in combinations]
    summary, outputs = run(bench, [frame(packet) for _, packet in sent])
    assert reasons(summary) == {}
    by_spi = {c.out.spi: [] for c in combinations}
    for outer in outputs:
        by_spi[int.from_bytes(outer[20:24])].append(outer)
    for combination in combinations:
        inner = [combination.out.open(outer)[2] for outer in by_spi[combination.out.spi]]
        assert sorted(ipsec_world.joined(inner), key=len) == [aged(packet) for c, packet in sent if c is combination], combination


def test_the_newest_sa_seals_and_all_open(bench):
    old, new = plain(0), plain(0)
    new.out.spi, new.back.spi = 0x2000, 0x9000
    new.out.key, new.back.key = bytes(range(20)), bytes(range(20, 40))
    configure(bench, [old], states=new.states())
    arrived = [sa.seal(number, old.arriving(10 * number)) for number in (1, 2, 3) for sa in (old.back, new.back)]
    summary, outputs = run(bench, [*map(frame, arrived), frame(old.leaving(5))])
    assert reasons(summary) == {}
    assert outputs[:-1] == [old.arriving(10 * number) for number in (1, 1, 2, 2, 3, 3)]
    assert new.out.open(outputs[-1])[2] == aged(old.leaving(5))


def test_a_thousand_tunnels_on_two_workers(bench):
    combinations = [plain(i) for i in range(1000)]
    ports = [{**ipsec_world.PORTS[0], "device": f"pcap:{name}.pcap", "name": name} for name in ("one", "two")]
    ports[1]["addresses"] = ["198.51.100.1/24"]
    configure(bench, combinations, ports=ports, workers=2)
    for name, half in (("one", combinations[::2]), ("two", combinations[1::2])):
        frames = [frame(packet) for number in (1, 2) for c in half for packet in (c.leaving(9), c.back.seal(number, c.arriving(9)))]
        write_pcap(bench.folder / f"{name}.pcap", frames_of(frames))
    summary = bench.run()
    assert reasons(summary) == {}
    outputs = [data[14:] for port in bench.outputs().values() for data in port]
    assert len(outputs) == 4000
    by_spi = {c.out.spi: c for c in combinations}
    for outer in outputs:
        if outer[9] == esp_codec.ESP:
            combination = by_spi[int.from_bytes(outer[20:24])]
            assert combination.out.open(outer)[2] == aged(combination.leaving(9))


def test_functions_before_see_only_the_outer_packet(bench):
    combination = plain()
    (bench.folder / "acl.txt").write_text(f"deny src {ipsec_world.network(1, 0, False)}\npermit\n")
    configure(bench, [combination])
    text = bench.config.read_text()
    bench.config.write_text(text.replace("pipeline:\n", "pipeline:\n  - acl: {rules: acl.txt}\n"))
    summary, outputs = run(bench, [frame(combination.arriving(5)), frame(combination.back.seal(1, combination.arriving(6)))])
    assert reasons(summary) == {"denied": 1} and outputs == [combination.arriving(6)]


@pytest.fixture
def keeper(tmp_path):
    its = SaKeeper(tmp_path)
    yield its
    its.stop(signal.SIGKILL)


def replay_state(window, received=0):
    """Returns an extended replay state with a bitmap of 128 bits."""
    return attribute(xfrm.REPLAY_ESN_VAL, struct.pack("=6I", 4, 0, received, 0, 0, window) + bytes(16))


def test_an_inbound_sa_may_ignore_df(keeper):
    peer = xfrm.Peer(keeper.path)
    assert peer.ask(message(xfrm.NEWSA, xfrm.sa(0x100, flags=NO_PMTU_FLAG) + xfrm.gcm()))[0] == ""
    ((_, shown),) = peer.ask(message(xfrm.GETSA, xfrm.sa_id(0x100)))[1]
    assert shown[216] == NO_PMTU_FLAG


def test_an_sa_that_is_added_again_keeps_its_window(keeper):
    peer = xfrm.Peer(keeper.path)
    for received in (0, 77):
        state = replay_state(128, received=received)
        assert peer.ask(message(xfrm.NEWSA, xfrm.sa(0x100, flags=ESN_FLAG) + xfrm.gcm() + state))[0] == ""
        ((_, shown),) = peer.ask(message(xfrm.GETSA, xfrm.sa_id(0x100)))[1]
        assert struct.pack("=6I", 4, 0, received, 0, 0, 128) in shown
        assert peer.ask(message(xfrm.DELSA, xfrm.sa_id(0x100)))[0] == ""


def test_esn_needs_a_window(keeper):
    peer = xfrm.Peer(keeper.path)
    assert peer.ask(message(xfrm.NEWSA, xfrm.sa(0x100, flags=ESN_FLAG) + xfrm.gcm() + replay_state(0)))[0] == "EINVAL"
    assert peer.ask(message(xfrm.NEWSA, xfrm.sa(0x100) + xfrm.gcm() + replay_state(0)))[0] == ""


def test_forged_packets_write_no_log(bench):
    combination = plain()
    configure(bench, [combination])
    forged = [bytearray(combination.back.seal(number, combination.arriving(5))) for number in range(1, 1001)]
    for packet in forged:
        packet[-1] ^= 1
    write_pcap(bench.folder / "in.pcap", frames_of([frame(bytes(packet)) for packet in forged]))
    done = conftest.penumbra("run", bench.config, "-j")
    assert done.returncode == 0 and len(done.stderr.splitlines()) < 10, done.stderr
    assert reasons(conftest.Summary(done.stdout)) == {"bad_icv": 1000}


def test_an_icmp_error_in_clear_changes_no_mtu(bench):
    combination = plain()
    configure(bench, [combination])
    sealed = combination.out.seal(1, combination.leaving(1300))
    error = bytes(IP(src="192.0.2.77", dst=ipsec_world.OWN) / ICMP(type=3, code=4, nexthopmtu=576) / sealed[:28])
    packet = combination.leaving(1300, flags=0x4000)
    summary, outputs = run(bench, [frame(error)] * 70 + [frame(packet)])
    assert reasons(summary) == {}
    assert outputs[:-1] == [error] * 70 and combination.out.open(outputs[-1])[2] == aged(packet)


def test_the_ethertype_is_that_of_the_new_packet(bench):
    combinations = [
        Combination(number, GCM, "tunnel", outer, inner, has_udp, False)
        for number, (outer, inner, has_udp) in enumerate((o, i, u) for o in (False, True) for i in (False, True) for u in (False, True))
    ]
    configure(bench, combinations)
    sent = [p for c in combinations for p in (c.leaving(9), c.back.seal(1, c.arriving(9)))]
    write_pcap(bench.folder / "in.pcap", frames_of([frame(packet) for packet in sent]))
    assert reasons(bench.run()) == {}
    outputs = bench.outputs()["wan"]
    assert len(outputs) == len(sent)
    for data in outputs:
        assert data[12:14] == (b"\x86\xdd" if data[14] >> 4 == 6 else b"\x08\x00")


def test_esp_may_come_to_another_udp_port(bench):
    """The SA says to which port of this router its peer sends."""
    combination = plain()
    combination.back = Sa(0x8000, GCM, ipsec_world.PEER, ipsec_world.OWN, ports=(4500, 5555))
    configure(bench, [combination])
    ike = Sa(0, GCM, ipsec_world.PEER, ipsec_world.OWN).header(28, 17) + struct.pack("!HHHH", 4500, 5555, 28, 0) + bytes(4) + b"a message of IKE"
    summary, outputs = run(bench, [frame(combination.back.seal(1, combination.arriving(5))), frame(ike)])
    assert reasons(summary) == {"ike": 1} and outputs == [combination.arriving(5)]


def test_check_warns_of_an_inbound_sa_without_a_window(bench):
    configure(bench, [plain(window=0)], ports=[{"name": "wan", "device": "none"}])
    said = conftest.penumbra("check", bench.config)
    assert said.returncode == 0 and "0x8000" in said.stdout + said.stderr and "accepts replayed packets" in said.stdout + said.stderr
    assert "0x1000" not in said.stdout + said.stderr, "an outbound SA needs no window"
