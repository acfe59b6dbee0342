# SPDX-License-Identifier: Apache-2.0
"""Floods `ipsec` with packets that make reports to the daemon: flows without an SA, and peers that change their address."""

import contextlib
import signal
import socket
import struct
import time

import pytest

import ipsec_world
import xfrm_messages as xfrm
from captures import frames_of, write_pcap
from conftest import penumbra
from esp_codec import SUITES, Sa
from ipsec_world import frame, ip_packet
from test_ipsec_keeper import drops
from test_xfrm import SaKeeper

ACQUIRES, MAPPINGS = 1 << 0, 1 << 7  # groups
GROWTH = 32 << 20  #: bytes that memory may grow in a flood; frames and rings are touched for the first time


@pytest.fixture
def keeper(tmp_path):
    its = SaKeeper(tmp_path)
    yield its
    its.stop(signal.SIGKILL)


def memory(process):
    """Returns the bytes of memory that a process has touched and nobody shares."""
    with open(f"/proc/{process.pid}/status") as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith("RssAnon"))


def start(bench, keeper, **devices):
    """Starts a router with a port for each device. The first one gets all packets."""
    ports = [{"name": name, "device": device, "sink": "count"} for name, device in devices.items()]
    ports[0]["addresses"] = [f"{ipsec_world.OWN}/24"]
    pipeline = f"  - ipsec: {{follow: [xfrm], socket: {keeper.path}}}\n  - echo: {{offset: 0}}"
    bench.configure(ports, pipeline=pipeline)
    return bench.start()


def add_policy(peer, reqid, destination, bits, **template):
    content = xfrm.policy(xfrm.OUT, selected=xfrm.selector(destination, "10.0.0.0", (bits, 16)))
    content += xfrm.attribute(xfrm.TMPL, xfrm.template(reqid=reqid, **template))
    assert peer.ask(xfrm.message(xfrm.NEWPOLICY, content))[0] == ""


def events(peer, kind):
    """Returns the contents of the messages of a kind that wait at a listener."""
    found = []
    peer.socket.settimeout(0.2)
    with contextlib.suppress(TimeoutError):
        while True:
            found += [content for its, _, content in peer.event() if its == kind]
    return found


def test_a_flood_of_flows_without_an_sa_is_bounded(bench, keeper):
    """20,000 destinations have no SA. An SA goes on, and another policy gets its SA."""
    listener, sleeper = (xfrm.Peer(keeper.path, groups=ACQUIRES) for _ in range(2))
    peer = xfrm.Peer(keeper.path)
    # Each destination of the first policy is an SA of its own, because the template has no addresses.
    add_policy(peer, 1, "10.8.0.0", 16, mode=0, ends=("0.0.0.0", "0.0.0.0"))
    add_policy(peer, 2, "10.9.0.0", 16)
    add_policy(peer, 3, "10.7.0.0", 16)
    assert peer.ask(xfrm.message(xfrm.NEWSA, xfrm.sa(0x100, reqid=3) + xfrm.gcm()))[0] == ""
    flows = [frame(ip_packet("10.0.0.7", f"10.8.{i // 256}.{i % 256}", 9)) for i in range(20_000)]
    write_pcap(bench.folder / "flood.pcap", frames_of(flows))
    write_pcap(bench.folder / "sealed.pcap", frames_of([frame(ip_packet("10.0.0.7", "10.7.0.1", 9))]))
    write_pcap(bench.folder / "other.pcap", frames_of([frame(ip_packet("10.0.0.7", "10.9.0.1", 9))]))
    with start(bench, keeper, wan="pcap:sealed.pcap,loop,rate=50k") as router:
        router.wait_for("sealed packets", lambda: (rows := router.show("sa")["sas"]) and rows[0]["packets"] > 0)
        before, exhausted = (memory(router.process), memory(keeper.process)), drops(router)["seq_exhausted"]
        began = time.monotonic()
        done = penumbra("port", "add", "flood", "device", "pcap:flood.pcap,loop,rate=200k", "sink", "count", "--socket", router.socket)
        assert done.returncode == 0, done.stderr
        router.wait_for("the flood", lambda: drops(router)["no_outbound_sa"] > 200_000)
        done = penumbra("port", "add", "other", "device", "pcap:other.pcap,loop,rate=100", "sink", "count", "--socket", router.socket)
        assert done.returncode == 0, done.stderr
        asked = []

        def has_other():
            asked.extend(events(listener, xfrm.ACQUIRE))
            return any(socket.inet_aton("10.9.0.1") in each for each in asked)

        router.wait_for("the request of another policy", has_other)
        seconds = time.monotonic() - began
        # The blocks of numbers end during the flood. Requests for more must not be lost in it.
        router.wait_for("blocks", lambda: router.show("ipsec")["blocks_lent"] >= 4)
        assert drops(router)["seq_exhausted"] == exhausted
        # 64 a second for a policy, and of the second in which the flood begins and ends.
        assert len(asked) <= 65 * (seconds + 2)
        shown, status = router.show("ipsec"), keeper.status()
        assert shown["acquires"] <= 2 * 65 * (time.monotonic() - began + 2) and shown["acquires_limited"] > 100_000
        assert status["larval_sas"] <= shown["acquires"] and status["notifications_lost"] == 0
        after = memory(router.process), memory(keeper.process)
        assert all(now - was < GROWTH for was, now in zip(before, after, strict=True)), (before, after)
        router.stop()
    for each in (listener, sleeper, peer):
        each.close()


