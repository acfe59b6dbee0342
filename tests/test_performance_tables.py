# SPDX-License-Identifier: Apache-2.0
"""tools/performance-tables: the tables of the documentation are those of the kept results."""

import re
import shutil
import subprocess

import pytest

import conftest

pytestmark = pytest.mark.release_only
TOOL = conftest.ROOT / "tools" / "performance-tables"
SPEC = "xeon-2-cores | lookup | batches of 64 | M lookups/s/core | only=rte_lpm bulk"


def run(tool, *arguments):
    return subprocess.run([tool, *arguments], capture_output=True, text=True, timeout=conftest.PATIENCE, check=False)


@pytest.fixture
def copy(tmp_path):
    """The tool with the kept results and one page, which has an empty table."""
    for folder in ("tools", "docs"):
        (tmp_path / folder).mkdir()
    shutil.copytree(conftest.ROOT / "bench" / "results", tmp_path / "bench" / "results")
    shutil.copy(TOOL, tmp_path / "tools")
    (tmp_path / "docs" / "page.md").write_text(f"# Page\n\n<!-- table: {SPEC} -->\n<!-- end -->\n\nText.\n")
    return tmp_path


def test_all_tables_are_up_to_date():
    done = run(TOOL, "--check")
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_table_is_filled_and_then_stays(copy):
    tool, page = copy / "tools" / TOOL.name, copy / "docs" / "page.md"
    before = page.read_text()
    done = run(tool, "--check")
    assert done.returncode == 1 and "docs/page.md" in done.stdout and page.read_text() == before
    assert run(tool).returncode == 0
    filled = page.read_text()
    assert "| addresses | rte_lpm bulk |\n| --- | --- |\n| uniform | " in filled and filled.endswith("<!-- end -->\n\nText.\n")
    assert "`penumbra-bench run lookup --rounds " in filled
    done = run(tool)
    assert done.returncode == 0 and page.read_text() == filled and not done.stdout.strip()


@pytest.mark.parametrize("change", [("lookup", "lockup"), ("rte_lpm bulk", "rte_lpm"), ("batches of 64", "batches of 63")])
def test_what_no_result_has_is_an_error(copy, change):
    page = copy / "docs" / "page.md"
    page.write_text(page.read_text().replace(*change))
    done = run(copy / "tools" / TOOL.name)
    assert done.returncode == 1 and "has no" in done.stderr


@pytest.mark.parametrize(("name", "is_known"), [("h100-16-cores", True), ("xeon-2-cores", False)])
def test_the_worth_of_a_gpu_comes_from_a_machine_with_one(copy, name, is_known):
    page = copy / "docs" / "page.md"
    page.write_text(f"<!-- table: worth | {name} | routing; E8; ipv4; M packets/s -->\n<!-- end -->\n")
    done = run(copy / "tools" / TOOL.name)
    row = re.search(r"\| routing \| M packets/s \| ([\d.]+) \((?:gopt|scalar)\) \| ([\d.]+) \(cuda.*?\) \| ([\d.]+) \| (\w+) \|", page.read_text())
    assert bool(row) == is_known and ("with and without a GPU" in done.stderr) != is_known
    if row:
        cpu, gpu, ratio = (float(row[at]) for at in (1, 2, 3))
        assert ratio == pytest.approx(gpu / cpu, rel=0.01) and row[4] == ("yes" if ratio >= 1.2 else "no" if ratio <= 1 else "hardly")
