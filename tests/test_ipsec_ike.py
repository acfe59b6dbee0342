# SPDX-License-Identifier: Apache-2.0
"""Tests what IKE does in the life of a tunnel: other algorithms, new keys of IKE itself, another address, a dead peer."""

import re
import subprocess

import pytest

import conftest
import netns
from test_ipsec_charon import Wire, gateways, pytestmark  # noqa: F401 - a fixture and marks
from test_ipsec_nat import connect
from test_twin import ping


class Pinging:
    """Sends 50 packets a second for three seconds."""

    def __init__(self, host, address):
        words = host.command("ping", "-c", "150", "-i", "0.02", "-W", "5", address)
        self.process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)

    def check(self):
        said = self.process.communicate(timeout=netns.PATIENCE)[0]
        # The keeper answers the daemon before the data plane has the new SA. On a busy machine a packet may come between.
        assert int(re.search(r"(\d+) received", said)[1]) >= 147, said


def ike_sa(daemon):
    """Returns the names of the IKE SAs: their cookies."""
    return re.findall(r"([0-9a-f]{16}_i\*? [0-9a-f]{16}_r)", daemon.swanctl("--list-sas"))


@pytest.mark.parametrize("proposal", ["chacha20poly1305", "aes128-sha1", "aes128ctr-sha256", "null-sha256", "aes128gmac"])
def test_every_kind_of_algorithm_carries_traffic(gateways, proposal):  # noqa: F811
    left, right = gateways
    wire = Wire(right)
    for gateway in gateways:
        gateway.negotiate(proposal)
    connect(left, right)
    ping(left.host, "10.1.0.2")
    ping(right.host, "10.0.0.2")
    for row in [row for gateway in gateways for each in gateway.shown() for row in each]:
        assert row["packets"] >= 5 and row["bad_icv"] == row["late"] == row["replayed"] == 0
    if proposal not in ("null-sha256", "aes128gmac"):  # These only authenticate.
        assert wire.check() > 10


def test_ike_changes_its_own_keys_under_traffic(gateways):  # noqa: F811
    left, right = gateways
    wire = Wire(right)
    for gateway in gateways:
        gateway.negotiate("aes128gcm16", more="make_before_break = yes")
    connect(left, right)
    for words in ((), ("--reauth",)):
        before, child = ike_sa(left.daemon), left.daemon.spi()
        pinging = Pinging(left.host, "10.1.0.2")
        left.daemon.swanctl("--rekey", "--ike", "t", *words)
        left.daemon.wait_for(lambda before=before: (now := ike_sa(left.daemon)) and not set(now) & set(before))
        pinging.check()
        # Only a new authentication makes a new child SA.
        assert (left.daemon.spi() == child) == (words == ())
    assert wire.check() > 10


def test_a_gateway_moves_to_another_address(gateways):  # noqa: F811
    """MOBIKE deletes SAs and adds them again with the same keys. No number may be used twice, and the windows stay."""
    left, right = gateways
    wire = Wire(right)
    for gateway in gateways:
        gateway.negotiate("aes128gcm16")
    connect(left, right)
    ping(left.host, "10.1.0.2")
    (outbound,), (inbound,) = left.shown()
    done = conftest.penumbra("set", "ports.b.addresses", "[192.0.2.3/24]", "--socket", left.router.socket)
    assert done.returncode == 0, done.stderr
    left.namespace.ip("route", "replace", "10.1.0.0/24", "via", "192.0.2.2")

    def moved(gateway):
        return {row["spi"]: row for row in gateway.router.show("sa", "all")["sas"] if "192.0.2.3" in (row["source"], row["destination"])}

    for gateway in gateways:
        gateway.router.wait_for("the other address", lambda gateway=gateway: len(moved(gateway)) == 2)
    now = moved(left)
    assert set(now) == {outbound["spi"], inbound["spi"]}, "the keys stay"
    conftest.wait_until("an answer", lambda: left.host.run("ping", "-c", "1", "-W", "1", "10.1.0.2", check=False).returncode == 0)
    ping(left.host, "10.1.0.2")
    ping(right.host, "10.0.0.2")
    now = moved(left)
    assert now[outbound["spi"]]["sent"] > outbound["sent"]
    assert now[inbound["spi"]]["received"] > inbound["received"] and now[inbound["spi"]]["window"] == inbound["window"] > 0
    assert wire.check() > 10


def test_a_dead_peer_is_noticed(gateways):  # noqa: F811
    left, right = gateways
    for gateway in gateways:
        gateway.negotiate("aes128gcm16", more="retransmit_tries = 1\n retransmit_timeout = 1", options="dpd_delay = 1s")
    connect(left, right)
    # While packets arrive, the daemon does not ask. It knows by the counters that the data plane reports.
    pinging = Pinging(left.host, "10.1.0.2")
    pinging.check()
    right.daemon.process.kill()
    right.daemon.process.wait()
    conftest.wait_until("the end of the SAs", lambda: left.daemon.keeper.status()["sas"] == 0)
    said = left.host.run("ping", "-c", "2", "-i", "0.2", "-W", "1", "10.1.0.2", check=False).stdout
    assert " 0 received" in said, "nothing passes in clear"
