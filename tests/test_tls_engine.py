# SPDX-License-Identifier: Apache-2.0
"""Tests `penumbra tls-engine`, which computes RSA for other processes, with HAProxy and `openssl` (docs/tls.md)."""

import concurrent.futures
import contextlib
import json
import os
import re
import signal
import stat
import subprocess
import threading
import time
from pathlib import Path

import pytest

import conftest
import needs
from openssl_provider import configuration
from test_tls import HAS_IFMA, certificate, counters, folder, haproxy, run, settled_counters  # noqa: F401 (fixtures)

pytestmark = [pytest.mark.release_only, pytest.mark.peers]


class TlsEngine:
    """The process, with the slow form that every CPU has."""

    def __init__(self, folder, *words):
        self.path = folder / "engine.sock"
        self.command = [conftest.PROGRAM, "tls-engine", "--socket", self.path, "--form", "plain", *words]
        self.start()

    def start(self):
        self.process = subprocess.Popen(self.command, stderr=subprocess.PIPE, text=True)
        while "listening on" not in (line := self.process.stderr.readline()):
            assert line, "the engine has ended"

    def kill(self):
        self.process.kill()
        self.process.wait(conftest.PATIENCE)

    def stop(self):
        self.process.send_signal(signal.SIGCONT)
        self.process.terminate()
        return self.process.wait(conftest.PATIENCE)

    def status(self):
        done = run(conftest.PROGRAM, "tls", "status", "--socket", self.path, "--json")
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def settled(self):
        """Waits until nothing is in flight. Whatever was taken is answered, failed or abandoned."""

        def idle():
            values = self.status()
            return values if values["in-flight"] == 0 else None

        values = conftest.wait_until("the engine is idle", idle)
        assert values["taken"] == values["answered"] + values["failed"] + values["abandoned"]
        return values


@pytest.fixture
def engine(folder):  # noqa: F811
    started = TlsEngine(folder)
    yield started
    with contextlib.suppress(ProcessLookupError):
        started.stop()


@contextlib.contextmanager
def load(server):
    """Runs rounds of 100 handshakes, 32 at a time, until the block has ended. None may fail. Yields the list of rounds."""
    rounds, is_ending = [], threading.Event()

    def repeat():
        while not is_ending.is_set():
            rounds.append(server.load(100))

    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        running = pool.submit(repeat)
        try:
            yield rounds
        finally:
            is_ending.set()
        running.result()
    assert rounds and not any(rounds), rounds


def lost(folder):  # noqa: F811
    """Returns how many signatures HAProxy sent in vain, as far as it has written."""
    return counters(folder / "haproxy")[0].get("sent-lost", 0)


def settled(folder, least):  # noqa: F811
    """Returns the counters of HAProxy when nothing is in flight. Whatever was sent is answered or lost."""
    sums = settled_counters(folder, least)
    assert sums["sent"] == sums["sent-answered"] + sums["sent-lost"]
    assert sums["fell-back"] == sums["refused"] == 0
    return sums


@needs.tools("haproxy", "ab")
def test_haproxy_takes_signatures_of_the_engine(folder, haproxy, engine):  # noqa: F811
    with haproxy("rsa:2048", "--engine", engine.path) as server:
        with load(server) as rounds:
            conftest.wait_until("the engine answers", lambda: engine.status()["answered"] > 100)
        sums = settled(folder, 100 * len(rounds))
        assert sums["untrusted-engines"] == 0
        assert 0 < sums["sent-answered"] <= engine.settled()["answered"]
        conftest.wait_until("HAProxy is connected", lambda: (engine.status()["clients"], engine.status()["keys"]) == (1, 1))
    conftest.wait_until("the engine has forgotten the key", lambda: engine.status()["keys"] == 0)


@needs.tools("haproxy", "ab")
def test_no_handshake_fails_when_the_engine_dies_and_returns_under_load(folder, haproxy, engine):  # noqa: F811
    with haproxy("rsa:2048", "--engine", engine.path) as server:

        def die_and_return():
            """Returns whether the engine had signatures when it was killed."""
            conftest.wait_until("the engine answers", lambda: engine.status()["answered"] > 20)
            engine.process.send_signal(signal.SIGSTOP)
            time.sleep(0.2)  # Requests come meanwhile.
            engine.kill()
            engine.start()
            return lost(folder) > 0

        with load(server) as rounds:
            die_and_return()
            conftest.wait_until("the engine dies with signatures", die_and_return)
            conftest.wait_until("the engine answers again", lambda: engine.status()["answered"] > 20)
        assert settled(folder, 100 * len(rounds))["sent-lost"] > 0
        engine.settled()


