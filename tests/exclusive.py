# SPDX-License-Identifier: Apache-2.0
"""Provides a lock for resources that several test processes share."""

import contextlib
import fcntl
import pathlib
from collections.abc import Iterator


@contextlib.contextmanager
def exclusive(folder: pathlib.Path) -> Iterator[None]:
    """Admits one process at a time to the folder, which is created if necessary. Other processes wait."""
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder.with_name(folder.name + ".lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


__all__ = ["exclusive"]
