# SPDX-License-Identifier: Apache-2.0
"""Tests the fast path of a virtual switch: clients of its socket, exact counts, commands, and hosts in namespaces whose
first packets go through a switch of the host."""

import errno
import json
import time

import pytest

import conftest
import megaflow_client
import needs
import netns
import two_hosts
from conftest import penumbra
from megaflow_client import COUNTS, DELETE, FLUSH, PORTS, meter, output, set_field
from test_metrics import free_port, scrape
from test_twin import ping

IDLE = {"device": "synth:rate=1"}
CONFIG = "  - megaflows: {socket: megaflows.sock, miss: drop}"


def test_commands_add_show_and_remove(bench, run):
    bench.configure([{"name": "a", **IDLE}, {"name": "b", "device": "none"}], pipeline=CONFIG)
    with bench.start() as router:
        match = "in_port=1,eth_type=0x0800,nw_dst=10.2.0.0/16,nw_ttl=0x40/0xf0"
        assert run.do("megaflow", "add", match, "actions=set:nw_ttl=63,output:2") == [("megaflows", 1, 0, 0)]
        [row] = router.show("megaflows")["megaflows"]
        assert row["match"] == "in_port=1,eth_type=0x0800,nw_dst=10.2.0.0/16,nw_ttl=64/240"
        assert row["actions"] == "set:nw_ttl=63,output:2" and row["last_hit_seconds_ago"] is None
        code, said = run.refused("megaflow", "add", "in_prt=1", "actions=drop")
        assert code == 3 and "did you mean 'in_port'?" in said
        code, said = run.refused("megaflow", "add", "in_port=1", "actions=output:9")
        assert code == 3 and "there is no port 9: the router's are 1 to 2" in said
        explained = penumbra("explain", "-j", "--socket", router.socket, "--port", "a", "src", "10.1.0.1", "dst", "10.2.0.9", "proto", "udp")
        stage = json.loads(explained.stdout)["stages"][0]
        assert stage["tables"]["megaflow"] == row["match"], explained.stdout
        assert "megaflow" in penumbra("show", "config", "--socket", router.socket).stdout
        assert run.do("megaflow", "flush", "all") == [("megaflows", 0, 1, 0)]
        assert router.show("megaflows")["megaflows"] == []
        assert router.show("megaflows-status")["megaflows"] == 0
        router.stop()


def test_a_client_gets_every_count_exactly(bench):
    """Megaflows come and go while packets arrive. The packets that all megaflows counted, and the missed ones, are the
    packets that were received."""
    devices = [{"name": name, "device": "none"} for name in ("left", "right")]
    bench.configure([*devices, {"name": "busy", "device": "synth:rate=20000"}], pipeline=CONFIG)
    counted = {"packets": 0, "bytes": 0}
    with bench.start() as router, megaflow_client.Client(bench.folder / "megaflows.sock") as client:
        assert client.request(PORTS).ports == {1: "left", 2: "right", 3: "busy"}

        def remove(ufid):
            reply = client.request(DELETE, ufid)
            assert reply.error == 0
            counted["packets"] += reply.packets
            counted["bytes"] += reply.bytes
            assert client.request(COUNTS, ufid).error == errno.ENOENT

        for round_ in range(1, 60):
            assert client.add(round_, {"in_port": 3}, [output(1 + round_ % 2)]).error == 0
            assert client.add(1000, {"in_port": 3}, [output(1)]).error == errno.EEXIST
            router.wait_for("packets of the megaflow", lambda ufid=round_: client.request(COUNTS, ufid).packets > 20)
            assert client.add(round_, {"in_port": 3}, [set_field("eth_dst", 9, (1 << 48) - 1), output(2)]).error == 0
            remove(round_)
        assert client.request(FLUSH).error == 0
        status = router.show("megaflows-status")
        assert status["requests"]["removed"] == 59 and status["requests"]["clients_dropped"] == 0
        summary = router.stop()
    missed = summary.reasons.get(("drop", "miss"), 0)
    assert counted["packets"] > 59 * 20
    assert counted["packets"] + missed == summary.received
    assert counted["packets"] == summary.sent


def test_a_meter_drops_what_is_above_its_rate(bench):
    bench.configure([{"name": "out", "device": "none"}, {"name": "busy", "device": "synth:rate=5000"}], pipeline=CONFIG)
    with bench.start() as router, megaflow_client.Client(bench.folder / "megaflows.sock") as client:
        match = {"in_port": 2}
        assert client.add(1, match, [meter(7), output(1)]).error == errno.EOPNOTSUPP
        assert client.set_meter(7, True, [(100, 10), (1_000_000, 1_000_000)]).error == 0
        assert client.add(1, match, [meter(7), output(1)]).error == 0
        begin = time.monotonic()
        router.wait_for("dropped packets", lambda: client.meter_counts(7).bands[0][0] > 1000)
        [row] = router.show("megaflows-meters")["meters"]
        assert (row["meter"], row["unit"], row["bands"][0]["rate"]) == (7, "packets", 100)
        assert row["bands"][0]["dropped_packets"] > 1000 and router.show("megaflows")["megaflows"][0]["actions"] == "meter:7,output:1"
        flow = client.request(DELETE, 1)
        most = 10 + 100 * (time.monotonic() - begin) + 1
        counts = client.meter_counts(7, removes=True)
        assert (counts.packets, counts.bytes) == (flow.packets, flow.bytes)
        dropped = counts.bands[0][0]
        assert counts.bands[1] == (0, 0) and 10 <= counts.packets - dropped <= most
        assert client.meter_counts(7).error == errno.ENOENT
        summary = router.stop()
    assert summary.reasons["drop", "metered"] == dropped and summary.sent == counts.packets - dropped


