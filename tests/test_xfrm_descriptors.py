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
from test_xfrm import keeper, needs_ip, shell  # noqa: F401 - fixtures


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
    words = shell.words(sys.executable, "-c", REUSE, os.path.dirname(__file__), tmp_path)
    done = subprocess.run(words, capture_output=True, text=True, timeout=conftest.PATIENCE, check=False)
    assert done.returncode == 0, done.stderr


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
    words = shell.words(sys.executable, "-c", EMPTY, os.path.dirname(__file__))
    done = subprocess.run(words, capture_output=True, text=True, timeout=conftest.PATIENCE, check=False)
    assert done.returncode == 0, done.stderr


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
    words = shell.words(sys.executable, "-c", DUMP, os.path.dirname(__file__))
    program = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert program.stdout.readline() == "begun\n"
    keeper.stop(signal.SIGKILL)
    _, errors = program.communicate("go on\n", timeout=conftest.PATIENCE)
    assert program.returncode == 0, errors


def run(shell, script):  # noqa: F811
    words = shell.words(sys.executable, "-c", script, os.path.dirname(__file__))
    # Freed memory is overwritten, so that its use is noticed.
    environment = {**os.environ, "MALLOC_PERTURB_": "165"}
    done = subprocess.run(words, capture_output=True, text=True, timeout=conftest.PATIENCE, check=False, env=environment)
    assert done.returncode == 0, done.stderr


THREADS = """
import ctypes, socket, sys, threading
sys.path.insert(0, sys.argv[1])
import xfrm_messages as xfrm
libc, end = ctypes.CDLL(None), threading.Event()
def use(number):
    address = ctypes.create_string_buffer(12)
    while not end.is_set():
        libc.getsockname(number, address, ctypes.byref(ctypes.c_uint(12)))
number = xfrm.Peer().socket.fileno()
users = [threading.Thread(target=use, args=[number]) for _ in range(2)]
for user in users:
    user.start()
for _ in range(100):
    peer = xfrm.Peer()
    assert peer.ask(xfrm.message(xfrm.FLUSHSA, bytes([xfrm.ESP])))[0] == ""
    peer.close()
end.set()
for user in users:
    user.join()
"""


@needs_ip
def test_a_socket_may_be_closed_while_another_thread_uses_it(shell):  # noqa: F811
    run(shell, THREADS)


SILENT = """
import sys
sys.path.insert(0, sys.argv[1])
import xfrm_messages as xfrm
peer = xfrm.Peer()
peer.socket.send(xfrm.message(xfrm.NEWPOLICY, xfrm.policy(xfrm.OUT), xfrm.REQUEST, 1))
peer.socket.send(xfrm.message(xfrm.NEWPOLICY, xfrm.policy(xfrm.OUT), xfrm.REQUEST, 2))
peer.socket.send(xfrm.message(xfrm.GETPOLICY, xfrm.policy_id(xfrm.OUT), xfrm.REQUEST, 3))
peer.socket.send(xfrm.message(xfrm.FLUSHPOLICY, b"", sequence=4))
kinds = [peer.event()[0][0] for _ in range(3)]
assert kinds == [2, xfrm.NEWPOLICY, 2], kinds  # the refusal, the answer, the acknowledgement that was asked for
"""


@needs_ip
def test_a_program_gets_only_the_acknowledgements_that_it_asks_for(shell):  # noqa: F811
    run(shell, SILENT)


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
    words = shell.words(sys.executable, "-c", REFUSED, os.path.dirname(__file__))
    program = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert program.stdout.readline() == "ready\n"
    keeper.stop(signal.SIGKILL)
    print("", file=program.stdin, flush=True)
    assert program.stdout.readline() == "deleted\n"
    keeper.start()
    peer = xfrm.Peer(keeper.path)
    conftest.wait_until("the policies", lambda: keeper.status()["policies"]["out"] == 2)
    _, ((_, found),) = peer.ask(xfrm.message(xfrm.GETPOLICY, xfrm.policy_id(xfrm.OUT)))
    assert int.from_bytes(found[152:156], sys.byteorder) == 5
    _, errors = program.communicate("\n\n", timeout=conftest.PATIENCE)
    assert program.returncode == 0, errors
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
