# SPDX-License-Identifier: Apache-2.0
"""Tests which descriptors the preload library takes for sockets of the keeper, what a program gets when the keeper ends
within an answer, and that a keeper without descriptors lets programs wait."""

import os
import pathlib
import resource
import signal
import subprocess
import sys

import conftest
import xfrm_messages as xfrm
from test_xfrm_preload import keeper, needs_ip, shell  # noqa: F401 - fixtures


def start(shell, script, *words):  # noqa: F811
    """Starts a Python script with the preload library and with pipes."""
    command = shell.words(sys.executable, "-c", script, os.path.dirname(__file__), *words)
    # Freed memory is overwritten, so that its use is noticed.
    environment = {**os.environ, "MALLOC_PERTURB_": "165"}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen(command, **pipes, text=True, env=environment)


def finish(program, text=""):
    """Writes to a script and checks that it ends without an error."""
    try:
        _, errors = program.communicate(text, timeout=conftest.PATIENCE)
    finally:
        program.kill()
    assert program.returncode == 0, errors


REUSE = """
import os, socket, sys
sys.path.insert(0, sys.argv[1])
import xfrm_messages as xfrm
for reuse in ("closerange", "dup2"):
    peer = xfrm.Peer()
    assert peer.ask(xfrm.message(xfrm.FLUSHSA, bytes([xfrm.ESP])))[0] == ""
    number = peer.socket.detach()
    if reuse == "closerange":
        os.closerange(number, number + 1)
        other = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    else:
        other = socket.socket(fileno=os.dup2(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).detach(), number))
    assert other.fileno() == number, reuse
    path = os.path.join(sys.argv[2], reuse)
    other.bind(path)
    assert os.path.exists(path), reuse
    assert other.getsockname() == path, reuse
    sender = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    sender.bind(path + ".sender")
    sender.sendto(b"hello", path)
    assert other.recvfrom(9) == (b"hello", path + ".sender"), reuse
"""


@needs_ip
def test_a_descriptor_that_became_another_file_is_not_the_keepers(shell, tmp_path):  # noqa: F811
    finish(start(shell, REUSE, tmp_path))


EMPTY = """
import sys
sys.path.insert(0, sys.argv[1])
import xfrm_messages as xfrm
peer = xfrm.Peer()
peer.socket.send(b"")
assert peer.ask(xfrm.message(xfrm.FLUSHSA, bytes([xfrm.ESP])))[0] == ""
"""


@needs_ip
def test_an_empty_datagram_does_not_end_the_connection(shell):  # noqa: F811
    finish(start(shell, EMPTY))


DUMP = """
import struct, sys
sys.path.insert(0, sys.argv[1])
import xfrm_messages as xfrm
peer = xfrm.Peer()
for first in range(0, 6000, 300):
    many = [xfrm.policy(xfrm.OUT) + xfrm.attribute(xfrm.IF_ID, struct.pack("=I", 1 + first + i)) for i in range(300)]
    peer.socket.send(b"".join(xfrm.message(xfrm.NEWPOLICY, one, xfrm.REQUEST) for one in many))
peer.socket.send(xfrm.message(xfrm.GETPOLICY, b"", xfrm.REQUEST | xfrm.DUMP))
first = peer.event()
print("begun", flush=True)
sys.stdin.readline()
while all(kind == xfrm.NEWPOLICY for kind, _, _ in first):
    first = peer.event()
(kind, _, content), = first
assert (kind, struct.unpack_from("=i", content)[0]) == (2, -104), (kind, content)
"""


@needs_ip
def test_a_dump_ends_with_an_error_if_the_keeper_ends(shell, keeper):  # noqa: F811
    program = start(shell, DUMP)
    assert program.stdout.readline() == "begun\n"
    keeper.stop(signal.SIGKILL)
    finish(program, "go on\n")


ENDED = """
import os, socket, sys, time
sys.path.insert(0, sys.argv[1])
import xfrm_messages as xfrm
peer = xfrm.Peer()
port = peer.socket.getsockname()[0]
peer.socket.shutdown(socket.SHUT_RDWR)
while len(os.listdir("/proc/self/task")) > 1:
    time.sleep(0.01)
# Another thread that looked the relay up before it ended does the same.
assert peer.socket.getsockname()[0] == port
peer.socket.setsockopt(270, 1, 2)
assert peer.socket.getsockname()[1] == 2
"""


@needs_ip
def test_a_thread_may_hold_a_relay_that_has_ended(shell):  # noqa: F811
    finish(start(shell, ENDED))


