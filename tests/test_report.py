# SPDX-License-Identifier: Apache-2.0
"""Tests `penumbra-bench report`: a page of synthetic measurements of several machines, and the requirements for a
document."""

import copy
import json
import re
import xml.etree.ElementTree as ElementTree

import pytest

import conftest
from conftest import penumbra_bench
from report_pages import (
    HTML,
    comparison,
    contender,
    copies,
    document,
    entry,
    exchanges,
    gopt,
    report,
    section,
    text_of,
    two_machines,
)

MEASUREMENTS = [f"E{number}" for number in range(1, 23)]
HOSTILE = "</script><img src=x onerror=alert(1)> \" ' & \u0001 \uffff ]]> " + "long" * 1000


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    folder = tmp_path_factory.mktemp("report")
    done = report(folder, two_machines())
    assert done.returncode == 0, done.stderr
    return folder / "report.html"


@pytest.fixture(scope="module")
def tree(page):
    """Parses the page, which is also XML."""
    return ElementTree.parse(page).getroot()


def test_every_measurement_has_its_section_and_a_link_to_it(tree):
    links = {each.get("href") for each in tree.iter(f"{HTML}a")}
    for name in [*MEASUREMENTS, "benchmark-lookup"]:
        assert f"#{name}" in links
        heading = next(section(tree, name).iter(f"{HTML}h2"))
        assert len(text_of(heading)) > 5
    ids = [each.get("id") for each in tree.iter() if each.get("id")]
    assert len(ids) == len(set(ids))
    assert all(link.removeprefix("#") in ids for link in links if link.startswith("#"))


def test_nothing_is_loaded_from_anywhere(page, tree):
    foreign = {f"{HTML}{tag}" for tag in ("script", "img", "iframe", "object")}
    assert {each.tag for each in tree.iter()}.isdisjoint(foreign)
    sources = [each.get(key) for each in tree.iter() for key in ("src", "href") if each.get(key)]
    assert all(source.startswith("#") or source == "data:," for source in sources)
    assert "url(" not in page.read_text() and "@import" not in page.read_text()


def test_plots_say_what_they_are(tree):
    charts = [each for each in tree.iter(f"{HTML}svg") if each.get("role") == "img"]
    assert len(charts) == 4, "E6 of two machines, E1 and E3 of one"
    ids = {each.get("id"): text_of(each) for each in tree.iter() if each.get("id")}
    for chart in charts:
        title, sentences = (ids[name] for name in chart.get("aria-labelledby").split())
        assert re.search(r": .+, .+ by .+", title) and len(sentences) > 40
        assert "NaN" not in ElementTree.tostring(chart, "unicode") and "inf" not in chart.get("viewBox")
    assert "GB/s (log)" in text_of(section(tree, "E1")) and "copy (log)" in text_of(section(tree, "E1"))


def test_machines_stand_side_by_side_on_the_same_axes(tree):
    first, second = (each for each in section(tree, "E6").iter(f"{HTML}svg") if each.get("role") == "img")
    axis = [[text_of(each) for each in chart if each.tag == f"{HTML}text"] for chart in (first, second)]
    assert axis[0] == axis[1] and len(axis[0]) > 5
    assert "A: AMD EPYC 9654, 16 cores" in text_of(tree) and "B: Intel Xeon 8480, 16 cores, NVIDIA H200" in text_of(
        tree
    )


def test_what_is_not_there_says_why(tree):
    assert "Nothing was measured on A: the machine lacks something for the benchmark gpu: no NVIDIA driver" in text_of(section(tree, "E1"))
    assert "the benchmark load failed: an answer was wrong" in text_of(section(tree, "E9"))
    assert "the benchmark flows was left out: it did not fit into what was left of 20 min" in text_of(section(tree, "E22"))
    assert "it waits for the IPsec gateway" in text_of(section(tree, "E12"))
    assert "Nothing was measured: it was not asked for." in text_of(section(tree, "E21"))


def test_the_list_says_what_a_machine_lacks(tree):
    (row,) = [text_of(row) for row in tree.iter(f"{HTML}tr") if text_of(row).startswith("E1 ")]
    assert "not here: no NVIDIA driver (the benchmark gpu)" in row


def test_papers_lead_to_their_sections(tree):
    nav = next(tree.iter(f"{HTML}nav"))
    for paper in ("PacketShader (SIGCOMM 2010)", "G-Opt (NSDI 2015)", "APUNet (NSDI 2017)"):
        assert [text_of(each) for each in nav.iter(f"{HTML}dt")].count(paper) == 1
    assert "section VII-A \u2192 E1" in [text_of(each).strip() for each in nav.iter(f"{HTML}li")]
    links = [each.get("href") for places in nav.iter(f"{HTML}dd") for each in places.iter(f"{HTML}a")]
    assert {link.partition("-")[0] for link in links} == {f"#{name}" for name in MEASUREMENTS}


