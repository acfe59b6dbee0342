# SPDX-License-Identifier: Apache-2.0
"""Compares the keeper (`penumbra xfrm run`) with Linux: the same messages and the same commands of `ip xfrm` get the same
answers. Linux may lack ESP; then all that needs no ESP is compared. Tests of crashes and of the preload library follow."""

import contextlib
import json
import os
import random
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import time

import pytest

import conftest
import netns
import xfrm_messages as xfrm
from xfrm_messages import attribute, message

PRELOAD = conftest.PROGRAM.parent.parent / "lib" / "libpenumbra-xfrm.so"
needs_namespaces = pytest.mark.skipif(netns.unavailable() is not None, reason=f"{netns.unavailable()}")
needs_ip = pytest.mark.skipif(
    os.geteuid() != 0 or shutil.which("ip") is None or shutil.which("unshare") is None, reason="needs root and iproute2"
)


class SaKeeper:
    def __init__(self, folder, command=()):
        self.folder, self.command = folder, command
        self.path = folder / "xfrm.sock"
        self.process = None
        self.start()

    def start(self, *words):
        self.process = subprocess.Popen(
            [*self.command, conftest.PROGRAM, "xfrm", "run", "--socket", self.path, "--state", self.folder / "state", *words],
            stderr=open(self.folder / "log", "a"),
        )
        deadline = time.monotonic() + conftest.PATIENCE
        while time.monotonic() < deadline:
            with contextlib.suppress(OSError):
                xfrm.Peer(self.path).close()
                return
            assert self.process.poll() is None, self.log()
            time.sleep(0.02)
        raise AssertionError(self.log())

    def stop(self, how=signal.SIGTERM):
        self.process.send_signal(how)
        return self.process.wait(conftest.PATIENCE)

    def log(self):
        return (self.folder / "log").read_text()

    def status(self):
        words = [conftest.PROGRAM, "xfrm", "status", "--socket", self.path, "--json"]
        return json.loads(subprocess.run(words, capture_output=True, check=True, timeout=conftest.PATIENCE).stdout)


@pytest.fixture
def keeper(tmp_path):
    its = SaKeeper(tmp_path)
    yield its
    its.stop(signal.SIGKILL)


@pytest.fixture
def linux():
    """A socket to an empty SAD and SPD of Linux."""
    namespace = netns.Namespace("xfrm")
    try:
        with namespace.inside():
            try:
                peer = xfrm.Peer()
            except OSError as error:
                pytest.skip(f"Linux here has no XFRM: {error}")
        yield peer
        peer.close()
    finally:
        namespace.delete()


def seen(answer):
    """Leaves out of an answer what differs between two systems: times, random SPIs, and numbers of policies."""
    error, messages = answer
    shown = []
    for kind, content in messages:
        content = bytearray(content)
        if kind == xfrm.NEWSA:
            content[72:76] = bytes(4)
            content[176:192] = bytes(16)
        if kind == xfrm.NEWPOLICY:
            content[136:152] = bytes(16)
            content[156:160] = bytes(4)
        if kind in (xfrm.NEWSADINFO, xfrm.NEWSPDINFO):
            content = content[:12]
        shown.append((kind, bytes(content)))
    return error, shown


def attribute_set(answer, fixed):
    """Returns the attributes of all messages of an answer, in any order."""
    found = []
    for _, content in answer[1]:
        rest, its = content[fixed:], {}
        while len(rest) >= 4:
            length, number = struct.unpack_from("=HH", rest)
            its[number] = rest[4:length]
            rest = rest[(length + 3) & ~3 :]
        its.pop(15, None)  # XFRMA_LASTUSED
        its.pop(27, None)  # XFRMA_PAD
        found.append(its)
    return found


