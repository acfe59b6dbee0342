#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures a router between two hosts in network namespaces and compares it with the kernel's forwarding over the same
cables: the share of a core without traffic, and the round-trip time of a ping at light load.

    sudo PYTHON tests/live_figures.py [--pings N]"""

import argparse
import contextlib
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable

import conftest
import netns
from kernel import Kernel, many_prefixes
from test_faults import (
    FLOODS,
    SAID_BY_ITSELF,
    configure_flood,
    configure_good,
    kernel_with_a_spare_interface,
    let_good_traffic_pass,
    sent,
)
from test_idle import EVERYWHERE, cpu_seconds, write_flood
from test_netns import ROUTES, Network

DRIVERS = ("net_af_packet", "net_af_xdp")
SLEEPS = ("1ms", "never")
IDLE_SECONDS = 10
FLOOD_SECONDS = 3
FULL_TABLE = 900_000
RATE = 10_000  # packets per second that measure an outage
RELOADS = "reloads, half of them bad"


def idle_share(process: subprocess.Popen) -> float:
    """Returns the used share of a core while no packets arrive."""
    began, used = time.monotonic(), cpu_seconds(process)
    time.sleep(IDLE_SECONDS)
    return (cpu_seconds(process) - used) / (time.monotonic() - began)


def latency(network: Network, pings: int) -> str:
    """Measures round trips of pings at intervals of 10 ms."""
    done = network.h1.run("ping", "-c", str(pings), "-i", "0.01", "10.2.0.2", timeout=60 + pings / 50)
    times = sorted(float(text) * 1000 for text in re.findall(r"time=([\d.]+)", done.stdout))
    assert len(times) == pings, done.stdout
    return f"{statistics.median(times):.0f} | {times[int(pings * 0.99)]:.0f}"


@contextlib.contextmanager
def kernel_forwarding(network: Network):
    """Lets the kernel route instead of Penumbra."""
    router = network.router
    for net, port in ((1, "veth-a"), (2, "veth-b")):
        router.ip("address", "add", f"10.{net}.0.1/24", "dev", port)
    router.ip("route", "add", "default", "via", "10.2.0.2")
    router.run("sysctl", "-qw", "net.ipv4.ip_forward=1", "net.ipv4.conf.veth-a.rp_filter=0", "net.ipv4.conf.all.rp_filter=0")
    yield
    router.run("sysctl", "-qw", "net.ipv4.ip_forward=0")
    for port in ("veth-a", "veth-b"):
        router.ip("address", "flush", "dev", port)


def arrivals(network: Network) -> int:
    return int(network.h2.run("cat", "/sys/class/net/eth0/statistics/rx_packets").stdout)


def flooded(network: Network) -> float:
    """Returns thousand packets per second that reach the other host. The flood has the last core. A cable's receiver
    works on the core of its sender, so the kernel forwards on the last core too."""
    with tempfile.TemporaryDirectory() as folder:
        config = write_flood(pathlib.Path(folder), network.macs["a"])
        with conftest.RunningRouter(config, command=network.h1.command()) as flood:
            time.sleep(1)
            began, before = time.monotonic(), arrivals(network)
            time.sleep(FLOOD_SECONDS)
            rate = (arrivals(network) - before) / (time.monotonic() - began)
            flood.stop()
    return rate / 1000


@contextlib.contextmanager
def penumbra(network: Network, driver: str, sleep: str):
    with tempfile.TemporaryDirectory() as folder:
        bench = conftest.Bench(pathlib.Path(folder))
        bench.configure(network.ports(driver), ROUTES + EVERYWHERE, network.neighbours, sleep=sleep)
        with bench.start(command=network.router.command()) as router:
            yield router
            router.stop()


@contextlib.contextmanager
def testpmd(network: Network, driver: str):
    """Runs DPDK's testpmd on the first core. testpmd sends each packet to the other port with a new Ethernet header."""
    core = min(os.sched_getaffinity(0))
    devices = [word for i, port in enumerate("ab") for word in ("--vdev", f"{driver}{i},iface=veth-{port}")]
    eal = ["--no-huge", "-m", "512", "--no-pci", "--no-telemetry", "--no-shconf", "--lcores", f"0@{core},1@{core}"]
    peers = [f"--eth-peer={i},{network.macs[host]}" for i, host in enumerate(("h1", "h2"))]
    options = ["--forward-mode=mac", "--nb-cores=1", "--total-num-mbufs=32768", *peers]
    with subprocess.Popen(
        network.router.command("dpdk-testpmd", *eal, *devices, "--", *options),
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        time.sleep(2)
        assert process.poll() is None, "dpdk-testpmd ended"
        yield process
        process.communicate(b"\n", timeout=30)


def throughput(network: Network, rounds: int) -> None:
    """Measures all contenders alternately, several times."""
    ways = {"the kernel": lambda: kernel_forwarding(network)}
    for driver in DRIVERS:
        ways[f"Penumbra, `{driver}`"] = lambda driver=driver: penumbra(network, driver, "250us")
        if shutil.which("dpdk-testpmd"):
            ways[f"testpmd mac, `{driver}`"] = lambda driver=driver: testpmd(network, driver)
    rates = {name: [] for name in ways}
    for _ in range(rounds):
        for name, way in ways.items():
            with way():
                rates[name].append(flooded(network))
    print("\n| forwards | thousand packets a second | least, most |\n| --- | --- | --- |")
    for name, samples in rates.items():
        print(f"| {name} | {statistics.median(samples):.0f} | {min(samples):.0f}, {max(samples):.0f} |")


def good_packets(reason: str | None) -> float:
    """Returns million packets per second of good traffic through one worker with twins. `reason` selects the
    disturbance: a flood of punted packets, repeated reloads, or none."""
    namespace = netns.Namespace("flood")
    with tempfile.TemporaryDirectory() as folder:
        bench = conftest.Bench(pathlib.Path(folder))
        flood = reason if reason in FLOODS else next(iter(FLOODS))
        configure_flood(bench, namespace, ",loop", 1000, flood, flooding=reason in FLOODS)
        try:
            with bench.start("--for", f"{FLOOD_SECONDS}s", command=namespace.command()) as router:
                while reason == RELOADS and router.process.poll() is None:
                    reload(bench)
                return router.finish().sent_by_port["out"] / FLOOD_SECONDS / 1e6
        finally:
            namespace.delete()


def reload(bench: conftest.Bench) -> None:
    """Reloads with and without 1000 more routes, each time after a file that is refused."""
    routes = bench.folder / "routes.txt"
    for content in ("nonsense\n", "".join(f"20.{i >> 8}.{i & 255}.0/24 dev out\n" for i in range(1000)), "nonsense\n", ""):
        routes.write_text(content)
        conftest.penumbra("reload", "--socket", bench.folder / "ctl")


def flap(kernel: Kernel) -> None:
    """Sets a link down and up. After each change the router requests all routes again, as after lost messages."""
    for state in ("down", "up"):
        kernel.ip("link", "set", "spare", state)
        time.sleep(0.02)


def delete_twin(kernel: Kernel) -> None:
    kernel.run("ip", "link", "delete", "spare0", check=False)
    time.sleep(0.2)  # the twin is created again meanwhile


INTERFACE_FAULTS = {
    "another link flaps, 50,000 routes are asked for after each": flap,
    "another port's twin is deleted, again and again": delete_twin,
}


def good_packets_during(fault: Callable[[Kernel], None] | None) -> float:
    """Returns the rate of good traffic on routes of the kernel, while a fault affects another port."""
    with tempfile.TemporaryDirectory() as folder, kernel_with_a_spare_interface() as kernel:
        kernel.batch(f"route add {prefix} via 192.0.2.9" for prefix in many_prefixes(50_000))
        bench = conftest.Bench(pathlib.Path(folder))
        configure_good(bench, "")
        with bench.start("--for", f"{FLOOD_SECONDS}s", command=kernel.command()) as router:
            let_good_traffic_pass(kernel)
            while fault and router.process.poll() is None:
                fault(kernel)
            return router.finish().sent_by_port["lan"] / FLOOD_SECONDS / 1e6


def under_faults(rounds: int) -> None:
    """Measures good traffic at the full rate of a worker, with a flood at full rate on another port of the worker."""
    print("\n| fault | good traffic alone, Mpps | of that | least, most |\n| --- | --- | --- | --- |")
    measures = {reason: (good_packets, reason) for reason in (*FLOODS, RELOADS)}
    measures |= {name: (good_packets_during, fault) for name, fault in INTERFACE_FAULTS.items()}
    for reason, (measure, fault) in measures.items():
        pairs = [(measure(None), measure(fault)) for _ in range(rounds)]
        alone, kept = statistics.median(one for one, _ in pairs), [with_it / one for one, with_it in pairs]
        print(f"| {reason} | {alone:.1f} | {statistics.median(kept):.1%} | {min(kept):.1%}, {max(kept):.1%} |", flush=True)


def with_a_full_table(rounds: int) -> None:
    """Measures the time until the kernel's routes are present. Measures the outage when the interface of a route goes
    down and another route is available."""
    good, backup = ("10.0.0.9", "lladdr", "02:00:00:00:00:09"), ("10.77.0.9", "lladdr", "02:00:00:00:00:77")
    with tempfile.TemporaryDirectory() as folder, kernel_with_a_spare_interface() as kernel:
        kernel.batch(f"route add {prefix} via 192.0.2.9" for prefix in many_prefixes(FULL_TABLE))
        bench = conftest.Bench(pathlib.Path(folder))
        configure_good(bench, f",rate={RATE}")
        began = time.monotonic()
        with bench.start(command=kernel.command()) as router:
            router.wait_for("the routes", lambda: router.show("routes")["total"] >= FULL_TABLE)
            ready = time.monotonic() - began
            kernel.ip("address", "replace", "10.77.0.1/24", "dev", "spare0")
            kernel.ip("neighbour", "replace", *backup, "dev", "spare0")
            kernel.ip("route", "add", "10.0.0.9/32", "via", "10.77.0.9", "dev", "spare0", "metric", "20")

            def astray() -> int:
                """Returns the packets that were dropped or sent out of the port whose interface goes down."""
                lost = (row["packets"] for row in router.show("drops") if row["reason"] not in SAID_BY_ITSELF)
                return sent(router) + sum(lost)

            outages = []
            for _ in range(rounds):
                kernel.ip("link", "set", "lan0", "up")
                kernel.ip("neighbour", "replace", *good, "dev", "lan0")
                kernel.ip("route", "replace", "10.0.0.9/32", "dev", "lan0", "metric", "10")
                time.sleep(5)
                before = astray()
                kernel.ip("link", "set", "lan0", "down")
                time.sleep(5)
                outages.append((astray() - before) / RATE * 1000)
            router.stop()
    print("\n| with 900,000 routes of the kernel's | |\n| --- | --- |")
    print(f"| from the start until all are there | {ready:.1f} s |")
    print(f"| packets miss their way when an interface is set down | {statistics.median(outages):.0f} ms", end="")
    print(f" ({min(outages):.0f} to {max(outages):.0f}) |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pings", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=3)
    pings, rounds = vars(parser.parse_args()).values()
    network = Network()
    try:
        print("| forwards | `sleep` | of a core when idle | ping, median us | p99 us |\n| --- | --- | --- | --- | --- |")
        with kernel_forwarding(network):
            print(f"| the kernel | | | {latency(network, pings)} |", flush=True)
        for driver in DRIVERS:
            for sleep in SLEEPS:
                with penumbra(network, driver, sleep) as router:
                    idle = idle_share(router.process)
                    print(f"| `{driver}` | {sleep} | {idle:.1%} | {latency(network, pings)} |", flush=True)
        throughput(network, rounds)
        under_faults(rounds)
        with_a_full_table(rounds)
    finally:
        network.close()


if __name__ == "__main__":
    main()
