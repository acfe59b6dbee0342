# SPDX-License-Identifier: Apache-2.0
"""Finds our figures for a paper's numbers, and judges a paper's conclusions by them (docs/report.md)."""

import functools
import math
from itertools import groupby
from typing import NamedTuple

from document import Spread
from plots import Plot, figure, matches, nearest, place_name, ratio

#: Runs differ in the third digit, so differences that are invisible in print decide nothing.
TOLERANCE = 0.005
HOLDS, FAILS, OPEN = "holds", "does not hold", "cannot be said"


class Finding(NamedTuple):
    """A figure of ours: a curve's value at a place, or its ratio to another."""

    plot: Plot
    place: float | str
    of: str
    to: str  # empty without a division
    value: Spread
    ahead: Spread | None  # by which factor `of` is better than `to`


class Verdict(NamedTuple):
    outcome: str
    figures: str  # the figures and bounds of the verdict, or why there are none


def is_better(plot, a, b):
    """Compares the medians of two points."""
    if plot.is_less_better():
        a, b = b, a
    return b.value.median != 0 and a.value.median / b.value.median > 1


def best_of(plot, points):
    """Returns the first of the best pairs of a curve and a point, or None."""
    return functools.reduce(lambda best, each: each if is_better(plot, each[1], best[1]) else best, points) if points else None


def best_at(plot, curves, place):
    """Returns the best of the curves at a place with its point. A rate of 0 counts as not measured."""
    found = [(curve, curve.at(place)) for curve in curves]
    return best_of(plot, [each for each in found if each[1] and each[1].value.median != 0])


def chosen(plot, curves, choice):
    """Returns the places that a choice selects (docs/report.md, `at`)."""
    places = [place for place in plot.places() if best_at(plot, curves, place)]
    if choice is None or not places:
        return places
    if isinstance(choice, list):
        return [place for place in places if not isinstance(place, str) and choice[0] <= place <= choice[1]]
    if not isinstance(choice, str):
        found = nearest(places, choice)
        return [] if found is None else [found]
    if choice == "best":
        return [best_of(plot, [best_at(plot, curves, place) for place in places])[1].place]
    ends = {"first": places[:1], "last": places[-1:]}
    return ends.get(choice) or [place for place in places if isinstance(place, str) and matches(choice, place)]


def curves_like(panel, pattern):
    return [curve for curve in panel.values() if matches(pattern, curve.name)]


def divisor_of(target, plot, document, of, plots):
    """Returns None if the target divides by nothing, or the divisor's plot, curves and place."""
    panel = plot.panels[document]
    if "to_plot" not in target:
        if "to" in target:
            return plot, curves_like(panel, target["to"]), target.get("to_at")
        return (plot, of, target["to_at"]) if "to_at" in target else None
    at = target.get("to_at", "best")
    for other in plots:
        same = other.measurement == target["measurement"] and other.unit == plot.unit
        if same and matches(target["to_plot"], other.title) and document in other.panels:
            return other, curves_like(other.panels[document], target.get("to", target.get("of", ""))), at
    return plot, [], at


def find_between(plot, curves, by, at):
    for place in chosen(plot, curves, at):
        curve, point = best_at(plot, curves, place)
        if by is None:
            yield Finding(plot, place, curve.name, "", point.stated_spread(), None)
            continue
        other, divisors, to_at = by
        places = chosen(other, divisors, to_at) if to_at is not None else [place]
        below = best_at(other, divisors, places[0]) if places else None
        value = ratio(point, below[1]) if below and below[1] is not point else None
        if value:
            median, least, most = (1 / each if each > 0 else math.inf for each in value)
            ahead = Spread(median, most, least) if plot.is_less_better() else value
            yield Finding(plot, place, curve.name, below[0].name, value, ahead)


def find(target, plots, document, at=None):
    """Returns the machine's values for the target: one for each selected place of every matching plot. `at` overrides
    the target's own places."""
    found = []
    for plot in plots:
        is_meant = plot.measurement == target["measurement"] and matches(target.get("plot", ""), plot.title)
        if not is_meant or document not in plot.panels or not matches(target.get("unit", ""), plot.unit):
            continue
        panel = plot.panels[document]
        if "needs" in target and not curves_like(panel, target["needs"]):
            continue
        curves = curves_like(panel, target.get("of", ""))
        for side in [[curve] for curve in curves] if target.get("of_each") else [curves]:
            by = divisor_of(target, plot, document, side, plots)
            found += find_between(plot, side, by, target.get("at") if at is None else at)
    return found


def over_the_same(findings, others, of_each):
    """Divides each ratio by the ratio of the same plot in `others`. The two were not measured by turns, so the range is
    as wide as both spreads allow."""
    found = []
    for above in findings:
        same = (each for each in others if each.plot is above.plot and (not of_each or each.of == above.of))
        below = next(same, None)
        if below is None or below.place == above.place or below.value.median == 0:
            continue
        of, to = above.value, below.value
        most = of.most / to.least if to.least > 0 else math.inf
        found.append(above._replace(value=Spread(of.median / to.median, of.least / to.most, most)))
    return found


def crossings_of(findings):
    """Returns the numeric places where `of` and `to` cross. Lines between the points are straight in the logarithms."""
    found, before = [], None
    for finding in findings:
        place, times = finding.place, finding.value.median
        if isinstance(place, str) or times <= 0:
            continue
        difference = math.log(times)
        if before and before[1] * difference < 0:
            part = before[1] / (before[1] - difference)
            straight = before[0] + part * (place - before[0])
            found.append(before[0] * (place / before[0]) ** part if before[0] > 0 else straight)
        if difference != 0:
            before = (place, difference)
    return found


