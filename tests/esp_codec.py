# SPDX-License-Identifier: Apache-2.0
"""Seals and opens ESP packets (RFC 4303), apart from the code under test. The ciphers are those of pycryptodomex."""

import dataclasses
import hashlib
import hmac as hmac_of_python
import ipaddress
import struct

from Cryptodome.Cipher import AES, ChaCha20_Poly1305
from Cryptodome.Util import Counter

ESP, UDP = 50, 17


class Wrong(Exception):
    """Reports a packet that is not what its sender should have made."""


@dataclasses.dataclass(frozen=True)
class Suite:
    """An algorithm as `ip xfrm` names it. `cipher` is gcm, gmac, chacha, cbc, ctr or null."""

    cipher: str
    key_bytes: int = 0  #: without the salt
    tag_bytes: int = 16
    digest: str = ""  #: as hashlib names it; empty for an AEAD

    def __str__(self):
        return f"{self.cipher}{8 * self.key_bytes}{self.digest and '-' + self.digest}-{8 * self.tag_bytes}"

    @property
    def iv_bytes(self):
        return {"null": 0, "cbc": 16}.get(self.cipher, 8)

    @property
    def salt_bytes(self):
        return 0 if self.cipher in ("cbc", "null") else 4

    @property
    def alignment(self):
        return 16 if self.cipher == "cbc" else 4

    def text(self, key, digest_key):
        """Returns the words of `ip xfrm state`."""
        names = {"gcm": "rfc4106(gcm(aes))", "gmac": "rfc4543(gcm(aes))", "chacha": "rfc7539esp(chacha20,poly1305)"}
        if self.cipher in names:
            return f"aead '{names[self.cipher]}' 0x{key.hex()} {8 * self.tag_bytes}"
        name = {"cbc": "cbc(aes)", "ctr": "rfc3686(ctr(aes))", "null": "ecb(cipher_null)"}[self.cipher]
        secret = f"0x{key.hex()}" if key else "''"
        return f"enc '{name}' {secret} auth-trunc 'hmac({self.digest})' 0x{digest_key.hex()} {8 * self.tag_bytes}"


SUITES = [
    *(Suite("gcm", key, tag) for key, tag in ((16, 16), (32, 16), (16, 8), (32, 12))),
    *(Suite("gmac", key) for key in (16, 32)),
    Suite("chacha", 32),
    *(
        Suite(cipher, key, tag, digest)
        for cipher, key in (("cbc", 16), ("cbc", 32), ("ctr", 16), ("ctr", 32), ("null", 0))
        for digest, tag in (("sha1", 12), ("sha256", 16), ("sha384", 24), ("sha512", 32))
    ),
]


