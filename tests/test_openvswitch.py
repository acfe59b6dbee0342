# SPDX-License-Identifier: Apache-2.0
"""Tests Open vSwitch on Penumbra (`make test-ovs`): two hosts on ports of the router, whose twins are the ports of a
bridge of Open vSwitch."""

import contextlib
import re
import threading
import time

import pytest
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Dot1Q, Ether

import conftest
import netns
import openvswitch
from openvswitch import PIPELINE, World, switch
from test_switch import A, B, hear
from test_twin import ping

pytestmark = openvswitch.NEEDS
_SOL_PACKET, _PACKET_AUXDATA = 263, 8
PING_ONCE = ("ping", "-c", "1", "-W", "1", "10.0.0.2")
hosts = netns.fixture(openvswitch.BridgedHosts)


def test_a_bridge_forwards_by_the_router(bench, hosts):
    bench.configure(hosts.ports(), pipeline=PIPELINE)
    with bench.start(command=hosts.router.command()) as router:
        with switch(hosts.router, bench.folder / "megaflows.sock") as ovs:
            ovs.set_flows("cookie=1,priority=2,icmp,in_port=1 actions=output:2", "cookie=2,priority=1 actions=normal")
            ping(hosts.h1, "10.0.0.2")
            conftest.wait_until("megaflows", lambda: ovs.offloaded() >= 2)
            packets = router.show("megaflows-status")["packets"]
            hosts.h1.run("ping", "-c", "50", "-i", "0.01", "10.0.0.2")
            after = router.show("megaflows-status")["packets"]
            found = sum(after[key] - packets[key] for key in ("found_in_cache", "found_in_table"))
            assert found >= 100, after
            # The counts of OpenFlow flows are exact, by whomever their packets were forwarded.
            conftest.wait_until("the counts", lambda: ovs.counts()[1] >= 55)
            assert ovs.counts()[1] == 55
            ovs.set_flows("priority=1 actions=drop")
            conftest.wait_until("the end of old megaflows", lambda: "output" not in str(router.show("megaflows")))
            lost = hosts.h1.run("ping", "-c", "3", "-i", "0.1", "-W", "1", "10.0.0.2", check=False).stdout
            assert "100% packet loss" in lost
        router.wait_for("the end of the switch", lambda: router.show("megaflows")["megaflows"] == [])
        router.stop()


def test_fields_and_tags_are_set_by_the_router(bench, hosts):
    """Host h2 is in VLAN 7, and h1 sees it under another address. The first frame goes through Open vSwitch, and the
    others do not. All of them arrive alike."""
    payload = UDP(sport=1, dport=2) / b"payload of a frame"
    there = Ether(src=A, dst=B) / IP(src="10.0.0.1", dst="10.0.0.9") / payload
    seen_there = Ether(src=A, dst=B) / Dot1Q(vlan=7) / IP(src="10.0.0.1", dst="10.0.0.2") / payload
    back = Ether(src=B, dst=A) / Dot1Q(vlan=7) / IP(src="10.0.0.2", dst="10.0.0.1") / payload
    seen_back = Ether(src=B, dst=A) / IP(src="10.0.0.9", dst="10.0.0.1") / payload
    bench.configure(hosts.ports(), pipeline=PIPELINE)
    with bench.start(command=hosts.router.command()) as router:
        with switch(hosts.router, bench.folder / "megaflows.sock") as ovs:
            ovs.set_flows(
                "priority=3,in_port=1,udp,nw_dst=10.0.0.9 actions=mod_nw_dst:10.0.0.2,mod_vlan_vid:7,output:2",
                "priority=3,in_port=2,dl_vlan=7,udp,nw_src=10.0.0.2 actions=strip_vlan,mod_nw_src:10.0.0.9,output:1",
            )
            for sender, hearer, frame, seen, action in (
                (hosts.h1, hosts.h2, there, seen_there, "push_vlan:0x8100:0x0007"),
                (hosts.h2, hosts.h1, back, seen_back, "pop_vlan"),
            ):
                with sender.socket("eth0") as out, hearer.socket("eth0") as raw:
                    raw.setsockopt(_SOL_PACKET, _PACKET_AUXDATA, 1)

                    def arrived(raw=raw):
                        return [each for each in hear(raw) if b"payload of a frame" in each]

                    def offloaded(action=action):
                        return [row for row in router.show("megaflows")["megaflows"] if action in row["actions"]]

                    first = conftest.wait_until("the first frame", lambda: out.send(bytes(frame)) and arrived())
                    [row] = conftest.wait_until("the megaflow", offloaded)
                    for _ in range(20):
                        out.send(bytes(frame))
                    assert set(first) == {bytes(seen)} and arrived() == 20 * [bytes(seen)]
                    assert offloaded()[0]["packets"] == row["packets"] + 20
        router.stop()


