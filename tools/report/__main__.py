# SPDX-License-Identifier: Apache-2.0
"""Makes a page of measurements with the papers' numbers next to them (docs/report.md)."""

import argparse
import sys
from pathlib import Path

from agreement import WANTED, compare
from document import BadInput, Document, read_prices
from page import Report
from papers import read_papers
from plots import plots_of

BENCH = Path(__file__).resolve().parent.parent.parent / "bench"
BAD_INPUT, MISMATCH = 3, 4

PARSER = argparse.ArgumentParser(prog="report", description=__doc__)
PARSER.add_argument("results", nargs="+", type=Path, metavar="RESULTS", help="documents that `penumbra-bench run -o FILE` wrote, or folders of them")
PARSER.add_argument("-o", "--output", type=Path, metavar="FILE", help="the page")
PARSER.add_argument("--plots", type=Path, metavar="FOLDER", help="writes every plot as an SVG file")
PARSER.add_argument("--agreement", action="store_true", help="compares two runs, or the documents of one name in two folders; exit status 4 if fewer than 90%% of the series of any agree")
PARSER.add_argument("--prices", type=Path, default=BENCH / "prices.json", metavar="FILE", help="prices of processors and GPUs")


def refuse_another_kind(file, begin, kind):
    """Exits if the file has other content, such as the results that the page is made of."""
    content = file.read_bytes()[: len(begin)].lower() if file.exists() else b""
    if content not in (b"", begin):
        PARSER.error(f"{file} exists and is no {kind}; write to another file, or remove it")


def documents_in(path):
    """Returns the documents of a folder, or the one of a file."""
    files = sorted(path.glob("*.json")) if path.is_dir() else [path]
    if not files:
        raise BadInput(f"{path}: the folder has no document (*.json)")
    return [Document(file) for file in files]


def documents_to_compare(first, second):
    """Returns pairs of documents to compare: the only ones, or those with the same file name."""
    pairs = [(a, b) for a in first for b in second if a.file.name == b.file.name or len(first) == len(second) == 1]
    if not pairs:
        raise BadInput("no two documents have the same file name")
    return pairs


def write(chosen):
    if chosen.output:
        refuse_another_kind(chosen.output, b"<!doctype", "page")
    found = [documents_in(path) for path in chosen.results]
    if chosen.output or chosen.plots:
        write_report(chosen, Report(sum(found, []), read_papers(BENCH / "papers"), read_prices(chosen.prices)))
    status = 0
    for pair in documents_to_compare(*found) if chosen.agreement else []:
        share, lines = compare(plots_of(pair), pair)
        print(*lines, sep="\n")
        if share is None:
            raise BadInput("the two runs have no series in common")
        status = status if share >= WANTED else MISMATCH
    return status


def write_report(chosen, report):
    if chosen.plots:
        chosen.plots.mkdir(parents=True, exist_ok=True)
        files = {chosen.plots / name: text for name, text in report.files().items()}
        for file in files:
            refuse_another_kind(file, b"<svg", "plot")
        for file, text in files.items():
            file.write_text(text, encoding="utf-8")
    if chosen.output:
        chosen.output.write_text(report.page(), encoding="utf-8")


def main():
    chosen = PARSER.parse_args()
    if not (chosen.output or chosen.plots or chosen.agreement):
        PARSER.error("name what to make: a page by -o FILE, plots by --plots FOLDER, or --agreement")
    if chosen.agreement and len(chosen.results) != 2:
        PARSER.error(f"--agreement compares two runs, not {len(chosen.results)}")
    try:
        return write(chosen)
    except BadInput as error:
        print(f"report: {error}", file=sys.stderr)
        return BAD_INPUT
    except OSError as error:
        print(f"report: {error.filename}: {error.strerror}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
