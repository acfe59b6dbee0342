# SPDX-License-Identifier: Apache-2.0
"""Tests routes by FPM from a client that the test controls, while packets are forwarded."""

import contextlib
import json
import random
import struct

import pytest

import needs
from conftest import PROGRAM, SANITIZED
from fpm import KERNEL, FpmClient, delete, delete_nexthop, frame, group, nexthop, route
from kernel import Kernel

pytestmark = [needs.NAMESPACES, needs.TAPS]
#: The host knows these gateways on the link of the port lan.
A, B = "10.0.5.1", "10.0.5.2"


@pytest.fixture
def kernel():
    namespace = Kernel("fpm")
    yield namespace
    namespace.delete()


@pytest.fixture
def start(bench, kernel):
    """Starts a router that follows FPM. Packets go to 198.51.100.0/24."""
    with contextlib.ExitStack() as running:

        def run(follow="[fpm]", settle="30s", hold="120s"):
            (bench.folder / "there.txt").write_text("198.51.100.0/24 dev lan\n")
            ports = [
                {"name": "wan", "device": "synth:rate=5k,dst=prefixes:there.txt", "twin": "wan0", "sink": "count"},
                {"name": "lan", "device": "none", "twin": "lan0", "sink": "count"},
            ]
            bench.configure(ports, pipeline=f"  - ipv4: {{follow: {follow}}}")
            with bench.config.open("a") as config:
                config.write(f"fpm: {{settle: {settle}, hold: {hold}}}\n")
            router = running.enter_context(bench.start(command=kernel.command()))
            # A twin loses its neighbours when it gets its port's MAC address, so they are added after that.
            kernel.batch(
                f"neigh replace {gateway} lladdr 02:00:00:00:00:{number:02x} nud permanent dev lan0"
                for number, gateway in enumerate((A, B), 1)
            )
            router.wait_for("neighbours", lambda: {A, B} <= {row["address"] for row in router.show("neighbours")})
            return router

        yield run


@pytest.fixture
def via(kernel):
    """Returns a function for next hops: the gateway, the interface's index, the weight."""
    index = {link["ifname"]: link["ifindex"] for link in json.loads(kernel.ip("-j", "link"))}
    return lambda gateway, weight=1, interface="lan0": (gateway, index[interface], weight)


def told(router, version=4):
    """Returns the routes by FPM: prefix -> (type, gateways with weights, active)."""
    separator = "." if version == 4 else ":"
    return {
        row["prefix"]: (
            row["type"],
            [(hop.get("via"), hop["dev"], hop["weight"]) for hop in row.get("next_hops", [])],
            row["active"],
        )
        for row in router.show("routes", "all")["routes"]
        if row["source"] == "fpm" and separator in row["prefix"]
    }


def over_lan(*gateways):
    return ("unicast", [(gateway, "lan", 1) for gateway in gateways], True)


def status(router):
    return {row["source"]: row for row in router.show("sources")}["fpm"]


def sent(router):
    return next(row["tx_packets"] for row in router.show("ports") if row["name"] == "lan")


def unsent(router):
    return {row["reason"]: row["packets"] for row in router.show("drops")}


def wait_for_traffic(router, count=200):
    before = sent(router)
    router.wait_for("packets", lambda: sent(router) > before + count)


def test_routes_of_every_kind(start, kernel, via):
    router = start()
    assert "no FPM client has come to 127.0.0.1:2620" in router.show("routes")["note"]
    with FpmClient(kernel) as client:
        client.tell(
            route("20.0.0.0/8", via(A)),
            route("21.0.0.0/8", via(A, 3), via(B, 1)),
            route("22.0.0.0/8"),
            route("23.0.0.0/8", via("172.16.0.2", interface="eth0")),
            route("24.0.0.0/8", via(A), table=1000),
            route("25.0.0.0/8", via(A), protocol=KERNEL),
            route("26.0.0.0/8", via(A), metric=5),
            route("26.0.0.0/8", via(B), metric=9),
            route("2001:db8::/32", via("fe80::9", interface="wan0")),
            route("2001:db8:1::/48", via("fe80::9", interface="wan0"), via("fe80::8")),
        )
        router.wait_for("the routes", lambda: "26.0.0.0/8" in told(router))
        assert told(router) == {
            "20.0.0.0/8": over_lan(A),
            "21.0.0.0/8": ("unicast", [(A, "lan", 3), (B, "lan", 1)], True),
            "22.0.0.0/8": ("blackhole", [], True),
            "23.0.0.0/8": ("unicast", [("172.16.0.2", "eth0", 1)], True),
            "26.0.0.0/8": over_lan(B),
        }
        assert told(router, 6) == {
            "2001:db8::/32": ("unicast", [("fe80::9", "wan", 1)], True),
            "2001:db8:1::/48": ("unicast", [("fe80::9", "wan", 1), ("fe80::8", "lan", 1)], True),
        }
        assert "note" not in router.show("routes", "all")
        assert status(router)["client"].startswith("127.0.0.1:")
        # A route that zebra has from the kernel is no longer a route of zebra.
        client.tell(route("20.0.0.0/8", via(A), protocol=KERNEL), delete("21.0.0.0/8"), delete("99.0.0.0/8"))
        router.wait_for("two less", lambda: set(told(router)) == {"22.0.0.0/8", "23.0.0.0/8", "26.0.0.0/8"})
    router.stop()


