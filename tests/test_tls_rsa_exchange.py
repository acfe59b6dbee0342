# SPDX-License-Identifier: Apache-2.0
"""Tests key exchange by RSA (TLS 1.2, RFC 5246, section 7.4.7.1) with HAProxy and the provider. The client is tlslite-ng.
Bleichenbacher's attack needs a server that answers a wrong padding differently from a wrong secret."""

import contextlib
import os
import socket

import pytest

import conftest
from test_tls import counters, folder, haproxy  # noqa: F401 - fixtures

tlslite = pytest.importorskip("tlslite.api")
errors = pytest.importorskip("tlslite.errors")
keyexchange = pytest.importorskip("tlslite.keyexchange")

pytestmark = [pytest.mark.release_only, pytest.mark.peers]
FATAL, BAD_RECORD_MAC = 2, 20
VERSION = b"\3\3"
SECRET_BYTES, KEY_BYTES = 48, 256


def padding(count):
    """Returns bytes that are not zero."""
    return bytes(each % 255 + 1 for each in os.urandom(count))


def block(secret, begin=b"\0\2", separator=b"\0"):
    """Returns `secret` in EME-PKCS1-v1_5 (RFC 8017, section 7.2.1), or with a wrong part of it."""
    return begin + padding(KEY_BYTES - len(begin) - len(separator) - len(secret)) + separator + secret


def with_zero(at):
    """Returns a right block with a zero in its padding."""
    whole = bytearray(block(VERSION + os.urandom(46)))
    whole[at] = 0
    return bytes(whole)


#: The blocks that the client enciphers. The server must go on with a secret of its own, and then refuse `Finished`.
WRONG = {
    "another secret": lambda: block(VERSION + os.urandom(46)),
    "version 3.2": lambda: block(b"\3\2" + os.urandom(46)),
    "version 2.3": lambda: block(b"\2\3" + os.urandom(46)),
    "first byte 1": lambda: block(VERSION + os.urandom(46), begin=b"\1\2"),
    "type 1": lambda: block(VERSION + os.urandom(46), begin=b"\0\1"),
    "type 3": lambda: block(VERSION + os.urandom(46), begin=b"\0\3"),
    "no separator": lambda: block(VERSION + padding(46), separator=b"\1"),
    "separator at byte 2": lambda: with_zero(2),
    "separator at byte 9": lambda: with_zero(9),
    "separator at byte 10": lambda: with_zero(10),
    "separator before the last byte": lambda: with_zero(KEY_BYTES - SECRET_BYTES - 2),
    "short secret": lambda: block(VERSION + os.urandom(45)),
    "long secret": lambda: block(VERSION + os.urandom(47)),
    "empty secret": lambda: block(b""),
    "all zero": lambda: bytes(KEY_BYTES),
    "one": lambda: bytes(KEY_BYTES - 1) + b"\1",
    "any bytes": lambda: b"\0" + os.urandom(KEY_BYTES - 1),
}


class Exchange(keyexchange.RSAKeyExchange):
    """The client's side, which enciphers the bytes of `blocks` in place of its secret."""

    blocks = None

    def processServerKeyExchange(self, srvPublicKey, serverKeyExchange):  # noqa: N802, N803 - names of tlslite-ng
        secret = super().processServerKeyExchange(srvPublicKey, serverKeyExchange)
        if Exchange.blocks is not None:
            assert len(Exchange.blocks) == KEY_BYTES
            self.encPremasterSecret = srvPublicKey._raw_public_key_op_bytes(bytearray(Exchange.blocks))
        return secret


def settings(cipher, mac):
    wanted = tlslite.HandshakeSettings()
    wanted.minVersion = wanted.maxVersion = (3, 3)
    wanted.keyExchangeNames, wanted.cipherNames, wanted.macNames = ["rsa"], [cipher], [mac]
    return wanted


def exchange(server, cipher, mac, enciphered=None):
    """Does a handshake and a request. Returns the answer, or the server's alert."""
    Exchange.blocks = enciphered
    with socket.create_connection(("127.0.0.1", server.port), timeout=conftest.PATIENCE) as plain:
        client = tlslite.TLSConnection(plain)
        try:
            client.handshakeClientCert(settings=settings(cipher, mac))
        except errors.TLSRemoteAlert as alert:
            return alert.level, alert.description
        client.sendall(b"GET / HTTP/1.0\r\n\r\n")
        answer = b""
        with contextlib.suppress(errors.TLSAbruptCloseError):
            while part := client.recv(4096):
                answer += part
        return bytes(answer)


@pytest.fixture
def patched(monkeypatch):
    monkeypatch.setattr("tlslite.tlsconnection.RSAKeyExchange", Exchange)


@pytest.mark.parametrize("options", [(), ("--plain",)], ids=["provider", "plain"])
@pytest.mark.parametrize(("cipher", "mac"), [("aes256", "sha"), ("aes128", "sha"), ("aes128", "sha256")])
def test_wrong_secrets_look_alike(folder, haproxy, patched, cipher, mac, options):  # noqa: F811
    """One alert answers every wrong block, with the provider and without it. OpenSSL's own code decrypts, and removes the
    padding in constant time."""
    with haproxy("rsa:2048", *options) as server:
        assert exchange(server, cipher, mac).endswith(b"Penumbra")
        answers = {name: exchange(server, cipher, mac, make()) for name, make in WRONG.items()}
        assert exchange(server, cipher, mac).endswith(b"Penumbra")
    assert answers == dict.fromkeys(WRONG, (FATAL, BAD_RECORD_MAC))
    sums, _ = counters(folder / "haproxy")
    assert sums.get("taken", 0) <= 1  # of the connection that waits until HAProxy listens


def test_a_public_mistake_is_told_apart(folder, haproxy, monkeypatch):  # noqa: F811
    """Shows that the test above can fail: anyone sees that a ciphertext is no number below the modulus."""

    class Large(Exchange):
        def processServerKeyExchange(self, srvPublicKey, serverKeyExchange):  # noqa: N802, N803
            secret = super().processServerKeyExchange(srvPublicKey, serverKeyExchange)
            self.encPremasterSecret = bytearray(b"\xff" * KEY_BYTES)
            return secret

    monkeypatch.setattr("tlslite.tlsconnection.RSAKeyExchange", Large)
    with haproxy("rsa:2048") as server:
        assert exchange(server, "aes128", "sha")[1] != BAD_RECORD_MAC
