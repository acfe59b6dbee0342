#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures a router between two hosts in network namespaces, beside the kernel's own forwarding over the same cables: what
it takes of a core when nothing comes, and how long a ping takes at light load. docs/performance.md has the figures.

    sudo PYTHON tests/live_figures.py [--pings N]
"""

import argparse
import contextlib
import os
import pathlib
import re
import statistics
import tempfile
import time

import conftest
from test_netns import ROUTES, Network

DRIVERS = ("net_af_packet", "net_af_xdp")
SLEEPS = ("250us", "never")
IDLE_SECONDS = 10


def cpu_seconds(pid: int) -> float:
    """User and system time of a process, proc(5)."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def idle_share(pid: int) -> float:
    """Of a core, while nothing comes."""
    began, used = time.monotonic(), cpu_seconds(pid)
    time.sleep(IDLE_SECONDS)
    return (cpu_seconds(pid) - used) / (time.monotonic() - began)


def latency(network: Network, pings: int) -> str:
    """Round trips of pings at 10 ms from each other."""
    done = network.h1.run("ping", "-c", str(pings), "-i", "0.01", "10.2.0.2", timeout=60 + pings / 50)
    times = sorted(float(text) * 1000 for text in re.findall(r"time=([\d.]+)", done.stdout))
    assert len(times) == pings, done.stdout
    return f"{statistics.median(times):.0f} | {times[int(pings * 0.99)]:.0f}"


@contextlib.contextmanager
def kernel_forwarding(network: Network):
    """The kernel routes in place of Penumbra."""
    router = network.router
    for net, port in ((1, "veth-a"), (2, "veth-b")):
        router.ip("address", "add", f"10.{net}.0.1/24", "dev", port)
    router.run("sysctl", "-qw", "net.ipv4.ip_forward=1")
    yield
    router.run("sysctl", "-qw", "net.ipv4.ip_forward=0")
    for port in ("veth-a", "veth-b"):
        router.ip("address", "flush", "dev", port)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pings", type=int, default=1000)
    pings = parser.parse_args().pings
    network = Network()
    try:
        print("| forwards | `sleep` | of a core when idle | ping, median us | p99 us |\n| --- | --- | --- | --- | --- |")
        with kernel_forwarding(network):
            print(f"| the kernel | | | {latency(network, pings)} |", flush=True)
        for driver in DRIVERS:
            for sleep in SLEEPS:
                with tempfile.TemporaryDirectory() as folder:
                    bench = conftest.Bench(pathlib.Path(folder))
                    bench.configure(network.ports(driver), ROUTES, network.neighbours, sleep=sleep)
                    with bench.start(command=network.router.command()) as router:
                        idle = idle_share(router.process.pid)
                        print(f"| `{driver}` | {sleep} | {idle:.1%} | {latency(network, pings)} |", flush=True)
                        router.stop()
    finally:
        network.close()


if __name__ == "__main__":
    main()
