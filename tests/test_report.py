# SPDX-License-Identifier: Apache-2.0
"""Tests tools/report: the page of the kept results and of synthetic ones, its verdicts, and what it refuses."""

import html
import json
import re
import shutil
import subprocess
import xml.etree.ElementTree as ElementTree

import pytest

import conftest
from report_pages import comparison, contender, copies, document, entry, gopt, report, run_report, section, text_of, two_machines

from chart import COLOURS
from document import MEASUREMENTS, BadInput, Document, check, read_prices
from papers import CHECK, check_check, read_papers
from plots import Curve, Plot, Point, Spread, figure, matches, measurement_of, place_name, plots_of
from rules import find, judge, our_figure

pytestmark = pytest.mark.release_only
KEPT = sorted((conftest.ROOT / "bench" / "results").glob("*.json"))
PAPERS = conftest.ROOT / "bench" / "papers"
CHROMIUM = shutil.which("chromium")
#: The widths are those of frames, because Chromium's windows have at least 500 pixels.
WIDTHS = [360, 800, 1400]
#: The script writes its findings to the page's title. Only the test's copy has it, because pages have no scripts.
PROBE = """<script>
const box = each => each.getBoundingClientRect();
const width = document.documentElement.clientWidth;
const wide = [...document.querySelectorAll('body *')].filter(each => !each.closest('.scroll, .skip') &&
  box(each).right > width + 1).map(each => each.outerHTML.slice(0, 80));
const clipped = [], overlapping = [];
for (const chart of document.querySelectorAll('svg[role=img]')) {
  const edge = box(chart), texts = [...chart.querySelectorAll('text')], boxes = texts.map(box);
  boxes.forEach((one, i) => {
    const text = texts[i].textContent;
    if (one.left < edge.left - 1 || one.right > edge.right + 1 || one.bottom > edge.bottom + 1) clipped.push(text);
    for (let j = 0; j < i; ++j) {
      const across = Math.min(one.right, boxes[j].right) - Math.max(one.left, boxes[j].left);
      const down = Math.min(one.bottom, boxes[j].bottom) - Math.max(one.top, boxes[j].top);
      if (across > -3 && down > Math.min(one.height, boxes[j].height) / 4) overlapping.push(`${texts[j].textContent} | ${text}`);
    }
  });
}
const count = document.querySelectorAll('svg[role=img] text').length, scroll = document.documentElement.scrollWidth - width;
document.title = JSON.stringify({wide, clipped, overlapping, count, scroll, loaded: performance.getEntriesByType('resource').length});
</script></body>"""
FLAGS = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"]
FLAGS += ["--allow-file-access-from-files", "--enable-logging=stderr", "--window-size=1500,1000", "--dump-dom"]
HOSTILE = "</script><img src=x onerror=alert(1)> \" ' & \u0001 \uffff ]]> " + "long" * 100


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """The page and the plots of the kept results."""
    folder = tmp_path_factory.mktemp("kept")
    assert run_report(KEPT[0].parent, "-o", folder / "index.html", "--plots", folder / "plots", patience=5 * conftest.PATIENCE).returncode == 0
    return folder


@pytest.fixture(scope="module")
def tree(made):
    return ElementTree.parse(made / "index.html").getroot()


def cells_of(section):
    """Returns the first figure of each cell by title with unit, machine, series and place."""
    tables = [(each.find("figcaption").text.strip(), each.iter("table")) for each in section.iter("figure")]
    for details in section.iter("details"):
        headings = [number for number, each in enumerate(details) if each.tag == "h3"]
        for begin, end in zip(headings, [*headings, None][1:], strict=True):
            tables.append((details[begin].text.strip(), [each.find("table") for each in details[begin + 1 : end]]))
    found = {}
    for title, table in ((title, table) for title, some in tables for table in some):
        places = [text_of(each) for each in table.findall("thead/tr/th")] or [""]
        for row in table.findall("tbody/tr"):
            for place, cell in zip(places, row.findall("td"), strict=True):
                found[title, table.find("caption").text, row.find("th").text, place] = text_of(cell).split(" ")[0]
    return found


