# SPDX-License-Identifier: Apache-2.0
"""Groups the comparisons of all documents into plots with a panel for each machine, and formats numbers."""

import math
import re
from dataclasses import dataclass, field

from document import MEASUREMENTS, ROLES, Spread, spread_of

#: Fewer samples do not show how much runs differ.
ENOUGH_SAMPLES = 3
#: The spread assumed for fewer samples, to either side and as a share of the median. The assumption covered 94 of 100
#: such points of two runs.
ASSUMED_SPREAD = 0.15
#: Places within this share of each other are the same place.
NEAR = 0.1
TIMES = {"s", "ms", "us", "ns", "seconds", "cycles", "ticks", "bytes"}


def matches(pattern, text):
    """In a pattern, `|` separates alternatives, `^` and `$` are begin and end, `*` is any text. Case does not count."""
    def regular(part):
        begin, end = part.startswith("^"), part.endswith("$")
        inner = ".*?".join(re.escape(piece) for piece in part[begin : len(part) - (end and len(part) > begin)].split("*"))
        return ("^" if begin else "") + inner + (r"\Z" if end else "")

    return any(re.search(regular(part), text.lower(), re.DOTALL) for part in pattern.lower().split("|"))


def figure(value):
    """Returns three significant digits; whole numbers from a hundred on, with thousands separators."""
    size = abs(value)
    if size == 0:
        return "0"
    if size == math.inf or size >= 1e15 or size < 1e-6:
        return f"{value:.2e}"
    if size >= 99.95:
        return f"{value:,.0f}"
    if value == math.floor(value):
        return f"{value:.0f}"
    return f"{value:.1f}" if size >= 9.995 else f"{value:.2f}" if size >= 0.9995 else f"{value:.3g}"


def place_name(place, unit):
    """Returns a place on an axis of that unit. Bytes are in the largest unit that they fill."""
    if isinstance(place, str) or unit != "B":
        return place if isinstance(place, str) else figure(place)
    power = 0
    while place >= 1024 and power < 4:
        place, power = place / 1024, power + 1
    return f"{figure(place)} {('B', 'KiB', 'MiB', 'GiB', 'TiB')[power]}"


@dataclass
class Point:
    place: float | str
    name: str  # the contender's own name
    value: Spread
    samples: list
    role: str
    comparison: int  # samples of one comparison were taken by turns

    def stated_spread(self):
        """Returns the range from the least to the greatest sample. With too few samples it is at least the assumed
        spread."""
        median, least, most = self.value
        if len(self.samples) >= ENOUGH_SAMPLES:
            return self.value
        assumed = ASSUMED_SPREAD * abs(median)
        return Spread(median, min(least, median - assumed), max(most, median + assumed))


@dataclass
class Curve:
    name: str
    points: list = field(default_factory=list)

    def role(self):
        """Returns the role of most points; among equals the first."""
        roles = [point.role for point in self.points]
        return max(dict.fromkeys(roles), key=roles.count)

    def at(self, place):
        return next((point for point in self.points if point.place == place), None)

    def near(self, place):
        return self.at(place) if isinstance(place, str) else self.at(nearest([p.place for p in self.points], place))


@dataclass(eq=False)
class Plot:
    """Comparisons with the same measurement (or benchmark, if they have none), title and unit. A table is one
    comparison that belongs to no plot; its contenders are curves of one point at an empty place."""

    measurement: str  # empty without a measurement
    benchmark: str
    title: str
    unit: str
    x: str
    x_unit: str
    is_table: bool
    panels: dict = field(default_factory=dict)  # for each document its curves by name

    def is_less_better(self):
        return not self.unit.startswith("instructions") and re.split(r"[ ,/]", self.unit)[0] in TIMES

    def is_by_words(self):
        return any(isinstance(point.place, str) for _, curve in self.curves() for point in curve.points)

    def curves(self):
        return [(document, curve) for document, panel in self.panels.items() for curve in panel.values()]

    def names(self):
        return list(dict.fromkeys(curve.name for _, curve in self.curves()))

    def places(self):
        """Returns all places: numbers in order, words in order of appearance."""
        found = list(dict.fromkeys(point.place for _, curve in self.curves() for point in curve.points))
        return found if self.is_by_words() else sorted(found)

    def section(self):
        return self.measurement or self.benchmark


def measurement_of(entry, title):
    """Returns the entry's measurement whose number is in the title, else its first, else an empty text."""
    known = [name for name in entry.get("measurements") or [] if name in MEASUREMENTS]
    named = (name for name in known if re.search(rf"(?<![A-Za-z0-9]){name}(?![A-Za-z0-9])", title))
    return next(named, known[0] if known else "")


def plots_of(documents):
    """Returns the plots in the order of the documents. If any place of a plot is a word, its numbers become words."""
    plots, comparisons = {}, 0
    for number, document in enumerate(documents):
        for entry in document.entries:
            for comparison in entry.get("comparisons") or []:
                comparisons += 1
                add(plots, number, entry, comparison, comparisons)
    for plot in plots.values():
        by_words = plot.is_by_words()
        for _, curve in plot.curves():
            for point in curve.points if by_words else ():
                point.place = place_name(point.place, plot.x_unit)
            curve.points = list({point.place: point for point in curve.points}.values())
            if not by_words:
                curve.points.sort(key=lambda point: point.place)
    return list(plots.values())


def add(plots, document, entry, comparison, number):
    found = comparison.get("plot")
    of_paper = bool(found) and found["measurement"] in MEASUREMENTS
    title = found["title"] if found else comparison["title"]
    key = (not found, found["measurement"] if of_paper else entry["benchmark"], title, comparison["unit"])
    if key not in plots:
        measurement = found["measurement"] if of_paper else measurement_of(entry, title)
        axis = [(found or {}).get(name) or "" for name in ("x", "x_unit")]
        plots[key] = Plot(measurement, entry["benchmark"], title, comparison["unit"], *axis, not found)
    panel = plots[key].panels.setdefault(document, {})
    for each in comparison["contenders"]:
        name = each["name"] if not found else each.get("curve") or each["name"]
        places = [each.get("at"), (found or {}).get("at"), ""]
        place = next(place for place in places if place is not None)
        value = Spread(*(each["value"][part] for part in ("median", "min", "max")))
        point = Point(place, each["name"], value, each.get("samples") or [], each.get("role") or ROLES[0], number)
        panel.setdefault(name, Curve(name)).points.append(point)


def nearest(places, wanted):
    """Returns the nearest number within a tenth of the wanted one, or None."""
    numbers = [place for place in places if not isinstance(place, str) and abs(place - wanted) <= NEAR * abs(wanted)]
    return min(reversed(numbers), key=lambda place: abs(place - wanted), default=None)


def ratio(of, to):
    """Returns the ratio of two points, or None for a division by 0. The ratio is taken per round if both come from one
    comparison with a sample of each round. Otherwise its range is as wide as both stated spreads allow."""
    if to.value.median == 0:
        return None
    ratios = []
    if of.comparison == to.comparison and len(of.samples) == len(to.samples):
        ratios = [a / b for a, b in zip(of.samples, to.samples, strict=True) if b != 0]
    if len(ratios) >= ENOUGH_SAMPLES:
        return spread_of(ratios)
    median = spread_of(ratios).median if ratios else of.value.median / to.value.median
    above, below = of.stated_spread(), to.stated_spread()
    least = above.least / below.most if below.most else -math.inf
    return Spread(median, min(median, least), max(median, above.most / below.least if below.least > 0 else math.inf))
