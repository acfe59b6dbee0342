# SPDX-License-Identifier: Apache-2.0
"""Tests run in several processes: what one of them makes for all."""

import contextlib
import fcntl
import pathlib
from collections.abc import Iterator


@contextlib.contextmanager
def exclusive(folder: pathlib.Path) -> Iterator[None]:
    """One process at a time is in here with the folder, which exists then; the others wait."""
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder.with_name(folder.name + ".lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


__all__ = ["exclusive"]
