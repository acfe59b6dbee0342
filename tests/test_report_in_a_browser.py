# SPDX-License-Identifier: Apache-2.0
"""Pages of `penumbra-bench report` as headless Chromium draws them, in windows of several widths."""

import html
import json
import re
import shutil
import subprocess

import pytest

import conftest
from conftest import penumbra_bench
from report_pages import report, two_machines

pytestmark = pytest.mark.release_only
CHROMIUM = shutil.which("chromium")
#: The widths are those of frames, because Chromium's windows have at least 500 pixels.
WIDTHS = [360, 500, 800, 1400]
#: The script writes its findings to the page's title. Only the test's copy has it, because pages have no scripts.
PROBE = """<script>
const frame = document.documentElement;
const box = each => each.getBoundingClientRect();
const start = each => each.outerHTML.slice(0, 80);
const wide = [...document.querySelectorAll('body *')].filter(each => !each.closest('.scroll') &&
  box(each).right > frame.clientWidth + 1).map(start);
const hidden = [...document.querySelectorAll('.scroll:has(> .papers)')].filter(each =>
  each.scrollWidth > each.clientWidth + 1).map(each => each.getAttribute('aria-label'));
const GAP = 0.45;  // of a box's height: half of the letters' size
const clipped = [], overlapping = [], touching = [];
for (const chart of document.querySelectorAll('svg.chart')) {
  const edge = box(chart), texts = [...chart.querySelectorAll('text')], boxes = texts.map(box);
  boxes.forEach((one, i) => {
    if (one.left < edge.left - 1 || one.right > edge.right + 1 || one.top < edge.top - 1 ||
        one.bottom > edge.bottom + 1) {
      clipped.push(texts[i].textContent);
    }
    for (let j = 0; j < i; ++j) {
      const other = boxes[j];  // boxes have room above and below their letters
      const across = Math.min(one.right, other.right) - Math.max(one.left, other.left);
      const down = Math.min(one.bottom, other.bottom) - Math.max(one.top, other.top);
      const both = `${texts[j].textContent} | ${texts[i].textContent}`;
      if (across > 1 && down > one.height / 4) overlapping.push(both);
      if (-across < GAP * one.height && down > one.height / 2) touching.push(both);
    }
  });
}
document.title = JSON.stringify({width: frame.clientWidth, scroll: frame.scrollWidth,
  wide, hidden, clipped, overlapping, touching,
  texts: document.querySelectorAll('svg.chart text').length,
  stops: document.querySelectorAll('a[href], summary, [tabindex="0"]').length,
  loaded: performance.getEntriesByType('resource').length});
</script></body>"""
FLAGS = [
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--allow-file-access-from-files",
    "--enable-logging=stderr",
    "--window-size=1500,1000",
]


def made_up(folder):
    assert report(folder, two_machines()).returncode == 0


def kept(folder):
    results = sorted((conftest.ROOT / "bench" / "results").glob("*.json"))
    assert penumbra_bench("report", *results, "-o", folder / "report.html").returncode == 0


@pytest.mark.skipif(CHROMIUM is None, reason="needs chromium (Debian: chromium)")
@pytest.mark.parametrize("make", [made_up, kept])
def test_in_a_browser(make, tmp_path):
    """The page must fit, print nothing on the console and load nothing. No text in a plot may be cut off, or overlap or
    touch another text."""
    make(tmp_path)
    (tmp_path / "probe.html").write_text((tmp_path / "report.html").read_text().replace("</body>", PROBE))
    read = "onload=\"this.nextSibling.textContent = this.contentDocument.title\""
    frames = "".join(
        f'<iframe src="probe.html" {read} style="width:{width}px;height:900px;border:0"></iframe><pre></pre>'
        for width in WIDTHS
    )
    (tmp_path / "frames.html").write_text(f"<!DOCTYPE html><title>none</title><body>{frames}</body>")
    done = subprocess.run(
        [CHROMIUM, *FLAGS, f"--user-data-dir={tmp_path / 'profile'}", "--dump-dom", f"file://{tmp_path}/frames.html"],
        capture_output=True,
        text=True,
        timeout=conftest.PATIENCE,
        check=True,
    )
    assert "CONSOLE" not in done.stderr, done.stderr
    probes = [json.loads(html.unescape(each)) for each in re.findall(r"<pre>(\{.*?\})</pre>", done.stdout)]
    assert len(probes) == len(WIDTHS), done.stderr
    for width, found in zip(WIDTHS, probes, strict=True):
        assert width - 20 <= found["width"] <= width, "but for a scroll bar"
        assert found["scroll"] <= found["width"], found
        assert found["wide"] == [] and found["loaded"] == 0 and found["stops"] > 40
        assert found["texts"] > 40 and found["clipped"] == [] and found["overlapping"] == []
        assert found["touching"] == [], "adjacent labels have a gap"
    assert probes[-1]["hidden"] == [], "columns that nobody sees who does not scroll"
