# SPDX-License-Identifier: Apache-2.0
"""Creates network namespaces: hosts on veth pairs around a router, and raw sockets into them."""

import contextlib
import ctypes
import itertools
import os
import re
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest

import conftest

_LIBC = ctypes.CDLL(None, use_errno=True)
_CLONE_NEWNET = 0x40000000
_ETH_P_ALL = 3
_PACKET_IGNORE_OUTGOING = 23
_SOL_PACKET = 263
_SO_RCVBUFFORCE = 33
#: Seconds. All namespaces share a lock of the kernel, which is held for a long time while many routes are added or
#: removed.
PATIENCE = 120
#: Seconds between two bursts of a test. A sanitizer occupies the core for a long time.
PAUSE = 0.01 if conftest.SANITIZED else 0.002
_serial_numbers = itertools.count()
_there: set[str] = set()  # names


def unavailable() -> str | None:
    """Returns the reason why namespaces cannot be created here, or None."""
    if os.geteuid() != 0:
        return "needs root"
    if shutil.which("ip") is None:
        return "needs iproute2"
    name = f"pen{os.getpid()}-try"
    try:
        ip("netns", "add", name)
        ip("netns", "exec", name, "true")
    except subprocess.CalledProcessError as error:
        return f"network namespaces cannot be made: {error.stderr.strip()}"
    finally:
        subprocess.run(["ip", "netns", "delete", name], capture_output=True)
    return None


def taps_unavailable() -> str | None:
    """Returns the reason why TAP devices, which twins need, cannot be created here, or None."""
    try:
        os.close(os.open("/dev/net/tun", os.O_RDWR))
    except OSError as error:
        return f"needs TAP devices: /dev/net/tun: {error.strerror}"
    return None


def fixture(network: Callable[..., Any], **options: Any) -> Any:
    """Returns a fixture that creates a network for one test and closes it."""

    @pytest.fixture
    def made() -> Iterator[Any]:
        with contextlib.closing(network(**options)) as its:
            yield its

    return made


def ip(*arguments: str) -> str:
    return subprocess.run(["ip", *arguments], check=True, capture_output=True, text=True, timeout=PATIENCE).stdout


@contextlib.contextmanager
def of_page(*names: str) -> Iterator[None]:
    """Deletes namespaces that a page of the documentation makes, and ends what runs in them. It does so at the beginning
    too, because an earlier run may have been killed."""

    def delete() -> None:
        for name in names:
            left = subprocess.run(["ip", "netns", "pids", name], capture_output=True, text=True, timeout=PATIENCE).stdout
            for pid in left.split():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(int(pid), signal.SIGKILL)
            subprocess.run(["ip", "netns", "delete", name], capture_output=True, timeout=PATIENCE)
            shutil.rmtree(f"/run/frr/{name}", ignore_errors=True)

    delete()
    try:
        yield
    finally:
        delete()


class Namespace:
    def __init__(self, name: str) -> None:
        self.name = f"pen{os.getpid()}-{next(_serial_numbers)}-{name}"
        ip("netns", "add", self.name)
        _there.add(self.name)
        # The kernel must not send any packet by itself.
        self.run("sysctl", "-qw", "net.ipv6.conf.all.disable_ipv6=1", "net.ipv6.conf.default.disable_ipv6=1")
        self.ip("link", "set", "lo", "up")

    def command(self, *words: str) -> list[str]:
        return ["ip", "netns", "exec", self.name, *words]

    def run(self, *words: str, check: bool = True, timeout: float = 30) -> subprocess.CompletedProcess:
        return subprocess.run(self.command(*words), check=check, capture_output=True, text=True, timeout=timeout)

    def ip(self, *arguments: str) -> str:
        return ip("-n", self.name, *arguments)

    def mac(self, interface: str) -> str:
        return self.ip("-brief", "link", "show", interface).split()[2]

    @contextlib.contextmanager
    def inside(self) -> Iterator[None]:
        """Moves the calling thread into the namespace. A socket that is created there stays in the namespace."""
        with open("/proc/thread-self/ns/net") as home, open(f"/run/netns/{self.name}") as there:
            _enter(there)
            try:
                yield
            finally:
                _enter(home)

    def socket(self, interface: str) -> socket.socket:
        """Returns a raw socket on an interface of the namespace that receives incoming packets only."""
        with self.inside():
            raw = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(_ETH_P_ALL))
        raw.setsockopt(_SOL_PACKET, _PACKET_IGNORE_OUTGOING, 1)
        raw.setsockopt(socket.SOL_SOCKET, _SO_RCVBUFFORCE, 32 << 20)
        raw.bind((interface, 0))
        return raw

    def delete(self) -> None:
        _there.discard(self.name)
        subprocess.run(["ip", "netns", "delete", self.name], capture_output=True, timeout=PATIENCE)


def has_answers(said: str, count: int) -> bool:
    """True if ping received all answers, except possibly the last one. ping waits for the last answer no longer than
    its interval or two round trips. On a busy machine it may end before the answer arrives. The router's counters show
    the rest."""
    return re.search(rf"\b({count - 1}|{count}) received", said) is not None


def what_the_kernels_know() -> str:
    """Returns the links and neighbours in all namespaces of this process, for messages of failing tests."""
    said = []
    for name in sorted(_there):
        for words in (("-stats", "link"), ("address",), ("neighbour",), ("-6", "route")):
            asked = subprocess.run(["ip", "-n", name, *words], capture_output=True, text=True, timeout=PATIENCE, check=False)
            said.append(f"{name}: ip {' '.join(words)}\n{asked.stdout}{asked.stderr}")
    return "\n".join(said)


def _enter(namespace) -> None:
    if _LIBC.setns(namespace.fileno(), _CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), "setns")


def veth(a: Namespace, name_a: str, b: Namespace, name_b: str, queues: int = 1, offloads: bool = False) -> None:
    """Creates a cable. Without `offloads`, its ends offload nothing, so that checksums on the cable are complete."""
    numbers = ["numtxqueues", str(queues), "numrxqueues", str(queues)]
    a.ip("link", "add", name_a, *numbers, "type", "veth", "peer", "name", name_b, *numbers, "netns", b.name)
    for namespace, name in ((a, name_a), (b, name_b)):
        namespace.ip("link", "set", name, "up")
        if shutil.which("ethtool") and not offloads:
            namespace.run("ethtool", "-K", name, "tx", "off", "gso", "off", "gro", "off", check=False)


def send(raw: socket.socket, frames: Iterable[bytes], burst: int = 32) -> None:
    """Sends with pauses, so that no ring on the path overflows. The kernel's ring between the ends of a veth has 1000
    entries."""
    for i, frame in enumerate(frames):
        raw.send(frame)
        if i % burst == burst - 1:
            time.sleep(PAUSE)


def receive(raw: socket.socket, count: int, patience: float = 20) -> list[bytes]:
    """Returns `count` frames, and any frames that follow within a moment. Returns fewer frames after `patience`
    seconds."""
    frames = []
    deadline = time.monotonic() + patience
    while (left := deadline - time.monotonic()) > 0:
        raw.settimeout(left if len(frames) < count else 0.2)
        try:
            frames.append(raw.recv(65536))
        except TimeoutError:
            break
    return frames


__all__ = ["Namespace", "ip", "receive", "send", "taps_unavailable", "unavailable", "veth", "what_the_kernels_know"]