SCRIPT = [
    ("reserve an SPI", xfrm.ALLOCSPI, xfrm.sa(0) + struct.pack("=II", 0x100, 0x100)),
    ("count SAs", xfrm.GETSADINFO, bytes(4)),
    ("reserve it again", xfrm.ALLOCSPI, xfrm.sa(0) + struct.pack("=II", 0x100, 0x100)),
    ("a range that ends before it begins", xfrm.ALLOCSPI, xfrm.sa(0) + struct.pack("=II", 0x200, 0x100)),
    ("a CPI of 17 bits", xfrm.ALLOCSPI, xfrm.sa(0, protocol=xfrm.COMP) + struct.pack("=II", 1, 0x10000)),
    ("an SPI of TCP", xfrm.ALLOCSPI, xfrm.sa(0, protocol=6) + struct.pack("=II", 1, 2)),
    ("get a larval SA", xfrm.GETSA, xfrm.sa_id(0x100)),
    ("get its replay state", xfrm.GETAE, xfrm.event_id(0x100, 9)),
    ("set its replay state", xfrm.NEWAE, xfrm.event_id(0x100) + attribute(xfrm.REPLAY_VAL, bytes(12))),
    ("get an unknown SA", xfrm.GETSA, xfrm.sa_id(0x101)),
    ("get an SA of a protocol without SPI", xfrm.GETSA, xfrm.sa_id(0x100, protocol=60)),
    ("expire a larval SA", xfrm.EXPIRE, xfrm.sa(0x100) + bytes(8)),
    ("expire an unknown SA", xfrm.EXPIRE, xfrm.sa(0x101) + bytes(8)),
    ("delete an SA", xfrm.DELSA, xfrm.sa_id(0x100)),
    ("delete it again", xfrm.DELSA, xfrm.sa_id(0x100)),
    ("delete an SA by a message that is too short", xfrm.DELSA, xfrm.sa_id(0x100)[:20]),
    ("flush SAs", xfrm.FLUSHSA, bytes([xfrm.ESP])),
    ("add a policy", xfrm.NEWPOLICY, xfrm.policy(xfrm.OUT) + attribute(xfrm.TMPL, xfrm.template())),
    ("add it again", xfrm.NEWPOLICY, xfrm.policy(xfrm.OUT)),
    ("get it", xfrm.GETPOLICY, xfrm.policy_id(xfrm.OUT)),
    ("update it", xfrm.UPDPOLICY, xfrm.policy(xfrm.OUT, priority=9) + attribute(xfrm.TMPL, 2 * xfrm.template(mode=0))),
    ("get it updated", xfrm.GETPOLICY, xfrm.policy_id(xfrm.OUT)),
    ("add it for a mark", xfrm.NEWPOLICY, xfrm.policy(xfrm.OUT) + attribute(xfrm.MARK, struct.pack("=II", 1, 1))),
    ("add it for an interface", xfrm.NEWPOLICY, xfrm.policy(xfrm.OUT) + attribute(xfrm.IF_ID, struct.pack("=I", 5))),
    ("get an unknown policy", xfrm.GETPOLICY, xfrm.policy_id(xfrm.IN)),
    ("get a policy of no direction", xfrm.GETPOLICY, xfrm.policy_id(3)),
    ("get a policy by an unknown index", xfrm.GETPOLICY, xfrm.policy_id(xfrm.OUT, index=99993)),
    ("an index of another direction", xfrm.NEWPOLICY, xfrm.policy(xfrm.IN, index=9)),
    ("expire a policy", xfrm.POLEXPIRE, xfrm.policy(xfrm.OUT) + bytes(8)),
    ("count policies", xfrm.GETSPDINFO, bytes(4)),
    ("an attribute that is too short", xfrm.NEWPOLICY, xfrm.policy(xfrm.IN) + attribute(xfrm.MARK, bytes(4))),
    ("a type of policies that does not exist", xfrm.FLUSHPOLICY, attribute(xfrm.POLICY_TYPE, b"\2" + bytes(5))),
    ("set the default to block", xfrm.SETDEFAULT, bytes([1, 1, 1])),
    ("get the default", xfrm.GETDEFAULT, bytes(3)),
    ("delete a policy", xfrm.DELPOLICY, xfrm.policy_id(xfrm.OUT)),
    ("delete it again", xfrm.DELPOLICY, xfrm.policy_id(xfrm.OUT)),
    ("flush policies", xfrm.FLUSHPOLICY, b""),
    ("flush none", xfrm.FLUSHPOLICY, b""),
    ("a type without handler", xfrm.REPORT, bytes(64)),
    ("a type beyond the last", 0x50, bytes(64)),
]


