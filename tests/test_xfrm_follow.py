# SPDX-License-Identifier: Apache-2.0
"""The keeper follows the kernel (`penumbra xfrm run --follow-kernel`): a daemon or `ip xfrm` speaks to Linux, and the keeper
has what Linux has. Linux here may lack ESP; tests/guest/linux_esp.py has SAs."""

import contextlib
import signal
import struct
import subprocess
import time

import pytest

import conftest
import needs
import netns
import xfrm_messages as xfrm
from test_xfrm import SaKeeper
from xfrm_messages import attribute, message

pytestmark = needs.NAMESPACES


class Follower(SaKeeper):
    """A keeper that follows the kernel of a namespace."""

    def __init__(self, folder, namespace):
        self.namespace = namespace
        super().__init__(folder, namespace.command())

    def start(self, *words):
        super().start("--follow-kernel", *words)

    def policies(self):
        """Returns the fixed parts of policies as Linux would list them, without usage."""
        peer = xfrm.Peer(self.path)
        with contextlib.closing(peer):
            _, listed = peer.ask(message(xfrm.GETPOLICY, bytes(64), flags=xfrm.REQUEST | xfrm.DUMP))
        return [fixed_of(content) for _, content in listed]

    def until(self, what, condition):
        deadline = time.monotonic() + conftest.PATIENCE
        while not condition():
            assert self.process.poll() is None, self.log()
            assert time.monotonic() < deadline, f"waited too long for {what}: {self.log()}"
            time.sleep(0.02)

    def until_it_has(self, linux):
        self.until("the policies of Linux", lambda: self.policies() == listed_by(linux))


def fixed_of(content):
    """Returns the fixed part of a policy without its usage, and its attributes apart from padding."""
    return content[:120] + content[152:168], content[168:]


def listed_by(linux):
    _, listed = linux.ask(message(xfrm.GETPOLICY, bytes(64), flags=xfrm.REQUEST | xfrm.DUMP))
    return [fixed_of(content) for _, content in listed]


@pytest.fixture
def world(tmp_path):
    """Returns a keeper and a socket to the kernel that it follows."""
    namespace = netns.Namespace("follow")
    keeper = linux = None
    try:
        with namespace.inside():
            try:
                linux = xfrm.Peer()
            except OSError as error:
                pytest.skip(f"Linux here has no XFRM: {error}")
        linux.ask(message(xfrm.NEWPOLICY, xfrm.policy(xfrm.IN, priority=7) + attribute(xfrm.TMPL, xfrm.template())))
        keeper = Follower(tmp_path, namespace)
        yield keeper, linux
    finally:
        if keeper is not None:
            keeper.stop(signal.SIGKILL)
        if linux is not None:
            linux.close()
        namespace.delete()


def test_policies_of_the_kernel_are_followed(world):
    keeper, linux = world
    assert len(keeper.policies()) == 1, "the policies of before are known when a client connects"
    marked = attribute(xfrm.MARK, struct.pack("=II", 1, 1))
    steps = [
        ("add", xfrm.NEWPOLICY, xfrm.policy(xfrm.OUT) + attribute(xfrm.TMPL, xfrm.template())),
        ("add for an interface", xfrm.NEWPOLICY, xfrm.policy(xfrm.OUT) + attribute(xfrm.IF_ID, struct.pack("=I", 5))),
        ("add for a mark", xfrm.NEWPOLICY, xfrm.policy(xfrm.FORWARD) + marked + attribute(xfrm.TMPL, xfrm.template())),
        ("update", xfrm.UPDPOLICY, xfrm.policy(xfrm.OUT, priority=9, action=1)),
        ("delete", xfrm.DELPOLICY, xfrm.policy_id(xfrm.IN)),
    ]
    for what, kind, content in steps:
        assert linux.ask(message(kind, content))[0] == "", what
        keeper.until_it_has(linux)
    assert keeper.status()["policies"] == {"in": 0, "out": 2, "fwd": 1}
    # Packets of the router have no mark, and must not pass in clear for it.
    assert linux.ask(message(xfrm.UPDPOLICY, xfrm.policy(xfrm.FORWARD) + marked))[0] == ""
    keeper.until("the policy to be left out", lambda: keeper.status()["policies"] == {"in": 0, "out": 2, "fwd": 0})
    assert linux.ask(message(xfrm.DELPOLICY, xfrm.policy_id(xfrm.FORWARD) + marked))[0] == ""
    assert linux.ask(message(xfrm.POLEXPIRE, xfrm.policy(xfrm.OUT, priority=9, action=1) + bytes([1]) + bytes(7)))[0] == ""
    keeper.until_it_has(linux)
    assert linux.ask(message(xfrm.FLUSHPOLICY, b""))[0] == ""
    keeper.until("no policies", lambda: keeper.policies() == [])
    status = keeper.status()
    assert status["source"] == "kernel" and status["resyncs"] == 0 and status["refused_policies"] == 1
    assert "the kernel" in subprocess.run(
        [conftest.PROGRAM, "xfrm", "status", "--socket", keeper.path], capture_output=True, text=True, check=True, timeout=conftest.PATIENCE
    ).stdout