SILENT = """
import struct, sys
sys.path.insert(0, sys.argv[1])
import xfrm_messages as xfrm
peer = xfrm.Peer()
send = peer.socket.send
send(xfrm.message(xfrm.NEWPOLICY, xfrm.policy(xfrm.OUT), xfrm.REQUEST, 1))
send(xfrm.message(xfrm.NEWPOLICY, xfrm.policy(xfrm.OUT), xfrm.REQUEST, 2))
send(xfrm.message(xfrm.GETPOLICY, xfrm.policy_id(xfrm.OUT), xfrm.REQUEST, 3))
send(xfrm.message(xfrm.NEWPOLICY, xfrm.policy(xfrm.IN), sequence=4))
send(xfrm.message(xfrm.FLUSHPOLICY, b"", xfrm.REQUEST, 5))
send(xfrm.message(xfrm.GETPOLICY, xfrm.policy_id(xfrm.OUT), xfrm.REQUEST, 6))
def answer():
    data = peer.socket.recv(1 << 17)
    kind, sequence = struct.unpack_from("=H2xI", data, 4)
    return (sequence, kind, struct.unpack_from("=i", data, 16)[0] if kind == 2 else None)
answers = [answer() for _ in range(4)]
assert answers == [(2, 2, -17), (3, xfrm.NEWPOLICY, None), (4, 2, 0), (6, 2, -2)], answers
"""


@needs_ip
def test_a_program_gets_only_the_acknowledgements_that_it_asks_for(shell):  # noqa: F811
    finish(start(shell, SILENT))


REFUSED = """
import sys
sys.path.insert(0, sys.argv[1])
import xfrm_messages as xfrm
events, peer = xfrm.Peer(groups=3), xfrm.Peer()
other, gone = xfrm.selector("10.9.0.0", "10.0.0.0", (16, 24)), xfrm.selector("10.8.0.0", "10.0.0.0", (16, 24))
def ask(kind, content):
    return peer.ask(xfrm.message(kind, content))[0]
assert ask(xfrm.NEWPOLICY, xfrm.policy(xfrm.OUT, priority=5)) == ""
assert ask(xfrm.NEWPOLICY, xfrm.policy(xfrm.OUT, priority=7)) == "EEXIST"
both = [xfrm.message(xfrm.NEWPOLICY, xfrm.policy(xfrm.OUT, selected=each), xfrm.REQUEST) for each in (other, gone)]
peer.socket.send(b"".join(both))
assert ask(xfrm.NEWSA, xfrm.sa(0x100)) == "EINVAL"  # without an algorithm
print("ready", flush=True)
sys.stdin.readline()
assert ask(xfrm.DELPOLICY, xfrm.policy_id(xfrm.OUT, selected=gone)) == "ENOENT"  # while there is no keeper
print("deleted", flush=True)
sys.stdin.readline()
while ask(xfrm.GETPOLICY, xfrm.policy_id(xfrm.OUT)):
    pass
events.socket.setblocking(False)
try:
    raise AssertionError(events.event())  # No SA was accepted, so none expires.
except BlockingIOError:
    pass
sys.stdin.readline()
"""


@needs_ip
def test_a_new_keeper_gets_only_what_the_last_one_accepted(shell, keeper):  # noqa: F811
    program = start(shell, REFUSED)
    assert program.stdout.readline() == "ready\n"
    keeper.stop(signal.SIGKILL)
    print("", file=program.stdin, flush=True)
    assert program.stdout.readline() == "deleted\n"
    keeper.start()
    peer = xfrm.Peer(keeper.path)
    conftest.wait_until("the policies", lambda: keeper.status()["policies"]["out"] == 2)
    _, ((_, found),) = peer.ask(xfrm.message(xfrm.GETPOLICY, xfrm.policy_id(xfrm.OUT)))
    assert int.from_bytes(found[152:156], sys.byteorder) == 5
    finish(program, "\n\n")
    assert keeper.status()["policies"]["out"] == 2


def test_programs_wait_while_the_keeper_has_no_descriptor_left(keeper):  # noqa: F811
    resource.prlimit(keeper.process.pid, resource.RLIMIT_NOFILE, (24, 24))
    peers = [xfrm.Peer(keeper.path) for _ in range(40)]
    request = xfrm.message(xfrm.GETSADINFO, bytes(4))
    peers[-1].socket.send(request)
    # The keeper sleeps. It would run all the time if it tried to accept.
    state = pathlib.Path(f"/proc/{keeper.process.pid}/stat")
    for _ in range(3):
        conftest.wait_until("sleep", lambda: state.read_text().rsplit(")", 1)[1].split()[0] == "S")
    assert peers[0].ask(request)[0] == ""
    for peer in peers[:-1]:
        peer.close()
    assert peers[-1].event()[0][0] == xfrm.NEWSADINFO
