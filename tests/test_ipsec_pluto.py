# SPDX-License-Identifier: Apache-2.0
"""Runs two gateways between two hosts: the left one with libreswan's pluto, the right one with strongSwan's charon."""

import pathlib

import pytest

import conftest
import needs
import pluto
import xfrm_messages as xfrm
from test_ipsec_charon import Wire, gateways
from test_twin import ping
from test_xfrm_charon import CHARON

__all__ = ["gateways"]
pytestmark = [
    needs.NAMESPACES,
    needs.TAPS,
    needs.tools("ping", "swanctl"),
    pytest.mark.skipif(not CHARON.exists(), reason="needs charon"),
    pytest.mark.skipif(pluto.unavailable() is not None, reason=f"{pluto.unavailable()}"),
]


@pytest.mark.parametrize(
    ("of_pluto", "of_charon"),
    [("aes_gcm128", "aes128gcm16"), ("chacha20_poly1305", "chacha20poly1305"), ("aes128-sha2_256", "aes128-sha256")],
)
def test_pluto_brings_sas_and_traffic_passes(gateways, of_pluto, of_charon):
    left, right = gateways
    wire = Wire(right)
    left.daemon = pluto.Pluto(left.folder, left.namespace, left.outer, right.outer, f"{left.inner}.2", f"{right.inner}.2", of_pluto)
    right.negotiate(of_charon)
    said = left.daemon.whack("--name", "c", "--initiate")
    assert "initiator established Child SA" in said, said
    for gateway in gateways:
        gateway.wait_for_sas()
        assert gateway.daemon.keeper.status()["policies"] == {"in": 1, "out": 1, "fwd": 1}
    left.host.run("ping", "-c", "3", "-i", "0.2", "-W", "2", "10.1.0.2", check=False)  # neighbours are resolved
    ping(left.host, "10.1.0.2")
    ping(right.host, "10.0.0.2")
    outbound, inbound = left.shown()
    assert outbound[0]["packets"] >= 10 and inbound[0]["packets"] >= 10 and inbound[0]["bad_icv"] == 0
    # pluto's counters come from the keeper.
    conftest.wait_until("counters", lambda: ", inBytes=0," not in left.daemon.whack("--trafficstatus"))

    left.daemon.whack("--name", "c", "--rekey-ipsec", "--asynchronous")
    left.router.wait_for("new SAs", lambda: left.shown()[0] and left.shown()[0][-1]["spi"] != outbound[0]["spi"])
    ping(left.host, "10.1.0.2")

    assert wire.check() > 10
    left.daemon.whack("--shutdown")
    assert left.daemon.process.wait(conftest.PATIENCE) == 0
    assert left.daemon.keeper.status()["sas"] == 0


def test_pluto_migrates_its_sas_when_the_peer_moves(gateways):
    """charon initiates, and so may move (MOBIKE). pluto moves its SAs and policies by MIGRATE."""
    left, right = gateways
    wire = Wire(right)
    # pluto lets only a peer move whose address it does not know beforehand.
    ends, options = (left.outer, "%any", f"{left.inner}.2", f"{right.inner}.2"), f"mobike=yes\n    rightid={right.outer}"
    left.daemon = pluto.Pluto(left.folder, left.namespace, *ends, "aes_gcm128", options=options)
    listener = xfrm.Peer(left.daemon.keeper.path, groups=1 << 6)
    right.negotiate("aes128gcm16")
    right.daemon.swanctl("--initiate", "--child", "c")
    for gateway in gateways:
        gateway.wait_for_sas()
    left.host.run("ping", "-c", "3", "-i", "0.2", "-W", "2", "10.1.0.2", check=False)  # neighbours are resolved
    ping(left.host, "10.1.0.2")
    (outbound,), (inbound,) = left.shown()
    done = conftest.penumbra("set", "ports.b.addresses", "[192.0.2.3/24]", "--socket", right.router.socket)
    assert done.returncode == 0, done.stderr
    right.namespace.ip("route", "replace", "10.0.0.0/24", "via", "192.0.2.1")

    def moved():
        return {row["spi"]: row for row in left.router.show("sa", "all")["sas"] if "192.0.2.3" in (row["source"], row["destination"])}

    left.router.wait_for("the other address", lambda: len(moved()) == 2)
    assert [listener.event()[0][0] for _ in range(2)] == [xfrm.MIGRATE] * 2
    assert set(moved()) == {outbound["spi"], inbound["spi"]}, "the keys stay"
    conftest.wait_until("an answer", lambda: left.host.run("ping", "-c", "1", "-W", "1", "10.1.0.2", check=False).returncode == 0)
    ping(left.host, "10.1.0.2")
    ping(right.host, "10.0.0.2")
    now = moved()
    assert now[outbound["spi"]]["packets"] >= outbound["packets"] + 10 and now[inbound["spi"]]["packets"] >= inbound["packets"] + 10
    assert now[outbound["spi"]]["sent"] > outbound["sent"] and now[inbound["spi"]]["received"] > inbound["received"]
    assert wire.check() > 10


def test_a_pluto_that_cannot_start_leaves_no_process(gateways):
    left, _ = gateways
    with pytest.raises(AssertionError, match="nonsense"):
        pluto.Pluto(left.folder, left.namespace, left.outer, "192.0.2.2", "10.0.0.2", "10.1.0.2", "aes_gcm128", options="nonsense=1")
    lines = [path.read_bytes() for path in pathlib.Path("/proc").glob("[0-9]*/cmdline")]
    # The router of the gateway runs on.
    assert not [line for line in lines if bytes(left.folder) in line and b"router.yaml" not in line]
