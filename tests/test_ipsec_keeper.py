# SPDX-License-Identifier: Apache-2.0
"""Tests `ipsec` with the keeper: what a daemon would do comes as XFRM messages."""

import signal
import socket
import struct

import pytest

import esp_codec
import ipsec_world
import netns
import xfrm_messages as xfrm
from captures import frames_of, write_pcap
from conftest import penumbra, wait_until
from esp_codec import SUITES, Sa
from ipsec_world import frame
from test_xfrm import SaKeeper, lend

NEAR, FAR = "10.0.0.7", "10.1.0.7"
#: The keeper's messages are for a tunnel from 192.0.2.1 to 192.0.2.2.
OUT = Sa(0x100, SUITES[0], "192.0.2.1", "192.0.2.2", key=bytes(range(1, 21)))
TRAFFIC = "pcap:in.pcap,loop,rate=%d"


@pytest.fixture
def keeper(tmp_path):
    its = SaKeeper(tmp_path)
    yield its
    its.stop(signal.SIGKILL)


def follow(bench, keeper, device, settings=""):
    write_pcap(bench.folder / "in.pcap", frames_of([frame(ipsec_world.ip_packet(NEAR, FAR, i)) for i in range(64)]))
    bench.configure(
        [{"name": "wan", "device": device, "addresses": ["192.0.2.1/24"]}],
        pipeline=f"  - ipsec: {{follow: [xfrm], socket: {keeper.path}{settings}}}\n  - echo: {{offset: 0}}",
    )
    return bench.start()


def install(peer, *, sa=True, policies=True):
    if sa:
        assert peer.ask(xfrm.message(xfrm.NEWSA, xfrm.sa(0x100, reqid=1) + xfrm.gcm()))[0] == ""
    if policies:
        for direction, ends in ((xfrm.OUT, ("10.1.0.0", "10.0.0.0")), (xfrm.FORWARD, ("10.0.0.0", "10.1.0.0"))):
            selected = xfrm.selector(*ends, (16, 16))
            content = xfrm.policy(direction, selected=selected) + xfrm.attribute(xfrm.TMPL, xfrm.template())
            assert peer.ask(xfrm.message(xfrm.NEWPOLICY, content))[0] == ""


def drops(router):
    return {row["reason"]: row["packets"] for row in router.show("drops", "all")}


def test_follows_changes_and_stops_sealing_without_numbers(bench, keeper):
    with follow(bench, keeper, TRAFFIC % 1000) as router:
        router.wait_for("drops without policies", lambda: drops(router)["no_policy_state"] > 10)
        peer = xfrm.Peer(keeper.path)
        install(peer, sa=False)
        router.wait_for("packets without an SA", lambda: drops(router)["no_outbound_sa"] > 10)
        install(peer, policies=False)
        router.wait_for("sealed packets", lambda: router.show("sa")["sas"][0]["packets"] > 10)
        # The keeper gets the usage, so that a daemon can ask for it.
        wait_until("usage", lambda: struct.unpack_from("=Q", usage_of(peer))[0] > 1000)
        assert router.show("ipsec")["connected"]
        # Removing the policies ends all traffic: there is no policy that lets it pass in clear.
        before = router.show("sa")["sas"][0]["packets"]
        assert peer.ask(xfrm.message(xfrm.FLUSHPOLICY, b""))[0] == ""
        router.wait_for("no policies", lambda: not router.show("ipsec")["policies_known"])
        assert peer.ask(xfrm.message(xfrm.DELSA, xfrm.sa_id(0x100)))[0] == ""
        router.wait_for("no SA", lambda: not router.show("sa")["sas"])
        assert before > 10
        peer.close()
        router.stop()
    for data in bench.outputs()["wan"]:
        assert data[14 + 9] == esp_codec.ESP, "a packet left in clear"
        assert OUT.open(data[14:])[2][12:20] == socket.inet_aton(NEAR) + socket.inet_aton(FAR)


