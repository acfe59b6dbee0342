# SPDX-License-Identifier: Apache-2.0
"""Runs every command block of README.md and docs unchanged, in the order of the page, in one shell and a separate
folder. tests/pages.py describes how a page marks blocks that are not run."""

import importlib
import inspect
import os
import re
import shutil

import pytest

import conftest
from pages import FENCE, FIRST_OF_PIPE, FOR_A_SECOND, LONG, Page

pytestmark = pytest.mark.release_only
PAGES = {str(path.relative_to(conftest.ROOT)): path for path in [conftest.ROOT / "README.md", *sorted((conftest.ROOT / "docs").rglob("*.md"))]}
#: Fenced blocks may have these languages. Commands are in blocks of `sh`.
LANGUAGES = {"", "c", "cmake", "cpp", "json", "python", "sh", "yaml"}
#: Lines of commands begin like this. The pattern finds commands in blocks that are not marked as `sh`.
COMMAND = re.compile(r"(\$|sudo|make|cmake|ip|tools/\S+|build/\S+|penumbra [a-z-]+) ")


@pytest.mark.parametrize("path", PAGES)
def test_the_commands_of_a_page(tmp_path, path):
    page = Page.of(path)
    if page.run_by:
        file, name = page.run_by.removeprefix("tests/").split(".py::")
        test = getattr(importlib.import_module(file), name)
        marks = [mark.args for mark in getattr(test, "pytestmark", []) if mark.name == "page"]
        assert marks == [(path,)], f"{page.run_by} is not marked page({path!r})"
        assert "page" in inspect.signature(test).parameters, f"{page.run_by} does not take the fixture 'page'"
        return
    if not page.runnable:
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
    # The folder is the repository only if the page changes the folder itself.
    changes = re.search(r"^cd |PWD", page.script(), re.MULTILINE)
    done = page.run(
        options=["-x"],
        cwd=repository if changes else work,
        env={
            **os.environ,
            "PATH": f"{programs}:{os.environ['PATH']}",
            "TMPDIR": str(work),
            "XDG_RUNTIME_DIR": str(work),
            "RUNTIME_DIRECTORY": str(work),
        },
        timeout=(20 if LONG else 1) * conftest.PATIENCE,
    )
    conftest.check_sanitizers(done.stderr)


@pytest.mark.parametrize("path", PAGES)
def test_commands_are_in_blocks_of_sh(path):
    """A block of another language is not run, so it must not have commands."""
    for fence in FENCE.finditer(PAGES[path].read_text()):
        assert fence["language"] in LANGUAGES, fence[0]
        assert fence["language"] == "sh" or not COMMAND.match(fence["text"].lstrip()), fence[0]


def test_a_note_is_read():
    page = Page(
        "<!-- shell: one -->\n```sh\ntwo\n```\n<!-- not run: takes a GPU -->\n```sh\nthree\n```\n"
        "<!-- each line for a second -->\n  ```sh\n  it's\n  ```\n"
    )
    second = FOR_A_SECOND.format("'it'\\''s" + FIRST_OF_PIPE + "'") + "\n"
    assert [block.commands for block in page.runnable] == ["two\n", second]
    assert [(block.commands, block.reason) for block in page.blocks if block.reason] == [("three\n", "takes a GPU")]
    assert page.script() == f'one\ntwo\necho 1 >>"$PAGE_BLOCKS"\n{second}echo 2 >>"$PAGE_BLOCKS"\n'


@pytest.mark.parametrize("note", ["nor run: takes a GPU", "not run:", "not run", "page not run: takes a GPU", "page run by tests/test_pages.py"])
def test_a_wrong_note(note):
    with pytest.raises(AssertionError):
        Page(f"<!-- {note} -->\n```sh\nthree\n```\n")


@pytest.mark.parametrize("blocks", [["true", "exit 0", "true"], ["true", "false", "true"], ["echo 5 >>$PAGE_BLOCKS"]])
def test_a_block_that_is_not_run_to_its_end(blocks, tmp_path):
    page = Page("".join(f"```sh\n{block}\n```\n" for block in blocks))
    with pytest.raises(AssertionError):
        page.run(cwd=tmp_path, timeout=conftest.PATIENCE)
