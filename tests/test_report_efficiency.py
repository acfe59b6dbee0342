# SPDX-License-Identifier: Apache-2.0
"""Throughput per dollar and per watt on the page of `penumbra-bench report`."""

import xml.etree.ElementTree as ElementTree

from report_pages import comparison, contender, copies, document, entry, report, section, text_of, two_machines

PRICES = """prices:
  - {part: "EPYC", dollars: 2000, source: "a shop"}
  - {part: "H200", dollars: 4000, source: "a shop"}
"""
PLOT = {"measurement": "E8", "title": "ipv4", "x": "workers", "x_unit": "", "at": 1}


def rates(*ways):
    return entry("cores", ["E8"], [comparison("ipv4", "M packets/s", list(ways), PLOT)])


def efficiency(folder, documents, prices=None):
    """Returns the text of the section about efficiency."""
    more = []
    if prices:
        (folder / "prices.yaml").write_text(prices)
        more = ["--prices", folder / "prices.yaml"]
    done = report(folder, documents, *more)
    assert done.returncode == 0, done.stderr
    return text_of(section(ElementTree.parse(folder / "report.html").getroot(), "E16"))


def test_prices(tmp_path):
    found = {**rates(contender("scalar", 16.0)), "watts": {"processors": 100.0}}
    text = efficiency(tmp_path, [document("AMD EPYC 9654", [found])], PRICES)
    assert "E8 ipv4 scalar, workers: 1 16 M packets/s 8 0.16" in text and "a shop" in text
    assert "Nothing was measured" not in text, "there is a table"


def test_watts_are_those_of_the_measurement(tmp_path):
    """A benchmark may have entries for several measurements."""
    measured = rates(contender("scalar", 16.0), contender("cuda", 48.0))

    def by(watts):
        other = entry("cores", ["E22"], [], watts={"processors": 50.0})
        return efficiency(tmp_path, [document("x", [other, {**measured, "watts": watts}]), document("y", [measured])])

    both = by({"processors": 100.0, "gpus": 60.0})
    assert "A: E8 ipv4 scalar, workers: 1 16 M packets/s 0.16" in both and "48 M packets/s 0.3" in both
    assert "per 1000 dollars" not in both and "no price" not in both, "there are none, which is said once"
    assert "matches x and y: penumbra-bench report --prices FILE" in both and "of what got its rates is known: B." in both
    gpus = by({"gpus": 60.0})
    assert "16 M packets/s no meter of the processor was read" in gpus, "the page names what is missing next to a GPU"
    assert "48 M packets/s 0.8 of the GPU alone" in gpus
    processors = by({"processors": 100.0})
    assert "16 M packets/s 0.16" in processors and "48 M packets/s no meter of the GPU was read" in processors
    unknown = by(100.0)  # format of documents of older programs
    assert "16 M packets/s no meter of the processor was read" in unknown
    assert "48 M packets/s 0.48, by meters not named" in unknown


def test_places_have_their_axis_and_unit(tmp_path):
    plot = {"measurement": "E15", "title": "IPv4, as much as goes", "x": "maximum delay", "x_unit": "us", "at": 20}
    found = entry("load", ["E15"], [comparison("t", "M look-ups/s", [contender("4 workers", 16.0)], plot)])
    text = efficiency(tmp_path, [document("x", [{**found, "watts": {"processors": 100.0}}])])
    assert "E15 IPv4, as much as goes 4 workers, maximum delay: 20 us 16 M look-ups/s 0.16" in text


def test_of_some_prices_those_that_lack_are_told(tmp_path):
    """A GPU has no price, but the processor has one."""
    found = rates(contender("scalar", 16.0), contender("cuda", 48.0))
    prices = 'prices: [{part: "EPYC", dollars: 2000, source: "a shop"}]\n'
    text = efficiency(tmp_path, [document("AMD EPYC 9654", [found], gpu="NVIDIA H200")], prices)
    assert "16 M packets/s 8 no meter of the processor was read" in text
    assert "48 M packets/s no price no meter was read" in text


def test_a_gpu_without_a_meter_of_its_own(tmp_path):
    """The table lists the GPU because of its price, and names the meter that was not read."""
    found = {**rates(contender("scalar", 16.0), contender("cuda", 48.0)), "watts": {"processors": 100.0}}
    text = efficiency(tmp_path, [document("AMD EPYC 9654", [found], gpu="NVIDIA H200")], PRICES)
    assert "ipv4 cuda, workers: 1 48 M packets/s 8 no meter of the GPU was read" in text


def test_who_has_no_rates_is_not_missed(tmp_path):
    """A machine has watts, but its benchmarks have no plot of a rate."""
    found = {**rates(contender("scalar", 16.0)), "watts": {"processors": 100.0}}
    text = efficiency(tmp_path, [document("x", [found]), document("y", [copies(50)])])
    assert "16 M packets/s 0.16" in text and "Not in the table" not in text


def test_bad_prices(tmp_path):
    (tmp_path / "prices.yaml").write_text("prices: [{part: x, dollar: 3}]\n")
    done = report(tmp_path, two_machines(), "--prices", tmp_path / "prices.yaml")
    assert done.returncode == 3 and "prices.yaml:1:" in done.stderr and "did you mean 'dollars'" in done.stderr