def test_next_hop_objects(start, kernel, via):
    router = start()
    with FpmClient(kernel) as client:
        client.tell(nexthop(1, via(A)), nexthop(2, via(B)), group(10, [(1, 1), (2, 3)]))
        client.tell(route("20.0.0.0/8", nexthop_id=10), route("21.0.0.0/8", nexthop_id=2))
        both = ("unicast", [(A, "lan", 1), (B, "lan", 3)], True)
        router.wait_for("both", lambda: told(router) == {"20.0.0.0/8": both, "21.0.0.0/8": over_lan(B)})
        client.tell(nexthop(2, via("10.0.5.3")))
        router.wait_for("a change", lambda: told(router).get("21.0.0.0/8") == over_lan("10.0.5.3"))
        client.tell(group(10, [(1, 1)]), delete_nexthop(2))
        router.wait_for("one less", lambda: told(router) == {"20.0.0.0/8": over_lan(A)})
    # Objects of another client are different, even with the same numbers. Routes that are not repeated stay unchanged.
    with FpmClient(kernel) as client:
        client.tell(nexthop(10, via(B)), route("22.0.0.0/8", nexthop_id=10))
        router.wait_for("the new one", lambda: "22.0.0.0/8" in told(router))
        assert told(router) == {"20.0.0.0/8": over_lan(A), "22.0.0.0/8": over_lan(B)}
    router.stop()


def test_delete_and_add_in_one_frame_lose_no_packet(start, kernel, via):
    router = start()
    prefix = "198.51.100.0/24"
    with FpmClient(kernel) as client:
        client.tell(route(prefix, via(A)))
        wait_for_traffic(router)
        lost = unsent(router)
        for i in range(100 if SANITIZED else 3000):
            client.tell(delete(prefix), route(prefix, via((B, A)[i % 2])))
        client.tell(delete(prefix), route(prefix, via(A), via(B)))
        router.wait_for("the last one", lambda: told(router) == {prefix: over_lan(A, B)})
        wait_for_traffic(router)
        assert unsent(router) == lost
        # Removing the route in a separate frame must cause drops.
        client.tell(delete(prefix))
        router.wait_for("drops", lambda: unsent(router)["no_route"] > lost.get("no_route", 0))
    assert set(router.stop().reasons) == {("drop", "no_route")}


def test_after_many_random_frames_the_last_word_counts(start, kernel, via):
    generator = random.Random(5)
    router = start()
    truth = {}
    prefixes = [f"20.{i}.0.0/16" for i in range(40)]
    with FpmClient(kernel) as client:
        for _ in range(200 if SANITIZED else 2000):
            messages = []
            for prefix in generator.choices(prefixes, k=generator.randrange(1, 6)):
                if generator.random() < 0.4:
                    messages.append(delete(prefix))
                    truth.pop(prefix, None)
                else:
                    gateways = sorted(generator.sample((A, B, "10.0.5.3"), generator.randrange(1, 4)))
                    messages.append(route(prefix, *map(via, gateways), metric=generator.randrange(3)))
                    truth[prefix] = over_lan(*gateways)
            client.tell(*messages)
        router.wait_for("the last word", lambda: told(router) == truth)
    router.stop()


@pytest.mark.parametrize(
    ("follow", "counts"),
    [("[fpm]", ["fpm"]), ("[kernel, fpm]", ["kernel", "fpm"]), ("[fpm, kernel]", ["fpm", "kernel"])],
)
def test_the_order_of_the_sources_is_the_preference(start, kernel, via, follow, counts):
    kernel.batch(["route add 20.0.0.0/8 via 192.0.2.9", "route add 21.0.0.0/8 via 192.0.2.9"])
    router = start(follow)
    with FpmClient(kernel) as client:
        # The host keeps connected networks.
        client.tell(route("20.0.0.0/8", via(A)), route("192.0.2.0/24", via(A)))
        router.wait_for("the route", lambda: "20.0.0.0/8" in told(router))
        rows = router.show("routes", "20.0.0.0/8")["routes"]
        assert [(row["source"], row["active"]) for row in rows] == [(name, name == counts[0]) for name in counts]
        rows = router.show("routes", "192.0.2.0/24")["routes"]
        assert [(row["source"], row["active"]) for row in rows] == [("connected", True), ("fpm", False)]
        sources = {row["source"] for row in router.show("routes", "all")["routes"]}
        assert sources == {*counts, "connected", "local", "broadcast", "neighbour"}
        kernel.batch(["route delete 20.0.0.0/8", "address add 10.9.9.1/24 dev lan0"])
        router.wait_for("an address", lambda: router.show("routes", "10.9.9.1/32")["routes"])
        (row,) = router.show("routes", "20.0.0.0/8")["routes"]
        assert row["source"] == "fpm" and row["active"]
    router.stop()