def test_papers_figures_lead_to_their_plots(tree):
    """A figure links to its plot if these results have one, otherwise to the section. The plot names its figures
    too."""
    items = [each for each in next(tree.iter(f"{HTML}nav")).iter(f"{HTML}li")]
    links = {text_of(each).strip(): [link.get("href") for link in each.iter(f"{HTML}a")] for each in items}
    (plot,) = links["figure 8 \u2192 E6: look-ups in tables of 1 GiB"]
    (figure,) = [each for each in section(tree, "E6").iter(f"{HTML}figure") if f"#{each.get('id')}" == plot]
    assert [text_of(each) for each in next(figure.iter(f"{HTML}figcaption"))] == ["look-ups in tables of 1 GiB", "G-Opt, figure 8"]
    assert links["figure 8(a) \u2192 E13"] == ["#E13"], "not in these results"
    assert links["figure 5(a) \u2192 E13 , no plot: the engine overlaps copies and kernels"] == ["#E13"]
    gswitch = [place for place in links if place.endswith("E13") or "E13 ," in place]
    assert [place.split()[1] for place in gswitch] == sorted(place.split()[1] for place in gswitch)


def test_names_are_explained(tree):
    header = text_of(next(tree.iter(f"{HTML}header")))
    for word in ("scalar", "gopt", "cuda-resident", "auto", "mapped=0", "slots", "avx512=0", "tuple", "rival", "bar"):
        assert word in header


def test_figures_that_are_missing_say_why(tmp_path):
    """E22 has three benchmarks. The results of one must not hide the errors of the others."""
    plot = {"measurement": "E22", "title": "flows and ipv4", "x": "workers", "x_unit": "", "at": 1}
    rates = entry("cores", ["E22"], [comparison("1 worker", "M packets/s", [contender("scalar", 16.0)], plot)])
    failed = {"benchmark": "flows", "measurements": ["E22"], "error": "an answer was wrong"}
    left_out = {"benchmark": "l2", "measurements": ["E22"], "left_out": "the budget: it was spent"}
    done = report(tmp_path, [document("AMD EPYC 9654", [rates, failed, left_out])])
    assert done.returncode == 0, done.stderr
    root = ElementTree.parse(tmp_path / "report.html").getroot()
    text = text_of(section(root, "E22"))
    assert "A part was not measured: the benchmark flows failed: an answer was wrong." in text
    assert "A part was not measured: the benchmark l2 was left out: the budget: it was spent." in text
    (row,) = [text_of(row) for row in root.iter(f"{HTML}tr") if text_of(row).startswith("E22 ")]
    assert "the benchmark flows failed the benchmark l2 was left out" in row
    assert "Bars: 1 met, 1 missed, 2 not shown" in row, "what was left out shows nothing, as the bench counts"


def test_verdicts_come_from_the_figures(tree):
    kept = text_of(section(tree, "E6"))
    assert "holds. look-ups in tables of 1 GiB, gopt at cuckoo over plain loop: 2.60" in kept
    crossing = text_of(section(tree, "E3"))
    assert re.search(r"B: holds\. N numbers there and back: polling on shared memory is ahead from 1 to 512", crossing)
    assert "they cross near" in crossing
    assert "cannot be said. These results have no figures for it." in text_of(section(tree, "E15"))
    assert "B: does not hold." in text_of(section(tree, "E1")), "here copies from the GPU are the faster ones"


def test_the_papers_numbers_are_next_to_ours(tree):
    rows = [text_of(row) for row in section(tree, "E6").iter(f"{HTML}tr")]
    (row,) = [row for row in rows if row.startswith("chains of 100, over the plain loop")]
    assert re.search(r"6\.60 times 6\.60 1 times 6\.60 1 times", row), row
    launches = text_of(section(tree, "E2"))
    assert "a launch, 1 thread " in launches and re.search(r"a launch, [\d,]+ threads ", launches)
    assert "the paper's, on its hardware (in the colour of our curve)" in text_of(section(tree, "E1"))


def test_bars_and_notes_are_kept(tree):
    text = text_of(section(tree, "E6"))
    for word in ("gopt met", "missed", "not shown: no rival", "a note of gopt", "every answer", "made up"):
        assert word in text
    assert "2 met, 2 missed, 4 not shown" in text_of(tree)


