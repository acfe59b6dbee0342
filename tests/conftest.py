# SPDX-License-Identifier: Apache-2.0
"""Provides all system tests with the program, the data, configurations, and runs of the router that end by themselves.

PENUMBRA_BIN is the path of the program (default: the release build). PENUMBRA_SHARED_DATA is the folder of real
data."""

import json
import os
import pathlib
import signal
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest

import corpus as corpora
import live
from captures import read_capture
from oracle import ipv4
from pages import Page

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROGRAM = ROOT / os.environ.get("PENUMBRA_BIN", "build/release/bin/penumbra")
DATA = ROOT / os.environ.get("PENUMBRA_SHARED_DATA", "../shared/data")
CACHE = ROOT / "build" / "captures"
ORACLE_CACHE = ROOT / "build" / "oracle"
#: A sanitizer makes the program slow, so that tests wait longer.
SANITIZED = any(part in ("asan", "tsan") for part in os.path.relpath(PROGRAM, ROOT).split(os.sep))
os.environ.setdefault("LSAN_OPTIONS", f"suppressions={ROOT / 'tests' / 'lsan.supp'}:print_suppressions=0")
os.environ.setdefault("TSAN_OPTIONS", f"suppressions={ROOT / 'tests' / 'tsan.supp'}:print_suppressions=0")
PATIENCE = 120 if SANITIZED else 60  # seconds, for operations that should take a few seconds


def penumbra(*arguments: Any, timeout: float = PATIENCE, **options: Any) -> subprocess.CompletedProcess:
    """Runs the program to its end. The caller checks the exit code. A report of a sanitizer always fails."""
    done = subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True, timeout=timeout, **options)
    check_sanitizers(done.stderr)
    return done


def penumbra_bench(*arguments: Any, timeout: float = PATIENCE, **options: Any) -> subprocess.CompletedProcess:
    """Runs `penumbra-bench` as penumbra() runs the router."""
    program = PROGRAM.with_name("penumbra-bench")
    done = subprocess.run([program, *map(str, arguments)], capture_output=True, text=True, timeout=timeout, **options)
    check_sanitizers(done.stderr)
    return done


def check_sanitizers(stderr: str) -> None:
    assert "Sanitizer" not in stderr and "runtime error:" not in stderr, stderr


def wait_until(what: str, condition: Callable[[], Any], patience: float = PATIENCE) -> Any:
    """Repeats the condition until it is true, and returns its value."""
    deadline = time.monotonic() + patience
    while not (result := condition()):
        assert time.monotonic() < deadline, f"waited too long for {what}"
        time.sleep(0.005)
    return result


class Summary:
    """Parses the JSON summary of a run and checks the conservation of packets."""

    def __init__(self, text: str) -> None:
        self.json = json.loads(text)
        self.received = self.json["received"]["packets"]
        self.from_host = self.json["from_host"]["packets"]
        self.sent = self.json["sent"]["packets"]
        self.replicated = self.json["replicated"]
        self.dropped, self.punted = self.json["dropped"], self.json["punted"]
        #: Maps (kind, reason) to packets, without reasons that did not occur.
        self.reasons = {}
        for r in self.json["reasons"]:
            if r["packets"]:  # two functions may have reasons with the same name
                key = (r["kind"], r["reason"])
                self.reasons[key] = self.reasons.get(key, 0) + r["packets"]
        self.received_by_port = {p["name"]: p["received"]["packets"] for p in self.json["ports"]}
        self.sent_by_port = {p["name"]: p["sent"]["packets"] for p in self.json["ports"]}
        entered = self.received + self.from_host + self.json["created"] + self.replicated
        accounted_for = self.sent + self.dropped + self.punted + self.json["absorbed"] + self.json["held"]
        assert entered == accounted_for
        assert self.dropped == sum(n for (kind, _), n in self.reasons.items() if kind == "drop")
        assert self.punted == sum(n for (kind, _), n in self.reasons.items() if kind == "punt")
        assert self.received == sum(self.received_by_port.values())
        assert self.sent == sum(self.sent_by_port.values())


