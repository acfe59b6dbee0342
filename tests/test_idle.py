# SPDX-License-Identifier: Apache-2.0
"""Tests that an idle router leaves its core to other processes, and that a flooded router shares its core."""

import json
import os
import subprocess
import sys
import time

import pytest

import needs
import netns
from conftest import SANITIZED, RunningRouter
from test_netns import DEVICES, ROUTES, Network

pytestmark = needs.NAMESPACES

EVERYWHERE = "0.0.0.0/0 via 10.2.0.2 dev b\n"


network = netns.fixture(Network)


def worker(router):
    return router.show("workers")[0]


@pytest.mark.skipif(SANITIZED, reason="a sanitizer's own work is more than that")
@pytest.mark.parametrize("driver", [*DEVICES, "net_ring"])
def test_a_router_with_nothing_to_do_takes_a_twentieth_of_a_core_at_most(bench, network, driver):
    """The test covers drivers with an interrupt and a driver without one (a ring)."""
    silent = [{"name": name, "device": f"net_ring{name}", "sink": None} for name in ("a", "b")]
    bench.configure(silent if driver == "net_ring" else network.ports(driver), ROUTES, network.neighbours)
    with bench.start(command=network.router.command()) as router:

        def is_idle():
            used, began = cpu_seconds(router.process), time.monotonic()
            time.sleep(1)
            return cpu_seconds(router.process) - used < 0.05 * (time.monotonic() - began)

        router.wait_for("a second of idling", is_idle)
        router.stop()


@pytest.mark.parametrize("driver", DEVICES)
def test_an_idle_worker_sleeps_and_wakes(bench, network, driver):
    bench.configure(network.ports(driver), ROUTES, network.neighbours)
    with bench.start(command=network.router.command()) as router:
        router.wait_for("a worker asleep", lambda: worker(router)["asleep"] > 0.5)
        for sleeps in range(100, 600, 100):
            router.wait_for("sleeps", lambda sleeps=sleeps: worker(router)["sleeps"] > sleeps)
            ping = network.h1.run("ping", "-c", "3", "-i", "0.01", "-W", "5", "10.2.0.2")
            assert netns.has_answers(ping.stdout, 3), ping.stdout
        summary = router.stop()
    assert summary.sent == 30


def test_no_worker_sleeps_if_it_must_not(bench, network):
    bench.configure(network.ports("net_af_packet"), ROUTES, network.neighbours, sleep="never")
    with bench.start(command=network.router.command()) as router:
        network.h1.run("ping", "-c", "3", "-i", "0.01", "-W", "5", "10.2.0.2")
        assert (worker(router)["sleeps"], worker(router)["asleep"]) == (0, 0)
        assert router.stop().sent == 6


def write_flood(folder, mac):
    """Writes the configuration of another router, which sends frames to the router as fast as a core generates them."""
    (folder / "routes.txt").write_text("0.0.0.0/0 via 10.1.0.1 dev out\n")
    (folder / "neighbours.txt").write_text(f"10.1.0.1 dev out lladdr {mac}\n")
    ports = [
        {"name": "source", "device": "synth:dst=zipf"},
        {"name": "out", "device": "net_af_packet0,iface=eth0"},
    ]
    (folder / "router.yaml").write_text(
        f"ports: {json.dumps(ports)}\nworkers: {{cores: [{max(os.sched_getaffinity(0))}]}}\n"
        "control: {socket: ctl}\npipeline: [ipv4: {routes: routes.txt, neighbours: neighbours.txt}]\n"
    )
    return folder / "router.yaml"


@pytest.fixture
def flood(network, tmp_path_factory):
    return write_flood(tmp_path_factory.mktemp("flood"), network.macs["a"])


def cpu_seconds(process):
    """Returns user and system time, proc(5)."""
    with open(f"/proc/{process.pid}/stat") as stat:
        fields = stat.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def test_a_flooded_router_shares_its_core(bench, network, flood):
    """Another process on the router's core and the router must both continue. Every lost packet must be counted."""
    core = min(os.sched_getaffinity(0))
    bench.configure(network.ports("net_af_packet"), ROUTES + EVERYWHERE, network.neighbours)
    compute = [sys.executable, "-c", f"import os; os.sched_setaffinity(0, [{core}])\nwhile True: pass"]
    with (
        bench.start(command=network.router.command()) as router,
        RunningRouter(flood, command=network.h1.command()) as flooding,
        subprocess.Popen(compute) as other,
    ):
        try:
            for _ in range(5):
                used, received = cpu_seconds(other), router.received("a")
                router.wait_for("the other process", lambda used=used: cpu_seconds(other) >= used + 0.1)
                router.wait_for_packets("a", received + 1000)
            assert worker(router)["packets"] > 5000
            sent = flooding.stop()
            summary = router.stop()
        finally:
            other.kill()
    assert sent.sent >= summary.received_by_port["a"] > 5000
    assert summary.sent_by_port["b"] > 0
