# SPDX-License-Identifier: Apache-2.0
"""Runs Open vSwitch with the provider of integrations/openvswitch, and two hosts on ports of its bridge. PENUMBRA_OVS is
the folder in which integrations/openvswitch/build has built Open vSwitch."""

import contextlib
import json
import os
import pathlib
import re
import socket
import subprocess
import tempfile

import pytest

import conftest
import needs
import netns
import two_hosts
from test_switch import hear

OVS = pathlib.Path(os.environ.get("PENUMBRA_OVS", "/nowhere")) / "openvswitch"
SWITCH = OVS / "vswitchd" / "ovs-vswitchd"
NEEDS = [
    needs.NAMESPACES,
    needs.TAPS,
    needs.tools("ping", "ovs-vsctl", "ovs-ofctl", "ovs-appctl", "ovsdb-server", "ovsdb-tool"),
    pytest.mark.skipif(not SWITCH.exists(), reason="needs Open vSwitch with the provider (make test-ovs)"),
]
PIPELINE = "  - megaflows: {socket: megaflows.sock}"
_SOL_PACKET, _PACKET_AUXDATA = 263, 8
#: What the provider refuses, in the words of dpctl/dump-flows.
_REFUSED_MATCH = re.compile(r"recirc_id\((?!0\))")
_REFUSED_ACTIONS = re.compile(r"userspace|mpls|recirc|hash\(|ct\(|set\((?:icmp|arp|nd)")


class BridgedHosts(two_hosts.TwoHosts):
    """Adds raw sockets, whose numbers are those of the bridge's ports."""

    @contextlib.contextmanager
    def sockets(self):
        """Opens raw sockets of both hosts, by the number of the bridge's port."""
        with self.h1.socket("eth0") as h1, self.h2.socket("eth0") as h2:
            for raw in (h1, h2):
                raw.setsockopt(_SOL_PACKET, _PACKET_AUXDATA, 1)
            yield {1: h1, 2: h2}


def ask(path, request):
    """Returns the answer of a daemon to a request of one line of JSON. A process for each question would take long."""
    with socket.socket(socket.AF_UNIX) as asked:
        asked.settimeout(60)
        asked.connect(str(path))
        asked.sendall(json.dumps(request).encode() + b"\n")
        said = b""
        while True:
            more = asked.recv(1 << 16)
            assert more, f"{path}: the daemon has closed the connection: {said!r}"
            said += more
            with contextlib.suppress(json.JSONDecodeError):
                return json.loads(said)


