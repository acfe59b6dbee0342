# SPDX-License-Identifier: Apache-2.0
"""Tests the provider with certificates of several kinds and sizes of keys: chains, certificates of clients, elliptic
curves next to RSA, and both orders of providers (openssl#21500, pkcs11-provider#769)."""

import ssl
from pathlib import Path

import pytest

from openssl_provider import MODULE, configuration
from test_tls import Haproxy, folder, needs_haproxy, needs_ifma, openssl, settled_counters  # noqa: F401 - a fixture

pytestmark = [pytest.mark.release_only, pytest.mark.peers]
HUGE = Path(__file__).with_name("rsa_keys") / "8192.pem"
P256 = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256")
CLIENTS = {"small": ("-newkey", "rsa:2048"), "large": ("-newkey", "rsa:4096"), "curve": P256, "huge": ("-key", HUGE)}
ORDERS = {
    "default first": {"order": ("default", "penumbra")},
    "penumbra first": {"order": ("penumbra", "default")},
    "default first, penumbra preferred": {"order": ("default", "penumbra"), "properties": "?provider=penumbra"},
    "penumbra first, penumbra preferred": {"order": ("penumbra", "default"), "properties": "?provider=penumbra"},
    "penumbra first, default preferred": {"order": ("penumbra", "default"), "properties": "?provider=default"},
}


class Authority:
    """A root of 4096 bits, and below it an authority of 8192 bits that issues certificates. The provider makes them."""

    def __init__(self, folder):  # noqa: F811
        self.folder = folder
        (folder / "openssl.cnf").write_text(configuration(properties="?provider=penumbra"))
        self.issue("root", "-newkey", "rsa:4096", issuer=None, constraint="critical,CA:TRUE")
        self.issue("middle", "-key", HUGE, issuer="root", constraint="critical,CA:TRUE")

    def path(self, name):
        return self.folder / name

    def issue(self, name, *key, issuer="middle", constraint="CA:FALSE"):
        """Makes NAME.key and NAME.pem. `key` are words of `openssl req`."""
        if key[0] == "-key":
            self.path(f"{name}.key").write_text(HUGE.read_text())
        else:
            key = (*key, "-nodes", "-keyout", f"{name}.key")
        subject = f"/CN={'localhost' if name.startswith('server') else name}"
        request = ["req", "-new", *key, "-subj", subject, "-addext", f"basicConstraints={constraint}"]
        if issuer is None:
            openssl(self.folder, *request, "-x509", "-out", f"{name}.pem")
            return
        openssl(self.folder, *request, "-out", f"{name}.csr")
        of_issuer = ["-CA", f"{issuer}.pem", "-CAkey", f"{issuer}.key", "-CAcreateserial", "-copy_extensions", "copy"]
        openssl(self.folder, "x509", "-req", "-in", f"{name}.csr", *of_issuer, "-out", f"{name}.pem")

    def bundle(self, name):
        """Returns a file with a certificate, its key and the authority of 8192 bits, as HAProxy wants them."""
        file = self.path(f"{name}.bundle")
        file.write_text("".join(self.path(each).read_text() for each in (f"{name}.pem", f"{name}.key", "middle.pem")))
        return file

    def context(self, client=None, cipher=None):
        context = ssl.create_default_context(cafile=self.path("root.pem"))
        if client:
            context.load_cert_chain(self.bundle(client))
        if cipher:
            context.maximum_version = ssl.TLSVersion.TLSv1_2
            context.set_ciphers(cipher)
        return context


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    if not MODULE.exists():
        pytest.skip("the provider is not built")
    made = Authority(tmp_path_factory.mktemp("authority"))
    made.issue("server-rsa", "-newkey", "rsa:2048")
    made.issue("server-ec", *P256)
    return made


def change_bind(text, words):
    """Adds words to the line of HAProxy's socket."""
    return text.replace(" ssl crt ", f" ssl {words} crt ")


@pytest.mark.parametrize("order", ORDERS.values(), ids=ORDERS)
def test_chains_are_verified_in_both_orders(folder, authority, order):  # noqa: F811
    (folder / "openssl.cnf").write_text(configuration(**order))
    (folder / "message").write_text("hello")
    root, middle = authority.path("root.pem"), authority.path("middle.pem")
    for name in ("server-rsa", "server-ec"):
        assert "OK" in openssl(folder, "verify", "-CAfile", root, "-untrusted", middle, authority.path(f"{name}.pem"))
    with pytest.raises(AssertionError, match="unable to get issuer certificate"):
        openssl(folder, "verify", "-CAfile", middle, authority.path("server-rsa.pem"))
    for name in ("server-rsa", "server-ec", "middle"):
        key = authority.path(f"{name}.key")
        openssl(folder, "dgst", "-sha256", "-sign", key, "-out", "signature", "message")
        for is_ours in (True, False):
            words = ["-prverify", key, "-signature", "signature", "message"]
            assert "Verified OK" in openssl(folder, "dgst", "-sha256", *words, is_ours=is_ours)


@needs_haproxy
@needs_ifma
@pytest.mark.parametrize("order", [("penumbra", "default"), ("default", "penumbra")], ids=["penumbra first", "default first"])
def test_haproxy_asks_clients_for_certificates(folder, authority, order):  # noqa: F811
    """Clients have keys of the engine's sizes, of 8192 bits, and of an elliptic curve."""
    for name, key in CLIENTS.items():
        if not authority.path(f"{name}.pem").exists():
            authority.issue(name, *key)

    def change(text):
        begin, end = text.index("    ssl-provider"), text.index("    ssl-propquery")
        lines = "".join(f"    ssl-provider {each}\n" for each in order)
        return change_bind(text[:begin] + lines + text[end:], f"ca-file {authority.path('root.pem')} verify required")

    with Haproxy(folder, authority.bundle("server-rsa"), change=change) as server:
        for name in CLIENTS:
            server.get(authority.context(name))
        with pytest.raises((ssl.SSLError, ConnectionError)):
            server.get(authority.context())
        sums = settled_counters(folder, len(CLIENTS))
    assert sums["fell-back"] == 0


@needs_haproxy
@needs_ifma
def test_haproxy_serves_rsa_and_elliptic_curves_from_one_socket(folder, authority):  # noqa: F811
    """The client's suite of ciphers chooses the certificate."""
    second = authority.bundle("server-ec")
    with Haproxy(folder, authority.bundle("server-rsa"), change=lambda text: change_bind(text, f"crt {second}")) as server:
        for name, cipher in (("rsa", "ECDHE-RSA-AES128-GCM-SHA256"), ("ec", "ECDHE-ECDSA-AES128-GCM-SHA256")) * 8:
            served = server.get(authority.context(cipher=cipher))
            assert served == ssl.PEM_cert_to_DER_cert(authority.path(f"server-{name}.pem").read_text())
        assert settled_counters(folder, 8)["taken"] == 8
