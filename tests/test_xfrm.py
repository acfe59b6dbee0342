# SPDX-License-Identifier: Apache-2.0
"""Compares the keeper (`penumbra xfrm run`) with Linux: the same messages get the same answers. Linux may lack ESP; then all
that needs no ESP is compared. Tests of crashes follow."""

import contextlib
import json
import random
import signal
import socket
import struct
import subprocess
import time

import pytest

import conftest
import netns
import xfrm_messages as xfrm
from xfrm_messages import attribute, message

needs_namespaces = pytest.mark.skipif(netns.unavailable() is not None, reason=f"{netns.unavailable()}")


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
    ("block it for a mark", xfrm.NEWPOLICY, xfrm.policy(xfrm.OUT, action=1) + attribute(xfrm.MARK, struct.pack("=II", 1, 1))),
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


@needs_namespaces
def test_policies_migrate_as_in_linux(keeper, linux):
    """Linux may lack ESP, so that no SA is compared."""
    ours = xfrm.Peer(keeper.path)
    elsewhere = ("198.51.100.1", "198.51.100.2")
    moved, other = xfrm.move(xfrm.ENDS, elsewhere), xfrm.move(elsewhere, xfrm.ENDS)
    for what, kind, content in [
        ("migrate an unknown policy", xfrm.MIGRATE, xfrm.migration(xfrm.OUT, moved)),
        ("add two policies", xfrm.NEWPOLICY, xfrm.policy(xfrm.OUT) + attribute(xfrm.TMPL, xfrm.template())),
        ("the second", xfrm.NEWPOLICY, xfrm.policy(xfrm.IN) + attribute(xfrm.TMPL, xfrm.template(mode=0))),
        ("without moves", xfrm.MIGRATE, xfrm.policy_id(xfrm.OUT)),
        ("too many moves", xfrm.MIGRATE, xfrm.migration(xfrm.OUT, *[moved] * 7)),
        ("a move that is there twice", xfrm.MIGRATE, xfrm.migration(xfrm.OUT, moved, moved)),
        ("to no address", xfrm.MIGRATE, xfrm.migration(xfrm.OUT, xfrm.move(xfrm.ENDS, ("0.0.0.0", "192.0.2.9")))),
        ("from other ends", xfrm.MIGRATE, xfrm.migration(xfrm.OUT, other)),
        ("of another reqid", xfrm.MIGRATE, xfrm.migration(xfrm.OUT, xfrm.move(xfrm.ENDS, elsewhere, reqid=9))),
        ("of another mode", xfrm.MIGRATE, xfrm.migration(xfrm.OUT, xfrm.move(xfrm.ENDS, elsewhere, mode=0))),
        ("of no direction", xfrm.MIGRATE, xfrm.migration(7, moved)),
        ("migrate", xfrm.MIGRATE, xfrm.migration(xfrm.OUT, moved, other)),
        ("migrate transport mode", xfrm.MIGRATE, xfrm.migration(xfrm.IN, xfrm.move(elsewhere, xfrm.ENDS, mode=0))),
        ("get the first", xfrm.GETPOLICY, xfrm.policy_id(xfrm.OUT)),
        ("get the second", xfrm.GETPOLICY, xfrm.policy_id(xfrm.IN)),
    ]:
        mine, its = ours.ask(message(kind, content)), linux.ask(message(kind, content))
        if its[0] == "ENOPROTOOPT":
            pytest.skip("Linux here cannot migrate")
        assert mine[0] == its[0], what
        assert attribute_set(mine, 168) == attribute_set(its, 168), what


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
    error, answer = peer.ask(message(xfrm.LEND, xfrm.sa_id(spi) + struct.pack("=IIQ16xII", 0, 0, 0, count, 0)))
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
    assert "another process has" in second.stderr


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
