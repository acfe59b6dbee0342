# SPDX-License-Identifier: Apache-2.0
"""Tests keys that only `penumbra tls-engine` has, with HAProxy and `openssl` (docs/tls.md)."""

import contextlib
import os
import re
import resource
import shutil
import signal
import socket
import ssl
import subprocess

import pytest

import conftest
import needs
from openssl_provider import command, configuration
from test_tls import Haproxy, certificate, counters, folder, free_port, openssl, run, settled_counters  # noqa: F401 (fixture)
from test_tls_engine import TlsEngine

pytestmark = [pytest.mark.release_only, pytest.mark.peers]


def reference(folder, key, name):  # noqa: F811
    done = run(conftest.PROGRAM, "tls", "reference", key, "-o", folder / name)
    assert done.returncode == 0, done.stderr
    return folder / name


@pytest.fixture
def keys(folder):  # noqa: F811
    """The folder of the engine, with the key of certificate.pem. The key is nowhere else; both.pem has a reference."""
    both = certificate(folder, "rsa:2048")
    whole = both.rename(folder / "whole.pem")
    reference(folder, whole, "both.pem")
    whole.unlink()
    (folder / "keys").mkdir(mode=0o700)
    (folder / "key.pem").rename(folder / "keys" / "key.pem")
    (folder / "keys" / "key.pem").chmod(0o600)
    return folder / "keys"


@pytest.fixture
def engine(folder, keys):  # noqa: F811
    started = TlsEngine(folder, "--keys", keys)
    yield started
    with contextlib.suppress(ProcessLookupError):
        started.stop()


def expect_failures(get, count):
    for _ in range(count):
        with pytest.raises((ssl.SSLError, ConnectionError)):
            get()


@needs.tools("haproxy", "ab")
def test_haproxy_serves_by_references_and_fails_closed(folder, engine):  # noqa: F811
    with Haproxy(folder, folder / "both.pem", "--engine", engine.path) as server:
        for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
            server.get(version=version)
        assert server.load(200) == 0
        expect_failures(lambda: server.get(version=ssl.TLSVersion.TLSv1_2, ciphers="AES128-SHA256:@SECLEVEL=1"), 1)
        sums = settled_counters(folder, 202)
        assert sums["answered"] == sums["sent-answered"] == engine.settled()["answered"]
        for _ in range(2):
            engine.kill()
            expect_failures(server.get, 3)
            engine.start()
            server.get()
        assert server.load(100) == 0
        sums = settled_counters(folder, sums["answered"] + 102)
        assert sums["failed"] == 6
        assert sums["fell-back"] == sums["refused"] == sums["batched"] == sums["alone"] == 0


class Server:
    """`openssl s_server` without jobs, with the reference."""

    def __init__(self, folder, engine):  # noqa: F811
        settings = (f"engine = {engine.path}", f"counters = {folder}/counters")
        (folder / "server.cnf").write_text(configuration(*settings, properties="?provider=penumbra"))
        self.folder, self.port = folder, free_port()
        words = ["s_server", "-www", "-accept", self.port, "-cert", "certificate.pem", "-key", "both.pem"]
        environment = {**os.environ, "OPENSSL_CONF": str(folder / "server.cnf")}
        self.process = subprocess.Popen([*command("openssl"), *map(str, words)], cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def __enter__(self):
        conftest.wait_until("the server listens", self.connect).close()
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.printed = self.process.communicate()[0]

    def connect(self):
        with contextlib.suppress(ConnectionError):
            return socket.create_connection(("127.0.0.1", self.port), timeout=conftest.PATIENCE)

    def get(self):
        context = ssl.create_default_context(cafile=self.folder / "certificate.pem")
        with context.wrap_socket(self.connect(), server_hostname="localhost") as connection:
            connection.sendall(b"GET / HTTP/1.0\r\n\r\n")
            assert connection.recv(4096).startswith(b"HTTP/1.0 200")


def test_a_server_without_jobs_serves_by_references_and_fails_closed(folder, engine):  # noqa: F811
    with Server(folder, engine) as server:
        server.get()
        engine.kill()
        expect_failures(server.get, 3)
        engine.start()
        server.get()
        conftest.wait_until("the failures are counted", lambda: counters(folder)[0].get("failed") == 3)
        assert counters(folder)[0]["fell-back"] == 0
    assert "no signature by a key reference: no engine of root" in server.printed


def test_the_engine_lacks_the_key(folder, engine):  # noqa: F811
    openssl(folder, "genrsa", "-out", "other.pem", "2048", is_ours=False)
    other = reference(folder, folder / "other.pem", "other-reference.pem")
    (folder / "openssl.cnf").write_text(configuration(f"engine = {engine.path}", properties="?provider=penumbra"))
    (folder / "message").write_text("hello")
    environment = {**os.environ, "OPENSSL_CONF": str(folder / "openssl.cnf")}
    words = ["dgst", "-sha256", "-out", "signature", "-sign"]
    assert run(*command("openssl"), *words, "both.pem", "message", cwd=folder, env=environment).returncode == 0
    done = run(*command("openssl"), *words, other, "message", cwd=folder, env=environment)
    assert done.returncode != 0
    assert "does not have the key; put it in the folder of --keys" in done.stderr
    assert (folder / "signature").read_bytes() == b""
    assert (engine.status()["own-keys"], engine.status()["refused-keys"]) == (1, 1)


def test_openssl_signs_nothing_by_a_reference_itself(folder, keys):  # noqa: F811
    (folder / "message").write_text("hello")
    environment = {**os.environ, "OPENSSL_CONF": "/dev/null"}
    done = run(*command("openssl"), "dgst", "-sha256", "-sign", "both.pem", "-out", "signature", "message", cwd=folder, env=environment)
    assert done.returncode != 0
    assert (folder / "signature").read_bytes() == b""


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda keys: (keys / "key.pem").chmod(0o644), "key.pem' may be accessed by others than its owner; forbid it (chmod 600)"),
        (lambda keys: keys.chmod(0o777), "keys' may be changed by others than its owner; forbid it (chmod 700)"),
        (lambda keys: (keys / "key.pem").unlink(), "keys' has no key; put PEM files of RSA keys in it"),
        (lambda keys: (keys / "key.pem").write_text("garbage"), "key.pem' has no private key in PEM"),
        (lambda keys: (keys / "key.pem").write_text("A" * 100_000), "key.pem' is longer than 64 KiB"),
        (lambda keys: shutil.copyfile(keys.parent / "both.pem", keys / "key.pem"), "key.pem' is a reference, which has no secret"),
        (lambda keys: shutil.rmtree(keys), "keys' cannot be read: No such file or directory"),
    ],
)
def test_the_engine_refuses_wrong_keys(folder, keys, spoil, message):  # noqa: F811
    spoil(keys)
    done = run(conftest.PROGRAM, "tls-engine", "--socket", folder / "engine.sock", "--form", "plain", "--keys", keys)
    assert done.returncode == 3
    assert message in done.stderr
    assert not (folder / "engine.sock").exists()