def test_a_client_that_comes_again_finds_its_routes(start, kernel, via):
    router = start(settle="3s")
    keep, change, forget = "198.51.100.0/24", "20.0.0.0/8", "21.0.0.0/8"
    with FpmClient(kernel) as client:
        client.tell(*(route(prefix, via(A)) for prefix in (keep, change, forget)))
        wait_for_traffic(router)
    lost = unsent(router)
    router.wait_for("its end", lambda: status(router)["client"] is None)
    assert "no FPM client at 127.0.0.1:2620: it closed the connection" in router.show("routes")["note"]
    wait_for_traffic(router)
    assert set(told(router)) == {keep, change, forget}
    with FpmClient(kernel) as client:
        client.tell(route(change, via(B)), delete(keep), route(keep, via(A)))
        router.wait_for("the change", lambda: told(router)[change] == over_lan(B))
        router.wait_for("what was not told again to go", lambda: forget not in told(router))
        assert told(router) == {keep: over_lan(A), change: over_lan(B)}
        wait_for_traffic(router)
        assert unsent(router) == lost
        assert status(router)["connections"] == 2
    router.stop()


def test_without_a_client_routes_go_in_the_end(start, kernel, via):
    router = start(hold="1s")
    with FpmClient(kernel) as client:
        client.tell(route("20.0.0.0/8", via(A)))
        router.wait_for("the route", lambda: told(router))
    router.wait_for("its end", lambda: not told(router))
    router.stop()


GOOD = route("20.0.0.0/8")
OTHER = route("30.0.0.0/8")
#: The gateway, or both next hops, follow 52 bytes. Each next hop begins with its length.
ONE_WAY = route("30.0.0.0/8", (A, 2, 1))
TWO_WAYS = route("30.0.0.0/8", (A, 2, 1), (B, 2, 1))
HALF_A_MEMBER = group(7, [(1, 1)], behind=bytes(4))


def length_at(message, offset, length):
    return frame(message[:offset] + struct.pack("H", length) + message[offset + 2 :])


MALFORMED = {
    "version 2": (struct.pack("!BBH", 2, 1, len(OTHER) + 4) + OTHER, "a frame of version 2, not 1"),
    "protobuf": (struct.pack("!BBH", 1, 2, len(OTHER) + 4) + OTHER, "a frame of type 2, not 1 (netlink)"),
    **{
        f"length {length}": (struct.pack("!BBH", 1, 1, length) + OTHER, f"a frame of {length} bytes")
        for length in range(4)
    },
    "HTTP": (b"GET / HTTP/1.1\r\n\r\n", "a frame of version 71, not 1"),
    "garbage behind a message": (frame(OTHER, b"garbage!"), "a frame of malformed netlink messages"),
    "a message longer than its frame": (frame(OTHER[:-4]), "a frame of malformed netlink messages"),
    "a message without an end": (frame(OTHER, b"\xff\xff\xff\xff" + OTHER[4:]), "a frame of malformed netlink messages"),
    "a message of length 0": (frame(OTHER, b"\0\0\0\0" + OTHER[4:]), "a frame of malformed netlink messages"),
    "a prefix of 33 bits": (frame(OTHER, OTHER[:17] + b"\x21" + OTHER[18:]), "a frame of malformed netlink messages"),
    "a gateway longer than its message": (length_at(ONE_WAY, 52, 40), "a frame of malformed netlink messages"),
    "a gateway of three bytes": (length_at(ONE_WAY, 52, 7), "a frame of malformed netlink messages"),
    "a metric of three bytes": (length_at(ONE_WAY, 36, 7), "a frame of malformed netlink messages"),
    "a next hop longer than all": (length_at(TWO_WAYS, 72, 200), "a frame of malformed netlink messages"),
    "a next hop of no length": (length_at(TWO_WAYS, 72, 0), "a frame of malformed netlink messages"),
    "half a member of a group": (frame(HALF_A_MEMBER), "a frame of malformed netlink messages"),
    "a route cut off": (frame(OTHER, struct.pack("IHHIII", 20, 24, 0, 0, 0, 2)), "a frame of malformed netlink messages"),
}


