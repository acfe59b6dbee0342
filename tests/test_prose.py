# SPDX-License-Identifier: Apache-2.0
"""Tests tools/prose, the check of comments and documentation that `make lint` runs."""

import subprocess

import pytest

import conftest

TOOL = conftest.ROOT / "tools" / "prose"
LONG = " ".join(["word"] * 41) + "."


def check(tmp_path, name, text):
    """Runs the check on one file. Returns its output lines without the figures at the end."""
    (tmp_path / name).write_text(text)
    done = subprocess.run([TOOL, name], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    lines = [line for line in done.stdout.splitlines()[:-1] if line]
    assert done.returncode == bool(lines), done.stdout + done.stderr
    return lines


@pytest.mark.parametrize(
    ("name", "text", "complaint"),
    [
        ("a.md", f"# Title\n\n{LONG}\n", "a.md:3: a sentence of 41 words"),
        ("a.h", f"/// {LONG}\nint a;\n", "a.h:1: a sentence of 41 words"),
        ("a.py", f'"""Reads.\n\n{LONG}\n"""\n', "a.py:1: a sentence of 41 words"),
        ("a.md", "The table is made anew.\n", "a.md:1: 'anew'"),
        ("a.cc", "int a;  // stands in the table\n", "a.cc:1: 'stands in'"),
        ("a.cc", "/* Counts\n   what is behind. */\n", "a.cc:1: 'behind'"),
        ("a.cc", "// What this returns.\nint a();\n", "a.cc:1: the comment begins with 'What'"),
        ("a.cc", "class Conveyor;\n", "a.cc:1: 'Conveyor' is a former name"),
        ("a.md", "One word. " * 9 + " ".join(["word"] * 31) + ".\n", "1 of 10 sentences have over 30 words"),
    ],
)
def test_findings(tmp_path, name, text, complaint):
    assert complaint in check(tmp_path, name, text)[0]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.md", f"```sh\n{LONG}\n```\n\n| {LONG} |\n\nThe word `anew` is code.\n"),
        ("a.cc", f'const char* const kText = "{LONG} anew";\n'),
        ("a.py", f"TEXT = '''{LONG} anew'''\n"),
        ("a.h", "/// Swaps the flow tables with `next`. Call without the lock.\nvoid swap(Tables& next);\n"),
        ("a.json", f'{{"about": "{LONG}"}}\n'),
    ],
)
def test_text_without_findings(tmp_path, name, text):
    assert check(tmp_path, name, text) == []


def test_subjects_of_commits(tmp_path):
    def git(*arguments):
        identity = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
        subprocess.run(["git", *identity, *arguments], cwd=tmp_path, check=True, capture_output=True, timeout=60)

    git("init", "-q")
    git("commit", "-q", "--allow-empty", "-m", "Begin")
    git("commit", "-q", "--allow-empty", "-m", "a" * 73)
    done = subprocess.run(
        [TOOL, "--base", "HEAD~1"], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 1 and "the subject of a commit has 73 characters" in done.stdout
