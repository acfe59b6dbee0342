# SPDX-License-Identifier: Apache-2.0
"""Connects to a router and sends requests."""

import json
import os
import socket
import time
from collections.abc import Iterator
from types import TracebackType
from typing import Any

from penumbra import arguments as check
from penumbra.errors import NotConnected, refusal_of

#: Version of the control protocol that this module uses.
PROTOCOL_VERSION = 1
#: Values of a router's answers: every value of JSON.
Json = dict[str, Any] | list[Any] | str | int | float | bool | None


def default_socket() -> str:
    """Returns the socket on which this user's router listens if its configuration names no socket."""
    runtime = os.environ.get("RUNTIME_DIRECTORY", "")
    if runtime.startswith("/"):
        return f"{runtime}/penumbra.sock"
    if os.geteuid() == 0:
        return "/run/penumbra/penumbra.sock"
    folder = os.environ.get("XDG_RUNTIME_DIR") or f"/tmp/penumbra-{os.geteuid()}"
    return f"{folder}/penumbra.sock"


def connect(path: str | os.PathLike[str] | None = None, timeout: float = 120.0) -> "Router":
    """Connects to the router that listens on `path` (None: default_socket()).

    `timeout` is the longest time for a request, in seconds. Raises NotConnected if no router listens on `path`.

    All functions raise TypeError for an argument of a wrong type, with its name, and then send nothing.
    """
    return Router(path, timeout)


