# SPDX-License-Identifier: Apache-2.0
"""Runs Open vSwitch in user space, without privileges. The bridge's ports receive frames from the test and write their
output to captures."""

import contextlib
import os
import pathlib
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator

import captures
import conftest

TOOLS = ("ovsdb-tool", "ovsdb-server", "ovs-vswitchd", "ovs-vsctl", "ovs-ofctl", "ovs-appctl")
SCHEMA = pathlib.Path("/usr/share/openvswitch/vswitch.ovsschema")
PATIENCE = 60
#: The queue of a port for frames of a test has a hundred entries.
BURST = 50
#: Every flow table floods this frame. The arrival of the frame shows that all frames before it were processed.
MARKER = bytes.fromhex("ffffffffffff02ff000000ff88b5") + bytes(46)
MARKER_FLOW = "priority=65535,dl_src=02:ff:00:00:00:ff actions=flood"


def unavailable() -> str | None:
    """Returns the reason why Open vSwitch cannot run here, or None."""
    missing = [tool for tool in TOOLS if shutil.which(tool) is None]
    if missing:
        return f"needs {missing[0]}"
    return None if SCHEMA.exists() else f"needs {SCHEMA}"


class Bridge:
    def __init__(self, folder: pathlib.Path, ports: int) -> None:
        self.folder = folder
        self.ports = range(1, ports + 1)
        self.environment = {**os.environ, "OVS_RUNDIR": str(folder), "OVS_LOGDIR": str(folder)}

    def _run(self, *words: str) -> str:
        done = subprocess.run(words, env=self.environment, capture_output=True, text=True, timeout=PATIENCE, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def create(self) -> None:
        words = ["ovs-vsctl", f"--db=unix:{self.folder}/db", "add-br", "br0"]
        words += ["--", "set", "bridge", "br0", "datapath_type=dummy", "fail-mode=secure"]
        for port in self.ports:
            words += ["--", "add-port", "br0", f"p{port}", "--", "set", "interface", f"p{port}", "type=dummy"]
            words += [f"ofport_request={port}", f"options:tx_pcap={self.folder}/p{port}.pcap"]
        self._run(*words)

    def set_flows(self, text: str) -> None:
        file = self.folder / "flows"
        file.write_text(f"{text}\n{MARKER_FLOW}\n")
        self._run("ovs-ofctl", "-O", "OpenFlow10", "replace-flows", "br0", str(file))

    def carry_out(self, bundle: str) -> None:
        file = self.folder / "bundle"
        file.write_text(bundle)
        self._run("ovs-ofctl", "-O", "OpenFlow14", "--bundle", "add-flows", "br0", str(file))

    def flows(self) -> str:
        return self._run("ovs-ofctl", "-O", "OpenFlow10", "dump-flows", "--no-stats", "br0")

    def forward(self, frames: dict[int, list[bytes]]) -> dict[int, list[bytes]]:
        """Returns all frames that left by each port since the bridge was created. `frames` are the new frames by
        ingress port."""
        for port, some in frames.items():
            for begin in range(0, len(some), BURST):
                burst = [*some[begin : begin + BURST], MARKER]
                before = self._markers(port)
                self._run(*self._appctl("netdev-dummy/receive", f"p{port}"), *(frame.hex() for frame in burst))
                conftest.wait_until("the marker", lambda: self._markers(port) == before + len(self.ports) - 1)
        return {port: [frame for frame in self._sent(port) if frame != MARKER] for port in self.ports}

    def _appctl(self, *words: str) -> list[str]:
        return ["ovs-appctl", "-t", f"{self.folder}/ctl", *words]

    def _sent(self, port: int) -> list[bytes]:
        for _ in range(100):  # the last record may be incomplete
            with contextlib.suppress(captures.Damaged):
                return [frame.data for frame in captures.read_capture(self.folder / f"p{port}.pcap").frames]
            time.sleep(0.01)
        raise AssertionError(f"p{port}.pcap stays damaged")

    def _markers(self, port: int) -> int:
        return sum(self._sent(other).count(MARKER) for other in self.ports if other != port)


def _stop(process: subprocess.Popen) -> None:
    process.send_signal(signal.SIGTERM)
    process.wait(PATIENCE)


@contextlib.contextmanager
def bridge(folder: pathlib.Path, ports: int) -> Iterator[Bridge]:
    """Creates a bridge whose ports are numbered from 1. `folder` must have a short path, because it contains
    sockets."""
    made = Bridge(folder, ports)
    database = f"unix:{folder}/db"
    subprocess.run(["ovsdb-tool", "create", f"{folder}/conf.db", SCHEMA], check=True, timeout=PATIENCE)
    quiet = {"env": made.environment, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    server = ["ovsdb-server", f"{folder}/conf.db", f"--remote=p{database}"]
    switch = ["ovs-vswitchd", database, "--enable-dummy=override", "--disable-system", f"--unixctl={folder}/ctl"]
    with contextlib.ExitStack() as stack:
        stack.callback(_stop, subprocess.Popen(server, **quiet))
        conftest.wait_until("the database", (folder / "db").exists)
        stack.callback(_stop, subprocess.Popen(switch, **quiet))
        conftest.wait_until("the switch", (folder / "ctl").exists)
        made.create()
        yield made
