# SPDX-License-Identifier: Apache-2.0
"""Checks the arguments of callers, so that mistakes are found before a request is sent."""

import os
from typing import Any


def _wrong(name: str, expected: str, found: object) -> TypeError:
    shown = "None" if found is None else f"a value of type {type(found).__name__}"
    return TypeError(f"{name}: expected {expected}, found {shown}")


def text(name: str, value: object) -> str:
    """Returns the value, which must be a str. Raises TypeError that names the argument."""
    if not isinstance(value, str):
        raise _wrong(name, "a str", value)
    return value


def word(name: str, value: object) -> str:
    """Returns the value as str() gives it. Raises TypeError for None, bytes and truth values, which str() distorts."""
    if value is None or isinstance(value, bool | bytes | bytearray | memoryview):
        raise _wrong(name, "a str or a number", value)
    return str(value)


def path(name: str, value: Any) -> str:
    """Returns the path as a str. Raises TypeError that names the argument, for paths in bytes too."""
    try:
        found = os.fspath(value)
    except TypeError:
        found = value
    if not isinstance(found, str):
        raise _wrong(name, "a str or os.PathLike[str]", value)
    return found


def seconds(name: str, value: object) -> float:
    """Returns the value, which must be a number. Raises TypeError that names the argument."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _wrong(name, "a number of seconds", value)
    return value
