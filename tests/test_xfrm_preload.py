# SPDX-License-Identifier: Apache-2.0
"""Tests the preload library, which connects `ip xfrm` and daemons to the keeper: `ip xfrm` prints what it prints of Linux."""

import os
import re
import shutil
import signal
import subprocess
import sys
import time

import pytest

import conftest
import netns
import xfrm_messages as xfrm
from test_xfrm import keeper, needs_namespaces  # noqa: F401 - fixture
from xfrm_messages import message

PRELOAD = conftest.PROGRAM.parent.parent / "lib" / "libpenumbra-xfrm.so"
needs_ip = pytest.mark.skipif(
    os.geteuid() != 0 or shutil.which("ip") is None or shutil.which("unshare") is None, reason="needs root and iproute2"
)


class Shell:
    """Runs commands with the preload library, in a mount namespace in which a file names the keeper's socket."""

    def __init__(self, keeper):
        (keeper.folder / "etc").mkdir()
        (keeper.folder / "etc" / "xfrm-socket").write_text(f"{keeper.path}\n")
        self.folder = keeper.folder / "etc"

    def words(self, *command):
        mount = f'mkdir -p /etc/penumbra && mount --bind {self.folder} /etc/penumbra && export LD_PRELOAD={PRELOAD} && exec "$@"'
        return ["unshare", "--mount", "--net", "sh", "-c", mount, "sh", *command]

    def ip(self, *command):
        return subprocess.run(self.words("ip", *command), capture_output=True, text=True, timeout=conftest.PATIENCE, check=False)


@pytest.fixture
def shell(keeper):
    if not PRELOAD.exists():
        pytest.skip(f"{PRELOAD} is not built")
    return Shell(keeper)


STATE = ["src", "192.0.2.1", "dst", "192.0.2.2", "proto", "esp", "spi", "0x100"]
KEY = "0x0102030405060708090a0b0c0d0e0f1011121314"


@needs_ip
def test_ip_xfrm_state_works_with_the_preload_library(shell):
    add = ["xfrm", "state", "add", *STATE, "mode", "tunnel", "reqid", "7", "replay-window", "32", "aead", "rfc4106(gcm(aes))", KEY, "128"]
    assert shell.ip(*add).returncode == 0
    assert shell.ip(*add).returncode == 2
    expected = (
        "src 192.0.2.1 dst 192.0.2.2\n\tproto esp spi 0x00000100 reqid 7 mode tunnel\n\treplay-window 32 \n"
        f"\taead rfc4106(gcm(aes)) {KEY} 128\n\tanti-replay context: seq 0x0, oseq 0x0, bitmap 0x00000000\n"
        "\tsel src 0.0.0.0/0 dst 0.0.0.0/0 \n"
    )
    assert shell.ip("xfrm", "state", "list").stdout == expected
    assert shell.ip("xfrm", "state", "get", *STATE).stdout == expected
    assert shell.ip("xfrm", "state", "count").stdout.split() == ["SAD", "count", "1"]
    assert shell.ip("xfrm", "state", "delete", *STATE).returncode == 0
    assert shell.ip("xfrm", "state", "delete", *STATE).returncode == 2
    assert shell.ip("xfrm", "state", "flush").returncode == 0
    assert shell.ip("xfrm", "state").stdout == ""


POLICIES = [
    ["add", "src", "10.0.0.0/24", "dst", "10.1.0.0/16", "dir", "out", "priority", "5", "tmpl", "src", "192.0.2.1", "dst", "192.0.2.2"]
    + ["proto", "esp", "reqid", "1", "mode", "tunnel"],
    ["add", "src", "10.2.0.0/24", "dst", "10.1.0.0/16", "proto", "tcp", "dport", "80", "dir", "in", "action", "block"],
    ["add", "src", "2001:db8::/32", "dst", "::/0", "dir", "fwd", "action", "block", "mark", "5", "mask", "255", "if_id", "9"],
    ["add", "src", "10.2.0.0/24", "dst", "10.1.0.0/16", "dir", "in", "tmpl", "proto", "esp", "mode", "transport", "level", "use"],
    ["add", "src", "10.2.0.0/24", "dst", "10.1.0.0/16", "dir", "in"],
    ["update", "src", "10.0.0.0/24", "dst", "10.1.0.0/16", "dir", "out", "priority", "7"],
    ["get", "src", "10.0.0.0/24", "dst", "10.1.0.0/16", "dir", "out"],
    ["delete", "src", "10.2.0.0/24", "dst", "10.1.0.0/16", "dir", "in"],
    ["delete", "src", "10.2.0.0/24", "dst", "10.1.0.0/16", "dir", "in"],
    ["list"],
    ["count"],
    ["flush"],
    ["list"],
]


