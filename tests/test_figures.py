# SPDX-License-Identifier: Apache-2.0
"""A figure in README.md or docs comes from a kept result: tools/performance-tables writes it between `<!-- table: ... -->`
and `<!-- end -->`. Figures elsewhere are no measurements, and NO_MEASUREMENTS names them."""

import re

import pytest

import conftest

pytestmark = pytest.mark.release_only
PAGES = [conftest.ROOT / "README.md", conftest.ROOT / "bench" / "results" / "README.md", *sorted((conftest.ROOT / "docs").rglob("*.md"))]
NUMBER = r"(?<![\w.,:-])\d+(?:[.,]\d+)*"
#: Rates, times, fractions in tables, and comparisons of speed.
FIGURE = re.compile(
    rf"{NUMBER}\s*(?:[kMG]|million|thousand)?\s*(?:[\w-]+\s+){{0,3}}(?:[\w-]*/s\b|(?:a|per)\s+second\b|[kMGT]?bit/s\b)"
    rf"|{NUMBER}\s*(?:ns|us|µs|ms)\b|\|\s*\d+\.\d+\s*(?=\|)"
    rf"|{NUMBER}(?:\s*(?:times|%|per\s+cent))\s+(?:as\s+(?:fast|much|many|slow)|faster|slower|ahead|more|less)\b"
)
#: Settings and limits of the program, loads that a benchmark makes, targets, arithmetic, and figures of papers, by page.
NO_MEASUREMENTS = {
    "docs/add-a-function.md": ["2 ms"],
    "docs/auto.md": ["1.02 times as many", "10 ms", "2 ms", "2 us", "5 ms"],
    "docs/choices.md": ["100 µs"],
    "docs/classification.md": ["105,000 changes a second"],
    "docs/configuration.md": ["1 ms", "10 us", "10,000 packets a second", "10,000 packets in a second", "100ms", "10us", "1ms", "50 us"],
    "docs/cuda-resident.md": ["0.06 us", "3.5 us", "4 us", "5.5 us"],
    "docs/cuda.md": ["100,000 routes a second"],
    "docs/functions/flows.md": ["100 ms", "100ms"],
    "docs/functions/gswitch.md": ["100 µs"],
    "docs/functions/ipsec.md": ["100 errors a second", "256 a second"],
    "docs/functions/ipv4.md": ["100 a second", "100ms"],
    "docs/functions/reassembly.md": ["1ms"],
    "docs/gopt.md": ["5% ahead"],
    "docs/notes/auto-switches.md": ["10 ms"],
    "docs/performance.md": ["1 ms", "10 Gbit/s", "100 Gbit/s", "105,000 route changes a second", "14.88 M packets/s", "6.7 ns", "67 ns"],
    "docs/report.md": ["0.672 Gbit/s", "26% less", "35% more", "64 B a second"],
    "docs/scale-out.md": ["300 ms"],
}


def figures_of(text):
    """Returns the figures of a page outside of generated tables, code and comments."""
    text = re.sub(r"<!-- table: .*?<!-- end -->|^( *)```.*?^\1```|<!--.*?-->|`[^`\n]*`", " ", text, flags=re.DOTALL | re.MULTILINE)
    return [" ".join(found[0].split()) for found in FIGURE.finditer(text)]


def test_every_measured_figure_is_in_a_generated_table():
    found = {str(page.relative_to(conftest.ROOT)): sorted(set(figures_of(page.read_text()))) for page in PAGES}
    assert {page: figures for page, figures in found.items() if figures} == NO_MEASUREMENTS


@pytest.mark.parametrize(
    "text", ["12.5 M packets/s", "20 Gbit/s", "1.5 million lookups a second", "3.5 us", "67 ns", "twice, or 2.4 times as\nfast", "20% faster", "`x` gives 8 GB/s", "\n| `x` | 255.2 |\n"]
)
def test_a_figure_is_found(text):
    table = "<!-- table: machines -->\n| 7 M packets/s |\n<!-- end -->\n"
    assert len(figures_of(f"{table}It forwards {text}.")) == 1


@pytest.mark.parametrize("text", ["version 2.4", "`12 us`", "```\n12 us\n```\n", "<!-- 12 us -->", "RFC 3927, 7", "16 times as long", "3 minutes", "0. A second"])
def test_another_number_is_no_figure(text):
    assert figures_of(text) == []
