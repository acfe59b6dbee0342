#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares `gswitch` with Open vSwitch's user-space datapath (Debian's openvswitch-switch-dpdk). Both switches run the
same flows and frames on the same DPDK devices, alternately, with one core each. docs/performance.md has the figures.

    sudo PYTHON tests/classify_figures.py [--rounds N] [--seconds N] [-o FILE]

FILE is a document that `penumbra-bench run -o` wrote with this build on this machine. The figures are added to it (E14),
so that tools/report shows them.

Frames come from net_pcap, which replays a capture in a loop and copies each frame, and go to net_null, which drops
them. Both switches pay this cost. The time of a packet is the CPU time of the thread that forwards it. First, both
switches are compared on some of the frames, with outputs that identify the flow."""

import argparse
import collections
import contextlib
import json
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import tempfile
import time
from collections.abc import Iterator

from scapy.layers.inet import ICMP, IP, TCP, UDP
from scapy.layers.l2 import ARP, Dot1Q, Ether

import captures
import conftest
import ovs
from test_gswitch import switched

OVS_WITH_DPDK = "/usr/lib/openvswitch-switch-dpdk/ovs-vswitchd-dpdk"
OURS, RIVAL = "gswitch", "Open vSwitch"
FRAMES = 8192  #: number of frames that net_pcap keeps of a capture
COMPARED = 1000
SETTLING = 5  #: seconds in which Open vSwitch fills its cache and `gswitch` calibrates its widths
SETS = {  #: rules, subtables, and how often a header repeats directly (`penumbra gen headers --locality`)
    "1024 flows in 128 classes": (1024, 128, 0),
    "1024 flows in 128 classes, headers come again": (1024, 128, 1),
    "8192 flows in 512 classes": (8192, 512, 0),
}


def generated(*arguments) -> str:
    done = conftest.penumbra("gen", *arguments)
    assert done.returncode == 0, done.stderr
    return done.stdout


def without_in_port(text: str) -> str:
    """Removes in_port, because all frames arrive at one port."""
    return re.sub(r"in_port=\d+,?", "", text).replace(", actions", " actions")


def frame_of(header: str) -> bytes:
    """Returns a frame of 60 bytes with these fields."""
    words = dict(word.partition("=")[::2] for word in header.split(","))
    packet = Ether(src=words.get("dl_src", "00:00:00:00:00:00"), dst=words.get("dl_dst", "00:00:00:00:00:00"))
    if "dl_vlan" in words:
        packet = packet / Dot1Q(vlan=int(words["dl_vlan"], 0), prio=int(words.get("dl_vlan_pcp", "0")))
    ends = {"src": words.get("nw_src", "0.0.0.0"), "dst": words.get("nw_dst", "0.0.0.0"), "tos": int(words.get("nw_tos", "0"))}
    ports = {"sport": int(words.get("tp_src", "0"), 0), "dport": int(words.get("tp_dst", "0"), 0)}
    kinds = {"ipv6": 0x86DD, "mpls": 0x8847, "rarp": 0x8035}
    if "tcp" in words:
        packet = packet / IP(**ends) / TCP(**ports)
    elif "udp" in words:
        packet = packet / IP(**ends) / UDP(**ports)
    elif "icmp" in words:
        kind = {"type": int(words.get("icmp_type", "0")), "code": int(words.get("icmp_code", "0"))}
        packet = packet / IP(**ends) / ICMP(**kind)
    elif "ip" in words:
        packet = packet / IP(**ends, proto=int(words.get("nw_proto", "0")))
    elif "arp" in words:
        operation = int(words.get("arp_op", words.get("nw_proto", "0")))
        packet = packet / ARP(op=operation, psrc=ends["src"], pdst=ends["dst"])
    else:
        kind = next((kinds[word] for word in words if word in kinds), int(words.get("dl_type", "0x88b5"), 0))
        packet.lastlayer().type = kind
    return bytes(packet).ljust(60, b"\0")


def thread_seconds(pid: int, name: str) -> float:
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        if (task / "comm").read_text().startswith(name):
            return int((task / "schedstat").read_text().split()[0]) / 1e9
    raise AssertionError(f"there is no thread {name}")


def rate(pid: int, thread: str, packets, seconds: float) -> float:
    """Returns million packets per second of the thread's CPU time."""
    time.sleep(SETTLING)
    count, used = packets(), thread_seconds(pid, thread)
    time.sleep(seconds)
    return (packets() - count) / (thread_seconds(pid, thread) - used) / 1e6


def penumbra_rate(folder: pathlib.Path, capture: pathlib.Path, seconds: float) -> float:
    bench = conftest.Bench(folder)
    ports = [
        {"name": "p1", "device": f"net_pcap0,rx_pcap={capture},infinite_rx=1", "promiscuous": True, "sink": None},
        {"name": "p2", "device": "net_null0,no-rx=1", "sink": None},
    ]
    bench.configure(ports, pipeline="  - gswitch: {flows: flows}")
    with bench.start() as router:
        found = rate(router.process.pid, "worker-0", lambda: router.received("p1"), seconds)
        router.stop()
    return found


