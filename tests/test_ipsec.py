# SPDX-License-Identifier: Apache-2.0
"""Compares `ipsec` with a codec in Python, over all algorithms, modes, families, encapsulations and sequence numbers."""

import ipaddress
import random
import struct

from scapy.layers.inet import ICMP, IP, fragment
from scapy.layers.inet6 import ICMPv6PacketTooBig, IPv6

import esp_codec
import ipsec_world
from captures import frames_of, write_pcap
from esp_codec import SUITES, Sa, Suite
from ipsec_world import Combination, aged, configure, echoed, frame, reasons

GCM = SUITES[0]
LENGTHS = (0, 1, 15, 100)


def run(bench, frames, **options):
    write_pcap(bench.folder / "in.pcap", frames_of(frames))
    summary = bench.run(**options)
    return summary, [echoed(data) for data in bench.outputs()["wan"]]


def plain(number=0, suite=GCM, **more):
    """Returns a combination in tunnel mode over IPv4."""
    return Combination(number, suite, "tunnel", False, False, False, more.pop("esn", False), **more)


def test_seals_what_the_oracle_opens(bench):
    combinations = ipsec_world.combinations_by_pairs()
    configure(bench, combinations)
    sent = [(c, c.leaving(length)) for length in LENGTHS for c in combinations]
    summary, outputs = run(bench, [frame(packet) for _, packet in sent])
    assert reasons(summary) == {} and len(outputs) == len(sent)
    numbers, ivs = {}, set()
    for (combination, packet), outer in zip(sent, outputs, strict=True):
        number, iv, inner = combination.out.open(outer)
        assert inner == (aged(packet) if combination.mode == "tunnel" else packet), combination
        numbers.setdefault(combination.number, []).append(number)
        if iv:
            assert (combination.number, iv) not in ivs
            ivs.add((combination.number, iv))
    assert all(each == [1, 2, 3, 4] for each in numbers.values())
    assert summary.json["created"] == summary.json["absorbed"] == len(sent)


def test_opens_what_the_oracle_sealed(bench):
    combinations = ipsec_world.combinations_by_pairs()
    configure(bench, combinations)
    sent = [(c, c.arriving(length), number) for number, length in enumerate(LENGTHS, 1) for c in combinations]
    summary, outputs = run(bench, [frame(c.back.seal(number, packet)) for c, packet, number in sent])
    assert reasons(summary) == {} and len(outputs) == len(sent)
    for (combination, packet, _), inner in zip(sent, outputs, strict=True):
        assert inner == packet, combination


def test_every_length_of_each_algorithm(bench):
    combinations = [plain(i, suite) for i, suite in enumerate(SUITES)]
    configure(bench, combinations)
    lengths = [*range(130), *range(1300, 1380, 7)]
    sent = [(c, c.leaving(length)) for length in lengths for c in combinations]
    summary, outputs = run(bench, [frame(packet) for _, packet in sent])
    assert reasons(summary) == {} and len(outputs) == len(sent)
    for (combination, packet), outer in zip(sent, outputs, strict=True):
        assert combination.out.open(outer)[2] == aged(packet), combination