def test_every_kept_series_is_in_a_plot_or_a_table(tree):
    shown, wanted = {}, {}
    for each in tree.iter("section"):
        shown |= {(each.get("id").removeprefix("benchmark-"), *key): cell for key, cell in cells_of(each).items()}
    legends = {
        (each.get("id").rpartition("-")[0], each.find("figcaption").text.strip()): {text.text for text in each.iter("text")}
        for each in tree.iter("figure")
    }
    for letter, path in zip("ABC", KEPT, strict=True):
        results = json.loads(path.read_text())["results"]
        for result, each in ((result, each) for result in results for each in result.get("comparisons", [])):
            plot = each.get("plot", {})
            title = plot.get("title", each["title"])
            name = measurement_of({"measurements": [plot.get("measurement")]}, "") or measurement_of(result, title) or result["benchmark"]
            for one in each["contenders"]:
                curve = one.get("curve", one["name"]) if plot else one["name"]
                place = place_name(one.get("at", plot.get("at", "")), plot.get("x_unit", ""))
                wanted[name, f"{title}, {each['unit']}", letter, curve, place] = figure(one["value"]["median"])
                assert not plot or curve in legends[name.lower(), f"{title}, {each['unit']}"]
    assert len(wanted) > 2000 and {key: shown.get(key) for key in wanted} == wanted


def test_the_page_is_small_and_complete_in_itself(made, tree):
    text = (made / "index.html").read_text()
    assert len(text.encode()) < 1_000_000
    assert {each.tag for each in tree.iter()}.isdisjoint({"script", "img", "iframe", "object", "link"})
    references = [value for each in tree.iter() for name, value in each.items() if name in ("src", "href") or name.startswith("on")]
    ids = [each.get("id") for each in tree.iter() if each.get("id")]
    assert len(ids) == len(set(ids)) and references and {each.removeprefix("#") for each in references} <= set(ids)
    assert not re.search(r"https?:|url\(|@import", text)
    assert "prefers-color-scheme: dark" in text and "@media print" in text


def test_a_keyboard_and_a_screen_reader_reach_everything(tree):
    assert tree.get("lang") == "en" and [each.get("href") for each in tree.iter("a")][0] == "#measurements"
    charts = [each for each in tree.iter("svg") if each.get("aria-hidden") != "true"]
    assert len(charts) > 80 and all(each.get("role") == "img" and len(each.get("aria-label")) > 20 for each in charts)
    regions = [each for each in tree.iter("div") if each.get("class") == "scroll"]
    assert all(each.get("tabindex") == "0" and each.get("role") == "region" and each.get("aria-label") for each in regions)
    assert all(each.get("scope") for each in tree.iter("th"))


@pytest.mark.skipif(CHROMIUM is None, reason="needs chromium (Debian: chromium)")
def test_in_a_browser(made, tmp_path):
    """The page must fit, print nothing on the console and load nothing. No text in a plot is cut off or overlaps another."""
    (tmp_path / "probe.html").write_text((made / "index.html").read_text().replace("</body>", PROBE))
    read = "onload=\"this.nextSibling.textContent = this.contentDocument.title\""
    frames = [f'<iframe src="probe.html" {read} style="width:{width}px;height:900px;border:0"></iframe><pre></pre>' for width in WIDTHS]
    (tmp_path / "frames.html").write_text(f"<!DOCTYPE html><title>none</title><body>{''.join(frames)}</body>")
    command = [CHROMIUM, *FLAGS, f"--user-data-dir={tmp_path / 'profile'}", f"file://{tmp_path}/frames.html"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=2 * conftest.PATIENCE, check=True)
    assert "CONSOLE" not in done.stderr, done.stderr
    probes = [json.loads(html.unescape(each)) for each in re.findall(r"<pre>(\{.*?\})</pre>", done.stdout)]
    assert len(probes) == len(WIDTHS), done.stderr
    for found in probes:
        assert found.pop("count") > 1000
        assert found == {"wide": [], "clipped": [], "overlapping": [], "scroll": 0, "loaded": 0}


@pytest.mark.parametrize("mode", [0, 1])
def test_colours_have_contrast_to_the_page(mode):
    def light_of(colour):
        parts = [(int(colour[at : at + 2], 16) / 255 + 0.055) / 1.055 for at in (1, 3, 5)]
        return sum(part**2.4 * weight for part, weight in zip(parts, (0.2126, 0.7152, 0.0722), strict=True)) + 0.05

    page = light_of(COLOURS["page"][mode])
    contrast = {name: max(page, light_of(pair[mode])) / min(page, light_of(pair[mode])) for name, pair in COLOURS.items()}
    assert min(contrast[name] for name in COLOURS if name not in ("page", "grid")) >= 4.5  # WCAG 2, level AA


