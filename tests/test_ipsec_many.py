# SPDX-License-Identifier: Apache-2.0
"""Tests `ipsec` with thousands of tunnels, whose SAs and policies come to the keeper as XFRM messages."""

import contextlib
import signal
import time

import conftest
import esp_codec
import xfrm_messages as xfrm
from captures import frames_of, read_capture, write_pcap
from ipsec_world import Combination, aged, frame, reasons
from test_ipsec import plain
from test_xfrm import SaKeeper


#: Addresses of frames. `echo` takes a port by the first four bytes, modulo the number of ports: always the first added.
LINK = bytes.fromhex("020000050001" "020000000002")


def tunnels(count: int) -> list[Combination]:
    return [plain(number, window=32) for number in range(count)]


def requests(tunnel: Combination, *, is_far: bool = False) -> list[bytes]:
    """Returns the requests that install a tunnel at the near or at the far gateway."""
    out, back, near, far = tunnel.out, tunnel.back, tunnel.near, tunnel.far
    if is_far:
        out, back, near, far = back, out, far, near
    wanted = []
    for sa in (out, back):
        ends = (sa.source, sa.destination)
        content = xfrm.sa(sa.spi, reqid=sa.reqid, window=sa.window, ends=ends) + xfrm.gcm(sa.key)
        wanted.append(xfrm.message(xfrm.NEWSA, content, xfrm.REQUEST))
    arriving = (back, far, near)
    for direction, (sa, source, destination) in ((xfrm.OUT, (out, near, far)), (xfrm.FORWARD, arriving), (xfrm.IN, arriving)):
        content = xfrm.policy(direction, selected=xfrm.selector(destination, source, (24, 24)))
        template = xfrm.template(reqid=sa.reqid, ends=(sa.source, sa.destination))
        wanted.append(xfrm.message(xfrm.NEWPOLICY, content + xfrm.attribute(xfrm.TMPL, template), xfrm.REQUEST))
    return wanted


def install(keeper: SaKeeper, messages: list[bytes]) -> None:
    """Sends the messages in batches and waits until the keeper has read them. No message may be refused."""
    peer, batch = xfrm.Peer(keeper.path), 64
    for first in range(0, len(messages), batch):
        peer.socket.send(b"".join(messages[first : first + batch]))
    assert peer.ask(xfrm.message(xfrm.GETSADINFO, bytes(4)))[0] == ""
    peer.close()


class Gateway:
    """A router with a keeper. The keeper lives on when the router ends."""

    def __init__(self, folder, workers):
        folder.mkdir()
        self.bench, self.workers = conftest.Bench(folder), workers
        self.keeper = SaKeeper(folder)

    @contextlib.contextmanager
    def running(self, count):
        """Runs the router with room for `count` tunnels."""
        # Without a peer nothing comes by it, and the run does not end.
        device = f"net_memif0,role=server,socket={self.bench.folder}/memif,socket-abstract=no"
        settings = f"follow: [xfrm], socket: {self.keeper.path}, sas: {4 * count}"
        self.bench.configure(
            [{"name": "idle", "device": device, "sink": None}],
            pipeline=f"  - ipsec: {{{settings}}}\n  - echo: {{offset: 0}}",
            workers=self.workers,
        )
        with self.bench.start() as router:
            yield router

    def wait_for(self, router, count):
        """Waits until the data plane has all tunnels and can seal for each."""

        def has_all():
            seen = router.show("ipsec")
            return (seen["sas"], seen["policies"]) == (2 * count, 3 * count) and seen["blocks_lent"] >= count

        router.wait_for("all tunnels", has_all)

    def send(self, router, packets):
        """Sends packets from as many ports as there are workers."""
        for i in range(self.workers):
            name = f"p{i}"
            frames = [LINK + frame(each)[12:] for each in packets[i :: self.workers]]
            write_pcap(self.bench.folder / f"{name}.pcap", frames_of(frames))
            words = ["device", f"pcap:{name}.pcap", "sink", f"{name}.out.pcap"]
            done = conftest.penumbra("port", "add", name, *words, "--socket", router.socket)
            assert done.returncode == 0, done.stderr

    def sent(self):
        """Returns the IP packets that the last run sent."""
        return [each.data[14:] for each in read_capture(self.bench.folder / "p0.out.pcap").frames]