@needs_namespaces
def test_a_script_of_messages_gets_the_answers_of_linux(keeper, linux):
    ours = xfrm.Peer(keeper.path)
    for what, kind, content in SCRIPT:
        mine, its = ours.ask(message(kind, content)), linux.ask(message(kind, content))
        fixed = {xfrm.NEWSA: 224, xfrm.NEWPOLICY: 168, xfrm.NEWAE: 48}.get(mine[1][0][0] if mine[1] else 0)
        if fixed is None:
            assert seen(mine) == seen(its), what
            continue
        assert [(k, c[:fixed]) for k, c in seen(mine)[1]] == [(k, c[:fixed]) for k, c in seen(its)[1]], what
        assert attribute_set(mine, fixed) == attribute_set(its, fixed), what


def wrong_sas(chance):
    """Yields SAs of which some are wrong in one or several places."""
    pick = chance.choice
    for _ in range(400):
        content = xfrm.sa(
            pick([0, 1, 0x10000]),
            protocol=pick([50, 50, 50, 51, 108, 43, 60, 6, 0]),
            mode=pick([0, 1, 1, 1, 2, 3, 4, 9]),
            family=pick([2, 2, 2, 2, 10, 0, 7]),
            window=pick([0, 0, 32, 200]),
            flags=pick([0, 0, 128]),
            selected=xfrm.selector(bits=pick([(0, 0), (32, 32), (33, 0), (0, 129)]), family=pick([2, 2, 10, 0, 3])),
        )
        state = struct.pack("=6I", chance.choice([0, 1, 4, 128, 129]), 0, 0, 0, 0, chance.choice([0, 32]))
        choices = [
            xfrm.gcm(),
            attribute(xfrm.ALG_AEAD, xfrm.algorithm("rfc4106(gcm(aes))", bytes(20), 128)[:-1]),
            attribute(xfrm.ALG_CRYPT, xfrm.algorithm("cbc(aes)", bytes(16))),
            attribute(xfrm.ALG_AUTH_TRUNC, xfrm.algorithm("hmac(sha1)", bytes(20), 96)),
            attribute(xfrm.ALG_AUTH, xfrm.algorithm("hmac(sha1)", bytes(20))[:60]),
            attribute(xfrm.ALG_COMP, xfrm.algorithm("deflate", b"")),
            attribute(xfrm.TFCPAD, bytes(4)),
            attribute(xfrm.REPLAY_ESN_VAL, state + bytes(chance.choice([0, 4, 16, 512]))),
            attribute(xfrm.MARK, bytes(chance.choice([4, 8]))),
            attribute(32, bytes(4)),
        ]
        yield content + b"".join(chance.sample(choices, chance.choice([1, 1, 1, 2, 3])))


#: Answers that depend on what algorithms and protocols a system has.
UNCOMPARABLE = {"", "ENOSYS", "EPROTONOSUPPORT", "EOPNOTSUPP", "ENOPROTOOPT", "ENOENT", "EEXIST"}


@needs_namespaces
def test_wrong_sas_are_refused_as_by_linux(keeper, linux):
    ours, chance, refused = xfrm.Peer(keeper.path), random.Random(35), 0
    for content in wrong_sas(chance):
        request = message(xfrm.NEWSA, content)
        mine, its = ours.ask(request)[0], linux.ask(request)[0]
        if its in UNCOMPARABLE:
            continue
        refused += 1
        assert mine == its, request.hex()
    assert refused > 100