def test_what_the_router_cannot_do_stays_with_the_switch(bench, hosts):
    frame = bytes(Ether(src=A, dst=B) / IP(src="10.0.0.1", dst="10.0.0.2") / UDP(sport=1, dport=2) / b"payload of a frame")
    bench.configure(hosts.ports(), pipeline=PIPELINE)
    with bench.start(command=hosts.router.command()) as router:
        with switch(hosts.router, bench.folder / "megaflows.sock") as ovs:
            ovs.set_flows("cookie=1,priority=1,in_port=1,udp actions=push_mpls:0x8847,output:2")
            with hosts.h1.socket("eth0") as out, hosts.h2.socket("eth0") as raw:

                def heard():
                    out.send(frame)
                    return [each for each in hear(raw) if each[12:14] == b"\x88\x47" and b"payload" in each]

                for _ in range(3):
                    conftest.wait_until("the frame", heard)
            assert ovs.offloaded() == 0 and router.show("megaflows")["megaflows"] == []
        router.stop()


def test_the_router_may_restart(bench, hosts):
    bench.configure(hosts.ports(), pipeline=PIPELINE)
    with contextlib.ExitStack() as stack:
        with bench.start(command=hosts.router.command()) as router:
            ovs = stack.enter_context(switch(hosts.router, bench.folder / "megaflows.sock"))
            ovs.set_flows("cookie=1,priority=2,icmp actions=normal", "priority=1 actions=normal")
            ping(hosts.h1, "10.0.0.2")
            conftest.wait_until("megaflows", lambda: ovs.offloaded() >= 2)
            router.stop()
        with bench.start(command=hosts.router.command()) as router:
            conftest.wait_until("the bridge", lambda: "1 received" in hosts.h1.run(*PING_ONCE, check=False).stdout)
            conftest.wait_until("megaflows", lambda: hosts.h1.run(*PING_ONCE, check=False) and ovs.offloaded() >= 2)
            before = router.show("megaflows-status")["packets"]
            ping(hosts.h1, "10.0.0.2")
            after = router.show("megaflows-status")["packets"]
            assert sum(after[key] - before[key] for key in ("found_in_cache", "found_in_table")) >= 10
            router.stop()