@contextlib.contextmanager
def open_vswitch(folder: pathlib.Path, flow_file: pathlib.Path, capture: pathlib.Path) -> Iterator[tuple[subprocess.Popen, dict[str, str]]]:
    """Starts Open vSwitch with two DPDK ports in its user-space datapath. The forwarding thread has the last core."""
    environment = {**os.environ, "OVS_RUNDIR": str(folder), "OVS_LOGDIR": str(folder)}
    cores = sorted(os.sched_getaffinity(0))
    database = f"unix:{folder}/db"
    quiet = {"env": environment, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}

    def configure(*words: str) -> None:
        command = ["ovs-vsctl", f"--db={database}", "--timeout=30", *words]
        subprocess.run(command, env=environment, check=True, timeout=60)

    subprocess.run(["ovsdb-tool", "create", f"{folder}/conf.db", ovs.SCHEMA], check=True, timeout=60)
    with contextlib.ExitStack() as stack:
        stack.callback(_end, subprocess.Popen(["ovsdb-server", f"{folder}/conf.db", f"--remote=p{database}"], **quiet))
        conftest.wait_until("the database", (folder / "db").exists)
        eal = "--no-pci --no-huge --legacy-mem -m 1024 --no-telemetry --no-shconf"
        settings = {"dpdk-init": "true", "dpdk-lcore-mask": hex(1 << cores[0]), "dpdk-extra": eal}
        settings["pmd-cpu-mask"] = hex(1 << cores[-1])
        configure("--no-wait", "init")
        words = [f"other_config:{key}={value}" for key, value in settings.items()]
        configure("--no-wait", "set", "Open_vSwitch", ".", *words)
        switch = subprocess.Popen([OVS_WITH_DPDK, database, "--disable-system", f"--unixctl={folder}/ctl"], **quiet)
        stack.callback(_end, switch)
        conftest.wait_until("the switch", (folder / "ctl").exists)
        configure("add-br", "br0", "--", "set", "bridge", "br0", "datapath_type=netdev", "fail-mode=secure")
        devices = [f"net_pcap0,rx_pcap={capture},infinite_rx=1", "net_null0,no-rx=1"]
        for port, device in enumerate(devices, 1):
            # The argument is a string because it contains commas.
            argument = f'options:dpdk-devargs="{device}"'
            kind = ["type=dpdk", f"ofport_request={port}", argument]
            configure("add-port", "br0", f"p{port}", "--", "set", "interface", f"p{port}", *kind)
        flows = ["ovs-ofctl", "-O", "OpenFlow10", "replace-flows", "br0", str(flow_file)]
        subprocess.run(flows, env=environment, check=True, timeout=300)
        yield switch, environment


def _end(process: subprocess.Popen) -> None:
    process.terminate()
    process.wait(60)


def ovs_figures(folder: pathlib.Path, environment: dict[str, str]) -> dict[str, float]:
    """Returns the statistics of the forwarding thread since its start."""
    command = ["ovs-appctl", "-t", f"{folder}/ctl", "dpif-netdev/pmd-stats-show"]
    text = subprocess.run(command, env=environment, capture_output=True, text=True, check=True, timeout=60).stdout
    text = text.partition("main thread")[0]
    return {name: float(value) for name, value in re.findall(r"^\s+([a-z][^:]+): ([\d.]+)", text, re.MULTILINE)}


def ovs_rate(folder: pathlib.Path, capture: pathlib.Path, seconds: float) -> tuple[float, str]:
    """Returns the rate, and the share of packets that each cache found."""
    with tempfile.TemporaryDirectory(prefix="ovs") as own_name:
        own = pathlib.Path(own_name)
        with open_vswitch(own, folder / "flows", capture) as (switch, environment):
            found = rate(switch.pid, "pmd-", lambda: ovs_figures(own, environment)["packets received"], seconds)
            figures = ovs_figures(own, environment)
    hits = {name: figures[f"{name} hits"] / figures["packets received"] for name in ("emc", "megaflow")}
    lookups = figures["avg. subtable lookups per megaflow hit"]
    return found, f"{hits['emc']:.0%}, {hits['megaflow']:.0%} ({lookups:.1f} subtables)"


def compare(flows: str, frames: list[bytes]) -> None:
    """Asserts that both switches send each frame out of the same port, with different outputs for different flows."""
    outputs = iter(range(10**9))
    told = re.sub(r"actions=\S+", lambda _: f"actions=output:{2 + next(outputs) % 3}", flows)
    some = {1: frames[:COMPARED]}
    with tempfile.TemporaryDirectory(prefix="ovs") as folder, ovs.bridge(pathlib.Path(folder), 4) as bridge:
        bridge.set_flows(told)
        wanted = bridge.forward(some)
    with tempfile.TemporaryDirectory() as folder:
        found, _ = switched(conftest.Bench(pathlib.Path(folder)), told, {**some, 2: [], 3: [], 4: []})
    for port in (2, 3, 4):
        assert collections.Counter(found[port]) == collections.Counter(wanted[port]), f"port {port}"
        assert found[port]