def usage_of(peer):
    """Returns the current lifetime of the SA as GETSA shows it: bytes, packets, times."""
    error, answers = peer.ask(xfrm.message(xfrm.GETSA, xfrm.sa_id(0x100)))
    assert error == ""
    return answers[0][1][56 + 24 + 16 + 64 :]


def test_an_sa_comes_with_its_first_numbers(bench, keeper):
    """A daemon replaces an SA and deletes the old one in the same moment. The keeper stops as soon as it has answered, so
    that the data plane cannot ask for numbers."""
    peer = xfrm.Peer(keeper.path)
    install(peer)
    with follow(bench, keeper, TRAFFIC % 30_000) as router:
        router.wait_for("sealed packets", lambda: (rows := router.show("sa")["sas"]) and rows[0]["packets"] > 100)
        before = drops(router)
        for i in range(1, 6):
            new = xfrm.message(xfrm.NEWSA, xfrm.sa(0x100 + i, reqid=1) + xfrm.gcm(bytes(range(i + 1, i + 21))), xfrm.REQUEST)
            # As charon does, the policy names the SPI, and the daemon changes it when the new SA is there.
            content = xfrm.policy(xfrm.OUT, selected=xfrm.selector("10.1.0.0", "10.0.0.0", (16, 16)))
            content += xfrm.attribute(xfrm.TMPL, xfrm.template(spi=0x100 + i))
            changed = xfrm.message(xfrm.UPDPOLICY, content, xfrm.REQUEST)
            old = xfrm.message(xfrm.DELSA, xfrm.sa_id(0xFF + i))
            assert peer.ask(new + changed + old)[0] == ""
            keeper.process.send_signal(signal.SIGSTOP)
            router.wait_for("the new SA", lambda i=i: seals_by(router, 0x100 + i))
            keeper.process.send_signal(signal.SIGCONT)
        assert drops(router) == before, "no packet is lost"
        peer.close()
        router.stop()


def seals_by(router, spi):
    """True if the only SA has this SPI, and has sealed packets."""
    return [int(row["spi"], 16) for row in router.show("sa", "all")["sas"] if row["packets"] > 100] == [spi]