class Switch:
    """Open vSwitch in the router's namespace."""

    def __init__(self, folder, router, megaflows):
        self.folder, self.router = folder, router
        words = {"OVS_RUNDIR": folder, "OVS_LOGDIR": folder, "OVS_DBDIR": folder, "PENUMBRA_MEGAFLOWS": megaflows}
        self.environment = {**os.environ, **{key: str(value) for key, value in words.items()}}

    def run(self, *words):
        command = [*self.router.command(), *map(str, words)]
        done = subprocess.run(command, env=self.environment, capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 0, f"{words}: {done.stderr}"
        return done.stdout

    def vsctl(self, *words):
        return self.run("ovs-vsctl", f"--db=unix:{self.folder}/db", *words)

    def appctl(self, *words):
        reply = ask(self.folder / "ctl", {"id": 0, "method": words[0], "params": list(words[1:])})
        assert reply["error"] is None, reply
        return reply["result"]

    def set_flows(self, *flows, command="replace-flows"):
        (self.folder / "flows").write_text("\n".join(flows) + "\n")
        self.run("ovs-ofctl", command, f"unix:{self.folder}/br0.mgmt", self.folder / "flows")

    def allow(self, version):
        self.vsctl("set", "bridge", "br0", f"protocols=OpenFlow10,{version}")

    def counts(self):
        """Returns the packets of each OpenFlow flow by its cookie."""
        shown = self.run("ovs-ofctl", "dump-flows", f"unix:{self.folder}/br0.mgmt")
        return {int(cookie, 16): int(packets) for cookie, packets in re.findall(r"cookie=(\w+), .*n_packets=(\d+)", shown)}

    def offloaded(self):
        return self.datapath_flows().count("dp:penumbra")

    def datapath_flows(self):
        return self.appctl("dpctl/dump-flows", "-m", "netdev@ovs-netdev")


@contextlib.contextmanager
def switch(router, megaflows=None):
    """Starts the switch in a namespace. `megaflows` is the socket of a router, whose ports it gets. Without it, Debian's
    Open vSwitch gets the interfaces that would be the router's."""
    ports = ("a", "b") if megaflows else ("veth-a", "veth-b")
    with tempfile.TemporaryDirectory() as name, contextlib.ExitStack() as stack:
        made = Switch(pathlib.Path(name), router, megaflows)
        made.run("ovsdb-tool", "create", f"{name}/conf.db", OVS / "vswitchd" / "vswitch.ovsschema")

        def start(*words):
            command = [*router.command(), *map(str, words)]
            process = subprocess.Popen(
                command, env=made.environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            )
            stack.callback(process.wait, 60)
            stack.callback(process.terminate)

        start("ovsdb-server", f"{name}/conf.db", f"--remote=punix:{name}/db")
        conftest.wait_until("the database", (made.folder / "db").exists)
        made.vsctl("--retry", "--no-wait", "init")  # The socket may exist before the database listens.
        if megaflows:
            made.vsctl("--no-wait", "set", "Open_vSwitch", ".", "other_config:hw-offload=true")
        program = SWITCH if megaflows else "ovs-vswitchd"
        start(program, f"unix:{name}/db", f"--unixctl={name}/ctl", f"--log-file={name}/log")
        conftest.wait_until("the switch", (made.folder / "ctl").exists)
        if megaflows:
            conftest.wait_until(
                "carriers", lambda: router.ip("-brief", "link", "show", "type", "tun").count("LOWER_UP") == 2
            )
        made.vsctl("add-br", "br0", "--", "set", "bridge", "br0", "datapath_type=netdev", "fail_mode=secure")
        for number, port in enumerate(ports, 1):
            made.vsctl("add-port", "br0", port, "--", "set", "interface", port, f"ofport_request={number}")
        try:
            yield made
        finally:
            log = (made.folder / "log").read_text()
            assert not megaflows or "Assigned flow API 'penumbra'" in log, log


class World:
    """A bridge, the sockets of its hosts by port, and the router whose ports the bridge has, if any."""

    def __init__(self, ovs, sockets, router=None):
        self.ovs, self.sockets, self.router = ovs, sockets, router

    def looked_up(self):
        """Returns the number of packets that Open vSwitch has processed."""
        said = self.ovs.appctl("dpctl/show", "netdev@ovs-netdev")
        return sum(int(number) for number in re.findall(r"(?:hit|missed|lost):(\d+)", said.splitlines()[1]))

    def found(self):
        """Returns the number of packets that Penumbra has forwarded or dropped by megaflows."""
        if not self.router:
            return 0
        request = {"command": "show", "topic": "megaflows-status", "arguments": []}
        packets = ask(self.router.socket, request)["result"]["packets"]
        return packets["found_in_cache"] + packets["found_in_table"]

    def send(self, frames):
        """Sends frames, given with their ports, and waits until they are processed."""
        before = self.looked_up() + self.found()
        for port, frame in frames:
            self.sockets[port].send(frame)
        conftest.wait_until("the frames", lambda: self.looked_up() + self.found() >= before + len(frames), patience=20)

    def heard(self, patience=0.05):
        """Returns the frames that have arrived, by port."""
        return {port: hear(raw, patience) for port, raw in self.sockets.items()}

    def settle(self):
        """Waits until Penumbra has all megaflows that it can carry out. Returns whether the switch keeps others."""
        if not self.router:
            return False

        def state():
            kept = False
            for row in self.ovs.datapath_flows().splitlines():
                match, _, actions = row.partition("actions:")
                if _REFUSED_MATCH.search(match) or _REFUSED_ACTIONS.search(actions):
                    kept = True
                elif actions and "dp:penumbra" not in match:
                    return None
            return (kept,)

        with contextlib.suppress(AssertionError):
            return conftest.wait_until("offloaded megaflows", state, patience=2)[0]
        return False