def test_clients_read_and_change_nothing(world):
    keeper, linux = world
    peer = xfrm.Peer(keeper.path)
    for kind, content in [
        (xfrm.NEWPOLICY, xfrm.policy(xfrm.OUT)),
        (xfrm.DELPOLICY, xfrm.policy_id(xfrm.IN)),
        (xfrm.FLUSHPOLICY, b""),
        (xfrm.NEWSA, xfrm.sa(0x100) + xfrm.gcm()),
        (xfrm.FLUSHSA, bytes([xfrm.ESP])),
        (xfrm.ALLOCSPI, xfrm.sa(0) + struct.pack("=II", 0x100, 0x100)),
        (xfrm.SETDEFAULT, bytes([1, 1, 1])),
    ]:
        assert peer.ask(message(kind, content))[0] == "EBUSY", kind
    assert peer.ask(message(xfrm.GETPOLICY, xfrm.policy_id(xfrm.IN)))[0] == ""
    assert len(listed_by(linux)) == 1


def test_defaults_are_followed(world):
    keeper, linux = world
    error, _ = linux.ask(message(xfrm.SETDEFAULT, bytes([1, 2, 1])))
    if error:
        pytest.skip(f"Linux here has no defaults: {error}")
    peer = xfrm.Peer(keeper.path)
    keeper.until("the defaults", lambda: peer.ask(message(xfrm.GETDEFAULT, bytes(3)))[1][0][1][:3] == bytes([1, 2, 1]))
    keeper.stop(signal.SIGKILL)
    keeper.start()
    assert xfrm.Peer(keeper.path).ask(message(xfrm.GETDEFAULT, bytes(3)))[1][0][1][:3] == bytes([1, 2, 1])


def test_a_migration_is_followed(world):
    keeper, linux = world
    elsewhere = ("198.51.100.1", "198.51.100.2")
    error, _ = linux.ask(message(xfrm.MIGRATE, xfrm.migration(xfrm.IN, xfrm.move(xfrm.ENDS, elsewhere))))
    if error:
        pytest.skip(f"Linux here cannot migrate: {error}")
    keeper.until_it_has(linux)
    assert xfrm.address(elsewhere[0]) in keeper.policies()[0][1]
    keeper.until("the comparison", lambda: keeper.status()["resyncs"] == 1)


def test_notifications_that_were_lost_are_made_up_for(world):
    keeper, linux = world
    keeper.process.send_signal(signal.SIGSTOP)
    try:
        # Each batch fills the socket of the keeper a little more.
        for number in range(40_000):
            selected = xfrm.selector(f"10.{number >> 8 & 255}.{number & 255}.0", bits=(24, 0))
            content = xfrm.policy(xfrm.FORWARD, selected=selected) + attribute(xfrm.TMPL, xfrm.template())
            linux.socket.send(message(xfrm.UPDPOLICY, content, flags=xfrm.REQUEST))
    finally:
        keeper.process.send_signal(signal.SIGCONT)
    keeper.until("a loss", lambda: keeper.status()["overruns"] > 0)
    keeper.until("the comparison", lambda: keeper.status()["resyncs"] > 0)
    assert linux.ask(message(xfrm.DELPOLICY, xfrm.policy_id(xfrm.IN)))[0] == ""
    keeper.until("the policies", lambda: keeper.status()["policies"] == {"in": 0, "out": 0, "fwd": 40_000})


def test_an_sa_of_the_kernel_is_locked_first(world):
    keeper, linux = world
    error, _ = linux.ask(message(xfrm.NEWSA, xfrm.sa(0x100, window=32) + xfrm.gcm()))
    if error:
        pytest.skip(f"Linux here has no ESP: {error}")
    keeper.until("the SA", lambda: keeper.status()["sas"] == 1)
    assert keeper.status()["locks"] == 1
    _, ((_, content),) = linux.ask(message(xfrm.GETAE, xfrm.event_id(0x100)))
    assert struct.pack("=HHI", 16, xfrm.REPLAY_VAL, 0xFFFFFFFF) in content


def test_a_second_keeper_of_a_namespace_is_refused(world, tmp_path):
    keeper, _ = world
    words = [*keeper.namespace.command(), conftest.PROGRAM, "xfrm", "run", "--follow-kernel"]
    words += ["--socket", tmp_path / "other.sock", "--state", tmp_path / "other"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=conftest.PATIENCE)
    assert done.returncode == 1
    assert "another keeper follows the kernel of this network namespace" in done.stderr


def test_without_permission_the_keeper_says_what_to_do(tmp_path):
    words = ["setpriv", "--bounding-set", "-all", "--inh-caps", "-all", conftest.PROGRAM, "xfrm", "run", "--follow-kernel"]
    words += ["--socket", tmp_path / "xfrm.sock", "--state", tmp_path]
    done = subprocess.run(words, capture_output=True, text=True, timeout=conftest.PATIENCE)
    assert done.returncode == 1
    assert "CAP_NET_ADMIN" in done.stderr or "has no XFRM" in done.stderr
