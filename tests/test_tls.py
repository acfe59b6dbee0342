# SPDX-License-Identifier: Apache-2.0
"""Tests the provider for OpenSSL in programs of Debian: `openssl` and HAProxy (docs/tls.md)."""

import contextlib
import os
import re
import shutil
import signal
import socket
import ssl
import subprocess
import time
from pathlib import Path

import pytest

import conftest
import needs
from openssl_provider import MODULE, command, configuration

pytestmark = [pytest.mark.release_only, pytest.mark.peers]
HAS_IFMA = "avx512ifma" in open("/proc/cpuinfo").read()
needs_ifma = pytest.mark.skipif(not HAS_IFMA, reason="this CPU has no AVX512-IFMA")
needs_haproxy = needs.tools("haproxy", "ab")
SYMBOL = re.compile(r"\*UND\*.*\(?(OPENSSL_[0-9.]+)\)?\s+(\S+)$")


def run(*words, **options):
    return subprocess.run(list(map(str, words)), capture_output=True, text=True, timeout=conftest.PATIENCE, **options)


@pytest.fixture
def folder(tmp_path):
    if not MODULE.exists():
        pytest.skip("the provider is not built")
    counters = f"counters = {tmp_path}/counters"
    (tmp_path / "openssl.cnf").write_text(configuration(counters, properties="?provider=penumbra"))
    return tmp_path


def openssl(folder, *words, is_ours=True, **options):
    """Runs `openssl`, with the provider unless `is_ours` is false. Returns its output."""
    environment = {**os.environ, "OPENSSL_CONF": str(folder / "openssl.cnf") if is_ours else "/dev/null"}
    done = run(*command("openssl"), *words, cwd=folder, env=environment, **options)
    assert done.returncode == 0, done.stderr
    return done.stdout


def certificate(folder, *kind):
    """Makes a key and a certificate in one file."""
    key, own = folder / "key.pem", folder / "certificate.pem"
    openssl(folder, "req", "-x509", "-newkey", *kind, "-nodes", "-subj", "/CN=localhost", "-keyout", key, "-out", own)
    both = folder / "both.pem"
    both.write_text(key.read_text() + own.read_text())
    return both


def counters(folder):
    """Returns the sums of all processes that wrote counters, and their number."""
    sums = {}
    files = [each for each in folder.glob("counters.*") if each.suffix != ".part"]
    for each in files:
        for line in each.read_text().splitlines():
            name, value = line.split()
            sums[name] = sums.get(name, 0) + int(value)
    return sums, len(files)


def test_the_module_needs_public_symbols_of_openssl_3_0_only(folder):
    listing = run("objdump", "-T", MODULE).stdout
    needed = {found.group(1) for found in map(SYMBOL.search, listing.splitlines()) if found}
    assert needed == {"OPENSSL_3.0.0"}


def test_openssl_makes_signs_and_verifies(folder):
    (folder / "message").write_text("hello")
    openssl(folder, "genrsa", "-out", "key.pem", "2048")
    assert "RSA key ok" in openssl(folder, "rsa", "-in", "key.pem", "-check", "-noout")
    for options in ([], ["-sigopt", "rsa_padding_mode:pss"]):
        openssl(folder, "dgst", "-sha256", *options, "-sign", "key.pem", "-out", "signature", "message")
        for is_ours in (True, False):
            verified = openssl(folder, "dgst", "-sha256", *options, "-prverify", "key.pem", "-signature", "signature", "message", is_ours=is_ours)
            assert "Verified OK" in verified


@pytest.mark.parametrize("kind", [("rsa:2048",), ("rsa:3080",), ("ec", "-pkeyopt", "ec_paramgen_curve:P-256")])
def test_openssl_verifies_certificates(folder, kind):
    certificate(folder, *kind)
    assert "OK" in openssl(folder, "verify", "-CAfile", "certificate.pem", "certificate.pem")


