# SPDX-License-Identifier: Apache-2.0
"""Tests the router as a service: the notifications to the manager, and running without root if it has the
capabilities."""

import contextlib
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import tempfile

import pytest

import conftest
import needs
import xfrm_messages as xfrm
from test_twin import Network, ping
from test_xfrm import SaKeeper

NOBODY = 65534
PACKAGING = conftest.ROOT / "packaging"


@pytest.mark.parametrize("abstract", [False, True])
def test_the_manager_hears_of_every_step(bench, monkeypatch, abstract):
    address = f"\0penumbra-{bench.folder.name}" if abstract else str(bench.folder / "notify")
    bench.configure([{"name": "wan", "device": "synth:rate=1000", "sink": "count"}], pipeline="  - echo")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(address)
        manager.settimeout(conftest.PATIENCE)
        monkeypatch.setenv("NOTIFY_SOCKET", address.replace("\0", "@"))
        monkeypatch.setenv("WATCHDOG_USEC", "400000")
        with bench.start() as router:
            heard = [manager.recv(100) for _ in range(4)]
            router.stop()
        while heard[-1] != b"STOPPING=1":
            heard.append(manager.recv(100))
    assert heard[0] == b"READY=1"
    assert set(heard[1:-1]) == {b"WATCHDOG=1"}


def test_a_reload_that_takes_long_is_no_reason_to_be_taken_for_dead(bench, monkeypatch):
    """The reload waits for the routes, which it reads once."""
    address = str(bench.folder / "notify")
    bench.configure([{"name": "wan", "device": "synth:rate=1000", "sink": "count"}], "10.0.0.0/8 dev wan\n")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(address)
        manager.settimeout(conftest.PATIENCE)
        monkeypatch.setenv("NOTIFY_SOCKET", address)
        monkeypatch.setenv("WATCHDOG_USEC", "400000")
        with bench.start() as router:
            routes = bench.folder / "routes.txt"
            routes.unlink()
            os.mkfifo(routes)
            router.process.send_signal(signal.SIGHUP)
            with routes.open("w") as pipe:  # the reload starts to read
                manager.setblocking(False)
                with contextlib.suppress(BlockingIOError):
                    while manager.recv(100):
                        pass
                manager.settimeout(conftest.PATIENCE)
                assert [manager.recv(100) for _ in range(3)] == [b"WATCHDOG=1"] * 3
                pipe.write("10.0.0.0/8 dev wan\n20.0.0.0/8 dev wan\n")
            router.wait_for("the new route", lambda: router.show("routes", "20.0.0.0/8")["routes"])
            router.stop()


@pytest.mark.parametrize("variables", [{}, {"NOTIFY_SOCKET": "/nowhere/notify"}, {"NOTIFY_SOCKET": "x" * 200}])
def test_no_manager_is_no_matter(bench, monkeypatch, variables):
    for name, value in {"WATCHDOG_USEC": "soon", **variables}.items():
        monkeypatch.setenv(name, value)
    bench.configure([{"name": "wan", "device": "synth:count=100", "sink": "count"}], pipeline="  - echo")
    assert bench.run().received == 100


def test_another_process_watchdog(bench, monkeypatch):
    """WATCHDOG_PID names the watched process. A child must not answer for its parent."""
    address = str(bench.folder / "notify")
    bench.configure([{"name": "wan", "device": "synth:rate=1000", "sink": "count"}], pipeline="  - echo")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(address)
        manager.settimeout(conftest.PATIENCE)
        monkeypatch.setenv("NOTIFY_SOCKET", address)
        monkeypatch.setenv("WATCHDOG_USEC", "1000")
        monkeypatch.setenv("WATCHDOG_PID", "1")
        done = conftest.penumbra("run", bench.config, "--for", "500ms")
        assert done.returncode == 0, done.stderr
        assert [manager.recv(100), manager.recv(100)] == [b"READY=1", b"STOPPING=1"]