class Background:
    """Runs the program in the background as `process`, and ends it on exit."""

    process: subprocess.Popen

    def __enter__(self) -> "Background":
        return self

    def __exit__(self, *_: Any) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate(timeout=PATIENCE)


class RunningRouter(Background):
    """Runs `penumbra run` in the background. On entry, waits until the control socket answers, unless `answering` is
    false."""

    def __init__(
        self,
        config: pathlib.Path,
        *arguments: Any,
        command: Iterable[str] = (),
        answering: bool = True,
        socket: pathlib.Path | None = None,
        program: pathlib.Path = PROGRAM,
        **options: Any,
    ) -> None:
        self._answering = answering
        self.socket = socket or config.parent / "ctl"
        self.socket.unlink(missing_ok=True)
        self.process = subprocess.Popen(
            [*command, program, "run", config, "-j", *map(str, arguments)],
            text=True,
            stdout=subprocess.PIPE,
            **{"stderr": subprocess.PIPE, **options},
        )

    def __enter__(self) -> "RunningRouter":
        if self._answering:
            try:
                self.wait_for("an answer on the control socket", self._answers)
            except BaseException:
                self.__exit__()
                raise
        return self

    def wait_for(self, what: str, condition: Callable[[], Any], patience: float = PATIENCE) -> Any:
        """Repeats the condition until it is true, and returns its value. Fails when the router has ended."""

        def asked() -> Any:
            result = condition()
            if not result and self.process.poll() is not None:
                raise AssertionError(f"waiting for {what}: the router ended: " + self.process.communicate()[1])
            return result

        return wait_until(what, asked, patience)

    def wait_for_packets(self, port: str = "wan", count: int = 1) -> None:
        """Waits until `count` packets have arrived."""
        self.wait_for(f"{count} packets", lambda: self.received(port) >= count)

    def received(self, port: str = "wan") -> int:
        return next(row["rx_packets"] for row in self.show("ports") if row["name"] == port)

    def _answers(self) -> bool:
        return self.socket.exists() and penumbra("show", "ports", "-j", "--socket", self.socket).returncode == 0

    def show(self, *arguments: Any) -> Any:
        done = penumbra("show", *arguments, "-j", "--socket", self.socket)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def finish(self, signal_number: int | None = None) -> Summary:
        """Waits for the end of the run, optionally after a signal, and returns the summary."""
        if signal_number is not None:
            self.process.send_signal(signal_number)
        stdout, stderr = self.process.communicate(timeout=PATIENCE)
        check_sanitizers(stderr)
        assert self.process.returncode == 0, stderr
        return Summary(stdout)

    def stop(self) -> Summary:
        return self.finish(signal.SIGTERM)


def _mac(port: dict, position: int) -> bytes:
    return (
        bytes.fromhex(port["mac"].replace(":", "")) if "mac" in port else (0x020000000001 + position).to_bytes(6, "big")
    )