@needs_namespaces
@needs_ip
def test_ip_xfrm_policy_prints_what_it_prints_of_linux(shell):
    namespace = netns.Namespace("policy")
    try:
        for words in POLICIES:
            ours = shell.ip("xfrm", "policy", *words)
            its = namespace.run("ip", "xfrm", "policy", *words, check=False)
            assert (ours.returncode, ours.stdout) == (its.returncode, its.stdout), words
    finally:
        namespace.delete()


@needs_ip
def test_ip_xfrm_policy_hears_why_a_conditional_bypass_is_refused(shell):
    for condition in (["mark", "5"], ["dev", "lo"], ["ptype", "sub"]):
        place = condition if condition[0] == "dev" else []
        rest = [] if condition[0] == "dev" else condition
        done = shell.ip("xfrm", "policy", "add", "src", "10.0.0.0/8", "dst", "10.1.0.0/16", *place, "dir", "out", *rest)
        assert done.returncode == 2 and "packets in clear would depend on a mark" in done.stderr, condition


@needs_ip
def test_ip_xfrm_monitor_shows_events_without_keys(shell, keeper, tmp_path):
    output = tmp_path / "monitor"
    with output.open("w") as file:
        monitor = subprocess.Popen(shell.words("stdbuf", "-oL", "ip", "xfrm", "monitor"), stdout=file)
    try:
        deadline = time.monotonic() + conftest.PATIENCE
        spi = 0x100
        while "src 192.0.2.1" not in output.read_text():
            assert time.monotonic() < deadline
            spi += 1
            assert xfrm.Peer(keeper.path).ask(message(xfrm.NEWSA, xfrm.sa(spi) + xfrm.gcm()))[0] == ""
            time.sleep(0.05)
        assert re.search(r"proto esp spi 0x0000010", output.read_text())
        assert "0102030405" not in output.read_text()
    finally:
        monitor.kill()
        monitor.wait()


DAEMON = """
import socket, sys
sys.path.insert(0, sys.argv[1])
import xfrm_messages as xfrm
events, requests = xfrm.Peer(groups=3), xfrm.Peer()
assert requests.ask(xfrm.message(xfrm.NEWSA, xfrm.sa(0x100) + xfrm.gcm()))[0] == ""
assert requests.ask(xfrm.message(xfrm.NEWPOLICY, xfrm.policy(xfrm.OUT)))[0] == ""
print("ready", flush=True)
events.socket.settimeout(60)
(kind, _, content), = events.event()
assert (kind, content[224]) == (xfrm.EXPIRE, 1), (kind, content)
assert content[72:76] == (0x100).to_bytes(4, "big")
assert requests.ask(xfrm.message(xfrm.NEWSA, xfrm.sa(0x200) + xfrm.gcm(bytes(20))))[0] == ""
print("again", flush=True)
sys.stdin.read()
"""


@needs_ip
def test_a_restart_of_the_keeper_is_hidden_from_a_daemon(shell, keeper):
    words = shell.words(sys.executable, "-c", DAEMON, os.path.dirname(__file__))
    daemon = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        assert daemon.stdout.readline() == "ready\n"
        keeper.stop(signal.SIGKILL)
        time.sleep(0.3)
        assert daemon.poll() is None
        keeper.start()
        assert daemon.stdout.readline() == "again\n"
        status = keeper.status()
        assert status["sas"] == 1
        assert status["policies"]["out"] == 1
    finally:
        daemon.stdin.close()
        assert daemon.wait(conftest.PATIENCE) == 0


@needs_ip
def test_without_a_keeper_a_program_gets_an_error_and_ends(shell, keeper):
    keeper.stop()
    asked = shell.ip("xfrm", "state")
    assert asked.returncode == 1
    assert "Connection refused" in asked.stderr


@needs_ip
def test_the_file_of_the_path_must_be_roots(shell, keeper):
    os.chmod(shell.folder / "xfrm-socket", 0o666)
    assert xfrm.Peer(keeper.path).ask(message(xfrm.NEWSA, xfrm.sa(0x100) + xfrm.gcm()))[0] == ""
    assert "0x00000100" not in shell.ip("xfrm", "state").stdout
    os.chmod(shell.folder / "xfrm-socket", 0o644)
    assert "0x00000100" in shell.ip("xfrm", "state").stdout
