# SPDX-License-Identifier: Apache-2.0
"""Tests which descriptors the preload library takes for sockets of the keeper, and what a program gets when the keeper
ends within an answer."""

import os
import signal
import subprocess
import sys

import conftest
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
