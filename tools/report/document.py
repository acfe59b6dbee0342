# SPDX-License-Identifier: Apache-2.0
"""Reads documents of results (docs/bench-results.md) and prices. Errors name the file and the place in it.

A shape is a type, a tuple of texts to choose from, a list of one shape, a dictionary of shapes, or a function of value
and place. Keys that end in `?` may be missing or null. With the key `only`, a dictionary has no other keys."""

import json
import math
import re
import statistics
from typing import NamedTuple

#: The papers' measurements.
MEASUREMENTS = [f"E{number}" for number in range(1, 23)]
ROLES = ("ours", "rival", "limit")
KINDS = {dict: "an object", list: "a list", str: "text", bool: "true or false", float: "a number", int: "a number", type(None): "null"}
UNPRINTABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
LARGEST = 1e150


class BadInput(Exception):
    """The message names the file and the place in it."""


def wrong(place, message):
    raise BadInput(f"{place}: {message}")


def is_a(value, kind):
    return isinstance(value, int | float) and not isinstance(value, bool) if kind is float else isinstance(value, kind)


def check(value, shape, place):
    kind = shape if isinstance(shape, type) else type(shape)
    if kind is tuple:
        if value not in shape:
            wrong(place, f"expected one of {', '.join(shape)}")
    elif not isinstance(shape, type | dict | list):
        shape(value, place)
    elif not is_a(value, kind):
        wrong(place, f"expected {KINDS[kind]}, found {KINDS[type(value)]}")
    elif kind is float and not (math.isfinite(value) and abs(value) < LARGEST):
        wrong(place, "no measurement gives such a number")
    elif isinstance(shape, list):
        for number, each in enumerate(value):
            check(each, shape[0], f"{place}[{number}]")
    elif isinstance(shape, dict):
        check_object(value, shape, place)


def check_object(value, shape, place):
    for key, part in shape.items():
        name = key.removesuffix("?")
        if value.get(name) is not None:
            check(value[name], part, inside(place, name))
        elif key == name and key != "only":
            wrong(place, f"the key '{key}' is missing")
    known = {key.removesuffix("?") for key in shape}
    for key in value if "only" in shape else ():
        if key not in known:
            wrong(place, f"unknown key '{key}'; the keys are {', '.join(sorted(known - {'only'}))}")


class Pairs(tuple):
    """The keys and values of an object, in which a key may occur twice."""


def inside(place, key):
    return f"{place}: {key}" if place.endswith(".json") else f"{place}.{key}"


def plain(value, place):
    """Returns the value with dictionaries for Pairs. Replaces characters that no page can have, and refuses an object
    with a key twice."""
    if isinstance(value, Pairs):
        found = {}
        for key, each in value:
            key = plain(key, place)
            if key in found:
                wrong(place, f"the key '{key}' is there twice")
            found[key] = plain(each, inside(place, key))
        return found
    if isinstance(value, list):
        return [plain(each, f"{place}[{number}]") for number, each in enumerate(value)]
    return UNPRINTABLE.sub("\ufffd", value) if isinstance(value, str) else value


def read_json(path, shape):
    """Returns the content of a file that has the shape."""
    try:
        text = path.read_text(encoding="utf-8")
        found = json.loads(text, object_pairs_hook=Pairs, parse_constant=lambda word: wrong(path, f"this is no JSON: {word}"))
        value = plain(found, str(path))
    except json.JSONDecodeError as error:
        raise BadInput(f"{path}:{error.lineno}:{error.colno}: this is no JSON: {error.msg}") from None
    except (RecursionError, ValueError) as error:
        raise BadInput(f"{path}: this is no JSON: {error}") from None
    check(value, shape, str(path))
    return value


class Spread(NamedTuple):
    median: float
    least: float
    most: float


def spread_of(samples):
    return Spread(statistics.median(samples), min(samples), max(samples))


def check_spread(value, place):
    check(value, {"median": float, "min": float, "max": float}, place)
    if not value["min"] <= value["median"] <= value["max"]:
        wrong(place, "the median does not lie between min and max")


def check_place(value, place):
    if not isinstance(value, str):
        check(value, float, place)


def check_comparison(value, place):
    check(value, COMPARISON, place)
    plot = value.get("plot")
    for number, contender in enumerate(value["contenders"] if plot and plot.get("at") is None else ()):
        if contender.get("at") is None:
            wrong(f"{place}.contenders[{number}]", "neither the contender nor the plot has an `at`")


def check_bar(value, place):
    check(value, {"what": str, "value?": float, "wanted?": float, "at_least?": bool, "met?": bool, "not_shown?": str}, place)
    if value.get("met") is not None and None in (value.get("value"), value.get("wanted")):
        wrong(place, "a target that was shown has a `value` and a `wanted`")


def check_pace(value, place):
    check(value, {"memory?": float, "core?": float}, place)
    if min(value.values(), default=1) <= 0:
        wrong(place, "a pace is more than 0")


CONTENDER = {"name": str, "curve?": str, "role?": ROLES, "samples?": [float], "value": check_spread, "at?": check_place}
PLOT = {"measurement": str, "title": str, "x?": str, "x_unit?": str, "at?": check_place}
COMPARISON = {"title": str, "unit": str, "plot?": PLOT, "contenders": [CONTENDER]}
ENTRY = {
    "benchmark": str, "measurements?": [str], "absent?": str, "error?": str, "left_out?": str, "watts?": {"processors?": float, "gpus?": float},
    "pace?": check_pace, "comparisons?": [check_comparison], "bars?": [check_bar],
}  # fmt: skip
DOCUMENT = {
    "schema": ("penumbra-bench/1",), "machine": dict, "build": {"version": str}, "date?": str, "results": [ENTRY],
}  # fmt: skip


class Document:
    """The results of one machine and one build."""

    def __init__(self, path):
        root = read_json(path, DOCUMENT)
        self.file = path
        self.machine = {name: str(value) for name, value in root["machine"].items() if value is not None}
        self.version, self.date = root["build"]["version"], root.get("date") or ""
        self.entries = root["results"]

    def name(self):
        """Returns for example "AMD EPYC 9654, 16 cores, NVIDIA H200"."""
        cores = self.machine.get("cores")
        parts = [self.machine.get("processor") or str(self.file), cores and f"{cores} core{'' if cores == '1' else 's'}"]
        return ", ".join(part[:60] for part in [*parts, self.machine.get("gpu")] if part)


def drift_of(documents):
    """Returns twice the relative standard deviation of the machine's pace during all documents, of the memory or the
    core, whichever varied more. Returns 0 if a document has fewer than five entries with a pace."""
    drifts = [0.0]
    for kind in ("memory", "core"):
        by_document = [[each["pace"][kind] for each in doc.entries if kind in (each.get("pace") or {})] for doc in documents]
        paces = [pace for paces in by_document for pace in paces]
        if min(map(len, by_document)) >= 5:
            drifts.append(2 * statistics.stdev(paces) / statistics.mean(paces))
    return max(drifts)


def check_price(value, place):
    check(value, {"only": None, "part": str, "dollars": float, "source?": str}, place)
    if value["dollars"] <= 0:
        wrong(place, "a price is more than 0")


def read_prices(path):
    """Returns pairs of a part's pattern and dollars."""
    return [(each["part"], each["dollars"]) for each in read_json(path, {"only": None, "prices": [check_price]})["prices"]]