def test_a_client_that_makes_no_sense_is_given_up_and_a_good_one_is_not(start, kernel, via):
    router = start()
    for number, (data, why) in enumerate(MALFORMED.values(), 1):
        with FpmClient(kernel) as client:
            client.send(frame(GOOD) + data + frame(OTHER))
            assert client.is_closed()
            assert status(router)["malformed"] == number
            assert why in status(router)["problem"]
            # The router ignores the whole malformed frame and everything after it.
            assert set(told(router)) == {"20.0.0.0/8"}, why
    with FpmClient(kernel) as client:
        client.send(frame(OTHER)[:-1])
    router.wait_for("a truncated frame", lambda: "ended within a frame" in status(router)["problem"])
    assert set(told(router)) == {"20.0.0.0/8"}
    with FpmClient(kernel) as client:
        client.send(frame())  # an empty frame is valid
        for byte in frame(OTHER):
            client.send(bytes([byte]))
        router.wait_for("the slow one", lambda: "30.0.0.0/8" in told(router))
        assert status(router)["malformed"] == len(MALFORMED) + 1
    summary = router.stop()
    assert summary.received > 0


def test_there_is_one_client_at_a_time(start, kernel, via):
    router = start()
    with FpmClient(kernel) as silent:
        router.wait_for("the first", lambda: status(router)["client"])
        with FpmClient(kernel) as second:
            assert second.is_closed()
        assert status(router)["refused"] == 1
        silent.tell(GOOD)
        router.wait_for("its route", lambda: told(router))
    with FpmClient(kernel) as third:
        third.tell(OTHER)
        router.wait_for("the next one's", lambda: "30.0.0.0/8" in told(router))
    router.stop()


def test_when_an_interface_stands_for_another_port_everything_is_to_be_told_again(start, kernel, via):
    router = start()
    hop = via(A)
    with FpmClient(kernel) as client:
        client.tell(route("20.0.0.0/8", hop))
        router.wait_for("the route", lambda: told(router) == {"20.0.0.0/8": over_lan(A)})
        kernel.batch(["link set lan0 down", "link set lan0 name other", "link set other up"])
        assert client.is_closed()
    with FpmClient(kernel) as client:
        client.tell(route("20.0.0.0/8", hop))
        router.wait_for("the host's route", lambda: told(router)["20.0.0.0/8"][1] == [(A, "other", 1)])
    assert status(router)["malformed"] == 0
    router.stop()


def test_a_hundred_thousand_routes(start, kernel, via):
    count = 5000 if SANITIZED else 100_000
    router = start(settle="1s")
    messages = [route(f"{20 + (i >> 16)}.{i >> 8 & 255}.{i & 255}.0/24", via(A)) for i in range(count)]
    stream = b"".join(map(frame, messages))
    with FpmClient(kernel) as client:
        client.send(stream)
        router.wait_for("all", lambda: router.show("routes")["total"] > count)
    with FpmClient(kernel) as client:
        client.send(b"".join(map(frame, messages[: count // 2])))
        router.wait_for("half", lambda: router.show("routes")["total"] < count // 2 + 100)
    router.stop()


@pytest.mark.parametrize(
    ("fpm", "message"),
    [
        ("{listen: 2620}", "4:15: expected an address of this machine with a TCP port"),
        ("{settle: 5}", "4:15: expected a time from 100ms to 1440m, found '5'"),
        ("{hold: 10ms}", "4:13: expected a time from 100ms"),
        ("{hold: 2000m}", "4:13: expected a time from 100ms"),
        ("{hald: 5s}", "did you mean 'hold'?"),
    ],
)
def test_what_is_wrong_in_the_configuration(bench, fpm, message):
    assert message in bench.refused(f"ports: [{{name: wan, device: none}}]\npipeline:\n- ipv4: {{follow: [fpm]}}\nfpm: {fpm}\n")


def test_an_address_that_is_taken(bench, kernel, start):
    start()
    second = bench.folder / "second"
    second.mkdir()
    config = second / "router.yaml"
    config.write_text(
        "ports: [{name: wan, device: none}]\npipeline:\n- ipv4: {follow: [fpm]}\ncontrol: {socket: ctl}\n"
        "fpm: {listen: '127.0.0.1:2620'}\n"
    )
    done = kernel.run(str(PROGRAM), "run", str(config), check=False)
    assert done.returncode == 3
    assert "5:15: fpm: cannot listen on 127.0.0.1:2620: Address already in use" in done.stderr
