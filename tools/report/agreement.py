# SPDX-License-Identifier: Apache-2.0
"""Compares the figures of two runs on one machine, series by series (docs/report.md)."""

import math

from document import drift_of
from plots import ENOUGH_SAMPLES, figure, place_name

#: Runs agree if this share of their series agrees.
WANTED = 0.9
#: A machine with more drift was unsuitable for measurements, so more does not count.
MOST_DRIFT = 0.25
MOST_LISTED = 10


def is_within(point, drift, value):
    """Returns true if a median is in the point's stated spread, or within the drift around the point's median."""
    median, least, most = point.stated_spread()
    return min(least, median - drift * abs(median)) <= value <= max(most, median + drift * abs(median))


def agrees(first, second, drift=0.0):
    return is_within(first, drift, second.value.median) or is_within(second, drift, first.value.median)


def times_apart(first, second):
    a, b = first.value.median, second.value.median
    return 1 if a == b else math.inf if a * b <= 0 else max(a / b, b / a)


def pairs_of(plots, one, other):
    """Returns the series of both runs, and the number of those of run `one` that the other lacks."""
    pairs, alone = [], 0
    for plot in plots:
        for curve in plot.panels.get(one, {}).values():
            others = plot.panels.get(other, {}).get(curve.name)
            for point in curve.points:
                there = others.near(point.place) if others else None
                pairs += [(plot, curve.name, point, there)] if there else []
                alone += not there
    return pairs, alone


def share_text(pairs, drift):
    count = sum(agrees(first, second, drift) for *_, first, second in pairs)
    return f"{count} of {len(pairs)} agree" + (f" ({100 * count / len(pairs):.1f}%)" if pairs else "")


def compare(plots, documents):
    """Returns the share of agreeing series (None without any), and lines for a reader."""
    is_same = documents[0].name() == documents[1].name()
    drift = min(drift_of(documents), MOST_DRIFT) if is_same else 0.0
    pairs, only_first = pairs_of(plots, 0, 1)
    only_second = pairs_of(plots, 1, 0)[1]
    lines = [f"{letter}: {each.file}: {each.name()}; {each.version}; {each.date}" for letter, each in zip("AB", documents, strict=True)]
    few = [pair for pair in pairs if min(len(point.samples) for point in pair[2:]) < ENOUGH_SAMPLES]
    enough = [pair for pair in pairs if pair not in few]
    lines += [
        *([] if is_same else ["The machines differ."]),
        f"{len(pairs)} series in both, {only_first} only in A, {only_second} only in B; drift of the machine: {100 * drift:.1f}%",
        f"with {ENOUGH_SAMPLES} samples or more: {share_text(enough, drift)}",
        f"with fewer: {share_text(few, drift)}",
        f"all: {share_text(pairs, drift)}; {100 * WANTED:.0f}% are wanted",
    ]
    apart = sorted((pair for pair in pairs if not agrees(*pair[2:], drift)), key=lambda pair: -times_apart(*pair[2:]))
    for plot, name, first, second in apart[:MOST_LISTED]:
        place = place_name(first.place, plot.x_unit)
        where = f"{plot.section()}: {plot.title}, {name}{f' at {place}' if place else ''}"
        values = " and ".join(figure(point.value.median) for point in (first, second))
        lines.append(f"  {figure(times_apart(first, second))} times: {where}: {values} {plot.unit}")
    return (1 - len(apart) / len(pairs) if pairs else None), lines