def version_of(command: str) -> str:
    return subprocess.run([command, "--version"], capture_output=True, text=True, check=True).stdout.splitlines()[0]


def spread_of(samples: list[float]) -> dict[str, float]:
    return {"median": statistics.median(samples), "min": min(samples), "max": max(samples)}


def comparison(name: str, samples: list[tuple[float, float]]) -> dict:
    """Returns a comparison in the format of docs/bench-results.md, given pairs of our and their samples."""
    contenders = [
        {
            "name": who,
            "curve": who,
            "role": role,
            "samples": list(own),
            "value": spread_of(own),
            "ratio": spread_of([mine / theirs for mine, (_, theirs) in zip(own, samples)]),
        }
        for who, role, own in zip((OURS, RIVAL), ("ours", "rival"), zip(*samples))
    ]
    plot = {"measurement": "E14", "title": "flows of 12 fields switched by one core", "x": "flows", "at": name}
    return {"title": name, "unit": "M packets/s", "reference": RIVAL, "plot": plot, "contenders": contenders}


def entry_of(comparisons: list[dict], rounds: int, rival: str, seconds: float, notes: list[str]) -> dict:
    return {
        "benchmark": "classify-figures",
        "measurements": ["E14"],
        "rounds": rounds,
        "seconds": seconds,
        "inputs": {"frames": f"{FRAMES} of 60 bytes for each set, each matching a flow, by net_pcap in a loop", "rival": rival},
        "checked": [f"{COMPARED} frames of each set leave both by the same ports"],
        "notes": notes,
        "comparisons": comparisons,
        "bars": [],
    }


def read(file: pathlib.Path) -> dict:
    """Returns a document of results of this build and machine. Exits the program for any other file."""
    try:
        document = json.loads(file.read_text())
        version, processor = document["build"]["version"], document["machine"]["processor"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise SystemExit(f"{file} is no document of results: {error!r}") from error
    ours = conftest.penumbra("--version").stdout.splitlines()[0]
    if not version.startswith(ours):
        raise SystemExit(f"{file} is of another build: {version}, not {ours}")
    if processor not in pathlib.Path("/proc/cpuinfo").read_text():
        raise SystemExit(f"{file} is of another machine: {processor}")
    return document


def write(file: pathlib.Path, entry: dict) -> None:
    """Adds the entry to a document of results, or replaces an earlier entry."""
    document = read(file)
    others = [each for each in document["results"] if each["benchmark"] != entry["benchmark"]]
    document["results"] = [*others, entry]
    file.write_text(json.dumps(document, indent=1) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("-o", "--output", type=pathlib.Path)
    rounds, seconds, output = vars(parser.parse_args()).values()
    begin, comparisons, notes = time.monotonic(), [], []
    if shutil.which(OVS_WITH_DPDK) is None or ovs.unavailable():
        raise SystemExit("needs Debian's openvswitch-switch-dpdk")
    if output is not None:
        read(output)  # reports a wrong file before the measurement
    print("| flows | gswitch, M packets/s | Open vSwitch | gswitch over it | found by its exact cache, by its megaflows |")
    print("| --- | --- | --- | --- | --- |")
    for name, (count, classes, locality) in SETS.items():
        with tempfile.TemporaryDirectory(prefix="ovs") as folder_name:
            folder = pathlib.Path(folder_name)
            flows = without_in_port(generated("rules", "--count", count, "--classes", classes, "--full-classes", classes))
            (folder / "rules").write_text(flows)
            text = generated("headers", "--rules", folder / "rules", "--count", FRAMES, "--locality", locality)
            frames = [frame_of(without_in_port(line)) for line in text.splitlines()]
            compare(flows, frames)
            (folder / "flows").write_text(re.sub(r"actions=\S+", "actions=output:2", flows))
            capture = folder / "in.pcap"
            captures.write_pcap(capture, captures.frames_of(frames))
            samples = []
            for _ in range(rounds):
                ours = penumbra_rate(folder, capture, seconds)
                theirs, caches = ovs_rate(folder, capture, seconds)
                samples.append((ours, theirs))
        ratios = [ours / theirs for ours, theirs in samples]
        medians = [statistics.median(column) for column in zip(*samples)]
        spread = f"{statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})"
        print(f"| {name} | {medians[0]:.2f} | {medians[1]:.2f} | {spread} | {caches} |", flush=True)
        comparisons.append(comparison(name, samples))
        notes.append(f"{name}: Open vSwitch's exact cache and its megaflows found {caches} of the packets")
    if output is not None:
        write(output, entry_of(comparisons, rounds, version_of(OVS_WITH_DPDK), time.monotonic() - begin, notes))


if __name__ == "__main__":
    main()