def test_sas_and_policies_migrate_at_once(bench, keeper):
    """The gateway moves to another address (MOBIKE). Numbers and windows go on, and no packet is lost."""
    moved = "192.0.2.3"
    peer = xfrm.Peer(keeper.path)
    install(peer)
    key = bytes(range(2, 22))
    back = xfrm.sa(0x200, reqid=1, ends=("192.0.2.2", "192.0.2.1"), window=32)
    assert peer.ask(xfrm.message(xfrm.NEWSA, back + xfrm.gcm(key)))[0] == ""
    arriving = xfrm.selector("10.0.0.0", "10.1.0.0", (16, 16))
    content = xfrm.policy(xfrm.FORWARD, selected=arriving) + xfrm.attribute(xfrm.TMPL, xfrm.template(ends=("192.0.2.2", "192.0.2.1")))
    assert peer.ask(xfrm.message(xfrm.UPDPOLICY, content))[0] == ""
    inner = ipsec_world.ip_packet(FAR, NEAR, 5)

    def inject(router, name, *packets):
        write_pcap(bench.folder / f"{name}.pcap", frames_of(map(frame, packets)))
        done = penumbra("port", "add", name, "device", f"pcap:{name}.pcap", "sink", "count", "--socket", router.socket)
        assert done.returncode == 0, done.stderr

    def inbound(router):
        return next(row for row in router.show("sa", "all")["sas"] if row["spi"] == "0x00000200")

    with follow(bench, keeper, TRAFFIC % 30_000) as router:
        router.wait_for("sealed packets", lambda: (rows := router.show("sa")["sas"]) and rows[0]["packets"] > 1000)
        inject(router, "before", *[Sa(0x200, SUITES[0], "192.0.2.2", "192.0.2.1", key=key).seal(n, inner) for n in (7, 9)])
        router.wait_for("opened packets", lambda: inbound(router)["packets"] == 2)
        before = drops(router)
        leaving = xfrm.selector("10.1.0.0", "10.0.0.0", (16, 16))
        out = xfrm.migration(xfrm.OUT, xfrm.move(xfrm.ENDS, (moved, "192.0.2.2"), reqid=1), selected=leaving)
        their = xfrm.move(("192.0.2.2", "192.0.2.1"), ("192.0.2.2", moved), reqid=1)
        for request in (out, xfrm.migration(xfrm.FORWARD, their, selected=arriving)):
            assert peer.ask(xfrm.message(xfrm.MIGRATE, request))[0] == ""
        router.wait_for("the new address", lambda: inbound(router)["destination"] == moved)
        assert drops(router) == before, "no packet is lost"
        assert inbound(router)["packets"] == 2 and inbound(router)["received"] == 9, "counters and windows go on"
        there = Sa(0x200, SUITES[0], "192.0.2.2", moved, key=key)
        inject(router, "after", *[there.seal(n, inner) for n in (9, 7, 8, 10)])
        router.wait_for("opened packets", lambda: inbound(router)["packets"] == 4)
        assert drops(router)["replayed"] == before["replayed"] + 2
        # The old address no longer has the SA.
        inject(router, "late", Sa(0x200, SUITES[0], "192.0.2.2", "192.0.2.1", key=key).seal(11, inner))
        router.wait_for("the drop", lambda: drops(router)["no_sa"] == before["no_sa"] + 1)
        peer.close()
        router.stop()
    sealed = [data[14:] for data in bench.outputs()["wan"] if data[14 + 9] == esp_codec.ESP]
    numbers = [int.from_bytes(outer[24:28]) for outer in sealed]
    assert len(set(numbers)) == len(numbers), "a nonce was used twice"
    sources = [outer[12:16] for outer in sealed]
    changed = sources.index(socket.inet_aton(moved))
    assert set(sources[:changed]) == {socket.inet_aton("192.0.2.1")} and set(sources[changed:]) == {socket.inet_aton(moved)}
    for outer in (sealed[changed - 1], sealed[changed], sealed[-1]):
        assert Sa(0x100, SUITES[0], "192.0.2.1", "192.0.2.2", key=OUT.key).open(outer)[2]


def test_without_the_keeper_the_lent_numbers_end(bench, keeper):
    peer = xfrm.Peer(keeper.path)
    install(peer)
    with follow(bench, keeper, TRAFFIC % 30_000) as router:
        router.wait_for("sealed packets", lambda: router.show("sa")["sas"] and router.show("sa")["sas"][0]["sent"] > 0)
        keeper.stop(signal.SIGKILL)
        router.wait_for("the end of the numbers", lambda: drops(router)["seq_exhausted"] > 1000, patience=netns.PATIENCE)
        used = router.show("sa")["sas"][0]["sent"]
        keeper.start()
        peer = xfrm.Peer(keeper.path)
        install(peer)  # The daemon did not notice that the keeper was away, and sends the same key again.
        router.wait_for("new numbers", lambda: router.show("sa")["sas"] and router.show("sa")["sas"][0]["sent"] > used)
        router.stop()
    seen = set()
    for data in bench.outputs()["wan"]:
        number = struct.unpack("!I", data[38:42])[0]
        assert number not in seen, "a nonce was used twice"
        seen.add(number)
    assert max(seen) > used