def test_a_flood_of_new_addresses_is_bounded_and_ends_with_the_newest(bench, keeper):
    """A peer with a valid key changes its port with each packet, and then stays. The daemon hears once a second, and of the
    last port."""
    listener, peer = xfrm.Peer(keeper.path, groups=MAPPINGS), xfrm.Peer(keeper.path)
    key = bytes(range(1, 21))
    ends = (ipsec_world.PEER, ipsec_world.OWN)
    selected = xfrm.selector("10.0.0.0", "10.1.0.0", (16, 16))
    content = xfrm.policy(xfrm.FORWARD, selected=selected) + xfrm.attribute(xfrm.TMPL, xfrm.template(ends=ends))
    assert peer.ask(xfrm.message(xfrm.NEWPOLICY, content))[0] == ""
    encapsulation = xfrm.attribute(xfrm.ENCAP, struct.pack("=H", 2) + struct.pack(">HH2x", 4500, 4500) + bytes(16))
    sa = xfrm.sa(0x200, reqid=1, ends=ends, window=32)
    assert peer.ask(xfrm.message(xfrm.NEWSA, sa + xfrm.gcm(key) + encapsulation))[0] == ""
    inner, count = ip_packet("10.1.0.7", "10.0.0.7", 5), 20_000
    ports = [10_000 + i for i in range(count)]
    frames = []
    for i, port in enumerate([*ports, *[ports[-1]] * 10], 1):
        moved = Sa(0x200, SUITES[0], *ends, ports=(port, 4500), key=key)
        frames.append(frame(moved.seal(i, inner)))
    write_pcap(bench.folder / "moves.pcap", frames_of(frames[:count]))
    write_pcap(bench.folder / "stays.pcap", frames_of(frames[count:]))
    with start(bench, keeper, wan="synth:rate=1") as router:
        router.wait_for("the SA", lambda: router.show("sa")["sas"] and router.show("ipsec")["policies_known"])
        began = time.monotonic()
        done = penumbra("port", "add", "moves", "device", "pcap:moves.pcap", "sink", "count", "--socket", router.socket)
        assert done.returncode == 0, done.stderr
        router.wait_for("the packets", lambda: router.show("sa")["sas"][0]["packets"] == count)
        done = penumbra("port", "add", "stays", "device", "pcap:stays.pcap,rate=10", "sink", "count", "--socket", router.socket)
        assert done.returncode == 0, done.stderr
        told = []

        def has_last():
            told.extend(struct.unpack_from(">H", content, 24 + 4 + 16 + 16 + 2)[0] for content in events(listener, xfrm.MAPPING))
            return told and told[-1] == ports[-1]

        router.wait_for("the last port", has_last)
        assert len(told) <= time.monotonic() - began + 2
        shown = router.show("ipsec")
        assert len(told) <= shown["mappings"] <= len(frames) and shown["mappings_limited"] > count / 2
        assert shown["connections"] == 1
        assert {reason: n for reason, n in drops(router).items() if n} == {}
        router.stop()
    for each in (listener, peer):
        each.close()


def test_a_listener_that_does_not_read_costs_bounded_memory(keeper):
    """Policies come and go, and a listener sleeps. What it misses is counted."""
    sleeper, peer = xfrm.Peer(keeper.path, groups=1 << 3), xfrm.Peer(keeper.path)
    added = xfrm.message(xfrm.NEWPOLICY, xfrm.policy(xfrm.OUT) + xfrm.attribute(xfrm.TMPL, xfrm.template()), xfrm.REQUEST)
    removed = xfrm.message(xfrm.DELPOLICY, xfrm.policy_id(xfrm.OUT), xfrm.REQUEST)
    for _ in range(150):
        peer.socket.send(64 * (added + removed))
    assert peer.ask(xfrm.message(xfrm.GETSPDINFO, bytes(4)))[0] == ""
    assert keeper.status()["notifications_lost"] > 1000
    assert memory(keeper.process) < 128 << 20
    for each in (sleeper, peer):
        each.close()