@needs_namespaces
def test_random_policies_get_the_answers_of_linux(keeper, linux):
    ours, chance, taken = xfrm.Peer(keeper.path), random.Random(36), 0
    for _ in range(600):
        pick = chance.choice
        chosen = xfrm.selector(
            pick(["10.0.0.0", "10.1.0.0"]), bits=pick([(8, 0), (16, 16), (16, 0), (33, 0)]), family=pick([2] * 9 + [10, 0]), protocol=pick([0, 6])
        )
        kind = pick([xfrm.NEWPOLICY, xfrm.UPDPOLICY, xfrm.DELPOLICY, xfrm.GETPOLICY])
        if kind in (xfrm.NEWPOLICY, xfrm.UPDPOLICY):
            content = xfrm.policy(
                pick([0, 1, 2] * 3 + [3, 4]), selected=chosen, priority=pick([0, 5]), action=pick([0, 0, 0, 1, 2]), share=pick([0, 0, 0, 3, 4])
            )
            wanted = xfrm.template(
                protocol=pick([50] * 6 + [51, 0, 6]), mode=pick([0, 1, 1, 1, 2, 4, 9]), family=pick([2, 2, 2, 2, 10, 0, 9]), optional=pick([0, 0, 1])
            )
            content += attribute(xfrm.TMPL, wanted * pick([1, 1, 2, 6, 7])) if pick([0, 1]) else b""
        else:
            content = xfrm.policy_id(pick([0, 1, 2] * 3 + [3, 7]), selected=chosen)
        content += attribute(xfrm.IF_ID, struct.pack("=I", 3)) if pick([0, 0, 1]) else b""
        mine, its = ours.ask(message(kind, content)), linux.ask(message(kind, content))
        taken += its[0] == ""
        assert mine[0] == its[0], message(kind, content).hex()
        assert len(mine[1]) == len(its[1])
    assert taken > 100
    dump = message(xfrm.GETPOLICY, b"", xfrm.REQUEST | xfrm.DUMP)
    mine, its = ours.ask(dump), linux.ask(dump)
    assert seen(mine)[1]
    assert [c[:168] for _, c in seen(mine)[1]] == [c[:168] for _, c in seen(its)[1]]
    assert attribute_set(mine, 168) == attribute_set(its, 168)


def test_keys_go_to_root_and_events_carry_none(keeper):
    key = bytes(range(1, 21))
    listener, daemon = xfrm.Peer(keeper.path, groups=0xFFFFFFFF), xfrm.Peer(keeper.path)
    assert daemon.ask(message(xfrm.NEWSA, xfrm.sa(0x100) + xfrm.gcm(key)))[0] == ""
    assert key in daemon.ask(message(xfrm.GETSA, xfrm.sa_id(0x100)))[1][0][1]
    ((kind, _, content),) = listener.event()
    assert kind == xfrm.NEWSA
    assert b"gcm" not in content and key[:8] not in content
    assert (keeper.path.stat().st_mode & 0o777) == 0o600
    assert key[:8] not in (keeper.folder / "state" / "xfrm.marks").read_bytes()


def lend(peer, spi, count):
    """Borrows sequence numbers and returns the first."""
    error, answer = peer.ask(message(xfrm.LEND, xfrm.sa_id(spi) + struct.pack("=IIQ", 0, count, 0)))
    assert error == ""
    return struct.unpack_from("=Q", answer[0][1], 32)[0]


