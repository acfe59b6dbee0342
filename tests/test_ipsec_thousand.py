# SPDX-License-Identifier: Apache-2.0
"""Negotiates a thousand tunnels between two gateways, with unmodified IKE daemons."""

import pytest

import conftest
from test_ipsec_charon import Gateway, Wire, pytestmark, run_gateways  # noqa: F401 - marks
from test_ipsec_lengths import LONG

COUNT = 1000
PATIENCE = 600  # seconds
pytestmark = [*pytestmark, pytest.mark.skipif(not LONG, reason="takes minutes: PENUMBRA_LONG=1 (make test-long)")]


def address(side, number):
    return f"10.{2 + side}.{number // 256}.{number % 256}"


class BusyGateway(Gateway):
    settings = ", sas: 4096"

    @property
    def side(self):
        return 0 if self.name == "left" else 1

    def start(self):
        super().start()
        self.namespace.ip("route", "add", f"10.{2 + self.side}.0.0/16", "via", f"{self.inner}.2")
        self.namespace.ip("route", "add", f"10.{3 - self.side}.0.0/16", "via", "192.0.2.2" if self.side == 0 else "192.0.2.1")

    def negotiate(self, proposal, **more):
        action = "start_action = start" if self.side == 0 else ""
        children = "".join(
            f"c{i} {{\n local_ts = {address(self.side, i)}/32\n remote_ts = {address(1 - self.side, i)}/32\n"
            f" esp_proposals = {proposal}\n {action}\n }}\n"
            for i in range(COUNT)
        )
        super().negotiate(proposal, children=children, **more)


@pytest.fixture
def gateways(tmp_path):
    yield from run_gateways(BusyGateway, tmp_path)


def test_a_thousand_tunnels_are_negotiated(gateways):
    left, right = gateways
    wire = Wire(right)
    right.negotiate("aes128gcm16")
    left.negotiate("aes128gcm16")
    for gateway in gateways:
        conftest.wait_until("the SAs", lambda gateway=gateway: gateway.daemon.keeper.status()["sas"] == 2 * COUNT, PATIENCE)
        conftest.wait_until("the data plane", lambda gateway=gateway: gateway.router.show("ipsec")["sas"] == 2 * COUNT, PATIENCE)
    tried = range(0, COUNT, 53)
    for number in tried:
        for gateway in gateways:
            gateway.host.ip("address", "add", f"{address(gateway.side, number)}/32", "dev", "lo")
        words = ("ping", "-c", "1", "-W", "2", "-I", address(0, number), address(1, number))
        conftest.wait_until("an answer", lambda words=words: left.host.run(*words, check=False).returncode == 0)
    used = [row for row in left.router.show("sa", "all")["sas"] if row["packets"] > 0]
    assert len(used) == 2 * len(tried)
    assert wire.check() >= len(tried)
