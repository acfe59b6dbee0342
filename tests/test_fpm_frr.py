# SPDX-License-Identifier: Apache-2.0
"""Tests routes of FRR by FPM: zebra with its module dplane_fpm_nl."""

import contextlib

import pytest

import needs
from frr import Frr
from test_fpm import A, B, kernel, over_lan, pytestmark, sent, start, status, told, unsent, wait_for_traffic

pytestmark = [*pytestmark, needs.FRR]
__all__ = ["kernel", "start"]  # the fixtures

TRAFFIC = "198.51.100.0/24"


@pytest.fixture
def zebra(kernel):
    """Starts FRR with these lines of configuration."""
    with contextlib.ExitStack() as running:

        def run(*lines):
            config = "\n".join(["fpm address 127.0.0.1 port 2620", *lines, ""])
            modules = {"zebra": ["-M", "dplane_fpm_nl"]}
            return running.enter_context(Frr(kernel, config, ("zebra", "staticd"), modules))

        yield run


@pytest.mark.parametrize("objects", ["fpm use-next-hop-groups", "no fpm use-next-hop-groups"])
def test_frrs_routes_come_and_change_without_a_loss(start, zebra, kernel, objects):
    kernel.batch(["route add 9.0.0.0/8 via 192.0.2.9"])
    router = start()
    daemons = zebra(
        objects,
        f"ip route {TRAFFIC} {A}",
        f"ip route 20.0.0.0/8 {A}",
        f"ip route 20.0.0.0/8 {B}",
        "ip route 21.0.0.0/8 blackhole",
        "ipv6 route 2001:db8::/32 fe80::9 wan0",
    )
    wanted = {TRAFFIC: over_lan(A), "20.0.0.0/8": over_lan(A, B), "21.0.0.0/8": ("blackhole", [], True)}
    router.wait_for("the routes", lambda: told(router) == wanted)
    router.wait_for("IPv6's", lambda: told(router, 6) == {"2001:db8::/32": ("unicast", [("fe80::9", "wan", 1)], True)})
    wait_for_traffic(router)
    lost = unsent(router)
    for gateway, before in ((B, A), (A, B), (B, A)):
        daemons.vtysh("configure", f"ip route {TRAFFIC} {gateway}", f"no ip route {TRAFFIC} {before}")
        router.wait_for("the other gateway", lambda gateway=gateway: told(router)[TRAFFIC] == over_lan(gateway))
    daemons.vtysh("configure", f"no ip route 20.0.0.0/8 {A}", "no ip route 21.0.0.0/8 blackhole")
    router.wait_for("less", lambda: told(router) == {TRAFFIC: over_lan(B), "20.0.0.0/8": over_lan(B)})
    wait_for_traffic(router)
    assert unsent(router) == lost
    # The router must ignore the copies that zebra gives to the kernel, and the kernel's own routes.
    assert "kernel" not in {row["source"] for row in router.show("routes", "all")["routes"]}
    router.stop()


def test_frr_is_killed_and_comes_again(start, zebra):
    router = start(settle="3s")
    daemons = zebra(f"ip route {TRAFFIC} {A}", f"ip route 20.0.0.0/8 {A}", f"ip route 21.0.0.0/8 {A}")
    router.wait_for("the routes", lambda: len(told(router)) == 3)
    wait_for_traffic(router)
    lost = unsent(router)
    daemons.kill()
    router.wait_for("its end", lambda: status(router)["client"] is None)
    wait_for_traffic(router)
    assert len(told(router)) == 3
    lines = ["fpm address 127.0.0.1 port 2620", f"ip route {TRAFFIC} {A}", f"ip route 20.0.0.0/8 {B}", ""]
    (daemons.folder / "frr.conf").write_text("\n".join(lines))
    daemons.start()
    wanted = {TRAFFIC: over_lan(A), "20.0.0.0/8": over_lan(B)}
    router.wait_for("what it has now", lambda: told(router) == wanted)
    wait_for_traffic(router)
    assert unsent(router) == lost
    router.stop()


def test_the_router_is_killed_and_comes_again(start, zebra):
    router = start()
    zebra(f"ip route {TRAFFIC} {A}")
    router.wait_for("the route", lambda: told(router) == {TRAFFIC: over_lan(A)})
    router.process.kill()
    router.process.wait()
    again = start()
    again.wait_for("the route", lambda: told(again) == {TRAFFIC: over_lan(A)})
    wait_for_traffic(again)
    assert sent(again) > 0
    again.stop()
