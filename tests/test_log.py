# SPDX-License-Identifier: Apache-2.0
"""Tests the router's log on standard error: its description at the start, and every event with its time."""

import os
import re
import select
import signal
import socket
import subprocess

import pytest

import conftest
import needs
import test_metrics
from test_twin import Network

TIME = r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}[+-]\d\d:\d\d "


def lines_of(text):
    """Returns the lines without their times. Every line must have a time."""
    lines = text.splitlines()
    assert all(re.match(TIME, line) for line in lines), text
    return [re.sub(TIME, "", line) for line in lines]


def test_a_router_says_what_it_is_and_how_to_end_it(bench):
    bench.configure(
        [{"name": "wan", "device": "synth:rate=100", "sink": "count"}, {"name": "lan", "device": "none", "sink": "count"}],
        pipeline="  - echo",
    )
    port = test_metrics.free_port()
    with bench.config.open("a") as config:
        config.write(f"metrics: {{listen: 127.0.0.1:{port}}}\n")
    log = bench.folder / "log"
    with log.open("w") as stderr, bench.start(stderr=stderr) as router:
        announced = router.wait_for("its word", lambda: "to end it" in log.read_text() and log.read_text())
        pid = router.process.pid
        router.process.send_signal(signal.SIGTERM)
        router.process.communicate(timeout=conftest.PATIENCE)
    lines = lines_of(announced)
    assert re.fullmatch(rf"penumbra \S+ runs {bench.config}: 2 ports, 1 worker on core \d+, echo on \S+", lines[0])
    assert lines[1:] == [
        "port 'wan': synth, sends to count, MAC 02:00:00:00:00:01, MTU 1500, no twin",
        "port 'lan': none, sends to count, MAC 02:00:00:00:00:02, MTU 1500, no twin",
        f"control socket {bench.folder}/ctl: penumbra show ports --socket {bench.folder}/ctl",
        f"metrics: http://127.0.0.1:{port}/metrics",
        f"to end it: Ctrl-C, or kill {pid}; to reload its configuration: kill -HUP {pid}",
    ]
    assert lines_of(log.read_text())[-1] == "ended"


def test_the_journal_gets_priorities_and_adds_the_time_itself(bench):
    bench.configure([{"name": "wan", "device": "synth:count=10", "sink": "count"}], pipeline="  - echo")
    reading, writing = socket.socketpair()
    status = os.fstat(writing.fileno())
    stream = f"{status.st_dev}:{status.st_ino}"
    with reading, writing:
        subprocess.run(
            [conftest.PROGRAM, "run", bench.config],
            env={**os.environ, "JOURNAL_STREAM": stream},
            stdout=subprocess.DEVNULL,
            stderr=writing,
            timeout=conftest.PATIENCE,
            check=True,
        )
        text = reading.recv(65536).decode()
    assert all(line.startswith("<6>") for line in text.splitlines()), text
    assert text.startswith("<6>penumbra ") and "<6>to end it" in text


@pytest.fixture
def full_pipe():
    """Returns both ends of a pipe that accepts no more bytes."""
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    with pytest.raises(BlockingIOError):
        while True:
            os.write(writing, b"x" * 4096)
    os.set_blocking(writing, True)
    yield reading, writing
    os.close(reading)
    os.close(writing)


@pytest.mark.parametrize("options", [(), ("--progress",)])
def test_a_pipe_that_nobody_empties_holds_nothing_up(bench, full_pipe, options):
    seconds = "1500ms"  # one line of progress with --progress, otherwise none
    bench.configure([{"name": "wan", "device": "synth:rate=100", "sink": "count"}], pipeline="  - echo")
    command = [conftest.PROGRAM, "run", "--for", seconds, *options, bench.config]
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=full_pipe[1], timeout=conftest.PATIENCE, check=True)


@pytest.mark.release_only  # A sanitizer needs more addresses.
@pytest.mark.parametrize(("addresses", "status"), [(None, 3), (1 << 30, 1)])
def test_an_error_that_nobody_reads_ends_the_router(bench, full_pipe, addresses, status):
    """Needs a wrong configuration, or so few addresses that DPDK does not start and writes an error itself."""
    device = "synth:rate=100" if addresses else "no-such-device"
    bench.configure([{"name": "wan", "device": device, "sink": "count"}], pipeline="  - echo")
    limit = [] if addresses is None else ["prlimit", f"--as={addresses}"]
    command = [*limit, conftest.PROGRAM, "run", bench.config]
    process = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=full_pipe[1], timeout=conftest.PATIENCE, check=False)
    assert process.returncode == status


def test_lines_that_a_full_pipe_does_not_take_are_counted(bench, full_pipe):
    bench.configure([{"name": "wan", "device": "synth:rate=100", "sink": "count"}], pipeline="  - echo")
    reading, writing = full_pipe
    with bench.start(stderr=writing) as router:
        clear = ("trace", "clear", "--socket", router.socket)
        for _ in range(3):
            assert conftest.penumbra(*clear).returncode == 0
        while len(os.read(reading, 4096)) == 4096:
            if not select.select([reading], [], [], 0)[0]:
                break
        assert conftest.penumbra(*clear).returncode == 0
        told, audit = lines_of(os.read(reading, 65536).decode())
        # The lost lines include the router's first lines.
        assert re.fullmatch(r"\d+ lines of the log were lost: standard error took no more", told)
        assert int(told.split()[0]) >= 3 + 4
        assert audit.endswith('["trace","clear"]: done')
        router.process.terminate()
        router.process.wait(timeout=conftest.PATIENCE)


@needs.NAMESPACES
@needs.TAPS
@needs.tools("ping")
def test_links_twins_and_neighbours_that_are_lost(bench):
    network = Network()
    try:
        bench.configure(network.ports(), pipeline="  - ipv4: {follow: [kernel]}")
        log = bench.folder / "log"
        with log.open("w") as stderr, bench.start(command=network.router.command(), stderr=stderr) as router:

            def wait_for(what):
                router.wait_for(what, lambda: any(re.search(what, line) for line in lines_of(log.read_text())))

            network.address_twins()
            assert "1 received" in network.h1.run("ping", "-c", "1", "-W", "5", "10.2.0.2").stdout
            router.wait_for("the neighbour", lambda: any(row.get("address") == "10.2.0.2" for row in router.show("neighbours")))
            wait_for(r"^port 'a': net_af_packet \S+, link \w+, MAC \S+, MTU 1500, twin twin-a$")
            network.router.ip("neighbour", "delete", "10.2.0.2", "dev", "twin-b")
            wait_for("^neighbour 10.2.0.2 on twin-b is lost: ")
            network.h2.ip("link", "set", "eth0", "down")
            wait_for("^port 'b': link down: veth-b has no carrier; check its cable or its peer$")
            network.h2.ip("link", "set", "eth0", "up")
            wait_for("^port 'b': link up$")
            network.router.ip("link", "delete", "twin-a")
            wait_for("^port 'a': twin twin-a was deleted; it is made again$")
            wait_for("^port 'a': twin twin-a is back$")
            router.process.send_signal(signal.SIGTERM)
            router.process.communicate(timeout=conftest.PATIENCE)
    finally:
        network.close()