def test_ports_may_have_other_numbers_after_a_restart(bench, hosts):
    """Megaflows name ports by number. A frame of h2 must not meet the megaflow of h1's port, which sets a field."""
    ports = hosts.ports()
    bench.configure(ports, pipeline=PIPELINE)
    with contextlib.ExitStack() as stack, hosts.h1.socket("eth0") as h1, hosts.h2.socket("eth0") as h2:

        def forwarded(router, some=20):
            """Sends frames both ways, and returns whether the router has forwarded all of them."""
            found = found_by(router)
            for _ in range(some):
                h1.send(frame_of(1))
                h2.send(frame_of(2))
            at = [[each[36:38] for each in hear(raw) if b"payload of a frame" in each] for raw in (h2, h1)]
            assert set(at[0]) <= {b"\x00\x09"} and set(at[1]) <= {b"\x00\x02"}, at
            return at == [some * [b"\x00\x09"], some * [b"\x00\x02"]] and found_by(router) - found == 2 * some

        with bench.start(command=hosts.router.command()) as router:
            ovs = stack.enter_context(switch(hosts.router, bench.folder / "megaflows.sock"))
            ovs.set_flows(
                "priority=2,udp,in_port=1 actions=mod_tp_dst:9,output:2", "priority=2,udp,in_port=2 actions=output:1"
            )
            conftest.wait_until("megaflows", lambda: forwarded(router))
            router.stop()
        bench.configure(ports[::-1], pipeline=PIPELINE)
        with bench.start(command=hosts.router.command()) as router:
            conftest.wait_until("megaflows", lambda: forwarded(router))
            rows = [row for row in router.show("megaflows")["megaflows"] if "nw_proto=17" in row["match"]]
            shown = {row["match"][:9]: row["actions"] for row in rows}
            assert shown["in_port=1"] == "output:2" and shown["in_port=2"].endswith(",output:1"), shown
            router.stop()


def test_a_port_may_leave_and_come_back(bench, run, hosts):
    """Megaflows with a port that the router lacks are removed, and come back with the port."""
    bench.configure(hosts.ports(), pipeline=PIPELINE)
    with bench.start(command=hosts.router.command()) as router, hosts.sockets() as sockets:
        with switch(hosts.router, bench.folder / "megaflows.sock") as ovs:
            ovs.set_flows("priority=2,udp,in_port=1 actions=output:2", "priority=2,udp,in_port=2 actions=output:1")

            def forwarded(some=20):
                """Sends frames both ways, and returns whether the router has forwarded all of them."""
                found = found_by(router)
                for port in (1, 2):
                    for _ in range(some):
                        sockets[port].send(frame_of(1))
                heard = [len([each for each in hear(raw) if b"payload of a frame" in each]) for raw in sockets.values()]
                return heard == [some, some] and found_by(router) - found == 2 * some

            conftest.wait_until("megaflows", forwarded)
            assert run.do("port", "del", "b") == [("router", 0, 1, 0)]
            router.wait_for("their end", lambda: "nw_proto=17" not in str(router.show("megaflows")))
            entry = "b device net_af_packet1,iface=veth-b twin true".split()
            assert run.do("port", "add", *entry) == [("router", 1, 0, 0)]
            conftest.wait_until("megaflows", forwarded)
        router.stop()


def frame_of(port):
    return bytes(Ether(src=A, dst=B) / IP(src="10.0.0.1", dst="10.0.0.2") / UDP(sport=port, dport=2) / b"payload of a frame")


def found_by(router):
    packets = router.show("megaflows-status")["packets"]
    return packets["found_in_cache"] + packets["found_in_table"]