def test_many_sas_get_numbers_that_are_on_the_disk(bench, keeper):
    """The keeper saves the marks of a datagram at once, and lends afterwards."""
    count = 2000
    with follow(bench, keeper, "synth:rate=1", f", sas: {2 * count}") as router:
        peer = xfrm.Peer(keeper.path)
        install(peer, sa=False)
        sas = [xfrm.sa(0x1000 + i, reqid=1) + xfrm.gcm(struct.pack("!5I", i, 1, 2, 3, 4)) for i in range(count)]
        for first in range(0, count, 100):
            peer.socket.send(b"".join(xfrm.message(xfrm.NEWSA, sa, xfrm.REQUEST) for sa in sas[first : first + 100]))
        router.wait_for("blocks", lambda: router.show("ipsec")["blocks_lent"] == count)
        wait_until("marks", lambda: keeper.status()["high_water_marks"] == count)
        keeper.stop(signal.SIGKILL)
        keeper.start()
        assert keeper.status()["high_water_marks"] == count
        again = xfrm.Peer(keeper.path)
        for sa in sas[:: count // 8]:
            assert again.ask(xfrm.message(xfrm.NEWSA, sa))[0] == ""
            assert lend(again, int.from_bytes(sa[72:76]), 1) > 1 << 16, "a number was lent twice"


def test_asks_for_sas_and_reports_new_addresses(bench, keeper):
    acquires = xfrm.Peer(keeper.path, groups=1 << 0)
    mappings = xfrm.Peer(keeper.path, groups=1 << 7)
    peer = xfrm.Peer(keeper.path)
    install(peer, sa=False)
    # The inbound SA is encapsulated, and its peer had port 4500.
    back = Sa(0x200, SUITES[0], "192.0.2.2", "192.0.2.1", ports=(4500, 4500), key=bytes(range(1, 21)))
    sa = xfrm.sa(0x200, reqid=1, ends=("192.0.2.2", "192.0.2.1"))
    encapsulation = xfrm.attribute(xfrm.ENCAP, struct.pack("=H", 2) + struct.pack(">HH2x", 4500, 4500) + bytes(16))
    assert peer.ask(xfrm.message(xfrm.NEWSA, sa + xfrm.gcm() + encapsulation))[0] == ""
    moved = Sa(0x200, SUITES[0], "192.0.2.2", "192.0.2.1", ports=(6000, 4500), key=back.key)
    inner = ipsec_world.ip_packet(FAR, NEAR, 5)
    outer = moved.seal(9, inner)
    forged = bytearray(moved.seal(8, inner))
    forged[-1] ^= 1
    # The router must know the SAs before the packets come.
    frames = [frame(bytes(forged)), frame(ipsec_world.ip_packet(NEAR, FAR, 5)), frame(outer)]
    with follow(bench, keeper, "synth:rate=1") as router:
        write_pcap(bench.folder / "late.pcap", frames_of(frames))
        router.wait_for("policies", lambda: router.show("ipsec")["policies_known"])
        done = penumbra("port", "add", "late", "device", "pcap:late.pcap", "sink", "count", "--socket", router.socket)
        assert done.returncode == 0, done.stderr
        kind, _, content = acquires.event()[0]
        assert kind == xfrm.ACQUIRE and socket.inet_aton(FAR) in content
        kind, _, content = mappings.event()[0]
        assert kind == xfrm.MAPPING and struct.pack(">H", 6000) in content
        router.wait_for("the counters", lambda: drops(router)["bad_icv"] == 1)
        assert router.show("ipsec")["mappings"] == 1 and router.show("ipsec")["acquires"] >= 1
        router.stop()
    for each in (acquires, mappings, peer):
        each.close()


def test_what_cannot_be_used_closes_the_gateway(bench, keeper):
    """More SAs than there is room for: nothing may pass by policies that are known in part."""
    peer = xfrm.Peer(keeper.path)
    install(peer)
    assert peer.ask(xfrm.message(xfrm.NEWSA, xfrm.sa(0x101, reqid=2) + xfrm.gcm(bytes(range(2, 22)))))[0] == ""
    with follow(bench, keeper, TRAFFIC % 1000, ", sas: 1") as router:
        router.wait_for("drops", lambda: drops(router)["no_policy_state"] > 100)
        assert not router.show("ipsec")["policies_known"]
        router.stop()
    assert not bench.outputs()["wan"]
    peer.close()
