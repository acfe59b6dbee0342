# SPDX-License-Identifier: Apache-2.0
"""Tests the Python module `penumbra` with a running router and with routers that misbehave."""

import ast
import os
import pathlib
import re
import socket
import sys
import threading

import pytest

import conftest

sys.path.insert(0, str(conftest.ROOT / "python"))
import penumbra  # noqa: E402

#: No packet comes from this device, so that the router does not end.
IDLE = {"device": "net_null0,no-rx=1", "mac": "02:00:00:00:00:01", "sink": None}
PORTS = [
    {"name": "wan", **IDLE, "addresses": ["192.0.2.1/24"]},
    {"name": "lan", "device": "none", "addresses": ["198.51.100.1/24"]},
]
ROUTES = "10.0.0.0/8 via 198.51.100.7 dev lan\n"
NEIGHBOURS = "198.51.100.7 dev lan lladdr 02:00:00:00:00:77\n"


@pytest.fixture
def running(bench):
    """Starts a router with both sockets, which receives no packets."""
    config = bench.configure(PORTS, ROUTES, NEIGHBOURS)
    text = config.read_text().replace("control: {socket: ctl}", "control: {socket: ctl, read_only: {socket: show}}")
    config.write_text(text)
    with bench.start() as router:
        yield router


def test_shows_what_the_command_shows(running):
    with penumbra.connect(running.socket) as router:
        assert [port["name"] for port in router.show("ports")] == ["wan", "lan"]
        assert router.show("routes", "10.0.0.0/8") == running.show("routes", "10.0.0.0/8")
        for topic in ("workers", "functions", "engines", "neighbours"):
            assert isinstance(router.show(topic), list), topic


def test_explains_a_packet(running):
    with penumbra.connect(running.socket) as router:
        answer = router.explain("wan", src="192.0.2.9", dst="10.1.2.3", proto="tcp", dport=80)
        assert (answer["verdict"], answer["sent"][0]["port"]) == ("send", "lan")
        assert answer["stages"][0]["tables"]["route"] == "10.0.0.0/8"
        assert router.explain("wan", hex=bytes.fromhex(answer["hex"])) == answer
        assert router.explain("wan", hex=answer["hex"]) == answer
        with pytest.raises(TypeError):
            router.explain("wan", "src", "192.0.2.9", hex="00")


def test_a_refusal_says_what_kind_it_is(running, tmp_path):
    with penumbra.connect(running.socket) as router:
        with pytest.raises(penumbra.UsageError, match="did you mean 'ports'|topics: ports") as usage:
            router.show("port")
        assert (usage.value.kind, usage.value.file) == ("usage", None)
        wrong = tmp_path / "wrong.yaml"
        wrong.write_text("ports: []\npipeline: [echo]\nsurprise: 1\n")
        with pytest.raises(penumbra.InputError) as place:
            router.plan(wrong)
        assert (place.value.kind, place.value.file, place.value.line, place.value.column) == ("input", str(wrong), 3, 1)
        with pytest.raises(penumbra.UsageError, match="unknown command"):
            router.command("shwo", "ports")
        assert router.show("ports")  # The connection still works.


def test_reloads(running, bench):
    with penumbra.connect(running.socket) as router:
        assert router.plan()["changes"] == []
        (bench.folder / "routes.txt").write_text(ROUTES + "172.16.0.0/12 via 198.51.100.7 dev lan\n")
        assert router.plan()["changes"] == ["ipv4: routes: 1 added, 0 removed, 0 changed, 1 as before"]
        assert router.explain("wan", src="192.0.2.9", dst="172.16.0.1")["verdict"] != "send"
        router.reload(bench.config)
        assert router.explain("wan", src="192.0.2.9", dst="172.16.0.1")["verdict"] == "send"


def test_changes_tables(running, bench):
    with penumbra.connect(running.socket) as router:
        added = {"stage": "ipv4", "command": "route", "added": 1, "removed": 0, "changed": 0}
        assert router.change("route", "add", "10.7.0.0/16 via 198.51.100.7 dev lan")["changes"] == [added]
        assert router.explain("wan", src="192.0.2.9", dst="10.7.1.1")["stages"][0]["tables"]["route"] == "10.7.0.0/16"
        assert router.config()["unsaved"] == ["ipv4: routes: + 10.7.0.0/16 via 198.51.100.7 dev lan"]
        with pytest.raises(penumbra.InputError) as wrong:
            router.change("route", "add", "10.6.0.0/16 dev lan\n10.5.0.0/16 dev lam", source="list.txt", stage="ipv4")
        assert (wrong.value.file, wrong.value.line) == ("list.txt", 2)
        assert router.change("route", "del", "10.0.0.0/8", confirm=600)["unconfirmed_seconds"] >= 599
        with pytest.raises(penumbra.Refused, match="waits to be confirmed"):
            router.save()
        assert router.rollback() == {"taken_back": 1}
        router.change("route", "del", "10.0.0.0/8", confirm=600)
        assert router.confirm() == {"confirmed": True}
        assert router.save()["files"] == [str(bench.folder / "routes.txt")]
        assert router.reload(confirm=600)["changes"] == []
    assert (bench.folder / "routes.txt").read_text().strip() == "10.7.0.0/16 via 198.51.100.7 dev lan"