def test_how_far_the_machines_pace_varied(tmp_path):
    calm = [entry(f"b{i}", [], [], pace={"memory": 100.0, "core": 900.0}) for i in range(4)]
    odd = entry("odd", [], [], pace={"memory": 60.0, "core": 900.0})
    for results, is_told in (([*calm, odd], True), (calm, False)):  # four are too few to detect it
        assert report(tmp_path, [document("x", results)]).returncode == 0
        told = "varied by 39% meanwhile" in (tmp_path / "report.html").read_text()
        assert told == is_told  # a mean of 92 and a standard deviation of 17.9


def test_integers_stay_as_they_are(tmp_path):
    done = report(tmp_path, [{**document("x", []), "seed": 12345678901234567890}])
    assert done.returncode == 0, done.stderr
    assert "seed 12345678901234567890" in text_of(ElementTree.parse(tmp_path / "report.html").getroot())


def test_text_of_others_stays_text(tmp_path):
    """Hostile text is inserted in every text of a document."""

    def poison(value):
        if isinstance(value, dict):
            keep = {"schema", "measurement", "measurements", "role", "at"}
            return {key: each if key in keep else poison(each) for key, each in value.items()}
        if isinstance(value, list):
            return [poison(each) for each in value]
        return value + HOSTILE if isinstance(value, str) else value

    done = report(tmp_path, [poison(each) for each in two_machines()])
    assert done.returncode == 0, done.stderr
    root = ElementTree.parse(tmp_path / "report.html").getroot()
    assert {each.tag for each in root.iter()}.isdisjoint({f"{HTML}script", f"{HTML}img"})
    assert all("onerror" not in each.keys() for each in root.iter())
    assert "<img src=x onerror=alert(1)>" in text_of(root), "it is shown"


def changed(path, value):
    """Returns a document with a changed value. The value KeyError removes the key."""
    found = copy.deepcopy(two_machines()[0])
    place = found
    for key in path[:-1]:
        place = place[key]
    if value is KeyError:
        del place[path[-1]]
    else:
        place[path[-1]] = value
    return found


FIRST = ("results", 0, "comparisons", 0)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r"results0\.json:1:1: this is no JSON"),
        ('{"schema":\n "penumbra-bench/1",}', r"results0\.json:2:\d+: this is no JSON"),
        ('{"schema": 1e999}', r"results0\.json: .*out of range"),
        ('{"schema": NaN}', r"results0\.json:1:\d+: this is no JSON"),
        ("[]", r"results0\.json: expected an object, found array"),
        (changed(("schema",), "penumbra-bench/2"), "schema: .*another version"),
        (changed(("schema",), "x"), "schema: .*something else"),
        (changed(("machine",), KeyError), "the key 'machine' is missing"),
        (changed(("machine", "cores"), [1]), r"machine\.cores: expected text or a number, found array"),
        (changed(("results",), {}), "results: expected a list, found object"),
        (changed((*FIRST, "unit"), KeyError), r"results\[0\]\.comparisons\[0\]: the key 'unit' is missing"),
        (changed((*FIRST, "unit"), 3), r"comparisons\[0\]\.unit: expected text, found number"),
        (changed((*FIRST, "plot", "at"), KeyError), r"comparisons\[0\]\.plot: .*it has no place"),
        (changed((*FIRST, "plot", "at"), {}), r"plot\.at: expected a number or words"),
        (changed((*FIRST, "contenders", 0, "role"), "friend"), r"contenders\[0\]\.role: expected ours, rival or limit"),
        (
            changed((*FIRST, "contenders", 0, "value", "median"), 1e200),
            r"value\.median: no measurement gives such a number",
        ),
        (changed((*FIRST, "contenders", 0, "value", "min"), 1e9), r"value: the median does not lie between"),
        (changed(("results", 0, "bars", 0, "met"), "yes"), r"bars\[0\]\.met: expected true or false"),
        (changed(("results", 0, "bars", 0, "value"), KeyError), r"bars\[0\]: a bar that was shown"),
    ],
)
def test_bad_documents(tmp_path, text, message):
    done = report(tmp_path, [text])
    assert done.returncode == 3, done.stderr
    assert re.search(message, done.stderr), done.stderr
    assert not (tmp_path / "report.html").exists()


def test_only_a_page_is_overwritten(tmp_path):
    assert report(tmp_path, two_machines()).returncode == 0
    page, here, there = tmp_path / "report.html", tmp_path / "results0.json", tmp_path / "results1.json"
    (tmp_path / "link.json").symlink_to(there)
    kept = here.read_text()
    for arguments, message in (
        (["-o", here, there], "results0.json is there already and is no page"),  # the name of the output is missing
        ([here, there, "-o", there], "results1.json is read, and cannot be written too"),
        ([here, there, "-o", tmp_path / "link.json"], "link.json is read, and cannot be written too"),
    ):
        done = penumbra_bench("report", *arguments)
        assert done.returncode == 2 and message in done.stderr, done.stderr
    assert here.read_text() == kept and json.loads(there.read_text())
    for replaced in ("", "<!doctype HTML>\n<p>an older one</p>", '<?xml version="1.0"?>'):
        page.write_text(replaced)
        assert report(tmp_path, two_machines()).returncode == 0
        assert page.read_text().startswith("<!DOCTYPE html>\n<html xmlns")


