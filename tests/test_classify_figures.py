# SPDX-License-Identifier: Apache-2.0
"""Tests that the comparison with Open vSwitch is added to a document of results and then to the report."""

import json
import pathlib
import re
import xml.etree.ElementTree as ElementTree

import pytest

import classify_figures
from conftest import penumbra
from report_pages import document, report, section, text_of

pytestmark = pytest.mark.release_only
SAMPLES = [(8.0, 2.0), (9.0, 2.0), (10.0, 4.0)]


def entry(name, seconds=1.0):
    comparisons = [classify_figures.comparison(name, SAMPLES)]
    return classify_figures.entry_of(comparisons, len(SAMPLES), "Open vSwitch 3.1", seconds, ["a note"])


def of_this_build(folder):
    processor = re.search(r"^model name\s*: (.*)$", pathlib.Path("/proc/cpuinfo").read_text(), re.MULTILINE)[1]
    results = document(processor, [])
    results["build"]["version"] = penumbra("--version").stdout.splitlines()[0] + "; and more"
    file = folder / "results.json"
    file.write_text(json.dumps(results))
    return file


def test_they_replace_earlier_ones_and_are_in_the_report(tmp_path):
    file = of_this_build(tmp_path)
    for seconds in (1.0, 2.0):
        classify_figures.write(file, entry("1024 flows in 128 classes", seconds))
    written = json.loads(file.read_text())
    assert [each["seconds"] for each in written["results"]] == [2.0]
    ours, theirs = written["results"][0]["comparisons"][0]["contenders"]
    assert ours["value"] == {"median": 9.0, "min": 8.0, "max": 10.0}
    assert ours["ratio"] == {"median": 4.0, "min": 2.5, "max": 4.5}, "round by round"
    assert (ours["role"], theirs["role"]) == ("ours", "rival")
    done = report(tmp_path, [written])
    assert done.returncode == 0, done.stderr
    text = text_of(section(ElementTree.parse(tmp_path / "report.html").getroot(), "E14"))
    assert "flows of 12 fields switched by one core" in text and "GSwitch, figure 6(c)" in text
    assert "holds 4; asked: at least" in text


@pytest.mark.parametrize(
    ("key", "name", "value", "complaint"),
    [
        ("build", "version", "penumbra 0.0.1 (1234567)", "of another build: penumbra 0.0.1"),
        ("machine", "processor", "MOS 6502", "of another machine: MOS 6502"),
        ("build", None, [], "no document of results"),
    ],
)
def test_other_documents_stay_as_they_are(tmp_path, key, name, value, complaint):
    file = of_this_build(tmp_path)
    other = json.loads(file.read_text())
    if name is None:
        other[key] = value
    else:
        other[key][name] = value
    file.write_text(json.dumps(other))
    with pytest.raises(SystemExit, match=complaint):
        classify_figures.write(file, entry("1024 flows in 128 classes"))
    assert json.loads(file.read_text()) == other


def test_a_file_that_is_missing_is_named(tmp_path):
    with pytest.raises(SystemExit, match="no-such.json is no document of results"):
        classify_figures.read(tmp_path / "no-such.json")
