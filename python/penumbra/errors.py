# SPDX-License-Identifier: Apache-2.0
"""Defines the exceptions that a request can raise."""

from typing import Any


class NotConnected(ConnectionError):
    """No router answers: nobody listens, the router hung up, or the request exceeded the timeout."""


class Refused(Exception):
    """The router understood the request and refuses it. `kind` is the reason in one word, and str() returns it as a
    sentence.

    `file`, `line` and `column` are the place of a mistake in a file. They are None if the router names no place.
    """

    def __init__(self, answer: dict[str, Any]) -> None:
        super().__init__(answer.get("error", "refused without a reason"))
        self.kind: str = answer.get("kind", "failure")
        self.file: str | None = answer.get("file") or None
        self.line: int | None = answer.get("line") or None
        self.column: int | None = answer.get("column") or None


class UsageError(Refused):
    """The request is wrong: it has an unknown command, port or word."""


class InputError(Refused):
    """A file that the request names is wrong; `file`, `line` and `column` are the place."""


class PermissionRefused(Refused):
    """The socket takes only commands that change nothing."""


class VersionMismatch(Refused):
    """The router uses another version of the protocol."""


_KINDS: dict[str, type[Refused]] = {
    "usage": UsageError,
    "input": InputError,
    "permission": PermissionRefused,
    "version": VersionMismatch,
}


def refusal_of(answer: dict[str, Any]) -> Refused:
    """Returns the exception for an answer that is a refusal. Kinds that only later routers know give a Refused."""
    return _KINDS.get(answer.get("kind", "failure"), Refused)(answer)