class Router:
    """Represents a running router. Each thread needs its own instance.

    A router hangs up on a client that is silent for 10 seconds; the next request connects again.
    """

    def __init__(self, path: str | os.PathLike[str] | None = None, timeout: float = 120.0) -> None:
        self.path = check.path("path", path) if path is not None else default_socket()
        self.timeout = check.seconds("timeout", timeout)
        self._socket: socket.socket | None = None
        self._connect()

    def __enter__(self) -> "Router":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Closes the connection; further requests connect again."""
        if self._socket is not None:
            self._socket.close()
        self._socket = None

    def command(self, command: str, topic: str, *arguments: object) -> Json:
        """Sends any request and returns its result.

        Arguments are sent as str() returns them; None, bytes and truth values raise TypeError.

        Raises Refused, or the subclass for the kind, if the router refuses. Raises NotConnected if the router does not
        answer.
        """
        request = {
            "version": PROTOCOL_VERSION,
            "command": check.text("command", command),
            "topic": check.text("topic", topic),
            "arguments": [check.word(f"arguments[{at}]", argument) for at, argument in enumerate(arguments)],
        }
        answer = self._exchange(json.dumps(request).encode() + b"\n")
        if not answer["ok"]:
            raise refusal_of(answer)
        return answer.get("result")

    def show(self, topic: str, *arguments: object) -> Json:
        """Returns the data that `penumbra show TOPIC ARGUMENTS... -j` prints."""
        return self.command("show", topic, *arguments)

    def explain(self, port: str, *words: object, hex: str | bytes | None = None, **header: object) -> Json:
        """Returns how the router would treat a packet received on `port`.

        The packet is a header as names and values (`"src", "10.0.0.1"` or `src="10.0.0.1"`), or a whole frame as `hex`.
        `hex` is a text of hexadecimal digits, or bytes.
        """
        check.text("port", port)
        if hex is not None:
            if words or header:
                raise TypeError("explain() takes a header or hex, not both")
            digits = hex.hex() if isinstance(hex, bytes) else check.text("hex", hex)
            return self.command("explain", port, "--hex", digits)
        plain = [check.word(f"words[{at}]", each) for at, each in enumerate(words)]
        named = [part for name, value in header.items() for part in (name, check.word(name, value))]
        return self.command("explain", port, *plain, *named)

    def plan(self, file: str | os.PathLike[str] | None = None) -> Json:
        """Returns the changes that reload() would make, and the keys that need a restart."""
        return self.command("reload", "plan", *self._file(file))

    def reload(self, file: str | os.PathLike[str] | None = None, confirm: float | None = None) -> Json:
        """Applies the configuration in `file` (None: the running router's file) if no change needs a restart.

        With `confirm`, the router undoes the changes after this number of seconds unless confirm() is called before.
        """
        return self.command("reload", "apply", *self._file(file), *self._confirm(confirm))

    def change(
        self,
        command: str,
        action: str,
        *entries: str,
        stage: str | None = None,
        source: str | None = None,
        confirm: float | None = None,
    ) -> Json:
        """Changes a table: `change("route", "add", "10.0.0.0/8 via 192.0.2.1 dev lan")`. Applies all entries or none.

        `stage` names the function if several functions have the command. `source` is the name of the entries in errors.
        With `confirm`, the router undoes the change after this number of seconds unless confirm() is called before.
        """
        check.text("action", action)
        lines = [check.text(f"entries[{at}]", entry) for at, entry in enumerate(entries)]
        names = {"stage": stage, "source": source}
        options: list[str] = []
        for name, value in names.items():
            if value is not None:
                options += [f"--{name}", check.text(name, value)]
        return self.command(command, action, *options, *self._confirm(confirm), *lines)

    def confirm(self) -> Json:
        """Keeps the unconfirmed changes."""
        return self.command("config", "confirm")

    def rollback(self) -> Json:
        """Undoes the unconfirmed changes."""
        return self.command("config", "rollback")

    def config(self) -> Json:
        """Returns the running configuration: its `file`, its text as `yaml`, and the changes that are `unsaved`."""
        return self.command("config", "show")

    def save(self, file: str | os.PathLike[str] | None = None, force: bool = False) -> Json:
        """Writes the running configuration to `file` (None: its own file). Overwrites later edits only with `force`."""
        return self.command("config", "save", *self._file(file), *(["--force"] if force else []))

    def watch(self, topic: str, *arguments: object, interval: float = 1.0) -> Iterator[Json]:
        """Yields the topic at once and then every `interval` seconds, endlessly."""
        check.seconds("interval", interval)
        return self._watch(topic, arguments, interval)

    def _watch(self, topic: str, arguments: tuple[object, ...], interval: float) -> Iterator[Json]:
        while True:
            began = time.monotonic()
            yield self.show(topic, *arguments)
            time.sleep(max(0.0, began + interval - time.monotonic()))

    @staticmethod
    def _confirm(seconds: float | None) -> list[object]:
        return [] if seconds is None else ["--confirm", check.seconds("confirm", seconds)]

    @staticmethod
    def _file(file: str | os.PathLike[str] | None) -> list[str]:
        # The router has another working folder.
        return [] if file is None else [os.path.abspath(check.path("file", file))]

    def _connect(self) -> socket.socket:
        self.close()
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        connection.settimeout(self.timeout)
        try:
            connection.connect(self.path)
        except OSError as error:
            connection.close()
            raise NotConnected(f"{self.path}: no router answers: {error.strerror or error}") from error
        self._socket = connection
        return connection

    def _is_alive(self) -> bool:
        """True if the router has not hung up since the last answer."""
        if self._socket is None:
            return False
        self._socket.settimeout(0)  # with a timeout, Python waits before it calls recv()
        try:
            return self._socket.recv(1, socket.MSG_PEEK) != b""
        except BlockingIOError:
            return True
        except OSError:
            return False

    def _exchange(self, request: bytes) -> dict[str, Any]:
        connection = self._socket if self._is_alive() else self._connect()
        assert connection is not None
        deadline = time.monotonic() + self.timeout
        try:
            connection.settimeout(self.timeout)
            connection.sendall(request)
            line = self._receive_line(connection, deadline)
        except OSError as error:
            self.close()
            if isinstance(error, NotConnected):
                raise
            reason = "the router did not answer in time" if isinstance(error, TimeoutError) else str(error)
            raise NotConnected(f"{self.path}: {reason}") from error
        except BaseException:  # a late answer must not become the answer to the next request
            self.close()
            raise
        try:
            answer = json.loads(line)
        except ValueError:
            answer = None
        if not isinstance(answer, dict) or not isinstance(answer.get("ok"), bool):
            self.close()
            raise NotConnected(f"{self.path}: this is no router's answer")
        return answer

    def _receive_line(self, connection: socket.socket, deadline: float) -> bytes:
        pieces: list[bytes] = []
        while True:
            left = deadline - time.monotonic()
            if left <= 0:
                raise TimeoutError
            connection.settimeout(left)
            piece = connection.recv(1 << 16)
            if not piece:
                raise NotConnected(f"{self.path}: the router hung up")
            end = piece.find(b"\n")
            if end >= 0:
                pieces.append(piece[:end])
                return b"".join(pieces)
            pieces.append(piece)
