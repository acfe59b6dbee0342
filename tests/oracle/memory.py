# SPDX-License-Identifier: Apache-2.0
"""Caches results that are slow to compute and never change, in memory and on disk for other processes."""

import functools
import hashlib
import pathlib
import pickle
from collections.abc import Callable, Hashable, Iterable
from typing import Any

import scapy

from exclusive import exclusive


class Remembered:
    """Calls a function only once for the same arguments, like functools.cache."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self._answers: dict[tuple[Hashable, ...], Any] = {}
        functools.update_wrapper(self, function)

    def __call__(self, *arguments: Hashable) -> Any:
        try:
            return self._answers[arguments]
        except KeyError:
            return self._answers.setdefault(arguments, self._function(*arguments))

    def keep(
        self, folder: pathlib.Path, source: bytes, questions: Iterable[bytes], ask_all: Callable[[], None]
    ) -> None:
        """Loads the results of the questions from the folder. If the results are missing, ask_all() must ask all
        questions, in one process while the others wait. Results are discarded if the source, the questions or the
        version of scapy changed."""
        digest = hashlib.sha256(source + scapy.__version__.encode())
        for question in questions:
            digest.update(question)
        kept = folder / f"{self._function.__name__}-{digest.hexdigest()[:16]}.pickle"
        with exclusive(folder):
            if kept.exists():
                self._answers.update(pickle.loads(kept.read_bytes()))
                return
            ask_all()
            complete = kept.with_suffix(".new")
            complete.write_bytes(pickle.dumps(self._answers))
            complete.rename(kept)


__all__ = ["Remembered"]