def test_the_kept_page_is_that_of_the_kept_results(made):
    """Therefore, a change of a verdict or a number shows in a diff of docs/report."""
    kept = conftest.ROOT / "docs" / "report"
    changed = [file.name for file in made.rglob("*.*") if file.read_bytes() != (kept / file.relative_to(made)).read_bytes()]
    assert changed == [], "`make report` makes other ones"
    assert {file.name for file in kept.rglob("*.*")} == {file.name for file in made.rglob("*.*")}
    for plot in kept.glob("plots/*.svg"):
        assert ElementTree.parse(plot).getroot().tag == "{http://www.w3.org/2000/svg}svg" and "prefers-color-scheme:dark" in plot.read_text()


def test_papers_name_what_some_kept_result_has():
    papers, documents = read_papers(PAPERS), [Document(path) for path in KEPT]
    assert sorted(each["measurement"] for each in papers) == sorted(MEASUREMENTS)
    plots = plots_of(documents)
    all_papers = [paper for each in papers for paper in each["papers"]]
    parts = [(paper.get(key, []), key) for paper in all_papers for key in ("figures", "numbers", "conclusions")]
    instead = {"figures": "plot", "numbers": "ours", "conclusions": "check"}
    assert all(instead[key] in each or each["why_not"] for some, key in parts for each in some)
    conclusions = [each for paper in all_papers for each in paper.get("conclusions", [])]
    targets = [each["check"] for each in conclusions if "check" in each and "why_not" not in each]
    targets += [each["ours"] for paper in all_papers for each in paper.get("numbers", []) if "ours" in each]
    assert [each for each in targets if not any(find({**each, "at": None}, plots, number) for number in range(len(documents)))] == []
    figures = [each for paper in all_papers for each in paper.get("figures", []) if "plot" in each]
    parts = [(each["measurement"], part) for each in figures for part in each["plot"].split("|")]
    assert [part for part in parts if not any(plot.measurement == part[0] and matches(part[1], plot.title) for plot in plots)] == []
    says = [each["says"] for each in conclusions]
    assert len(says) == len(set(says)), "a conclusion is judged once"
    assert [each for each in says if not re.fullmatch(r"[A-Z0-9].*[A-Za-z0-9%)]\.", each) or ". " in each] == [], "in one sentence"