@needs_ifma
def test_openssl_speed_takes_batches(folder):
    openssl(folder, "speed", "-seconds", "1", "-async_jobs", "24", "rsa2048")
    sums, _ = counters(folder)
    assert sums["taken"] == sums["answered"] > 24
    assert sums["batched"] > sums["alone"]


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Haproxy:
    """HAProxy with a key and a certificate in the file `both`. `change` edits its configuration."""

    def __init__(self, folder, both, *words, change=lambda text: text):
        self.folder, self.port = folder, free_port()
        setup = run(conftest.PROGRAM, "tls", "setup", "--certificate", both, "--output", folder / "haproxy", "--port", self.port, *words)
        assert setup.returncode == 0, setup.stderr
        self.command = setup.stdout.strip()
        file = folder / "haproxy" / "haproxy.cfg"
        file.write_text(change(file.read_text()))
        self.log = open(folder / "log", "w")
        self.process = subprocess.Popen(["bash", "-c", f"exec env {self.command} -W -db"], cwd=folder, stdout=self.log, stderr=self.log)

    def __enter__(self):
        end = time.monotonic() + conftest.PATIENCE
        while time.monotonic() < end:
            with contextlib.suppress(OSError), self.connect_plain():
                return self
            assert self.process.poll() is None, (self.folder / "log").read_text()
            time.sleep(0.05)
        raise AssertionError((self.folder / "log").read_text())

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(conftest.PATIENCE)
        self.log.close()

    def context(self, version=None, ciphers=None):
        context = ssl.create_default_context(cafile=self.folder / "certificate.pem")
        if version is not None:
            context.minimum_version = context.maximum_version = version
        if ciphers is not None:
            context.set_ciphers(ciphers)
        return context

    def connect_plain(self):
        return socket.create_connection(("127.0.0.1", self.port), timeout=conftest.PATIENCE)

    def get(self, context=None, **options):
        """Sends a request. Returns the certificate of the server, in DER."""
        context = context or self.context(**options)
        with context.wrap_socket(self.connect_plain(), server_hostname="localhost") as connection:
            certificate_of_server = connection.getpeercert(binary_form=True)
            connection.sendall(b"GET / HTTP/1.0\r\n\r\n")
            answer = b""
            while part := connection.recv(4096):
                answer += part
        assert answer.endswith(b"Penumbra"), answer
        return certificate_of_server

    def descriptors(self):
        """Returns the number of open descriptors of the process that serves connections."""
        (worker,) = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        return len(list(Path(f"/proc/{worker}/fd").iterdir()))

    def begin_handshake(self):
        """Sends a ClientHello only. Returns the socket."""
        incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        client = self.context().wrap_bio(incoming, outgoing, server_hostname="localhost")
        with contextlib.suppress(ssl.SSLWantReadError):
            client.do_handshake()
        plain = self.connect_plain()
        plain.sendall(outgoing.read())
        return plain

    def load(self, count):
        """Runs `count` handshakes, 32 at a time. Returns the number of those that failed."""
        done = run("ab", "-q", "-n", count, "-c", "32", "-f", "TLS1.2", f"https://127.0.0.1:{self.port}/")
        found = re.search(r"Complete requests:\s+(\d+)\s+Failed requests:\s+(\d+)", done.stdout)
        assert found and int(found.group(1)) == count, done.stdout + done.stderr
        return int(found.group(2))


@pytest.fixture
def haproxy(folder):
    for program in ("haproxy", "ab"):
        if not shutil.which(program):
            pytest.skip(f"{program} is not installed")

    def start(kind="rsa:2048", *words, **options):
        return Haproxy(folder, certificate(folder, *kind.split()), *words, **options)

    return start


def settled_counters(folder, least):
    """Waits until `least` signatures are answered, the engine has nothing and no job is paused. Returns the counters."""

    def settled():
        sums, files = counters(folder / "haproxy")
        ended = sum(sums.get(name, 0) for name in ("answered", "abandoned", "fell-back", "failed"))
        is_settled = files and sums["in-flight"] == 0 and sums["taken"] == ended and sums["answered"] >= least
        return sums if is_settled else None

    return conftest.wait_until("every signature that was taken is counted", settled)


@needs_ifma
def test_haproxy_takes_batches(folder, haproxy):
    with haproxy() as server:
        assert server.load(600) == 0
        for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
            server.get(version=version)
        server.get(version=ssl.TLSVersion.TLSv1_2, ciphers="AES128-SHA256:@SECLEVEL=1")  # RSA key exchange
        sums = settled_counters(folder, 602)
    assert sums["batched"] > 100
    assert sums["fell-back"] == 0


@needs_ifma
def test_haproxy_survives_clients_that_go_away(folder, haproxy):
    """haproxy#3453: a thousand clients. The memory of OpenSSL's jobs is lost (docs/tls.md), but no descriptor."""
    with haproxy("rsa:4096") as server:
        server.get()
        descriptors = server.descriptors()
        for _ in range(20):
            for one in [server.begin_handshake() for _ in range(50)]:
                one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")  # a reset
                one.close()
        server.get()
        assert server.load(64) == 0
        sums = settled_counters(folder, 66)
        conftest.wait_until("HAProxy has closed its descriptors", lambda: server.descriptors() <= descriptors)
    assert sums["abandoned"] > 0


@needs_ifma
def test_haproxy_reloads_under_load(folder, haproxy):
    with haproxy("rsa:3072") as server:
        load = subprocess.Popen(["ab", "-q", "-r", "-n", "600", "-c", "32", "-f", "TLS1.2", f"https://127.0.0.1:{server.port}/"], stdout=subprocess.PIPE, text=True)
        for _ in range(2):
            time.sleep(0.2)
            server.process.send_signal(signal.SIGUSR2)
        printed = load.communicate(timeout=conftest.PATIENCE)[0]
        assert re.search(r"Complete requests:\s+600\s+Failed requests:\s+0\b", printed), printed
        server.get()


def test_haproxy_serves_elliptic_curves_beside(folder, haproxy):
    with haproxy("ec -pkeyopt ec_paramgen_curve:P-256") as server:
        server.get()


def test_setup_says_what_is_wrong(folder):
    (folder / "empty.pem").write_text("")
    missing = run(conftest.PROGRAM, "tls", "setup", "--certificate", folder / "no.pem")
    assert (missing.returncode, "no.pem" in missing.stderr) == (3, True)
    empty = run(conftest.PROGRAM, "tls", "setup", "--certificate", folder / "empty.pem", "--output", folder)
    assert (empty.returncode, "has no certificate" in empty.stderr) == (3, True)


def test_setup_without_the_provider_names_it_nowhere(folder):
    both = certificate(folder, "rsa:2048")
    done = run(conftest.PROGRAM, "tls", "setup", "--certificate", both, "--output", folder / "plain", "--plain")
    assert done.stdout == f"haproxy -f {folder}/plain/haproxy.cfg\n"
    assert "penumbra" not in (folder / "plain/haproxy.cfg").read_text().partition("\n")[2]
    assert not (folder / "plain/openssl.cnf").exists()
