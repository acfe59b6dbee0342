# SPDX-License-Identifier: Apache-2.0
"""Runs two gateways with charon, with a NAT between them that changes its mapping."""

import pytest

import conftest
from test_ipsec_charon import drops, gateways, pytestmark  # noqa: F401 - a fixture and marks
from test_twin import ping


def is_answered(host, address):
    return host.run("ping", "-c", "1", "-W", "1", address, check=False).returncode == 0


def connect(left, right):
    left.daemon.swanctl("--initiate", "--child", "c")
    for gateway in (left, right):
        gateway.wait_for_sas()
    for host, address in ((left.host, "10.1.0.2"), (right.host, "10.0.0.2")):
        conftest.wait_until("an answer", lambda: is_answered(host, address))


@pytest.mark.parametrize("gateways", ["nat"], indirect=True)
def test_a_nat_may_change_its_mapping(gateways):  # noqa: F811
    left, right = gateways
    left.negotiate("aes128gcm16", more="keep_alive = 1s")
    right.negotiate("aes128gcm16", options="remote_addrs = %any")
    connect(left, right)
    ping(left.host, "10.1.0.2")
    outbound = [row for row in right.router.show("sa", "all")["sas"] if row["source"] == "192.0.2.2"]
    assert [row["destination"] for row in outbound] == ["192.0.2.9"] and outbound[0]["udp"] == "4500 -> 24500"
    right.router.wait_for("keepalives", lambda: drops(right.router).get("keepalive", 0) > 0)

    before = right.daemon.spi()
    left.nat.offset = 21_000
    # The first packet from the new port opens, and tells the daemon where its peer is now.
    conftest.wait_until("an answer from the new port", lambda: is_answered(left.host, "10.1.0.2"))
    ping(left.host, "10.1.0.2")
    ping(right.host, "10.0.0.2")
    outbound = [row for row in right.router.show("sa", "all")["sas"] if row["source"] == "192.0.2.2"]
    assert outbound[0]["udp"] == "4500 -> 25500"
    assert right.router.show("ipsec")["mappings"] >= 1
    assert right.daemon.spi() == before, "the SAs stay"
