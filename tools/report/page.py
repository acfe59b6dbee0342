# SPDX-License-Identifier: Apache-2.0
"""Makes the page: per measurement a plot, the paper's numbers, ours, and the verdicts."""

import re
from pathlib import Path

import jinja2
from chart import definitions_of, element_of, file_of, variables
from document import MEASUREMENTS
from efficiency import efficiency
from markupsafe import Markup
from papers import points_of
from plots import figure, matches, place_name, plots_of
from rules import FAILS, HOLDS, OPEN, judge, our_figure

HERE = Path(__file__).parent
CLASSES = {HOLDS: "holds", FAILS: "fails", OPEN: "open"}


def letter_of(number):
    """Returns A to Z, AA, AB ..."""
    return (letter_of(number // 26 - 1) if number >= 26 else "") + chr(ord("A") + number % 26)


def as_id(text):
    return re.sub(r"[^a-z0-9]+", "-", text.lower().replace("'", "")).strip("-")


def figures_of(plot, papers):
    """Returns the papers' figures that the plot repeats, with what the plot lacks."""
    found = {}
    for measurement in papers:
        for paper in measurement["papers"]:
            for each in paper.get("figures", []):
                named = "plot" in each and each["measurement"] == plot.measurement and matches(each["plot"], plot.title)
                if named and matches(each.get("unit", ""), plot.unit):
                    found.setdefault((paper["paper"].split(" (")[0], each.get("but", "")), []).append(each["figure"])
    return "; ".join(", ".join([name, *figures]) + (f", but {but}" if but else "") for (name, but), figures in found.items())


def table_of(plot):
    """Returns a table of each machine's figures: a row for each series, a column for each place."""
    tables = []
    for document, panel in plot.panels.items():
        places = [place for place in plot.places() if any(curve.at(place) for curve in panel.values())]
        rows = [(curve.name, [point and point.value for point in map(curve.at, places)]) for curve in panel.values()]
        tables.append((letter_of(document), [place_name(place, plot.x_unit) for place in places], rows))
    return tables


def lacks_of(documents, measurement):
    """Returns why a machine has no figures, or lacks a part of them."""
    found = []
    for number, document in enumerate(documents):
        entries = [entry for entry in document.entries if measurement in (entry.get("measurements") or [])]
        words = (("absent", "not here"), ("error", "failed"), ("left_out", "left out"))
        lacks = [(entry, key, what) for entry in entries for key, what in words if entry.get(key)]
        reasons = [f"{entry['benchmark']} {what}: {entry[key].split(': ')[0]}" for entry, key, what in lacks]
        if not entries:
            reasons.append("not asked for")
        found += [(letter_of(number), reason) for reason in dict.fromkeys(reasons)]
    return found


def cell_of(number, place, value, plots, document):
    """Returns our figure and its ratio to the paper's."""
    ours = our_figure(number, place, plots, document)
    if ours is None or ours[0] is None:
        return ("no such place" if ours else "not measured"), ""
    return f"{figure(ours[0])} {ours[1]}".strip(), f"{figure(ours[0] / value)} times" if value else ""


def numbers_of(paper, plots, documents):
    rows = []
    for number in paper.get("numbers", []):
        for place, value in points_of(number):
            unit = number.get("x_unit", "")
            where = "" if place is None else f", {place_name(place, unit)}{'' if unit in ('', 'B') else f' {unit}'}"
            theirs = f"{'about ' if number.get('about') else ''}{figure(value)} {number['unit']}"
            cells = [cell_of(number, place, value, plots, document) for document in range(len(documents))] if "ours" in number else None
            rows.append((number["what"] + where, theirs, cells, number.get("why_not", "")))
    return rows


def conclusions_of(paper, plots, documents):
    judged = [(each, [judge(each, plots, document) for document in range(len(documents))]) for each in paper.get("conclusions", [])]
    return [(each, [(CLASSES[verdict.outcome], *verdict) for verdict in verdicts]) for each, verdicts in judged]


def count_of(papers, document):
    """Returns for example "2 hold, 1 does not, 3 open". Sentences that are ours do not count."""
    verdicts = [verdicts[document][0] for paper in papers for each, verdicts in paper["conclusions"] if not each.get("is_ours")]
    holds, fails, undecided = (verdicts.count(name) for name in ("holds", "fails", "open"))
    words = [(holds, "hold" if holds > 1 else "holds"), (fails, "do not" if fails > 1 else "does not"), (undecided, "open")]
    return ", ".join(f"{count} {word}" for count, word in words if count)


class Report:
    """Makes the page and the files of plots from documents, papers and prices."""

    def __init__(self, documents, papers, prices):
        self.documents, self.papers, self.prices = documents, papers, prices
        self.plots = plots_of(documents)
        self.letters = [letter_of(number) for number in range(len(documents))]
        self.shapes = {}
        self.charts = {plot: element_of(plot, self.letters, self.shapes) for plot in self.plots if not plot.is_table}

    def section(self, name, title, about, papers):
        own = [plot for plot in self.plots if plot.section() == name]
        charts = []
        for number, plot in enumerate((plot for plot in own if not plot.is_table), 1):
            charts.append((f"{as_id(name)}-{number}", plot, Markup(self.charts[plot]), figures_of(plot, self.papers), table_of(plot)))
        tables = [(plot, table_of(plot)) for plot in own if plot.is_table]
        found = [
            {**paper, "conclusions": conclusions_of(paper, self.plots, self.documents),
             "numbers": numbers_of(paper, self.plots, self.documents),
             "missing": [each for each in paper.get("figures", []) if "why_not" in each]}
            for paper in papers
        ]  # fmt: skip
        measured = {document for plot in own for document in plot.panels}
        lacks = lacks_of(self.documents, name) if name in MEASUREMENTS else []
        states = []
        for document in range(len(self.documents)):
            reason = next((why for letter, why in lacks if letter == letter_of(document)), "")
            states.append(count_of(found, document) or "measured" if document in measured else reason or "nothing compared")
        section = name if name in MEASUREMENTS else f"benchmark-{as_id(name)}"
        return {"id": section, "title": title, "about": about, "charts": charts, "tables": tables, "papers": found, "lacks": lacks, "states": states}

    def page(self):
        sections = [
            self.section(each["measurement"], f"{each['measurement']}: {each['title']}", each["about"], each["papers"])
            for each in sorted(self.papers, key=lambda each: MEASUREMENTS.index(each["measurement"]))
        ]
        others = dict.fromkeys(plot.benchmark for plot in self.plots if not plot.measurement)
        sections += [self.section(name, name, "", []) for name in others]
        missed = [
            (letter_of(number), entry["benchmark"], bar["what"], figure(bar["value"]), f"{'at most' if bar.get('at_least') is False else 'at least'} {figure(bar['wanted'])}")
            for number, document in enumerate(self.documents) for entry in document.entries for bar in entry.get("bars") or [] if bar.get("met") is False
        ]  # fmt: skip
        environment = jinja2.Environment(loader=jinja2.FileSystemLoader(HERE), autoescape=True, trim_blocks=True, lstrip_blocks=True)
        return environment.get_template("page.html").render(
            figure=figure,
            style=Markup(variables() + (HERE / "page.css").read_text(encoding="utf-8")),
            definitions=Markup(definitions_of(self.shapes)),
            machines=[(letter_of(number), document) for number, document in enumerate(self.documents)],
            sections=sections,
            missed=missed,
            efficiency=efficiency(self.plots, self.documents, self.prices),
        )

    def files(self):
        """Returns the charts as files, by name: "e06-look-ups-in-tables-of-1-gib.svg"."""
        titles = [(plot.section(), plot.title) for plot in self.charts]
        found = {}
        for plot, chart in self.charts.items():
            several = titles.count((plot.section(), plot.title)) > 1
            section = re.sub(r"^E(\d)$", r"E0\1", plot.section())
            name = as_id(f"{section} {plot.title}{f' {plot.unit}' if several else ''}")
            machines = [f"{self.letters[number]}: {self.documents[number].name()}" for number in plot.panels]
            found[f"{name}.svg"] = file_of(chart, self.shapes, [f"{plot.section()}: {plot.title}", *machines])
        return found