def test_the_read_only_socket_takes_nothing_that_changes(running, bench):
    with penumbra.connect(bench.folder / "show") as router:
        assert router.show("ports")
        assert router.explain("wan", src="192.0.2.9", dst="10.1.2.3")["verdict"] == "send"
        assert router.command("trace", "show") == []
        assert router.config()["unsaved"] == []
        requests = [("trace", "add", 1), ("trace", "clear"), ("reload", "apply"), ("reload", "plan"), ("capture", "drops")]
        requests += [("config", action) for action in ("save", "confirm", "rollback", "set", "unset")]
        tables = ("route", "neighbour", "acl", "flow", "station", "port")
        requests += [(command, action, "x") for command in tables for action in ("add", "replace", "del")]
        for request in requests:
            with pytest.raises(penumbra.PermissionRefused):
                router.command(*request)


def test_the_log_says_who_changed_what(running):
    with penumbra.connect(running.socket) as router:
        router.show("ports")
        router.command("trace", "clear")
        with pytest.raises(penumbra.UsageError):
            router.command("trace", "add", "x\ny")
        router.change("route", "add", *(f"10.7.{i}.0/24 dev lan" for i in range(100)), confirm=600)
        router.rollback()
    running.process.terminate()
    log = running.process.communicate(timeout=conftest.PATIENCE)[1]
    who = f"audit: uid {os.geteuid()} gid {os.getegid()} pid {os.getpid()} asked for "
    lines = [line[line.index("audit:") :] for line in log.splitlines() if "audit:" in line]
    assert lines[0] == who + '["trace","clear"]: done'
    assert lines[1].startswith(who + r'["trace","add","x\ny"]: refused: "expected a number')
    assert lines[2].startswith(who + '["route","add","--confirm","600","10.7.0.0/24 dev lan",')
    assert lines[2].endswith("...: done") and len(lines[2]) < 1200
    assert lines[3] == who + '["config","rollback"]: done'
    assert len(lines) == 4


def test_watches(running):
    with penumbra.connect(running.socket) as router:
        seen = [answer for _, answer in zip(range(3), router.watch("ports", interval=0.01))]
        assert [len(answer) for answer in seen] == [2, 2, 2]


def test_connects_again_when_the_router_has_hung_up(running):
    with penumbra.connect(running.socket) as router:
        assert router.show("ports")
        connection = router._socket
        assert router.show("ports")
        assert router._socket is connection, "a connection serves more than one request"
        router._socket.shutdown(socket.SHUT_RDWR)
        assert router.show("ports")
        router.close()
        assert router.show("ports")


class FakeRouter:
    """Accepts one connection and one request, and answers with these bytes."""

    def __init__(self, path: pathlib.Path, answer: bytes) -> None:
        self.path, self.request = path, b""
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(path))
        self._listener.listen()
        self._thread = threading.Thread(target=self._serve, args=(answer,))
        self._thread.start()

    def _serve(self, answer: bytes) -> None:
        connection, _ = self._listener.accept()
        with connection:
            while not self.request.endswith(b"\n"):
                self.request += connection.recv(4096)
            for begin in range(0, len(answer), 7):
                connection.sendall(answer[begin : begin + 7])

    def __enter__(self) -> "FakeRouter":
        return self

    def __exit__(self, *_: object) -> None:
        self._thread.join()
        self._listener.close()


@pytest.mark.parametrize(
    ("answer", "error", "words"),
    [
        (b'{"ok":true,"version":1,"result":[1,"\xc3\xa9"]}\n', None, ""),
        (b'{"ok":false,"version":2,"kind":"version","error":"version 2"}\n', penumbra.VersionMismatch, "version 2"),
        (b'{"ok":false,"kind":"of the future","error":"no"}\n', penumbra.Refused, "no"),
        (b'{"ok":false}\n', penumbra.Refused, "without a reason"),
        (b"{}\n", penumbra.NotConnected, "no router's answer"),
        (b"HTTP/1.0 400\n", penumbra.NotConnected, "no router's answer"),
        (b'{"ok":true', penumbra.NotConnected, "hung up"),
        (b"", penumbra.NotConnected, "hung up"),
    ],
)
def test_any_answer(tmp_path, answer, error, words):
    with FakeRouter(tmp_path / "s", answer) as fake, penumbra.connect(fake.path, timeout=20) as router:
        if error is None:
            assert router.show("x", 1, "b") == [1, "é"]
            assert fake.request == b'{"version": 1, "command": "show", "topic": "x", "arguments": ["1", "b"]}\n'
        else:
            with pytest.raises(error, match=words):
                router.show("x")