def test_counts_are_exact_while_megaflows_come_and_go(bench, hosts):
    """Open vSwitch deletes all megaflows again and again while their packets go through. The oracle is the number of
    frames sent."""
    frames = 4000
    bench.configure(hosts.ports(), pipeline=PIPELINE)
    with bench.start(command=hosts.router.command()) as router:
        with switch(hosts.router, bench.folder / "megaflows.sock") as ovs, hosts.h1.socket("eth0") as out:
            ovs.set_flows(
                "cookie=1,priority=3,udp,in_port=1,tp_src=0x100/0x100 actions=output:2",
                "cookie=2,priority=2,udp,in_port=1 actions=output:2",
            )
            before = found_by(router)

            def send():
                for i in range(frames):
                    out.send(frame_of(0x100 if i % 4 == 0 else 1))
                    time.sleep(0.001)

            sender = threading.Thread(target=send)
            sender.start()
            deletions = 0
            while sender.is_alive():
                ovs.appctl("revalidator/purge")
                deletions += 1
                time.sleep(0.1)
            sender.join()
            conftest.wait_until("the counts", lambda: sum(ovs.counts().values()) >= frames)
            assert ovs.counts() == {1: frames // 4, 2: frames - frames // 4}
            assert deletions > 5 and found_by(router) - before > frames // 10
        router.stop()


def test_the_router_drops(bench, hosts):
    frames = 100
    bench.configure(hosts.ports(), pipeline=PIPELINE)
    with bench.start(command=hosts.router.command()) as router:
        with switch(hosts.router, bench.folder / "megaflows.sock") as ovs, hosts.h1.socket("eth0") as out:
            ovs.set_flows("cookie=1,priority=2,udp,in_port=1 actions=drop", "cookie=2,priority=1 actions=normal")
            sent = 0

            def send():
                nonlocal sent
                out.send(frame_of(1))
                sent += 1
                return ovs.offloaded()

            conftest.wait_until("a megaflow", send)
            [row] = [row for row in router.show("megaflows")["megaflows"] if "nw_proto=17" in row["match"]]
            assert row["actions"] == "drop"
            found = found_by(router)
            for _ in range(frames):
                send()
            router.wait_for("the frames", lambda: found_by(router) - found >= frames)
            conftest.wait_until("the counts", lambda: ovs.counts()[1] >= sent)
            assert ovs.counts()[1] == sent
        summary = router.stop()
    assert summary.reasons["drop", "dropped_by_megaflow"] >= frames


def test_packets_of_the_router_keep_a_flow_from_idling(bench, hosts):
    bench.configure(hosts.ports(), pipeline=PIPELINE)
    with bench.start(command=hosts.router.command()) as router:
        with switch(hosts.router, bench.folder / "megaflows.sock") as ovs, hosts.h1.socket("eth0") as out:
            ovs.set_flows("cookie=1,priority=2,idle_timeout=3,udp,in_port=1 actions=output:2")
            conftest.wait_until("a megaflow", lambda: out.send(frame_of(1)) and ovs.offloaded())
            before = found_by(router)
            for _ in range(60):
                out.send(frame_of(1))
                time.sleep(0.1)
            router.wait_for("the packets", lambda: found_by(router) - before >= 60)
            assert ovs.counts()[1] > 0
            conftest.wait_until("the end of the flow", lambda: 1 not in ovs.counts())
        router.stop()


def test_the_status_of_ports_goes_both_ways(bench, hosts):
    bench.configure(hosts.ports(), pipeline=PIPELINE)
    with bench.start(command=hosts.router.command()) as router:
        with switch(hosts.router, bench.folder / "megaflows.sock") as ovs:
            management = f"unix:{ovs.folder}/br0.mgmt"
            ovs.set_flows("priority=1 actions=normal")
            ping(hosts.h1, "10.0.0.2")
            ovs.run("ovs-ofctl", "mod-port", management, "b", "down")
            router.wait_for("the status", lambda: router.show("megaflows-status")["ports_down"] == ["b"])
            assert "1 received" not in hosts.h1.run(*PING_ONCE, check=False).stdout
            ovs.run("ovs-ofctl", "mod-port", management, "b", "up")
            router.wait_for("the status", lambda: router.show("megaflows-status")["ports_down"] == [])
            conftest.wait_until("the way", lambda: "1 received" in hosts.h1.run(*PING_ONCE, check=False).stdout)
            hosts.h2.ip("link", "set", "eth0", "down")
            conftest.wait_until("the failure", lambda: ovs.vsctl("get", "interface", "b", "link_state").strip() == "down")
            assert ovs.vsctl("get", "interface", "a", "link_state").strip() == "up"
        router.stop()


def test_the_router_meters(bench, hosts):
    frames = 1000
    bench.configure(hosts.ports(), pipeline=PIPELINE)
    with bench.start(command=hosts.router.command()) as router:
        with (
            switch(hosts.router, bench.folder / "megaflows.sock") as ovs,
            hosts.h1.socket("eth0") as out,
            hosts.h2.socket("eth0") as raw,
        ):
            management = f"unix:{ovs.folder}/br0.mgmt"
            ovs.allow("OpenFlow13")
            meter = "meter=1,pktps,burst,stats,band=type=drop,rate=1,burst_size=50"
            ovs.run("ovs-ofctl", "-O", "OpenFlow13", "add-meter", management, meter)
            ovs.run("ovs-ofctl", "-O", "OpenFlow13", "add-flow", management, "cookie=1,udp,in_port=1 actions=meter:1,output:2")
            conftest.wait_until("a megaflow", lambda: out.send(frame_of(1)) and "meter:" in str(router.show("megaflows")))
            for _ in range(frames):
                out.send(frame_of(1))
            router.wait_for("dropped packets", lambda: router.show("megaflows-meters")["meters"][0]["packets"] >= frames)
            shown = ovs.run("ovs-ofctl", "-O", "OpenFlow13", "meter-stats", management)
            received = int(re.search(r"packet_in_count:(\d+)", shown)[1])
            dropped = int(re.search(r"0: packet_count:(\d+)", shown)[1])
            arrived = len([each for each in hear(raw) if b"payload of a frame" in each])
            assert received >= frames and dropped > frames // 10 and arrived == received - dropped
        router.stop()


def test_other_actions_may_be_refused(bench, hosts):
    """The router cannot send to the receive port and to another one. The flow then stays with the switch, and its count
    goes on."""
    bench.configure(hosts.ports(), pipeline=PIPELINE)
    with bench.start(command=hosts.router.command()) as router:
        with (
            switch(hosts.router, bench.folder / "megaflows.sock") as ovs,
            hosts.h1.socket("eth0") as out,
            hosts.h2.socket("eth0") as raw,
        ):
            ovs.set_flows("cookie=1,priority=2,udp,in_port=1 actions=output:2")
            sent = 0

            def heard(count):
                nonlocal sent
                for _ in range(count):
                    out.send(frame_of(1))
                sent += count
                return [each for each in hear(raw) if b"payload of a frame" in each]

            conftest.wait_until("a megaflow", lambda: heard(1) and ovs.offloaded())
            assert len(heard(20)) == 20
            ovs.run("ovs-ofctl", "mod-flows", f"unix:{ovs.folder}/br0.mgmt", "cookie=1,udp,in_port=1,actions=in_port,output:2")
            conftest.wait_until("the end of the megaflow", lambda: "in_port=1" not in str(router.show("megaflows")))
            assert len(heard(20)) == 20
            assert "in_port=1" not in str(router.show("megaflows"))
            conftest.wait_until("the count", lambda: ovs.counts()[1] >= sent)
            assert ovs.counts()[1] == sent
        router.stop()


@pytest.mark.parametrize("tagged_first", [False, True])
def test_flows_with_and_without_a_tag_are_told_apart(bench, hosts, tagged_first):
    """openvswitch/ovs-issues#356 and #359: frames without a tag must not make frames with a tag take their flow."""
    plain = frame_of(1)
    tagged = plain[:12] + b"\x81\x00\x00\x0a" + plain[12:]
    bench.configure(hosts.ports(), pipeline=PIPELINE)
    with bench.start(command=hosts.router.command()) as router, hosts.sockets() as sockets:
        with switch(hosts.router, bench.folder / "megaflows.sock") as ovs:
            ovs.set_flows(
                "priority=110,in_port=1,dl_vlan=10 actions=strip_vlan,mod_dl_src:02:00:00:00:00:77,output:2",
                "priority=100,in_port=1 actions=output:2",
            )
            world = World(ovs, sockets, router)
            for _ in range(3):
                for frame in (tagged, plain) if tagged_first else (plain, tagged):
                    world.send([(1, frame)])
                    [seen] = conftest.wait_until("the frame", lambda: world.heard()[2])
                    source = b"\x02\0\0\0\0\x77" if frame == tagged else plain[6:12]
                    assert seen == plain[:6] + source + plain[12:]
                world.settle()
            assert world.found() >= 4
        router.stop()