def figures_of(values, outcome):
    """Returns the range of the medians. An open verdict follows from the spreads, so it has these."""
    medians = [value.median for value in values]
    text = figure(min(medians)) if min(medians) == max(medians) else f"{figure(min(medians))} to {figure(max(medians))}"
    if outcome == OPEN:
        text += f" (runs: {figure(min(v.least for v in values))} to {figure(max(v.most for v in values))})"
    return text


def judge_bounds(check, findings):
    lower = check.get("at_least", -math.inf) * (1 - TOLERANCE)
    upper = check.get("at_most", math.inf) * (1 + TOLERANCE)
    outcome = HOLDS
    for value in (finding.value for finding in findings):
        if value.most < lower or value.least > upper:
            outcome = FAILS
        elif outcome == HOLDS and not (value.least >= lower and value.most <= upper):
            outcome = OPEN
    unit = "" if findings[0].to else f" {findings[0].plot.unit}"
    asked = ", ".join(f"{key.replace('_', ' ')} {figure(check[key])}" for key in ("at_least", "at_most") if key in check)
    return Verdict(outcome, f"{figures_of([f.value for f in findings], outcome)}{unit}; asked: {asked}")


def judge_ahead(check, findings):
    """`of` is better up to a place, and not better from a place on. Each half needs a measured place."""
    fails = is_open = False
    asked = []
    unit = findings[0].plot.x_unit
    for key, wants_ahead, words in (("ahead_up_to", True, "more than 1 up to"), ("behind_from", False, "at most 1 from")):
        bound = check.get(key)
        if bound is None:
            continue
        asked.append(f"{words} {place_name(bound, unit)}")
        numeric = [finding for finding in findings if not isinstance(finding.place, str)]
        tested = [f for f in numeric if (f.place <= bound if wants_ahead else f.place >= bound)]
        is_open |= not tested
        for ahead in (finding.ahead for finding in tested):
            if ahead.least > 1 or ahead.most <= 1:
                fails |= (ahead.least > 1) != wants_ahead
            else:
                is_open = True
    outcome = FAILS if fails else OPEN if is_open else HOLDS
    text = f"{figures_of([f.ahead for f in findings], outcome)} times as good"
    crossings = [place_name(place, unit) for place in crossings_of(findings)]
    text += f", equal near {' and '.join(crossings)}" if crossings else ""
    return Verdict(outcome, f"{text}; asked: {', '.join(asked)}")


def judge_peak(check, findings):
    """The greatest ratio lies between two places, however runs differ."""
    first, last = check["peak"]
    inside = [each for each in findings if not isinstance(each.place, str) and first <= each.place <= last]
    outside = [each for each in findings if each not in inside]
    greatest = max(findings, key=lambda finding: finding.value.median)
    is_inside = bool(inside) and max(f.value.median for f in inside) > max((f.value.median for f in outside), default=-math.inf)
    winner, other = (inside, outside) if is_inside else (outside, inside)
    is_certain = other and max(f.value.least for f in winner) > max(f.value.most for f in other)
    outcome = OPEN if not is_certain else HOLDS if is_inside else FAILS
    unit = greatest.plot.x_unit
    places = f"{place_name(first, unit)} to {place_name(last, unit)}"
    return Verdict(outcome, f"greatest {figures_of([greatest.value], outcome)} at {place_name(greatest.place, unit)}; asked: {places}")


def judge(conclusion, plots, document):
    """Returns the verdict on a conclusion; it is open if the stated spreads do not decide."""
    check, why_not = conclusion.get("check"), conclusion.get("why_not", "")
    findings = find(check, plots, document) if check else []
    if check and "than_at" in check:
        others = find(check, plots, document, check["than_at"])
        findings = over_the_same(findings, others, check.get("of_each"))
    if not findings:
        return Verdict(OPEN, why_not or "not measured")
    if "peak" not in check and not {"ahead_up_to", "behind_from"} & check.keys():
        return judge_bounds(check, findings)
    judge_plot = judge_peak if "peak" in check else judge_ahead
    verdicts = [judge_plot(check, list(group)) for _, group in groupby(findings, key=lambda finding: id(finding.plot))]
    outcomes = [verdict.outcome for verdict in verdicts]
    outcome = next(each for each in (FAILS, OPEN, HOLDS) if each in outcomes)
    return Verdict(outcome, ". ".join(verdict.figures for verdict in verdicts))


def place_in(ours, findings):
    """Returns the finding's place that `place_of` selects, or None."""
    kind = ours["place_of"]
    if kind == "crossing":
        return next(iter(crossings_of(findings)), None)
    if kind == "greatest":
        return max(findings, key=lambda finding: finding.value.median).place
    enough = [finding.place for finding in findings if finding.value.median >= ours["at_least"]]
    return (enough[0] if kind == "first" else enough[-1]) if enough else None


def our_figure(number, place, plots, document):
    """Returns our value for a paper's number at a place (None: the target's own), and "or more" if it is the last measured
    place or "or less" if it is the first. The value is None if no place is as wanted. Returns None if nothing was measured."""
    ours = number.get("ours")
    found = find(ours, plots, document, place) if ours else []
    if not found:
        return None
    best = max(found, key=lambda finding: finding.value.median) if ours.get("greatest") else found[0]
    scale = ours.get("scale", 1)
    if "place_of" not in ours:
        return best.value.median * scale, ""
    found = [finding for finding in found if finding.plot is best.plot]
    where = place_in(ours, found)
    if where is None or isinstance(where, str):
        return None, ""
    is_last = ours["place_of"] == "last" and found[-1].place == where
    is_first = ours["place_of"] == "first" and found[0].place == where
    return where * scale, "or more" if is_last else "or less" if is_first else ""