@pytest.mark.parametrize(
    ("request_of", "message"),
    [
        (lambda router: router.show(b"ports"), "topic: expected a str, found a value of type bytes"),
        (lambda router: router.show(None), "topic: expected a str, found None"),
        (lambda router: router.show("routes", b"10.0.0.0/8"), r"arguments\[0\]: expected a str or a number, found a value of type bytes"),
        (lambda router: router.show("routes", "all", None), r"arguments\[1\]: expected a str or a number, found None"),
        (lambda router: router.command(None, "x"), "command: expected a str, found None"),
        (lambda router: router.explain(b"wan"), "port: expected a str, found a value of type bytes"),
        (lambda router: router.explain("wan", src=None), "src: expected a str or a number, found None"),
        (lambda router: router.explain("wan", "src", b"::1"), r"words\[1\]: expected a str or a number"),
        (lambda router: router.explain("wan", hex=5), "hex: expected a str, found a value of type int"),
        (lambda router: router.plan(b"router.yaml"), r"file: expected a str or os.PathLike\[str\], found a value of type bytes"),
        (lambda router: router.reload(5), r"file: expected a str or os.PathLike\[str\], found a value of type int"),
        (lambda router: router.reload(confirm="60s"), "confirm: expected a number of seconds, found a value of type str"),
        (lambda router: router.change("route", "add", b"10.0.0.0/8 dev lan"), r"entries\[0\]: expected a str, found a value of type bytes"),
        (lambda router: router.change("route", None, "x"), "action: expected a str, found None"),
        (lambda router: router.change("route", "add", "x", stage=b"ipv4"), "stage: expected a str"),
        (lambda router: router.save(b"x"), "file: expected a str"),
        (lambda router: router.watch("ports", interval=None), "interval: expected a number of seconds, found None"),
        (lambda router: penumbra.connect(str(router.path).encode()), "path: expected a str or os.PathLike"),
        (lambda router: penumbra.connect(router.path, timeout=None), "timeout: expected a number of seconds, found None"),
    ],
)
def test_an_argument_of_a_wrong_type_is_named(tmp_path, request_of, message):
    with FakeRouter(tmp_path / "s", b'{"ok":true,"result":1}\n') as fake, penumbra.connect(fake.path) as router:
        with pytest.raises(TypeError, match=f"^{message}"):
            request_of(router)
        assert router.show("x") == 1
        assert fake.request.count(b"\n") == 1, "the wrong request was not sent"


def test_says_that_no_router_answers(tmp_path):
    with pytest.raises(penumbra.NotConnected, match="no router answers"):
        penumbra.connect(tmp_path / "nobody")
    with socket.socket(socket.AF_UNIX) as silent:
        silent.bind(str(tmp_path / "silent"))
        silent.listen()
        with penumbra.connect(tmp_path / "silent", timeout=0.05) as router:
            with pytest.raises(penumbra.NotConnected, match="in time"):
                router.show("ports")


def test_looks_where_the_commands_look(monkeypatch, tmp_path):
    monkeypatch.setattr(os, "geteuid", lambda: 1234)
    monkeypatch.delenv("RUNTIME_DIRECTORY", raising=False)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    assert penumbra.default_socket() == f"{tmp_path}/penumbra.sock"
    monkeypatch.delenv("XDG_RUNTIME_DIR")
    assert penumbra.default_socket() == "/tmp/penumbra-1234/penumbra.sock"
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert penumbra.default_socket() == "/run/penumbra/penumbra.sock"
    monkeypatch.setenv("RUNTIME_DIRECTORY", "/run/x")
    assert penumbra.default_socket() == "/run/x/penumbra.sock"


def test_needs_nothing_but_python():
    for path in (conftest.ROOT / "python" / "penumbra").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module] if isinstance(node, ast.ImportFrom) else []
            for name in names:
                assert name.split(".")[0] in sys.stdlib_module_names | {"penumbra"}, (path.name, name)


def test_its_page_runs_as_it_stands(running):
    page = (conftest.ROOT / "docs" / "python.md").read_text()
    blocks = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    assert len(blocks) >= 2
    for block in blocks:
        endless = block.replace("router.watch(", "zip_watch(router, ")
        names = {"zip_watch": lambda router, *words, **options: [next(router.watch(*words, **options))]}
        exec(endless.replace("penumbra.connect()", f"penumbra.connect({str(running.socket)!r})"), names)