def plot_of(unit, **curves):
    """Returns a plot of curves of points: places with three equal samples, or with the given ones."""
    def point(place, samples):
        samples = samples if isinstance(samples, list) else [samples] * 3
        return Point(place, "", Spread(sorted(samples)[len(samples) // 2], min(samples), max(samples)), samples, "ours", 1)

    panel = {name: Curve(name, [point(*each) for each in points.items()]) for name, points in curves.items()}
    return Plot("E6", "b", "a plot", unit, "x", "", False, {0: panel})


RATES = plot_of("M/s", gopt={1: 20, 8: 60}, plain={1: 10, 8: 20})
TIMES = plot_of("us", polling={1: 5, 512: 10, 4096: 45}, copies={1: 15, 512: 15, 4096: 15})
PEAK = plot_of("M/s", gopt={10: 2, 300: 3, 2000: 1}, plain={10: 1, 300: 1, 2000: 1})
FEW = plot_of("M/s", gopt={1: [21.6], 8: [30]}, plain={1: [20], 8: [10]})
ZERO = plot_of("M/s", cuda={1: 90, 8: 80}, gopt={1: 45, 8: 0})
FALL = plot_of("M/s", cuda={16: 40, 4000: 30}, gopt={16: 20, 4000: 10})
GOPT, POLLING, CUDA = {"of": "gopt", "to": "plain"}, {"of": "polling", "to": "copies"}, {"of": "cuda", "to": "gopt"}


@pytest.mark.parametrize(
    ("plot", "rule", "outcome"),
    [
        (RATES, {**GOPT, "at_least": 2}, "holds"),
        (RATES, {**GOPT, "at_most": 2}, "does not hold"),
        (RATES, {**GOPT, "at": 8, "at_least": 3.01}, "holds"),  # within the tolerance
        (RATES, {"of": "gopt", "at": "last", "to_at": "first", "at_least": 3}, "holds"),
        (RATES, {**GOPT, "at": [2, 4], "at_least": 3}, "cannot be said"),
        (RATES, {**GOPT, "at_least": 1, "needs": "cuda"}, "cannot be said"),
        (FEW, {**GOPT, "at": 1, "at_most": 1}, "cannot be said"),  # one sample has an assumed spread
        (FEW, {**GOPT, "at_most": 1}, "does not hold"),
        (FEW, {**GOPT, "ahead_up_to": 8}, "cannot be said"),
        (TIMES, {**POLLING, "ahead_up_to": 512, "behind_from": 2000}, "holds"),
        (TIMES, {**POLLING, "ahead_up_to": 5000}, "does not hold"),
        (TIMES, {**POLLING, "ahead_up_to": 512, "behind_from": 5000}, "cannot be said"),
        (PEAK, {**GOPT, "peak": [150, 600]}, "holds"),
        (PEAK, {**GOPT, "peak": [1, 20]}, "does not hold"),
        (PEAK, {**GOPT, "peak": [1, 3000]}, "cannot be said"),
        (ZERO, {**CUDA, "at_most": 2}, "holds"),  # a rate of 0 was not measured
        (FALL, {**CUDA, "at": "last", "than_at": "first", "at_least": 1.5}, "holds"),
        (FALL, {**CUDA, "at": "last", "than_at": "first", "at_most": 1.4}, "does not hold"),
        (FALL, {**CUDA, "at": "last", "than_at": "last", "at_most": 2}, "cannot be said"),
    ],
)
def test_rules(plot, rule, outcome):
    check(rule, CHECK, "test")
    assert judge({"check": {"measurement": "E6", **rule}}, [plot], 0).outcome == outcome


@pytest.mark.parametrize(
    ("more", "value", "limit"),
    [
        ({"scale": 0.5, "at": 1}, 1, ""),
        ({"greatest": True}, 3, ""),
        ({"place_of": "greatest"}, 300, ""),
        ({"place_of": "first", "at_least": 2}, 10, "or less"),
        ({"place_of": "last", "at_least": 1}, 2000, "or more"),
        ({"place_of": "first", "at_least": 5}, None, ""),
    ],
)
def test_our_figures(more, value, limit):
    ours = {"measurement": "E6", **GOPT, **more} | ({"at": 10} if "scale" in more else {})
    assert our_figure({"ours": ours}, None, [PEAK], 0) == (value, limit)


@pytest.mark.parametrize("rule", [{}, {"of": "a", "ahead_up_to": 3}, {**GOPT, "than_at": 1, "to_at": 2, "at_most": 3}, {**GOPT, "at_lest": 1}])
def test_mistakes_in_rules_are_named(rule):
    with pytest.raises(BadInput):
        check_check(rule, "test")


def test_a_key_that_is_twice_in_a_file_of_rules(tmp_path):
    text = (PAPERS / "E10.json").read_text()
    (tmp_path / "E10.json").write_text(text.replace('"at_least":', '"at_least": 9, "at_least":'))
    with pytest.raises(BadInput, match=r"E10\.json: papers\[0\]\.conclusions\[0\]\.check: the key 'at_least' is there twice"):
        read_papers(tmp_path)


def test_what_is_missing_says_why(tmp_path):
    assert report(tmp_path, two_machines()).returncode == 0
    root = ElementTree.parse(tmp_path / "report.html").getroot()
    for name, reason in (("E1", "A: gpu not here: no NVIDIA driver"), ("E9", "load failed: an answer was wrong"), ("E21", "A: not asked for")):
        assert reason in text_of(section(root, name))
    assert "holds 2 to 6.60; asked: at least 2" in text_of(section(root, "E6"))
    assert "gopt missed 3 at most 2" in text_of(section(root, "targets"))


def test_throughput_by_price_and_power(tmp_path):
    plot = {"measurement": "E8", "title": "ipv4", "x": "workers", "x_unit": "", "at": 1}
    rates = comparison("ipv4", "M packets/s", [contender("scalar", 16.0), contender("cuda", 48.0)], plot)
    prices = tmp_path / "prices.json"
    prices.write_text('{"prices": [{"part": "EPYC", "dollars": 2000}, {"part": "H200", "dollars": 4000}]}')
    found = document("AMD EPYC", [entry("cores", ["E8"], [rates], watts={"processors": 100.0, "gpus": 60.0})], gpu="H200")
    assert report(tmp_path, [found], "--prices", prices).returncode == 0
    text = text_of(section(ElementTree.parse(tmp_path / "report.html").getroot(), "E16"))
    assert "scalar, workers: 1 16 M packets/s 8 0.16" in text and "cuda, workers: 1 48 M packets/s 8 0.3" in text
    prices.write_text('{"prices": [{"part": "x", "dollars": 0}]}')
    with pytest.raises(BadInput, match=r"prices\.json: prices\[0\]: a price is more than 0"):
        read_prices(prices)


def test_text_of_others_stays_text(tmp_path):
    texts = "benchmark|name|title|unit|x|what|not_shown|absent|error|processor|gpu|version|date"
    add = lambda found: found[0] + json.dumps(HOSTILE)[1:-1]  # noqa: E731
    assert report(tmp_path, [re.sub(rf'"({texts})": "', add, json.dumps(each)) for each in two_machines()]).returncode == 0
    root = ElementTree.parse(tmp_path / "report.html").getroot()
    assert {each.tag for each in root.iter()}.isdisjoint({"script", "img"}) and "<img src=x onerror=alert(1)>" in text_of(root)


FIRST = ("results", 0, "comparisons", 0)


def changed(path, value):
    """Returns a document with a changed value. The value KeyError removes the key."""
    found = place = two_machines()[0]
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    if value is KeyError:
        del place[path[-1]]
    return found


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"schema":\n "penumbra-bench/1",}', r"results0\.json:2:\d+: this is no JSON"),
        ('{"schema": NaN}', r"results0\.json: this is no JSON: NaN"),
        ("[" * 100000, r"results0\.json: this is no JSON"),
        ('{"schema": "penumbra-bench/1", "results": [{"benchmark": "a", "watts": 1, "watts": 2}]}', r"results0\.json: results\[0\]: the key 'watts' is there twice"),
        ("[]", r"results0\.json: expected an object, found a list"),
        (changed(("schema",), "penumbra-bench/2"), "schema: expected one of penumbra-bench/1"),
        (changed(("machine",), [1]), r"machine: expected an object, found a list"),
        (changed((*FIRST, "unit"), KeyError), r"results\[0\]\.comparisons\[0\]: the key 'unit' is missing"),
        (changed((*FIRST, "plot", "at"), KeyError), r"contenders\[0\]: neither the contender nor the plot has an `at`"),
        (changed((*FIRST, "contenders", 0, "role"), "friend"), r"contenders\[0\]\.role: expected one of ours, rival, limit"),
        (changed((*FIRST, "contenders", 0, "value", "median"), 1e200), r"value\.median: no measurement gives such a number"),
        (changed((*FIRST, "contenders", 0, "value", "min"), 1e9), r"value: the median does not lie between"),
        (changed(("results", 0, "bars", 0, "value"), KeyError), r"bars\[0\]: a target that was shown"),
    ],
)
def test_bad_documents(tmp_path, text, message):
    (tmp_path / "results0.json").write_text(text if isinstance(text, str) else json.dumps(text))
    with pytest.raises(BadInput, match=message):
        Document(tmp_path / "results0.json")