def test_the_megaflows_of_a_client_go_with_it(bench):
    bench.configure([{"name": "a", **IDLE}, {"name": "b", "device": "none"}], pipeline=CONFIG)
    with bench.start() as router:
        with megaflow_client.Client(bench.folder / "megaflows.sock") as client:
            assert client.add(1, {"in_port": 1, "eth_type": 0x0800}, [output(2)]).error == 0
            assert router.show("megaflows-status")["clients"] == 1
        router.wait_for("their end", lambda: router.show("megaflows")["megaflows"] == [])
        router.stop()
    assert not (bench.folder / "megaflows.sock").exists()


def test_a_reload_changes_misses_and_nothing_else(bench):
    devices = [{"name": "a", **IDLE}, {"name": "b", "device": "none"}]
    bench.configure(devices, pipeline=CONFIG)
    with bench.start() as router:
        bench.configure(devices, pipeline=CONFIG.replace("drop", "punt"))
        done = penumbra("reload", "--socket", router.socket)
        assert done.returncode == 0 and "misses: punt, was drop" in done.stdout, done.stdout + done.stderr
        bench.configure(devices, pipeline=CONFIG.replace("megaflows.sock", "other.sock"))
        refused = penumbra("reload", "--socket", router.socket)
        assert refused.returncode != 0 and "another `socket` takes a restart" in refused.stderr
        router.stop()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ("{miss: flood}", "flood"),
        ("{cache: -1}", "1048576"),
        ("{max_megaflows: 900001}", "900000"),
        ("{shader: fast}", "bloom"),
    ],
)
def test_a_wrong_configuration_is_refused(bench, settings, message):
    assert message in bench.refused(f"ports: [{{name: a, device: none}}]\npipeline: [megaflows: {settings}]\n")


def test_metrics(bench):
    port = free_port()
    bench.configure([{"name": "a", **IDLE}], pipeline=CONFIG)
    bench.config.write_text(bench.config.read_text() + f"metrics: {{listen: '127.0.0.1:{port}'}}\n")
    with bench.start() as router:
        router.wait_for("a missed packet", lambda: router.show("megaflows-status")["packets"]["missed"])
        samples = scrape(port)
        router.stop()
    found = {dict(key[1:])["found"]: value for key, value in samples.items() if key[0] == "megaflows_packets_total"}
    assert sorted(found) == ["cache", "not_looked_for", "nowhere", "table"]
    assert found["nowhere"] >= 1, found


class Hosts(two_hosts.TwoHosts):
    """A bridge of the host's kernel connects the twins: it is the virtual switch."""

    def bridge_twins(self):
        self.router.ip("link", "add", "bridge", "type", "bridge")
        for name in ("a", "b"):
            self.router.ip("link", "set", "dev", name, "master", "bridge")
        self.router.ip("link", "set", "bridge", "up")


hosts = netns.fixture(Hosts)


@needs.NAMESPACES
@needs.TAPS
@needs.tools("ping")
def test_hosts_reach_each_other_with_and_without_megaflows(bench, hosts):
    bench.configure(hosts.ports(), pipeline="  - megaflows: {socket: megaflows.sock}")
    with bench.start(command=hosts.router.command()) as router:
        conftest.wait_until(
            "carriers", lambda: hosts.router.ip("-brief", "link", "show", "type", "tun").count("LOWER_UP") == 2
        )
        hosts.bridge_twins()
        ping(hosts.h1, "10.0.0.2")  # by the bridge
        assert router.show("megaflows-status")["packets"]["found_in_table"] == 0
        with megaflow_client.Client(bench.folder / "megaflows.sock") as client:
            for ufid, in_port in ((1, 1), (2, 2)):
                match = {"in_port": in_port, "eth_type": 0x0800, "nw_proto": 1}
                assert client.add(ufid, match, [output(3 - in_port)]).error == 0
            ping(hosts.h1, "10.0.0.2")
            counts = [client.request(COUNTS, ufid).packets for ufid in (1, 2)]
        assert counts == [5, 5]
        router.stop()


@needs.NAMESPACES
@needs.TAPS
@needs.tools("ping")
def test_a_port_that_is_taken_down_forwards_nothing(bench, hosts):
    bench.configure(hosts.ports(), pipeline="  - megaflows: {socket: megaflows.sock}")
    with bench.start(command=hosts.router.command()) as router:
        with megaflow_client.Client(bench.folder / "megaflows.sock") as client:
            for ufid, in_port in ((1, 1), (2, 2)):
                assert client.add(ufid, {"in_port": in_port}, [output(3 - in_port)]).error == 0
            ping(hosts.h1, "10.0.0.2")
            for name in ("a", "b"):
                hosts.router.ip("link", "set", "dev", name, "down")
                router.wait_for("its state", lambda name=name: router.show("megaflows-status")["ports_down"] == [name])
                before = client.request(COUNTS, 1).packets
                lost = hosts.h1.run("ping", "-c", "2", "-i", "0.1", "-W", "1", "10.0.0.2", check=False).stdout
                assert "100% packet loss" in lost
                assert client.request(COUNTS, 1).packets > before
                hosts.router.ip("link", "set", "dev", name, "up")
                router.wait_for("its state", lambda: router.show("megaflows-status")["ports_down"] == [])
                ping(hosts.h1, "10.0.0.2")
        summary = router.stop()
    assert summary.reasons["drop", "port_down"] >= 4
