# SPDX-License-Identifier: Apache-2.0
"""Every command block of README.md and docs as it stands, in the order of the page, in one shell and a folder of its own.

A page says in comments, which its readers do not see, what the test has to know:

    <!-- shell: COMMANDS -->           run here, too: what a reader has and the test has not
    <!-- each line for a second -->    of the next block: commands that go on until Ctrl-C
    <!-- not run: REASON -->           the next block takes what is not here: another host, a GPU, network cards, an archive
    <!-- long: REASON -->              the next block is run with PENUMBRA_LONG=1 only (make test-long)
    <!-- page not run: REASON -->      none of the page's blocks is run
    <!-- page run by tests/FILE -->    the page has a test of its own
"""

import os
import re
import shutil
import subprocess

import pytest

import conftest

pytestmark = pytest.mark.release_only
LONG = os.environ.get("PENUMBRA_LONG") == "1"
PAGES = [conftest.ROOT / "README.md", *sorted((conftest.ROOT / "docs").rglob("*.md"))]
PART = re.compile(r"^ *<!--\s*(?P<note>.*?)\s*-->|^(?P<indent> *)```sh\n(?P<block>.*?)^(?P=indent)```", re.DOTALL | re.MULTILINE)
#: Ends as Ctrl-C ends it, and the first command of a pipe must then end well; one that ends by itself may do so.
FOR_A_SECOND = "timeout --preserve-status -s INT 1s bash -c {}"
FIRST_OF_PIPE = "\nexit ${PIPESTATUS[0]}"


def shell_word(text):
    return "'" + text.replace("'", "'\\''") + "'"


class Page:
    """The commands of a page, and what is left out, with reasons."""

    def __init__(self, text):
        self.elsewhere = ""
        self.commands: list[str] = []
        self.left_out: list[str] = []
        pending = ""
        for part in PART.finditer(text):
            note, block = part["note"], part["block"]
            if block is not None:
                self._add(re.sub(f"^{part['indent']}", "", block, flags=re.MULTILINE), pending)
                pending = ""
            elif note.startswith("page "):
                self.elsewhere = note
            elif note.startswith("shell: "):
                self.commands.append(note.removeprefix("shell: ") + "\n")
            else:
                assert re.fullmatch("each line for a second|(not run|long): .+", note, re.DOTALL), note
                assert not pending, f"two notes for one block: {pending}, {note}"
                pending = note
        assert not pending, f"no block follows: {pending}"

    def _add(self, block, note):
        kind, _, reason = note.partition(": ")
        if kind == "not run" or (kind == "long" and not LONG):
            self.left_out.append(f"{block.splitlines()[0]} ({reason})")
        elif kind == "each line for a second":
            self.commands += [FOR_A_SECOND.format(shell_word(line + FIRST_OF_PIPE)) + "\n" for line in block.splitlines() if line]
        else:
            self.commands.append(block)


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(conftest.ROOT)))
def test_the_commands_of_a_page(tmp_path, path):
    page = Page(path.read_text())
    if page.elsewhere:
        named = re.fullmatch(r"page (?:not run: .+|run by (tests/\w+\.py))", page.elsewhere, re.DOTALL)
        assert named, page.elsewhere
        assert named[1] is None or path.name in (conftest.ROOT / named[1]).read_text()
        return
    if not page.commands:
        return
    repository = tmp_path / "repository"
    programs = repository / "build" / "release" / "bin"
    programs.mkdir(parents=True)
    for program in conftest.PROGRAM.parent.iterdir():
        (programs / program.name).symlink_to(program)
    (programs / "penumbra").unlink(missing_ok=True)
    (programs / "penumbra").symlink_to(conftest.PROGRAM)
    (repository / "include").symlink_to(conftest.ROOT / "include")
    shutil.copytree(conftest.ROOT / "examples", repository / "examples")
    work = tmp_path / "work"
    work.mkdir()
    script = tmp_path / "page.sh"
    # A page that does not change the folder itself does not begin in the repository.
    script.write_text("set -euo pipefail\n" + "".join(page.commands))
    changes = any(re.search(r"^cd |PWD", command, re.MULTILINE) for command in page.commands)
    done = subprocess.run(
        ["bash", "-x", script],
        cwd=repository if changes else work,
        env={
            **os.environ,
            "PATH": f"{programs}:{os.environ['PATH']}",
            "TMPDIR": str(work),
            "XDG_RUNTIME_DIR": str(work),
            "RUNTIME_DIRECTORY": str(work),
        },
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=(20 if LONG else 1) * conftest.PATIENCE,
        check=False,
    )
    conftest.check_sanitizers(done.stderr)
    assert done.returncode == 0, f"{done.stdout[-2000:]}\n{done.stderr[-3000:]}"


def test_most_blocks_are_run():
    """A page that leaves all out would be no page that is tested."""
    pages = [Page(path.read_text()) for path in PAGES]
    assert sum(len(page.commands) for page in pages) > sum(len(page.left_out) for page in pages)


def test_a_note_is_read():
    page = Page(
        "<!-- shell: one -->\n```sh\ntwo\n```\n<!-- not run: takes a GPU -->\n```sh\nthree\n```\n"
        "<!-- each line for a second -->\n  ```sh\n  it's\n  ```\n"
    )
    assert page.commands == ["one\n", "two\n", FOR_A_SECOND.format("'it'\\''s" + FIRST_OF_PIPE + "'") + "\n"]
    assert page.left_out == ["three (takes a GPU)"]
    with pytest.raises(AssertionError):
        Page("<!-- nor run: takes a GPU -->\n```sh\nthree\n```\n")
