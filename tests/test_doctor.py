# SPDX-License-Identifier: Apache-2.0
"""Tests `penumbra doctor` on this machine. The unit test covers other machines (src/cli/doctor/doctor_test.cc)."""

import json
import os
import pathlib
import shutil
import subprocess

import pytest

import conftest
import needs
import netns


def examine(*arguments, command=(), code=(0, 1)):
    """Returns the findings by check, after general checks of all findings."""
    done = subprocess.run(
        [*command, conftest.PROGRAM, "doctor", "-j", *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=conftest.PATIENCE,
    )
    conftest.check_sanitizers(done.stderr)
    assert done.stderr == "" and done.returncode in code
    findings = json.loads(done.stdout)
    assert (done.returncode == 1) == any(f["state"] == "problem" for f in findings)
    by_check = {}
    for finding in findings:
        assert finding.keys() == {"check", "state", "text", "command", "packages"}
        assert finding["state"] in ("ok", "hint", "problem") and finding["text"]
        by_check.setdefault(finding["check"], []).append(finding)
    return by_check


def test_this_machine():
    findings = examine(code=(0,))
    online = pathlib.Path("/sys/devices/system/cpu/online").read_text().strip()
    ranges = [[int(end) for end in part.split("-")] for part in online.split(",")]
    assert findings["cores"][0]["text"].startswith(f"{sum(r[-1] - r[0] + 1 for r in ranges)} online")
    assert (findings["TUN/TAP"][0]["state"] == "ok") == pathlib.Path("/dev/net/tun").exists()
    assert (findings["huge page mount"][0]["state"] == "ok") == (" hugetlbfs " in pathlib.Path("/proc/mounts").read_text())
    text = conftest.penumbra("doctor")
    assert text.returncode == 0
    lines = text.stdout.splitlines()
    assert len([line for line in lines if not line.startswith(" ")]) == sum(map(len, findings.values()))
    for finding in (f for group in findings.values() for f in group if f["command"]):
        assert lines[lines.index(next(x for x in lines if finding["text"] in x)) + 1].strip() == finding["command"]


def test_what_the_configuration_needs(bench):
    ports = [{"name": "wan", "device": "net_af_packet0,iface=no-such-if", "sink": None}]
    bench.configure(ports, pipeline="  - echo")
    assert examine(bench.config, code=(1,))["interfaces"] == [
        {
            "check": "interfaces",
            "state": "problem",
            "text": "there is no interface no-such-if",
            "command": "ip -brief link",
            "packages": [],
        }
    ]
    bench.config.write_text("ports: 1\n")
    done = conftest.penumbra("doctor", bench.config)
    assert done.returncode == 3 and f"{bench.config}:1:" in done.stderr


@needs.NAMESPACES
def test_interfaces_that_are_down_or_without_a_carrier(bench):
    namespace = netns.Namespace("doctor")
    try:
        namespace.ip("link", "add", "wan", "type", "veth", "peer", "name", "host")
        bench.configure([{"name": "wan", "device": "net_af_packet0,iface=wan", "sink": None}], pipeline="  - echo")

        def interface():
            (finding,) = examine(bench.config, command=namespace.command())["interfaces"]
            return finding["state"], finding["text"].partition(":")[0], finding["command"]

        assert interface() == ("hint", "wan is down", "ip link set wan up")  # the kernel reports no carrier here
        namespace.ip("link", "set", "wan", "up")
        assert interface() == ("hint", "wan is up without a carrier", "")
    finally:
        namespace.delete()


@pytest.mark.skipif(os.geteuid() != 0 or shutil.which("setpriv") is None, reason="needs root and setpriv")
def test_without_capabilities(bench):
    bench.configure([{"name": "wan", "device": "net_af_packet0,iface=lo", "sink": None}], pipeline="  - echo")
    bare = ["setpriv", "--bounding-set=-all", "--inh-caps=-all", "--"]
    states = {f["text"].split()[0]: f["state"] for f in examine(bench.config, command=bare)["capabilities"]}
    assert states == {"CAP_NET_ADMIN": "ok", "CAP_NET_RAW": "problem", "CAP_BPF": "ok"}


@needs.NAMESPACES
@needs.tools("ethtool")
def test_partial_checksums_and_what_mends_them(bench):
    namespace = netns.Namespace("doctor")
    try:
        namespace.ip("link", "add", "wan", "type", "veth", "peer", "name", "host")
        for name in ("wan", "host"):
            namespace.ip("link", "set", name, "up")
        bench.configure([{"name": "wan", "device": "net_af_packet0,iface=wan", "sink": None}], pipeline="  - echo")
        found = examine(bench.config, command=namespace.command())
        assert found["interfaces"][0]["text"] == "wan is up"
        (checksums,) = found["partial checksums"]
        assert checksums["state"] == "ok" and checksums["command"].startswith("ethtool -K host ")
        namespace.run(*checksums["command"].split())
        (checksums,) = examine(bench.config, command=namespace.command())["partial checksums"]
        assert checksums["command"] == ""
    finally:
        namespace.delete()