def test_a_reference_has_no_secret(folder, keys):  # noqa: F811
    printed = run(conftest.PROGRAM, "tls", "reference", keys / "key.pem").stdout
    assert (folder / "both.pem").read_text() == printed + (folder / "certificate.pem").read_text()

    def numbers(text):
        """Returns the lines of the public part and of the secrets."""
        public, _, secrets = run("openssl", "rsa", "-noout", "-text", input=text).stdout.partition("privateExponent:")
        return public, set(re.findall("^ +([0-9a-f:]+)$", secrets, re.MULTILINE))

    public, secrets = numbers((keys / "key.pem").read_text())
    assert len(secrets) > 30
    assert numbers(printed)[0] == public
    assert not secrets & numbers(printed)[1]


def test_setup_wants_the_engine_of_a_reference(folder, keys):  # noqa: F811
    words = ["tls", "setup", "--certificate", folder / "both.pem", "--output", folder / "made"]
    for more in ([], ["--plain"], ["--plain", "--engine", "/run/a.sock"]):
        done = run(conftest.PROGRAM, *words, *more)
        assert (done.returncode, "give its socket with '--engine'" in done.stderr) == (2, True)
    assert run(conftest.PROGRAM, *words, "--engine", "/run/a.sock").returncode == 0


@pytest.mark.parametrize("link", [os.symlink, os.link])
def test_a_reference_overwrites_no_key(folder, keys, link):  # noqa: F811
    key = (keys / "key.pem").read_text()
    link(keys / "key.pem", folder / "link.pem")
    for name in (keys / "key.pem", folder / "link.pem"):
        done = run(conftest.PROGRAM, "tls", "reference", keys / "key.pem", "--output", name)
        assert done.returncode == 2
        assert "exists already; give another name, or remove it" in done.stderr
    assert (keys / "key.pem").read_text() == key


def test_a_reference_is_written_whole_or_not(folder, keys):  # noqa: F811
    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))

    done = run(conftest.PROGRAM, "tls", "reference", keys / "key.pem", "-o", folder / "new.pem", preexec_fn=limit)
    assert done.returncode == 1
    assert "new.pem' cannot be written: File too large" in done.stderr
    assert not (folder / "new.pem").exists()


def test_a_reference_has_no_key_after_a_cut_certificate(folder, keys):  # noqa: F811
    key = (keys / "key.pem").read_text()
    (folder / "cut.pem").write_text("-----BEGIN CERTIFICATE-----\nAAAA\n" + key + "-----END CERTIFICATE-----\n" + key)
    done = run(conftest.PROGRAM, "tls", "reference", folder / "cut.pem")
    assert (done.returncode, done.stdout) == (3, "")
    assert "cut.pem' has a damaged block" in done.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["genrsa", "1024"], "the modulus does not have 2048, 3072 or 4096 bits"),
        (["ecparam", "-name", "prime256v1", "-genkey", "-noout"], "no RSA key ('EC PRIVATE KEY')"),
        (["genpkey", "-algorithm", "ed25519"], "no RSA key (rsaEncryption)"),
        (["genrsa", "-aes128", "-passout", "pass:secret", "2048"], "has a passphrase, which is not supported"),
    ],
)
def test_a_reference_wants_a_key_that_the_engine_takes(folder, words, message):  # noqa: F811
    made = openssl(folder, *words, is_ours=False)
    (folder / "other.pem").write_text(made)
    done = run(conftest.PROGRAM, "tls", "reference", folder / "other.pem")
    assert (done.returncode, done.stdout) == (3, "")
    assert "other.pem'" in done.stderr and message in done.stderr