@needs.tools("haproxy", "ab")
def test_no_handshake_fails_when_the_engine_does_not_answer(folder, haproxy, engine):  # noqa: F811
    with haproxy("rsa:2048", "--engine", engine.path) as server:

        def stand_still():
            """Returns whether the engine had taken signatures when it was stopped."""
            conftest.wait_until("the engine answers", lambda: engine.status()["answered"] > 20)
            before = lost(folder)
            engine.process.send_signal(signal.SIGSTOP)
            conftest.wait_until("HAProxy gives up waiting", lambda: lost(folder) > before)
            engine.process.send_signal(signal.SIGCONT)
            return engine.status()["abandoned"] > 0

        with load(server) as rounds:
            conftest.wait_until("HAProxy takes back what the engine has taken", stand_still)
        assert settled(folder, 100 * len(rounds))["sent-lost"] > 0
        assert engine.settled()["abandoned"] > 0


@needs.tools("haproxy", "ab")
def test_haproxy_serves_without_the_engine(folder, haproxy):  # noqa: F811
    with haproxy("rsa:2048", "--engine", folder / "none.sock") as server:
        assert server.load(50) == 0
        assert settled(folder, 50)["sent"] == 0


def test_the_provider_wants_a_user_who_exists(folder):  # noqa: F811
    (folder / "openssl.cnf").write_text(configuration(f"engine = {folder}/engine.sock", "engine-user = no-such-user"))
    done = run("openssl", "list", "-providers", env={**os.environ, "OPENSSL_CONF": str(folder / "openssl.cnf")})
    assert "'engine-user' in openssl.cnf names 'no-such-user', but there is no such user" in done.stderr


def test_several_processes_share_the_engine(folder, engine):  # noqa: F811
    settings = (f"counters = {folder}/counters", f"engine = {engine.path}")
    (folder / "openssl.cnf").write_text(configuration(*settings, properties="?provider=penumbra"))
    environment = {**os.environ, "OPENSSL_CONF": str(folder / "openssl.cnf")}
    words = ["openssl", "speed", "-seconds", "2", "-async_jobs", "16", "-multi", "3", "rsa2048"]
    done = run(*words, cwd=folder, env=environment)
    assert done.returncode == 0, done.stderr
    sums, processes = counters(folder)
    assert processes == 3
    assert sums["taken"] == sums["answered"]
    assert sums["sent-answered"] > 0
    assert sums["sent"] == sums["sent-answered"] + sums["sent-lost"]
    engine.settled()
    conftest.wait_until("the engine has forgotten the keys", lambda: engine.status()["keys"] == 0)


def test_the_engine_is_hardened(folder, engine):  # noqa: F811
    process = Path(f"/proc/{engine.process.pid}")
    assert re.search(r"^NoNewPrivs:\s+1$", (process / "status").read_text(), re.MULTILINE)
    assert re.search(r"^Max core file size\s+0\s+0\b", (process / "limits").read_text(), re.MULTILINE)
    assert stat.S_IMODE(engine.path.stat().st_mode) == 0o600


def test_the_engine_ends_in_order(folder, engine):  # noqa: F811
    assert engine.stop() == 0
    assert not engine.path.exists()
    status = run(conftest.PROGRAM, "tls", "status", "--socket", engine.path)
    assert status.returncode == 5
    assert "penumbra tls-engine" in status.stderr


def test_one_socket_has_one_engine(folder, engine):  # noqa: F811
    second = run(*engine.command)
    assert second.returncode == 1
    assert "another process has" in second.stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="gives a socket to a group, as root")
def test_a_group_may_connect(folder):  # noqa: F811
    engine = TlsEngine(folder, "--group", "nogroup")
    try:
        assert engine.path.group() == "nogroup"
        assert stat.S_IMODE(engine.path.stat().st_mode) == 0o660
    finally:
        engine.stop()
    unknown = run(*engine.command[:-1], "no-such-group")
    assert unknown.returncode == 1
    assert "there is no group 'no-such-group'" in unknown.stderr


@pytest.mark.skipif(HAS_IFMA, reason="this CPU has AVX512-IFMA")
def test_the_engine_says_what_is_missing(folder):  # noqa: F811
    done = run(conftest.PROGRAM, "tls-engine", "--socket", folder / "engine.sock", "--form", "ifma")
    assert (done.returncode, "no AVX512-IFMA" in done.stderr) == (1, True)


def test_status_in_words(folder, engine):  # noqa: F811
    done = run(conftest.PROGRAM, "tls", "status", "--socket", engine.path)
    assert re.match(r"taken +0\nanswered +0\n", done.stdout), done.stdout


def test_setup_writes_the_socket(folder):  # noqa: F811
    both = certificate(folder, "rsa:2048")
    words = ["tls", "setup", "--certificate", both, "--output", folder / "made", "--engine", "/run/a.sock"]
    run(conftest.PROGRAM, *words, "--engine-user", "nobody")
    assert "engine-user = nobody\n" in (folder / "made" / "openssl.cnf").read_text()
    assert "is no name of a user" in run(conftest.PROGRAM, *words, "--engine-user", "a\nb").stderr
    run(conftest.PROGRAM, *words)
    assert "\nengine = /run/a.sock\n" in (folder / "made" / "openssl.cnf").read_text()
