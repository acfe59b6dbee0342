# SPDX-License-Identifier: Apache-2.0
"""Tests metrics over HTTP: they must parse strictly and have the same numbers as `show`."""

import contextlib
import http.client
import json
import re
import signal
import socket
import threading
import time

import pytest
from prometheus_client.parser import text_string_to_metric_families

import conftest
from captures import frames_of, write_pcap
from test_capture import NEIGHBOURS, ROUTES, some_frames

COUNT = 3000
PORTS = [{"name": "wan", "device": "pcap:in.pcap", "queues": 2}, {"name": "lan", "device": "none"}]
LIVE = [
    {"name": "wan", "device": "synth:size=imix", "sink": "count"},
    {"name": "lan", "device": "none", "sink": "count"},
]


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def get(port, path="/metrics", host="127.0.0.1"):
    connection = http.client.HTTPConnection(host, port, timeout=conftest.PATIENCE)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        return answer.status, answer.getheader("Content-Type"), answer.read().decode()
    finally:
        connection.close()


def scrape(port):
    """Returns every sample by name and labels. Asserts that no sample is duplicate and that every family is
    described."""
    status, kind, text = get(port)
    assert status == 200 and kind.startswith("text/plain")
    samples = {}
    for family in text_string_to_metric_families(text):
        if not family.name.startswith("penumbra_"):
            continue  # metrics of the HTTP server
        assert family.type in ("counter", "gauge") and family.documentation
        for sample in family.samples:
            assert re.fullmatch("[a-z_]+", sample.name)
            assert sample.name.endswith("_total") == (family.type == "counter"), sample
            key = (sample.name.removeprefix("penumbra_"), *sorted(sample.labels.items()))
            assert key not in samples and sample.value >= 0
            samples[key] = sample.value
    return samples


def configure(bench, ports, listen, **options):
    bench.configure(ports, ROUTES, NEIGHBOURS, **options)
    bench.config.write_text(bench.config.read_text() + f"metrics: {{listen: '{listen}'}}\n")