def test_a_flipped_bit_changes_no_state(bench):
    """Each bit of short packets is flipped once. The packets themselves are still accepted afterwards."""
    combinations = [plain(i, suite, esn=i % 2 == 0) for i, suite in enumerate((GCM, Suite("cbc", 16, 12, "sha1"), SUITES[6]))]
    configure(bench, combinations)
    frames, wanted = [], {"bad_icv": 0}
    for combination in combinations:
        outer = combination.back.seal(5, combination.arriving(3))
        for bit in range(8 * 28, 8 * len(outer)):
            flipped = bytearray(outer)
            flipped[bit // 8] ^= 1 << bit % 8
            frames.append(frame(bytes(flipped)))
            wanted["bad_icv"] += 1
        # A number far ahead that is not authentic must not move the window.
        ahead = bytearray(combination.back.seal(1 << 20, combination.arriving(3)))
        ahead[-1] ^= 1
        frames.append(frame(bytes(ahead)))
        wanted["bad_icv"] += 1
        frames.append(frame(outer))
    summary, outputs = run(bench, frames)
    assert reasons(summary) == wanted
    assert outputs == [c.arriving(3) for c in combinations]


def test_replays_are_counted_by_their_kind(bench):
    combination = plain(window=64)
    configure(bench, [combination])
    order = [100, 99, 37, 36, 100, 101, 38, 37, 5]
    frames = [frame(combination.back.seal(number, combination.arriving(number))) for number in order]
    summary, outputs = run(bench, frames)
    # The window of number 100 begins at 37, that of 101 at 38.
    assert reasons(summary) == {"late": 3, "replayed": 1}
    assert outputs == [combination.arriving(number) for number in (100, 99, 37, 101, 38)]


def test_extended_numbers_go_on_over_the_wrap(bench):
    combination = plain(esn=True)
    configure(bench, [combination])
    start = (1 << 32) - 40
    # A chunk ends between the large steps, because its packets are compared with the number before it.
    between = [frame(ipsec_world.ip_packet("10.99.0.1", "10.99.0.2", 5))] * 64

    def sealed(number):
        return frame(combination.back.seal(number, combination.arriving(number % 50)))

    numbers = [1, 1 << 31, start]
    frames = [each for number in numbers for each in (sealed(number), *between)]
    frames += [sealed(number) for number in range(start + 1, start + 90)] + between + [sealed(start + 60), sealed(start)]
    summary, outputs = run(bench, frames)
    # A number before the window counts as one after the wrap, whose ICV is another (RFC 4303, appendix A2.2).
    assert reasons(summary) == {"replayed": 1, "bad_icv": 1}
    wanted = [combination.arriving(number % 50) for number in [*numbers, *range(start + 1, start + 90)]]
    assert [inner for inner in outputs if frame(inner) != between[0]] == wanted


def test_authentic_garbage_is_dropped_by_name(bench):
    combination = plain()
    configure(bench, [combination])
    sa, inner = combination.back, combination.arriving(20)

    def sealed(number, payload, next_header, **more):
        esp = sa.seal_payload(number, payload, next_header, **more)
        return frame(sa.header(len(esp), esp_codec.ESP) + esp)

    too_long = inner[:2] + struct.pack("!H", len(inner) + 40) + inner[4:]
    frames = [
        sealed(1, inner, 4, padding=b"\x01\x03\x02" + bytes([4] * (-(len(inner) + 5) % 4))),
        sealed(2, inner, 41),
        sealed(3, inner, 17),
        sealed(4, b"", 59),
        sealed(5, too_long, 4),
        sealed(6, inner[:10], 4),
        sealed(7, inner + bytes(50), 4),  # padding for the confidentiality of traffic
        frame(sa.header(30, esp_codec.ESP) + bytes(30)),
        frame(sa.header(12, esp_codec.ESP) + struct.pack("!III", sa.spi, 8, 0)),
    ]
    summary, outputs = run(bench, frames)
    assert reasons(summary) == {"bad_pad": 1, "bad_inner": 4, "dummy": 1, "no_sa": 1, "cut": 1}
    assert outputs == [inner]


def test_policies_apply_in_order(bench):
    combination, other = plain(), plain(1)
    policies = (
        "src 10.0.0.0/24 dst 10.16.0.0/24 proto tcp dir out action block priority 1\n"
        + "src 10.0.0.7/32 dst 10.16.9.0/24 dir out priority 9\n"
        + "src 10.0.0.0/16 dst 10.16.9.0/24 dir out action block priority 10\n"
    )
    configure(bench, [combination, other], policies=policies)
    inside = ipsec_world.ip_packet
    tcp = esp_codec.replaced(inside(combination.near, combination.far, 30), 6, bytes(12) + b"\x50" + bytes(7))
    clear = inside("10.0.0.7", "10.16.9.1", 5)
    frames = [
        frame(combination.leaving(5)),
        frame(tcp),
        frame(clear),
        frame(inside("10.0.5.7", "10.16.9.1", 5)),
        frame(combination.arriving(5)),  # clear, where a policy wants protection
        frame(combination.back.seal(1, other.arriving(5))),  # protected by the SA of other networks
        frame(combination.back.seal(2, combination.arriving(5))),
        frame(inside("10.99.0.1", "10.99.0.2", 5)),  # no policy
    ]
    summary, outputs = run(bench, frames)
    assert reasons(summary) == {"discarded": 2, "policy_mismatch": 2}
    assert combination.out.open(outputs[0])[2] == aged(combination.leaving(5))
    assert outputs[1:] == [clear, combination.arriving(5), inside("10.99.0.1", "10.99.0.2", 5)]


def test_policies_of_an_interface_do_not_select_other_packets(bench):
    """An SA with an `if_id` opens for policies with the same one only. Nothing arrives at the interface here."""
    tunnel, other = plain(), plain(1)
    configure(bench, [tunnel, other])
    states, policies = bench.folder / "sa.txt", bench.folder / "sp.txt"
    states.write_text(states.read_text().replace(" replay-window", " if_id 0x2a replay-window"))
    ours, theirs = (combination.policies().replace(" priority", f" if_id {number} priority") for combination, number in ((tunnel, 42), (other, 43)))
    policies.write_text(ours + theirs)
    frames = [frame(tunnel.leaving(5)), frame(tunnel.back.seal(1, tunnel.arriving(5))), frame(other.back.seal(1, other.arriving(5)))]
    summary, outputs = run(bench, frames)
    assert reasons(summary) == {"policy_mismatch": 1}
    assert outputs == [tunnel.leaving(5), tunnel.arriving(5)]


def test_without_policies_nothing_passes_but_ike(bench):
    combination = plain()
    configure(bench, [])
    (bench.folder / "sa.txt").write_text(combination.states())
    ike = ipsec_world.ip_packet("198.51.100.1", "198.51.100.2", 30)
    ike = ike[:20] + struct.pack("!HH", 500, 500) + ike[24:]
    summary, outputs = run(bench, [frame(combination.leaving(5)), frame(combination.back.seal(1, combination.arriving(5))), frame(ike)])
    assert reasons(summary) == {"no_policy_state": 2} and outputs == [ike]


def test_a_policy_without_an_sa_drops(bench):
    combination = plain()
    configure(bench, [combination])
    (bench.folder / "sa.txt").write_text("")
    summary, outputs = run(bench, [frame(combination.leaving(5))])
    assert reasons(summary) == {"no_outbound_sa": 1} and not outputs


def test_udp_is_told_apart_by_its_marker(bench):
    combination = Combination(0, GCM, "tunnel", False, False, True, False)
    raw = plain(1)
    configure(bench, [combination, raw])
    sa = combination.back
    esp = sa.seal_payload(1, combination.arriving(5), 4)

    def udp(payload, port=4500):
        packet = Sa(0, GCM, sa.source, sa.destination).header(8 + len(payload), 17)
        return frame(packet + struct.pack("!HHHH", 4500, port, 8 + len(payload), 0) + payload)

    frames = [
        udp(b"\xff"),
        udp(bytes(4) + b"an IKE message"),
        udp(b"an IKE message", 500),
        udp(esp[:6]),
        udp(struct.pack("!II", 77, 1) + bytes(40)),
        udp(raw.back.seal_payload(1, raw.arriving(5), 4)),
        frame(sa.header(len(esp), esp_codec.ESP) + esp),
        udp(esp),
    ]
    summary, outputs = run(bench, frames)
    assert reasons(summary) == {"keepalive": 1, "ike": 2, "cut": 1, "no_sa": 1, "wrong_encapsulation": 2}
    assert outputs == [combination.arriving(5)]


def test_no_number_is_used_twice_after_a_restart(bench):
    combinations = [plain(0), plain(1, Suite("ctr", 16, 12, "sha1"))]
    configure(bench, combinations)
    seen = set()
    for _ in range(3):
        frames = [frame(c.leaving(i)) for i in range(5) for c in combinations]
        summary, outputs = run(bench, frames)
        assert reasons(summary) == {}
        for outer, combination in zip(outputs, combinations * 5, strict=True):
            number, iv, _ = combination.out.open(outer)
            assert (combination.number, iv) not in seen and number == int.from_bytes(iv)
            seen.add((combination.number, iv))
    (bench.folder / "marks").unlink()
    summary, outputs = run(bench, [frame(combinations[0].leaving(1))])
    assert reasons(summary) == {"seq_exhausted": 1} and not outputs, "marks that were lost prove nothing"


def test_limits_end_an_sa(bench):
    combination = plain()
    configure(bench, [combination])
    text = (bench.folder / "sa.txt").read_text()
    (bench.folder / "sa.txt").write_text(text.replace("mode tunnel", "mode tunnel limit packet-hard 70"))
    # A limit holds from one chunk to the next; a chunk has 64 packets.
    summary, outputs = run(bench, [frame(combination.leaving(i % 90)) for i in range(400)])
    assert reasons(summary)["expired_hard"] + len(outputs) == 400 and 70 <= len(outputs) < 70 + 64


def test_decrypted_packets_enter_another_tunnel(bench):
    """A hub opens what came from one spoke and seals it for the other."""
    left, right = plain(0), plain(1)
    policies = (
        f"src {left.far}/32 dst {right.far}/32 dir out tmpl src {right.out.source} dst {right.out.destination} proto esp"
        f" reqid {right.out.reqid} mode tunnel\n"
        f"src {left.far}/32 dst {right.far}/32 dir fwd tmpl src {left.back.source} dst {left.back.destination} proto esp"
        f" reqid {left.back.reqid} mode tunnel\n"
    )
    configure(bench, [left, right], policies=policies)
    packets = [ipsec_world.ip_packet(left.far, right.far, i) for i in range(100)]
    summary, outputs = run(bench, [frame(left.back.seal(i + 1, packet)) for i, packet in enumerate(packets)])
    assert reasons(summary) == {}
    assert [right.out.open(outer)[2] for outer in outputs] == [aged(packet) for packet in packets]


def test_long_packets_are_fragmented_before_they_are_sealed(bench):
    """Tunnels of all algorithms, of both families, with and without UDP; and frames that span several buffers."""
    combinations = [c for c in ipsec_world.combinations_by_pairs() if c.mode == "tunnel" and not c.inner_is_ipv6]
    configure(bench, combinations, settings=", mtu: 1400")
    lengths = (1420, 1300, 2000, 3000, 8900)
    sent = [(c, c.leaving(length, identification=length)) for length in lengths for c in combinations]
    summary, outputs = run(bench, [frame(packet) for _, packet in sent])
    assert reasons(summary) == {}
    by_spi, opened = {c.out.spi: c for c in combinations}, {}
    for outer in outputs:
        assert len(outer) <= 1400
        esp = outer[40 if outer[0] >> 4 == 6 else 20 :]
        combination = by_spi.get(int.from_bytes(esp[:4])) or by_spi[int.from_bytes(esp[8:12])]
        opened.setdefault(combination.number, []).append(combination.out.open(outer)[2])
    for combination in combinations:
        found = ipsec_world.joined(opened[combination.number])
        assert sorted(found, key=len) == sorted((aged(packet) for c, packet in sent if c is combination), key=len), combination
    assert summary.json["absorbed"] == len(sent) and summary.json["created"] == len(outputs)


def test_a_fragment_is_fragmented_again_before_it_is_sealed(bench):
    combination = plain()
    configure(bench, [combination], settings=", mtu: 1280")
    whole = combination.leaving(4000)
    pieces = [bytes(piece) for piece in fragment(IP(whole), 1400)]
    summary, outputs = run(bench, [frame(piece) for piece in pieces])
    assert reasons(summary) == {} and len(outputs) > len(pieces)
    assert ipsec_world.joined([combination.out.open(outer)[2] for outer in outputs]) == [aged(whole)]


def test_no_fragment_of_a_dropped_packet_stays(bench):
    """The sequence numbers end within the second fragments."""
    combination = plain()
    configure(bench, [combination], settings=", mtu: 1280")
    text = (bench.folder / "sa.txt").read_text()
    (bench.folder / "sa.txt").write_text(text.replace("mode tunnel", "mode tunnel replay-oseq 0xfffffff0", 1))
    packets = [combination.leaving(8000, identification=i) for i in range(10)]
    summary, outputs = run(bench, [frame(packet) for packet in packets])
    assert reasons(summary) == {"seq_exhausted": 10} and len(outputs) == 15
    assert [combination.out.open(outer)[0] for outer in outputs] == list(range(0xFFFFFFF1, 1 << 32))
    assert summary.json["created"] == 15


def test_long_packets_are_fragmented_after_they_are_sealed_or_refused(bench):
    combination = plain()
    configure(bench, [combination], settings=", mtu: 1400, fragment: after")
    short, long = combination.leaving(1300), combination.leaving(1420)
    frames = [frame(short), frame(long), frame(combination.leaving(1420, flags=0x4000))]
    summary, outputs = run(bench, frames)
    assert reasons(summary) == {"packet_too_big": 1}
    told = [outer for outer in outputs if outer[9] == 1]
    assert [IP(each)[ICMP].nexthopmtu for each in told] == [1346] and esp_codec.checksum(told[0][20:]) == 0
    assert told[0][12:20] == ipaddress.ip_address(ipsec_world.OWN).packed + long[12:16] and told[0][28:48] == frames[2][14:34]
    outputs = [outer for outer in outputs if outer[9] != 1]
    assert all(len(outer) <= 1400 for outer in outputs) and len(outputs) == 3
    sealed = [outer for outer in outputs if not struct.unpack("!H", outer[6:8])[0]]
    assert combination.out.open(sealed[0])[2] == aged(short)
    pieces = sorted((struct.unpack("!H", outer[6:8])[0] & 0x1FFF, outer[20:]) for outer in outputs if outer not in sealed)
    whole = esp_codec.replaced(outputs[-1][:6] + b"\0\0" + outputs[-1][8:20], esp_codec.ESP, b"".join(p for _, p in pieces))
    assert combination.out.open(whole)[2] == aged(long)


def test_an_ipv6_source_is_told_of_the_mtu(bench):
    combination = Combination(0, GCM, "tunnel", False, True, False, False)
    configure(bench, [combination])
    summary, outputs = run(bench, [frame(combination.leaving(1420)), frame(combination.leaving(1200))])
    assert reasons(summary) == {"packet_too_big": 1}
    told, sealed = sorted(outputs, key=lambda outer: outer[0] >> 4, reverse=True)
    error = IPv6(told)
    assert error[ICMPv6PacketTooBig].mtu == 1446 and error.src == ipsec_world.OWN6
    assert ipaddress.ip_address(error.dst) == ipaddress.ip_address(combination.near)
    pseudo = told[8:40] + struct.pack("!II", len(told) - 40, 58)
    assert esp_codec.checksum(pseudo + told[40:]) == 0 and len(told) <= 1280
    assert combination.out.open(sealed)[2] == aged(combination.leaving(1200))


def test_two_workers_share_an_sa(bench):
    combination = plain(window=1024)
    ports = [{**ipsec_world.PORTS[0], "device": f"pcap:{name}.pcap", "name": name} for name in ("one", "two")]
    ports[1]["addresses"] = ["198.51.100.1/24"]
    configure(bench, [combination], ports=ports, workers=2)
    for name in ("one", "two"):
        frames = [combination.leaving(i % 100) for i in range(500)] + [
            combination.back.seal(i + 1, combination.arriving(i % 90)) for i in range(500)
        ]
        write_pcap(bench.folder / f"{name}.pcap", frames_of(map(frame, frames)))
    summary = bench.run()
    outputs = [echoed(data) for port in bench.outputs().values() for data in port]
    # Each inbound number comes twice, and is accepted once.
    counted = reasons(summary)
    assert counted.pop("replayed", 0) + counted.pop("late", 0) == 500 and not counted
    sealed = [outer for outer in outputs if outer[9] == esp_codec.ESP]
    assert len(sealed) == 1000 and len(outputs) == 1500
    assert sorted(combination.out.open(outer)[0] for outer in sealed) == list(range(1, 1001))


def test_random_packets_never_leave_in_clear(bench):
    """Damaged packets between protected networks are sealed or dropped, but never passed on."""
    combination = plain()
    configure(bench, [combination])
    generator = random.Random(4)
    frames = []
    for i in range(4000):
        data = bytearray(frame(combination.leaving(i % 200)))
        for _ in range(generator.randrange(4)):
            # The addresses stay, so that a policy always applies.
            at = generator.choice([*range(14, 26), *range(34, len(data))])
            data[at] = generator.randrange(256)
        frames.append(bytes(data[: generator.randrange(14, len(data) + 1)] if generator.random() < 0.2 else data))
    _, outputs = run(bench, frames)
    assert outputs
    for outer in outputs:
        assert outer[9] == esp_codec.ESP and combination.out.open(outer)[2][16:20] == bytes([10, 16, 0, 7])
