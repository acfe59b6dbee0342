# SPDX-License-Identifier: Apache-2.0
"""Reads and checks the papers' numbers and conclusions: bench/papers (docs/report.md)."""

from document import MEASUREMENTS, check, check_place, read_json, wrong


def check_pair(value, place):
    check(value, [float], place)
    if len(value) != 2:
        wrong(place, "expected two numbers")


def check_choice(value, place):
    (check_pair if isinstance(value, list) else check_place)(value, place)


TARGET = {
    "only": None, "measurement?": tuple(MEASUREMENTS), "plot?": str, "unit?": str, "of?": str, "of_each?": bool, "to?": str,
    "to_plot?": str, "needs?": str, "at?": check_choice, "to_at?": check_choice, "at_least?": float,
}  # fmt: skip
OURS = {**TARGET, "scale?": float, "greatest?": bool, "place_of?": ("crossing", "greatest", "first", "last")}
CHECK = {
    **TARGET, "at_most?": float, "ahead_up_to?": float, "behind_from?": float, "peak?": check_pair, "than_at?": check_choice,
}  # fmt: skip


def check_check(value, place):
    check(value, CHECK, place)
    leads = value.keys() & {"ahead_up_to", "behind_from", "peak"}
    if not leads and not value.keys() & {"at_least", "at_most"}:
        wrong(place, "expected `at_least`, `at_most`, `ahead_up_to`, `behind_from` or `peak`")
    if "than_at" in value and (leads or value.keys() & {"to_at", "to_plot"}):
        wrong(place, "`than_at` goes with `at_least` and `at_most` alone, without `to_at` and `to_plot`")
    if (leads or "than_at" in value) and "to" not in value:
        wrong(place, "the key 'to' is missing")


FIGURE = {"only": None, "figure": str, "measurement?": str, "plot?": str, "unit?": str, "but?": str, "why_not?": str}
CONCLUSION = {"only": None, "says": str, "where?": str, "is_ours?": bool, "check?": check_check, "why_not?": str}
NUMBER = {
    "only": None, "what": str, "where?": str, "unit": str, "x_unit?": str, "about?": bool, "value?": float, "points?": [check_pair],
    "ours?": OURS, "why_not?": str,
}  # fmt: skip
PAPER = {
    "only": None, "paper": str, "where": str, "on?": str, "figures?": [FIGURE], "numbers?": [NUMBER],
    "conclusions?": [CONCLUSION],
}  # fmt: skip
MEASUREMENT = {"only": None, "measurement": str, "title": str, "about": str, "papers": [PAPER]}


def read_papers(folder):
    """Returns the measurements. Targets and figures without a measurement get that of their file."""
    measurements = [read_json(path, MEASUREMENT) for path in sorted(folder.glob("E*.json"))]
    for each in measurements:
        for paper in each["papers"]:
            parts = [number.get("ours") for number in paper.get("numbers", [])]
            parts += [conclusion.get("check") for conclusion in paper.get("conclusions", [])]
            for part in [*filter(None, parts), *paper.get("figures", [])]:
                part.setdefault("measurement", each["measurement"])
    return measurements


def points_of(number):
    """Returns pairs of a place (or None) and a paper's value."""
    return number.get("points") or [(None, number["value"])]