@needs.tools("systemd-analyze")
@pytest.mark.parametrize("name", ["penumbra.service", "penumbra-tls-engine.service", "penumbra-xfrm.service"])
def test_systemd_understands_the_unit(tmp_path, name):
    unit = tmp_path / name
    unit.write_text((PACKAGING / name).read_text().replace("/usr/bin/penumbra", str(conftest.PROGRAM)))
    done = subprocess.run(["systemd-analyze", "verify", "--man=no", unit], capture_output=True, text=True, timeout=60)
    assert done.stderr == ""
    assert done.returncode == 0


def test_the_keeper_and_the_router_share_user_and_folders():
    """The keeper gives keys to its own user. Neither unit may remove the folder of the other's socket when it stops."""
    shared = ("User=", "Group=", "RuntimeDirectory", "StateDirectory", "LimitMEMLOCK=")
    router, keeper = (
        {line for line in (PACKAGING / name).read_text().splitlines() if line.startswith(shared)}
        for name in ("penumbra.service", "penumbra-xfrm.service")
    )
    assert router == keeper and {"User=penumbra", "RuntimeDirectoryPreserve=yes"} <= keeper


def test_the_engine_of_signatures_shares_no_user_and_no_folder():
    """HAProxy gives its keys to whoever listens on the engine's socket."""
    shared = ("User=", "Group=", "RuntimeDirectory=", "StateDirectory=")
    engine, router = (
        {line for line in (PACKAGING / name).read_text().splitlines() if line.startswith(shared)}
        for name in ("penumbra-tls-engine.service", "penumbra.service")
    )
    assert engine == {"User=penumbra-tls", "Group=penumbra-tls", "RuntimeDirectory=penumbra-tls"}
    assert not engine & router
    users = [line.split()[1] for line in (PACKAGING / "penumbra.sysusers").read_text().splitlines() if line.startswith("u ")]
    assert users == ["penumbra", "penumbra-tls"]


@needs.NAMESPACES
@needs.tools("setpriv")
def test_the_keeper_runs_without_root_and_without_capabilities():
    words = ["setpriv", "--reuid", str(NOBODY), "--regid", str(NOBODY), "--clear-groups", "--bounding-set", "-all"]
    with tempfile.TemporaryDirectory() as folder:
        shutil.chown(folder, NOBODY)
        keeper = SaKeeper(pathlib.Path(folder), words)
        try:
            assert keeper.path.stat().st_uid == NOBODY
            peer = xfrm.Peer(keeper.path)
            assert peer.ask(xfrm.message(xfrm.NEWSA, xfrm.sa(0x100) + xfrm.gcm()))[0] == ""
            status = subprocess.run([*words, conftest.PROGRAM, "xfrm", "status", "--socket", keeper.path], timeout=conftest.PATIENCE)
            assert status.returncode == 0
        finally:
            assert keeper.stop() == 0


@needs.NAMESPACES
@needs.TAPS
@needs.tools("setpriv", "ping")
def test_with_two_capabilities_and_no_root():
    network = Network()
    try:
        with tempfile.TemporaryDirectory() as folder:
            bench = conftest.Bench(pathlib.Path(folder))
            bench.configure(network.ports(), "10.1.0.0/24 dev a\n10.2.0.0/24 dev b\n", "")
            shutil.chown(folder, NOBODY)
            capabilities = "+net_admin,+net_raw"
            drop = ["--reuid", str(NOBODY), "--regid", str(NOBODY), "--clear-groups", "--bounding-set"]
            drop += [f"-all,{capabilities}", "--inh-caps", f"-all,{capabilities}", "--ambient-caps", capabilities]
            with bench.start(command=network.router.command("setpriv", *drop)) as router:
                network.address_twins()
                ping(network.h1, "10.1.0.1")
                ping(network.h1, "10.2.0.2")
                assert network.router.run("sysctl", "-n", "net.ipv4.conf.veth-a.rp_filter").stdout == "1\n"
                summary = router.stop()
            assert summary.from_host > 10
    finally:
        network.close()