class Bench:
    """Provides a folder with a configuration, its route and neighbour files, and the captures of the output."""

    def __init__(self, folder: pathlib.Path) -> None:
        self.folder = folder
        self.config = folder / "router.yaml"
        self.ports: list[dict] = []

    def configure(
        self,
        ports: list[dict],
        routes: str = "",
        neighbours: str = "",
        *,
        workers: int = 1,
        pipeline: str | None = None,
        engine: str | None = None,
        sleep: str | None = None,
    ) -> pathlib.Path:
        """Writes the configuration. Ports without a sink get a capture named after them."""
        self.ports = [{"sink": f"{port['name']}.out.pcap", **port} for port in ports]
        for port in self.ports:
            if port["sink"] is None:
                del port["sink"]
        (self.folder / "routes.txt").write_text(routes)
        (self.folder / "neighbours.txt").write_text(neighbours)
        cores = sorted(os.sched_getaffinity(0))
        lines = ["ports:", *(f"  - {json.dumps(port)}" for port in self.ports)]
        crew = {"cores": [cores[i % len(cores)] for i in range(workers)]} | ({"sleep": sleep} if sleep else {})
        lines += [f"workers: {json.dumps(crew)}"]
        lines += [f"engine: {engine}"] if engine else []
        lines += ["control: {socket: ctl}", "pipeline:"]
        lines += [pipeline or "  - ipv4: {routes: routes.txt, neighbours: neighbours.txt}", ""]
        self.config.write_text("\n".join(lines))
        return self.config

    def oracle(self) -> ipv4.Router:
        """Returns the oracle for the configuration of configure(), for built-in sources."""
        ports = [
            ipv4.Port(
                p["name"], _mac(p, i), p.get("mtu", 1500), p.get("promiscuous", True), tuple(p.get("addresses", ()))
            )
            for i, p in enumerate(self.ports)
        ]
        return ipv4.Router(
            ports, (self.folder / "routes.txt").read_text(), (self.folder / "neighbours.txt").read_text()
        )

    def run(self, *arguments: Any, timeout: float = PATIENCE) -> Summary:
        """Runs the router to the end of its sources."""
        done = penumbra("run", self.config, "-j", *arguments, timeout=timeout)
        assert done.returncode == 0, done.stderr
        return Summary(done.stdout)

    def start(self, *arguments: Any, **options: Any) -> RunningRouter:
        return RunningRouter(self.config, *arguments, **options)

    def refused(self, text: str) -> str:
        """Returns the error of `check` for a configuration that it must refuse."""
        self.config.write_text(text)
        done = penumbra("check", self.config)
        assert done.returncode == 3, done.stderr
        return done.stderr

    def outputs(self) -> dict[str, list[bytes]]:
        """Returns the frames in every port's capture."""
        sinks = {p["name"]: p.get("sink") for p in self.ports}
        return {name: [f.data for f in read_capture(self.folder / sink).frames] for name, sink in sinks.items() if sink}


@pytest.fixture(scope="session", autouse=True)
def _own_folders(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Keeps calibrations of tests out of the user's cache, and gives each process of tests a default control socket."""
    os.environ["XDG_CACHE_HOME"] = str(tmp_path_factory.mktemp("cache"))
    os.environ["RUNTIME_DIRECTORY"] = str(tmp_path_factory.mktemp("runtime"))


@pytest.fixture
def bench(tmp_path: pathlib.Path) -> Bench:
    return Bench(tmp_path)


@pytest.fixture
def run(bench: Bench) -> "live.Commands":
    return live.Commands(bench)


@pytest.fixture
def tables() -> tuple[list[dict], str, str]:
    """Returns ports, routes and neighbours of `router`. Modules may override this fixture."""
    return live.PORTS, live.ROUTES, live.NEIGHBOURS


@pytest.fixture
def router(bench: Bench, tables: tuple[list[dict], str, str]) -> Iterator[RunningRouter]:
    """Starts a router with routes and neighbours that forwards packets."""
    bench.configure(*tables)
    with bench.start() as router:
        router.wait_for_packets()
        yield router


@pytest.fixture
def page(request: pytest.FixtureRequest) -> Iterator[Page]:
    """Returns the page of the test's marker. The test must run the page."""
    page = Page.of(request.node.get_closest_marker("page").args[0])
    yield page
    assert page.was_run, "no block of the page was run"


@pytest.fixture(scope="session")
def data() -> pathlib.Path:
    if not DATA.is_dir():
        pytest.skip(f"the shared data is not at {DATA}")
    return DATA


@pytest.fixture(scope="session")
def corpus(data: pathlib.Path) -> corpora.Corpus:
    loaded = corpora.load(data / "pcap", CACHE)
    ipv4.learn(loaded.frames(), ORACLE_CACHE)
    return loaded


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks the tests with peers, which the short tier runs on the release build only."""
    for item in items:
        if hasattr(item.module, "netns"):
            item.add_marker(pytest.mark.peers)


def pytest_sessionstart() -> None:
    if not PROGRAM.exists():
        raise pytest.UsageError(f"{PROGRAM} is missing: build it first (make build), or set PENUMBRA_BIN")