def test_no_sequence_number_is_lent_twice_over_crashes(keeper):
    chance, used = random.Random(1), set()
    for _ in range(8):
        peer = xfrm.Peer(keeper.path)
        assert peer.ask(message(xfrm.NEWSA, xfrm.sa(0x100) + xfrm.gcm()))[0] == ""
        for _ in range(chance.randint(1, 4)):
            count = chance.randint(1, 1000)
            first = lend(peer, 0x100, count)
            numbers = set(range(first, first + count))
            assert not used & numbers
            used |= numbers
        peer.close()
        keeper.stop(chance.choice([signal.SIGKILL, signal.SIGTERM]))
        keeper.start()
        assert keeper.status()["sas"] == 0


def test_a_keeper_without_its_marks_takes_no_key_of_a_counter_mode(keeper):
    peer = xfrm.Peer(keeper.path)
    assert peer.ask(message(xfrm.NEWSA, xfrm.sa(0x100) + xfrm.gcm()))[0] == ""
    lend(peer, 0x100, 10)
    keeper.stop(signal.SIGKILL)
    (keeper.folder / "state" / "xfrm.marks").unlink()
    keeper.start()
    assert "accept-lost-marks" in keeper.log()
    peer = xfrm.Peer(keeper.path)
    assert peer.ask(message(xfrm.NEWSA, xfrm.sa(0x100) + xfrm.gcm()))[0] == "EKEYREJECTED"
    cbc = attribute(xfrm.ALG_CRYPT, xfrm.algorithm("cbc(aes)", bytes(16)))
    cbc += attribute(xfrm.ALG_AUTH_TRUNC, xfrm.algorithm("hmac(sha256)", bytes(32), 128))
    assert peer.ask(message(xfrm.NEWSA, xfrm.sa(0x101) + cbc))[0] == ""
    keeper.stop()
    keeper.start("--accept-lost-marks")
    assert xfrm.Peer(keeper.path).ask(message(xfrm.NEWSA, xfrm.sa(0x100) + xfrm.gcm()))[0] == ""


def test_a_second_keeper_is_refused(keeper):
    words = [conftest.PROGRAM, "xfrm", "run", "--socket", keeper.path, "--state", keeper.folder / "state"]
    second = subprocess.run(words, capture_output=True, text=True, timeout=conftest.PATIENCE, check=False)
    assert second.returncode == 1
    assert "another keeper has" in second.stderr


def test_an_sa_expires_in_time(keeper):
    listener = xfrm.Peer(keeper.path, groups=1 << 1)
    limits = struct.pack("=8Q", *[xfrm.INFINITE] * 4, 1, 2, 0, 0)
    assert xfrm.Peer(keeper.path).ask(message(xfrm.NEWSA, xfrm.sa(0x100, limits=limits) + xfrm.gcm()))[0] == ""
    events = [listener.event()[0] for _ in range(2)]
    assert [(kind, content[224]) for kind, _, content in events] == [(xfrm.EXPIRE, 0), (xfrm.EXPIRE, 1)]
    assert keeper.status()["sas"] == 0


def test_many_sas_are_listed_whole(keeper):
    peer = xfrm.Peer(keeper.path)
    for spi in range(1, 2001):
        assert peer.ask(message(xfrm.NEWSA, xfrm.sa(spi) + xfrm.gcm()))[0] == ""
    error, listed = peer.ask(message(xfrm.GETSA, b"", xfrm.REQUEST | xfrm.DUMP))
    assert error == ""
    assert [struct.unpack_from(">I", content, 72)[0] for _, content in listed] == list(range(2000, 0, -1))


def test_a_process_that_sends_garbage_does_no_harm(keeper):
    chance = random.Random(5)
    for _ in range(50):
        peer = xfrm.Peer(keeper.path)
        peer.socket.send(chance.randbytes(chance.randint(1, 3000)))
        peer.close()
    good = xfrm.Peer(keeper.path)
    assert good.ask(message(xfrm.GETSADINFO, bytes(4)))[0] == ""


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
    ["add", "src", "2001:db8::/32", "dst", "::/0", "dir", "fwd", "mark", "5", "mask", "255", "if_id", "9"],
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