SVG = "{http://www.w3.org/2000/svg}"


def test_plots_as_files(tmp_path):
    """Plots are written with and without a page. Older plots are replaced, other files are not."""
    plots = tmp_path / "new" / "plots"
    assert report(tmp_path, two_machines(), "--plots", plots).returncode == 0
    assert (tmp_path / "report.html").exists()
    names = ["e01-copies-one-after-the-other.svg", "e03-n-numbers-there-and-back.svg", "e06-look-ups-in-tables-of-1-gib.svg"]
    assert sorted(each.name for each in plots.iterdir()) == names
    for name in names:
        root = ElementTree.parse(plots / name).getroot()
        assert root.tag == f"{SVG}svg" and root.get("width") and root.get("height")
        text = text_of(root)
        assert "B: Intel Xeon 8480, 16 cores, NVIDIA H200" in text and "NaN" not in text
    text = text_of(ElementTree.parse(plots / names[2]).getroot())
    for part in ("E6: look-ups in tables of 1 GiB", "A: AMD EPYC 9654", "M items/s/core", "group prefetching (rival)"):
        assert part in text
    kept = (plots / names[0]).read_text()
    (plots / names[0]).write_text("<svg>an older one</svg>")
    assert penumbra_bench("report", tmp_path / "results1.json", "--plots", plots).returncode == 0
    assert "A: " not in (plots / names[0]).read_text() and (plots / names[0]).read_text() != kept
    (plots / names[0]).write_text("mine")
    done = penumbra_bench("report", tmp_path / "results1.json", "--plots", plots)
    assert done.returncode == 2 and f"{names[0]} is there already and is no plot" in done.stderr, done.stderr
    done = penumbra_bench("report", tmp_path / "results1.json", "--plots", plots / names[1])
    assert done.returncode == 1 and "cannot be made" in done.stderr, done.stderr


def test_the_results_that_are_kept_can_be_read(tmp_path):
    """README must show the plots that `make report` generated from the results."""
    kept = sorted((conftest.ROOT / "bench" / "results").glob("*.json"))
    assert kept
    done = penumbra_bench("report", *kept, "--plots", tmp_path)
    assert done.returncode == 0, done.stderr
    shown = re.findall(r'<img src="docs/report/plots/([^"]+)"', (conftest.ROOT / "README.md").read_text())
    assert len(shown) == 3
    for name in shown:
        made = conftest.ROOT / "docs" / "report" / "plots" / name
        assert made.read_text() == (tmp_path / name).read_text(), f"{name} is not what `make report` makes"


def test_something_has_to_be_made(tmp_path):
    (tmp_path / "results.json").write_text(json.dumps(two_machines()[0]))
    done = penumbra_bench("report", tmp_path / "results.json")
    assert done.returncode == 2 and "--plots FOLDER" in done.stderr, done.stderr


def test_whether_two_runs_agree(tmp_path):
    """The exit status reports the agreement, with and without a page."""

    def agreement(second, *arguments):
        (tmp_path / "second.json").write_text(json.dumps(second))
        return penumbra_bench("report", tmp_path / "first.json", tmp_path / "second.json", "--agreement", *arguments)

    first = document("Intel Xeon 8480", [gopt(15), copies(50), exchanges()])
    (tmp_path / "first.json").write_text(json.dumps(first))
    same = agreement(first, "-o", tmp_path / "report.html")
    assert same.returncode == 0 and "all: 44 of 44 agree (100.0%)" in same.stdout, same.stdout + same.stderr
    assert (tmp_path / "report.html").exists()
    other = agreement(document("Intel Xeon 8480", [gopt(30), copies(50), exchanges()]))
    assert other.returncode == 4 and "do not agree" in other.stderr, other.stderr
    assert re.search(r"furthest apart.*\n  2 times: E6: look-ups in tables of 1 GiB, plain loop at cuckoo: 15 ", other.stdout)
    nothing = agreement(document("Intel Xeon 8480", []))
    assert nothing.returncode == 3 and "no series in common" in nothing.stderr, nothing.stderr
    one = penumbra_bench("report", tmp_path / "first.json", "--agreement")
    assert one.returncode == 2 and "of two runs, not of 1" in one.stderr, one.stderr
    assert agreement(first, "-o", "-").returncode == 2, "both would go to standard output"