def test_metrics_are_what_show_says(bench):
    """The source has ended and the router waits, so that the counters no longer change."""
    port = free_port()
    configure(bench, [*PORTS, {"name": "idle", "device": "synth:rate=1"}], f"127.0.0.1:{port}", workers=2)
    write_pcap(bench.folder / "in.pcap", frames_of(some_frames(COUNT)))
    with bench.start() as router:
        router.wait_for_packets(count=COUNT)
        router.wait_for("all to be counted", lambda: router.show("ports")[1]["tx_packets"] >= COUNT * 3 // 5)
        metrics = scrape(port)
        show = {row["name"]: row for row in router.show("ports")}
        for name in ("wan", "lan"):
            for key, column in (("received", "rx"), ("sent", "tx")):
                for unit in ("packets", "bytes"):
                    value = metrics[f"port_{key}_{unit}_total", ("port", name)]
                    assert value == show[name][f"{column}_{unit}"], (name, key, unit)
            for row in router.show("ports", name):
                labels = sorted(
                    {
                        "direction": row["direction"],
                        "port": name,
                        "queue": str(row["queue"]),
                        "worker": str(row["worker"]),
                    }.items()
                )
                if name == "wan":
                    assert metrics["queue_packets_total", *labels] == row["packets"]
        drops, workers = router.show("drops", "all"), router.show("workers")
        later = scrape(port)
        for row in drops:
            if row["reason"] in ("no_route", "bad_checksum", "ttl_expired", "bad_source", "tx_full"):
                name = "dropped" if row["kind"] == "drop" else "punted"
                key = (f"{name}_packets_total", ("reason", row["reason"]), ("stage", row["stage"]))
                assert metrics[key] <= row["packets"] <= later[key]
        stage = router.show("functions")[0]
        names = ("stage", "function", "engine", "shader")
        assert metrics["stage_info", *sorted((name, stage[name]) for name in names)] == 1
        for worker in workers:
            of_worker = ("worker", str(worker["worker"]))
            receive = (("step", "receive"), of_worker)
            packets = ("worker_step_packets_total", *receive)
            assert metrics[packets] <= worker["packets"] <= later[packets]
            assert metrics["worker_step_chunks_total", *receive] <= worker["counters"]["chunks"]
            assert metrics["worker_cycles_total", ("core", str(worker["core"])), of_worker] > 0
        version = json.loads(conftest.penumbra("--version", "-j").stdout)
        assert metrics["build_info", ("dpdk", version["dpdk"]), ("version", version["version"])] == 1
        assert get(port, "/elsewhere")[0] == 404
        router.stop()
    with pytest.raises(OSError):
        get(port)


def test_scraped_under_load_by_several(bench):
    """Counters must only grow, no packet may be lost by scraping, and the run must end in order."""
    port = free_port()
    configure(bench, LIVE, f"127.0.0.1:{port}")
    with bench.start() as router:
        router.wait_for_packets()
        failures = []

        def ask():
            try:
                before = scrape(port)
                for _ in range(20):
                    after = scrape(port)
                    assert before.keys() == after.keys()
                    assert all(after[key] >= value for key, value in before.items() if key[0].endswith("_total"))
                    before = after
            except Exception as failure:  # reported below, in the test's own thread
                failures.append(failure)

        threads = [threading.Thread(target=ask) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert failures == []
        summary = router.finish(signal.SIGINT)
    assert summary.received > 0 and ("drop", "tx_full") not in summary.reasons


def place_of(bench):
    lines = bench.config.read_text().splitlines()
    return f"{bench.config}:{len(lines)}:{lines[-1].index('listen: ') + 9}: "


def test_addresses_that_are_taken_or_not_here(bench):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        for listen, reason in (
            (f"127.0.0.1:{taken.getsockname()[1]}", "Address already in use"),
            ("203.0.113.77:9464", "Cannot assign requested address"),
        ):
            configure(bench, LIVE, listen)
            done = conftest.penumbra("run", bench.config, "--for", "1s")
            assert done.returncode == 3
            assert f"{place_of(bench)}metrics: cannot listen on {listen}: {reason}" in done.stderr


UNFINISHED = [b"", b"GET", b"GET /metrics HTTP/1.1\r\nHost: x\r\n", b"POST /metrics HTTP/1.1\r\nContent-Length: 99\r\n"]


def test_clients_that_never_end_their_request(bench):
    """A scrape must not wait for such clients. Each of them may stay for 10 s, so that the bound detects a hang."""
    port = free_port()
    configure(bench, LIVE, f"127.0.0.1:{port}")
    with bench.start() as router, contextlib.ExitStack() as stack:
        router.wait_for_packets()
        for number in range(200):
            client = stack.enter_context(socket.create_connection(("127.0.0.1", port), conftest.PATIENCE))
            client.sendall(UNFINISHED[number % len(UNFINISHED)])
        greedy = stack.enter_context(socket.create_connection(("127.0.0.1", port), conftest.PATIENCE))
        greedy.sendall(b"GET /metrics HTTP/1.1\r\n\r\n" * 100)  # and reads nothing
        for _ in range(3):
            began = time.monotonic()
            scrape(port)
            assert time.monotonic() - began < (5 if conftest.SANITIZED else 1)
        router.stop()


def test_more_clients_than_there_is_room_for(bench):
    port = free_port()
    configure(bench, LIVE, f"127.0.0.1:{port}")
    with bench.start() as router, contextlib.ExitStack() as stack:
        for _ in range(600):
            stack.enter_context(socket.create_connection(("127.0.0.1", port), conftest.PATIENCE))
        scrape(port)
        router.stop()


def test_ipv6(bench):
    with socket.socket(socket.AF_INET6) as listener:
        listener.bind(("::1", 0))
        port = listener.getsockname()[1]
    configure(bench, LIVE, f"[::1]:{port}")
    with bench.start() as router:
        status, _, text = get(port, host="::1")
        assert status == 200 and "penumbra_build_info" in text
        router.stop()


@pytest.mark.parametrize("listen", ["9464", "localhost:9464", "127.0.0.1", "127.0.0.1:0", "127.0.0.1:65536", "::1:9464", "[::1]"])
def test_what_is_no_address(bench, listen):
    configure(bench, LIVE, listen)
    done = conftest.penumbra("check", bench.config)
    assert done.returncode == 3 and f"{place_of(bench)}" in done.stderr and "with a TCP port" in done.stderr