@contextlib.contextmanager
def gateways(folder, *names, workers):
    found = []
    try:
        for name in names:
            found.append(Gateway(folder / name, workers))
        yield found
    finally:
        for each in found:
            each.keeper.stop(signal.SIGKILL)


def counts(router):
    """Returns the packets of each SA that had some, by SPI."""
    return {int(row["spi"], 16): row["packets"] for row in router.show("sa", "all")["sas"] if row["packets"]}


def test_ten_thousand_tunnels_are_installed(tmp_path):
    """The first, the last and some others are used. The time is printed (`pytest -s`)."""
    count = 10_000
    all_tunnels = tunnels(count)
    messages = [each for tunnel in all_tunnels for each in requests(tunnel)]
    sample = all_tunnels[:: count // 50] + all_tunnels[-1:]
    with gateways(tmp_path, "near", workers=1) as (near,), near.running(count) as router:
        start = time.monotonic()
        install(near.keeper, messages)
        installed = time.monotonic()
        near.wait_for(router, count)
        print(f"{count} pairs: {installed - start:.2f} s to the keeper, {time.monotonic() - start:.2f} s to the router")
        # The keeper closes a connection that cannot hold all messages. The router would connect again.
        assert router.show("ipsec")["connections"] == 1
        shown = router.show("sa", "all")["sas"]
        assert {int(row["spi"], 16) for row in shown} == {sa.spi for each in all_tunnels for sa in (each.out, each.back)}
        assert router.show("policy", "all")["total"] == 3 * count
        near.send(router, [packet for each in sample for packet in (each.leaving(9), each.back.seal(1, each.arriving(9)))])
        wanted = {sa.spi: 1 for each in sample for sa in (each.out, each.back)}
        router.wait_for("the sample", lambda: len(counts(router)) >= len(wanted))
        assert counts(router) == wanted
        assert reasons(router.stop()) == {}
    outputs = near.sent()
    for each, outer in zip(sample, outputs[::2], strict=True):
        assert each.out.open(outer)[2] == aged(each.leaving(9))
    assert outputs[1::2] == [each.arriving(9) for each in sample]


def test_a_thousand_tunnels_carry_traffic_both_ways(tmp_path):
    """Two gateways with two workers each. The near router ends in between, and its keeper keeps the SAs."""
    count = 1000
    all_tunnels = tunnels(count)
    # The number of packets differs between tunnels and directions, so that no SA can count for another.
    there = {each.out.spi: [each.leaving(20 + i) for i in range(1 + each.number % 3)] for each in all_tunnels}
    back = {each.back.spi: [each.arriving(40 + i) for i in range(1 + each.number % 4)] for each in all_tunnels}

    def packets_of(by_spi):
        return [packet for packets in by_spi.values() for packet in packets]

    def pass_through(gateway, packets, by_spi):
        """Sends packets through a gateway and compares the counts of all SAs. Returns what it sent."""
        wanted = {spi: len(packets) for spi, packets in by_spi.items()}
        with gateway.running(count) as router:
            gateway.wait_for(router, count)
            gateway.send(router, packets)
            router.wait_for("all packets", lambda: sum(counts(router).values()) >= len(packets))
            assert counts(router) == wanted
            summary = router.stop()
        assert reasons(summary) == {} and summary.received == summary.sent == len(packets)
        return gateway.sent()

    with gateways(tmp_path, "near", "far", workers=2) as (near, far):
        for gateway in (near, far):
            install(gateway.keeper, [each for tunnel in all_tunnels for each in requests(tunnel, is_far=gateway is far)])
        sealed = pass_through(near, packets_of(there), there)
        both = pass_through(far, sealed + packets_of(back), there | back)
        opened = [packet for packet in both if packet[9] != esp_codec.ESP]
        assert sorted(opened) == sorted(map(aged, packets_of(there)))
        returned = [packet for packet in both if packet[9] == esp_codec.ESP]
        assert sorted(pass_through(near, returned, back)) == sorted(map(aged, packets_of(back)))
