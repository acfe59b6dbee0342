# SPDX-License-Identifier: Apache-2.0
"""Runs DPDK's example ipsec-secgw between captures: port 0 is the protected side, and port 1 is the side of ESP."""

import os
import pathlib
import re
import signal
import subprocess

import captures
import conftest
from ipsec_world import OWN, OWN6

PROGRAM = pathlib.Path(os.environ.get("PENUMBRA_SECGW", conftest.ROOT / "build" / "secgw")) / "ipsec-secgw"

#: A cipher by the number of bits of its key, and the bytes of the key of a digest.
CIPHERS = {"cbc": "aes-{}-cbc", "ctr": "aes-{}-ctr", "null": "null"}
DIGEST_KEYS = {"sha1": 20, "sha256": 32, "sha384": 48, "sha512": 64}
#: The networks of Combination: those of the gateway that is tested, and those of ipsec-secgw.
NEAR, NEAR6, FAR, FAR6 = "10.0.0.0/12", "fd00:0::/32", "10.16.0.0/12", "fd00:1::/32"


def lack_of_secgw(combination):
    """Returns what ipsec-secgw cannot do of a combination, or None."""
    suite = combination.out.suite
    if suite.cipher == "gcm" and suite.tag_bytes != 16:
        return "an ICV of AES-GCM that is not 16 bytes long"
    if suite.cipher == "gmac" and suite.key_bytes != 16:
        return "AES-256-GMAC"
    if suite.cipher == "gmac" and combination.out.esn:
        return "GMAC with ESN: it drops what it should open"
    if combination.out.ports:
        return "UDP encapsulation without a card that does it"
    return None


def fit_keys(combination):
    """Gives an SA a digest key of the only length that ipsec-secgw takes."""
    for sa in (combination.out, combination.back):
        if sa.suite.digest:
            sa.digest_key = (sa.digest_key + bytes(64))[: DIGEST_KEYS[sa.suite.digest]]


def _hex(data):
    return ":".join(f"{byte:02x}" for byte in data)


def _sa(direction, sa):
    suite, bits = sa.suite, 8 * sa.suite.key_bytes
    if suite.cipher == "gcm":
        algorithm = f"aead_algo aes-{bits}-gcm aead_key {_hex(sa.key)}"
    elif suite.cipher == "gmac":
        algorithm = f"cipher_algo null auth_algo aes-gmac auth_key {_hex(sa.key)}"
    elif suite.cipher == "chacha":
        algorithm = f"aead_algo chacha20-poly1305 aead_key {_hex(sa.key)}"
    else:
        key = f"cipher_key {_hex(sa.key)} " if sa.key else ""
        algorithm = f"cipher_algo {CIPHERS[suite.cipher].format(bits)} {key}auth_algo {suite.digest}-hmac auth_key {_hex(sa.digest_key)}"
    mode = "transport" if sa.mode == "transport" else f"{'ipv6' if sa.is_ipv6 else 'ipv4'}-tunnel src {sa.source} dst {sa.destination}"
    return f"sa {direction} {sa.spi} {algorithm} mode {mode}\n"


def _policy(direction, sa, source, destination, is_ipv6):
    bits = 128 if is_ipv6 else 32
    return (
        f"sp {'ipv6' if is_ipv6 else 'ipv4'} {direction} esp protect {sa.spi} pri 1 src {source}/{bits} dst {destination}/{bits}"
        " sport 0:65535 dport 0:65535\n"
    )


def _configuration(combinations):
    """Returns the peer's view: what the gateway seals arrives."""
    text = f"rt ipv4 dst {OWN}/32 port 1\nrt ipv6 dst {OWN6}/128 port 1\n"
    for near, far, family in ((NEAR, FAR, "ipv4"), (NEAR6, FAR6, "ipv6")):
        text += f"rt {family} dst {near} port 1\nrt {family} dst {far} port 0\n"
    for port in (0, 1):
        text += f"neigh port {port} 02:00:00:00:00:1{port}\n"
    for c in combinations:
        text += _sa("in", c.out) + _sa("out", c.back)
        text += _policy("in", c.out, c.near, c.far, c.inner_is_ipv6) + _policy("out", c.back, c.far, c.near, c.inner_is_ipv6)
    return text


def forward(folder, combinations, *, arriving, count):
    """Gives the capture secgw_in.pcap to port `arriving` (0 or 1) and waits until `count` packets were forwarded. Returns the
    capture of the other port. The SAs have ESN, or none of them."""
    (folder / "secgw.cfg").write_text(_configuration(combinations))
    captures.write_pcap(folder / "nothing.pcap", b"")
    ports = []
    for port in (0, 1):
        source = folder / ("secgw_in.pcap" if port == arriving else "nothing.pcap")
        ports += ["--vdev", f"net_pcap{port},rx_pcap={source},tx_pcap={folder}/secgw_out{port}.pcap"]
    eal = ["-l", "0", "--no-huge", "--no-pci", "--no-telemetry", "--no-shconf", "-m", "1024", *ports]
    options = ["-p", "3", "-P", "-u", "2", "--config", "(0,0,0),(1,0,0)", "-l", "-w", "64", "-t", "1"]
    options += ["--rxoffload", "0", "--txoffload", "0", *(["-e"] if combinations[0].out.esn else [])]
    command = [PROGRAM, *eal, "--vdev", "crypto_aesni_mb0", "--", *options, "-f", folder / "secgw.cfg"]
    log = folder / "secgw.log"
    with log.open("w") as output:
        process = subprocess.Popen(["stdbuf", "-oL", *map(str, command)], stdout=output, stderr=output)

    def forwarded():
        assert process.poll() is None, log.read_text()[-2000:]
        sent = re.findall(r"Total packets sent: +(\d+)", log.read_text())
        return sent and int(sent[-1]) >= count

    try:
        conftest.wait_until(f"{count} packets", forwarded)
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(conftest.PATIENCE)
    return folder / f"secgw_out{1 - arriving}.pcap"
