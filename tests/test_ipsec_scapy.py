# SPDX-License-Identifier: Apache-2.0
"""Scapy's IPsec layer is the peer of `ipsec`, packet by packet: each algorithm meets each mode, family, encapsulation and
kind of sequence number. The ciphers are those of OpenSSL, by the package cryptography."""

from collections import Counter

import pytest

pytest.importorskip("cryptography")

from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.ipsec import ESP, IPSecIntegrityError, SecurityAssociation

import ipsec_world
from captures import frames_of, write_pcap
from ipsec_world import Combination, aged, configure, echoed, frame, reasons

CIPHERS = {
    "gcm": "AES-GCM",
    "gmac": "AES-NULL-GMAC",
    "chacha": "CHACHA20-POLY1305",
    "cbc": "AES-CBC",
    "ctr": "AES-CTR",
    "null": "NULL",
}
DIGESTS = {"sha1": "HMAC-SHA1-96", "sha256": "SHA2-256-128", "sha384": "SHA2-384-192", "sha512": "SHA2-512-256"}
LENGTHS = (0, 1, 2, 3, 90)


def lack_of_scapy(combination):
    """Returns what scapy cannot do of a combination, or None."""
    suite = combination.out.suite
    if suite.cipher == "gcm" and suite.tag_bytes != 16:
        return "an ICV of AES-GCM that is not 16 bytes long (secdev/scapy#4903)"
    return None


def association(sa):
    tunnel = (IPv6 if sa.is_ipv6 else IP)(src=sa.source, dst=sa.destination) if sa.mode == "tunnel" else None
    return SecurityAssociation(
        ESP,
        sa.spi,
        crypt_algo=CIPHERS[sa.suite.cipher],
        crypt_key=sa.key or None,
        auth_algo=DIGESTS.get(sa.suite.digest),
        auth_key=sa.digest_key if sa.suite.digest else None,
        tunnel_header=tunnel,
        nat_t_header=UDP(sport=sa.ports[0], dport=sa.ports[1]) if sa.ports else None,
        esn_en=sa.esn,
    )


def layer(packet):
    return (IPv6 if packet[0] >> 4 == 6 else IP)(packet)


@pytest.fixture(scope="module")
def combinations():
    """Returns what scapy can do. The rest must be what is known, and no more."""
    found = ipsec_world.combinations_by_pairs()
    lacks = Counter(filter(None, map(lack_of_scapy, found)))
    able = [combination for combination in found if lack_of_scapy(combination) is None]
    print(f"{len(able)} combinations; without {dict(lacks)}")
    assert len(able) > 190 and len(lacks) == 1
    return able


def test_scapy_opens_what_the_gateway_seals(bench, combinations: list[Combination]):
    configure(bench, combinations)
    sent = [(c, c.leaving(length)) for length in LENGTHS for c in combinations]
    write_pcap(bench.folder / "in.pcap", frames_of(frame(packet) for _, packet in sent))
    summary = bench.run()
    outputs = [echoed(data) for data in bench.outputs()["wan"]]
    assert reasons(summary) == {} and len(outputs) == len(sent)
    for (combination, packet), outer in zip(sent, outputs, strict=True):
        wanted = aged(packet) if combination.mode == "tunnel" else packet
        assert bytes(association(combination.out).decrypt(layer(outer))) == wanted, combination
    # Scapy does verify: one bit of each ICV is wrong.
    for combination, outer in zip(combinations, outputs):
        flipped = outer[:-1] + bytes([outer[-1] ^ 1])
        with pytest.raises(IPSecIntegrityError):
            association(combination.out).decrypt(layer(flipped))


def test_the_gateway_opens_what_scapy_seals(bench, combinations: list[Combination]):
    configure(bench, combinations)
    sent = [(c, c.arriving(length), number) for number, length in enumerate(LENGTHS, 1) for c in combinations]
    frames = []
    for combination, packet, number in sent:
        # The IV of counter modes is random here. A receiver takes any.
        frames.append(frame(bytes(association(combination.back).encrypt(layer(packet), seq_num=number))))
    write_pcap(bench.folder / "in.pcap", frames_of(frames))
    summary = bench.run()
    outputs = [echoed(data) for data in bench.outputs()["wan"]]
    assert reasons(summary) == {} and len(outputs) == len(sent)
    for (combination, packet, _), inner in zip(sent, outputs, strict=True):
        assert inner == packet, combination