def test_only_a_page_and_plots_are_overwritten(tmp_path):
    assert report(tmp_path, two_machines()[:1], "--plots", tmp_path / "plots").returncode == 0
    here, plot = tmp_path / "results0.json", next((tmp_path / "plots").iterdir())
    (tmp_path / "mine.txt").write_text("mine")
    plot.write_text("mine")
    for arguments, message in (
        (["-o", here], "results0.json exists and is no page"),
        (["-o", tmp_path / "mine.txt"], "mine.txt exists and is no page"),
        (["--plots", plot.parent], f"{plot.name} exists and is no plot"),
        ([], "name what to make"),
        (["--agreement"], "--agreement compares two runs, not 1"),
    ):
        done = run_report(here, *arguments)
        assert done.returncode == 2 and message in done.stderr, done.stderr
    assert json.loads(here.read_text()) and plot.read_text() == "mine"


def test_whether_two_runs_agree(tmp_path):
    first = document("Intel Xeon 8480", [gopt(15), copies(50)])
    for second, code, line in (
        (first, 0, "all: 34 of 34 agree (100.0%)"),
        (document("Intel Xeon 8480", [gopt(30), copies(50)]), 4, "  2 times: E6: look-ups in tables of 1 GiB, plain loop at cuckoo: 15 and 30"),
        (document("Intel Xeon 8480", []), 3, "0 series in both, 34 only in A"),
    ):
        done = report(tmp_path, [first, second], "--agreement")
        assert done.returncode == code and line in done.stdout, done.stdout + done.stderr


def test_two_folders_are_compared_by_the_names_of_documents(tmp_path):
    for folder, names in {"before": "ab", "after": "bc", "other": "de", "none": ""}.items():
        (tmp_path / folder).mkdir()
        for name in names:
            (tmp_path / folder / f"{name}.json").write_text(json.dumps(document("AMD EPYC", [copies(50)])))
    done = run_report(tmp_path / "before", tmp_path / "after", "--agreement")
    assert done.returncode == 0 and done.stdout.count("series in both") == done.stdout.count("b.json") / 2 == 1, done.stderr
    for folder, message in (("other", "no two documents have the same file name"), ("none", "none: the folder has no document (*.json)")):
        done = run_report(tmp_path / "before", tmp_path / folder, "--agreement")
        assert done.returncode == 3 and message in done.stderr