@dataclasses.dataclass
class Sa:
    spi: int
    suite: Suite
    source: str
    destination: str
    mode: str = "tunnel"
    esn: bool = False
    ports: tuple[int, int] | None = None  #: of UDP
    reqid: int = 1
    window: int = 64
    flags: str = ""
    key: bytes = b""
    digest_key: bytes = b""

    def __post_init__(self):
        # Each SA has keys of its own, because two SAs with one key share their sequence numbers.
        secret = hashlib.sha512(b"%d" % self.spi).digest()
        self.key = self.key or secret[: self.suite.key_bytes + self.suite.salt_bytes]
        self.digest_key = self.digest_key or secret[32:]

    def text(self):
        """Returns the SA in the syntax of `ip xfrm state`."""
        flags = " ".join(filter(None, ["esn" if self.esn else "", self.flags]))
        encapsulation = f" encap espinudp {self.ports[0]} {self.ports[1]} 0.0.0.0" if self.ports else ""
        return (
            f"src {self.source} dst {self.destination} proto esp spi {self.spi:#x} reqid {self.reqid} mode {self.mode}"
            f" replay-window {self.window}{f' flag {flags}' if flags else ''}"
            f" {self.suite.text(self.key, self.digest_key)}{encapsulation}\n"
        )

    def _authentic(self, number, iv):
        numbers = struct.pack("!Q", number) if self.esn else struct.pack("!I", number)
        return struct.pack("!I", self.spi) + numbers + (iv if self.suite.cipher == "gmac" else b"")

    def _crypt(self, number, iv, text, tag):
        """Returns ciphertext and tag of a plaintext, or with `tag` the plaintext of a ciphertext."""
        suite, secret, salt = self.suite, self.key[: self.suite.key_bytes], self.key[self.suite.key_bytes :]
        if suite.digest:
            if suite.cipher == "cbc":
                cipher = AES.new(secret, AES.MODE_CBC, iv)
            elif suite.cipher == "ctr":
                cipher = AES.new(secret, AES.MODE_CTR, counter=Counter.new(32, prefix=salt + iv, initial_value=1))
            sealed = text if suite.cipher == "null" or tag is not None else cipher.encrypt(text)
            head = struct.pack("!II", self.spi, number & 0xFFFFFFFF) + iv
            trailer = struct.pack("!I", number >> 32) if self.esn else b""
            own = hmac_of_python.digest(self.digest_key, head + sealed + trailer, suite.digest)[: suite.tag_bytes]
            if tag is None:
                return sealed, own
            if own != tag:
                raise Wrong("ICV")
            return text if suite.cipher == "null" else cipher.decrypt(text)
        if suite.cipher == "chacha":
            cipher = ChaCha20_Poly1305.new(key=secret, nonce=salt + iv)
        else:
            cipher = AES.new(secret, AES.MODE_GCM, nonce=salt + iv, mac_len=suite.tag_bytes)
        cipher.update(self._authentic(number, iv))
        if suite.cipher == "gmac":
            cipher.update(text)
            if tag is None:
                return text, cipher.digest()
            try:
                cipher.verify(tag)
            except ValueError as error:
                raise Wrong("ICV") from error
            return text
        if tag is None:
            return cipher.encrypt_and_digest(text)
        try:
            return cipher.decrypt_and_verify(text, tag)
        except ValueError as error:
            raise Wrong("ICV") from error

    def seal_payload(self, number, payload, next_header, *, padding=None, iv=None):
        """Returns the ESP packet of a payload."""
        need = -(len(payload) + 2) % self.suite.alignment
        padding = bytes(range(1, need + 1)) if padding is None else padding
        text = payload + padding + bytes([len(padding), next_header])
        if iv is None:
            iv = bytes((number * 11 + i) % 256 for i in range(16)) if self.suite.cipher == "cbc" else struct.pack("!Q", number)
            iv = iv[: self.suite.iv_bytes]
        sealed, tag = self._crypt(number, iv, text, None)
        return struct.pack("!II", self.spi, number & 0xFFFFFFFF) + iv + sealed + tag

    def open_payload(self, esp, high=0):
        """Returns (sequence number, IV, payload, next header). Checks everything that a sender must do."""
        spi, low = struct.unpack("!II", esp[:8])
        if spi != self.spi:
            raise Wrong(f"SPI {spi:#x}")
        number = high << 32 | low
        iv, sealed = esp[8 : 8 + self.suite.iv_bytes], esp[8 + self.suite.iv_bytes : -self.suite.tag_bytes]
        tag = esp[-self.suite.tag_bytes :]
        text = self._crypt(number, iv, sealed, tag)
        if len(sealed) % self.suite.alignment:
            raise Wrong("alignment")
        padding = text[-2]
        if text[-2 - padding : -2] != bytes(range(1, padding + 1)):
            raise Wrong("padding")
        return number, iv, text[: -2 - padding], text[-1]

    @property
    def is_ipv6(self):
        return ":" in self.source

    def header(self, payload_bytes, protocol, *, ttl=64, traffic=0, flags=0, identification=7):
        """Returns the outer IP header."""
        ends = ipaddress.ip_address(self.source).packed + ipaddress.ip_address(self.destination).packed
        if self.is_ipv6:
            return struct.pack("!IHBB", 6 << 28 | traffic << 20, payload_bytes, protocol, ttl) + ends
        header = struct.pack("!BBHHHBBH", 0x45, traffic, 20 + payload_bytes, identification, flags, ttl, protocol, 0) + ends
        return header[:10] + struct.pack("!H", checksum(header)) + header[12:]

    def seal(self, number, inner, *, next_header=None, **fields):
        """Returns the IP packet of the tunnel around an IP packet, or in transport mode around its payload."""
        if self.mode == "tunnel":
            payload, protocol = inner, (41 if inner[0] >> 4 == 6 else 4)
        else:
            payload, protocol = (inner[40:], inner[6]) if self.is_ipv6 else (inner[20:], inner[9])
        esp = self.seal_payload(number, payload, protocol if next_header is None else next_header)
        if self.ports:
            esp = self.udp(esp)
        if self.mode == "tunnel":
            return self.header(len(esp), UDP if self.ports else ESP, **fields) + esp
        return replaced(inner, UDP if self.ports else ESP, esp)

    def udp(self, esp):
        header = struct.pack("!HHHH", *self.ports, 8 + len(esp), 0)
        if self.is_ipv6:
            ends = ipaddress.ip_address(self.source).packed + ipaddress.ip_address(self.destination).packed
            sum_of = checksum(ends + struct.pack("!II", 8 + len(esp), UDP) + header + esp) or 0xFFFF
            header = header[:6] + struct.pack("!H", sum_of)
        return header + esp

    def open(self, outer, high=0):
        """Returns (sequence number, IV, inner IP packet)."""
        header, protocol = (40, outer[6]) if self.is_ipv6 else (20, outer[9])
        esp = outer[header:]
        if protocol != (UDP if self.ports else ESP):
            raise Wrong(f"protocol {protocol}")
        if not self.is_ipv6 and checksum(outer[:20]):
            raise Wrong("checksum of the outer header")
        if self.ports:
            source, destination, length, sum_of = struct.unpack("!HHHH", esp[:8])
            if (source, destination) != self.ports or length != len(esp):
                raise Wrong("UDP header")
            if self.is_ipv6 and checksum(outer[8:40] + struct.pack("!II", length, UDP) + esp):
                raise Wrong("UDP checksum")
            if not self.is_ipv6 and sum_of:
                raise Wrong("UDP checksum over IPv4")
            esp = esp[8:]
        number, iv, payload, next_header = self.open_payload(esp, high)
        if self.mode == "tunnel":
            if next_header != (41 if payload[0] >> 4 == 6 else 4):
                raise Wrong(f"next header {next_header}")
            return number, iv, payload
        return number, iv, replaced(outer[:header], next_header, payload)


def checksum(data):
    """Returns the Internet checksum (RFC 1071); 0 for data with a right one."""
    total = sum(struct.unpack(f"!{len(data) // 2}H", data[: len(data) // 2 * 2])) + (data[-1] << 8 if len(data) % 2 else 0)
    while total > 0xFFFF:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def replaced(packet, protocol, payload):
    """Returns an IP packet without options with another payload."""
    if packet[0] >> 4 == 6:
        return packet[:4] + struct.pack("!HB", len(payload), protocol) + packet[7:40] + payload
    header = bytearray(packet[:20])
    header[2:4] = struct.pack("!H", 20 + len(payload))
    header[9] = protocol
    header[10:12] = b"\0\0"
    header[10:12] = struct.pack("!H", checksum(bytes(header)))
    return bytes(header) + payload
