# SPDX-License-Identifier: Apache-2.0
"""Reads the command blocks of README.md and docs, and runs those of a page for a test.

HTML comments of a page, which readers do not see, hold notes for the test:

- `<!-- shell: COMMANDS -->`: The test also runs these commands, for things that a reader has and the test lacks.
- `<!-- each line for a second -->`: The commands of the next block run until Ctrl-C.
- `<!-- not run: REASON -->`: The next block needs another host, a GPU, network cards or an archive.
- `<!-- long: REASON -->`: The next block is run only with PENUMBRA_LONG=1 (make test-long).
- `<!-- page run by tests/FILE::TEST -->`: That test runs the page. It has the mark `page(PATH)` and calls Page.run().

`<!-- table: ... -->` and `<!-- end -->` belong to tools/performance-tables.
"""

import dataclasses
import os
import pathlib
import re
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
LONG = os.environ.get("PENUMBRA_LONG") == "1"
PART = re.compile(r"^ *<!--\s*(?P<note>.*?)\s*-->|^(?P<indent> *)```sh\n(?P<block>.*?)^(?P=indent)```", re.DOTALL | re.MULTILINE)
FENCE = re.compile(r"^ *```(?P<language>\S*)\n(?P<text>.*?)^ *```", re.DOTALL | re.MULTILINE)
#: Ends a line like Ctrl-C. The first command of a pipe must then exit with 0. A command may also end by itself.
FOR_A_SECOND = "timeout --preserve-status -s INT 1s bash -c {}"
FIRST_OF_PIPE = "\nexit ${PIPESTATUS[0]}"


def shell_word(text):
    return "'" + text.replace("'", "'\\''") + "'"


@dataclasses.dataclass
class Block:
    """Holds a block of commands. `reason` is set if the block is not run."""

    commands: str
    reason: str = ""


class Page:
    """Holds the blocks of a page in order, and the commands of its notes between them."""

    def __init__(self, text):
        self.run_by = ""
        self.blocks: list[Block] = []
        self._parts: list[str | Block] = []
        self.was_run = False
        pending = ""
        for part in PART.finditer(text):
            note, block = part["note"], part["block"]
            if block is None and (note == "end" or note.startswith("table: ")):
                continue
            if block is not None:
                self._add(re.sub(f"^{part['indent']}", "", block, flags=re.MULTILINE), pending)
                pending = ""
            elif note.startswith("page "):
                assert (named := re.fullmatch(r"page run by (tests/\w+\.py::\w+)", note)), note
                self.run_by = named[1]
            elif note.startswith("shell: "):
                self._parts.append(note.removeprefix("shell: ") + "\n")
            else:
                assert re.fullmatch(r"each line for a second|(not run|long): .*\w.*", note, re.DOTALL), note
                assert not pending, f"two notes for one block: {pending}, {note}"
                pending = note
        assert not pending, f"no block follows: {pending}"

    @staticmethod
    def of(path):
        """Returns the page at a path relative to the root of the repository."""
        return Page((ROOT / path).read_text())

    def _add(self, commands, note):
        kind, _, reason = note.partition(": ")
        if kind == "each line for a second":
            lines = [line for line in commands.splitlines() if line]
            commands = "".join(FOR_A_SECOND.format(shell_word(line + FIRST_OF_PIPE)) + "\n" for line in lines)
        block = Block(commands, reason if kind == "not run" or (kind == "long" and not LONG) else "")
        self.blocks.append(block)
        self._parts.append(block)

    @property
    def runnable(self):
        return [block for block in self.blocks if not block.reason]

    def script(self):
        """Returns a shell script that writes the number of each successful block to $PAGE_BLOCKS."""
        script, number = "", 0
        for part in self._parts:
            if isinstance(part, str):
                script += part
            elif not part.reason:
                number += 1
                script += f'{part.commands}echo {number} >>"$PAGE_BLOCKS"\n'
        return script

    def run(self, *, before="", options=(), env=None, **more):
        """Runs all blocks in one bash with `options`, after the commands `before`. All blocks must succeed, in
        order."""
        self.was_run = True
        with tempfile.TemporaryDirectory() as folder:
            script, ended = pathlib.Path(folder, "page.sh"), pathlib.Path(folder, "ended")
            script.write_text(before + self.script())
            ended.touch()
            done = subprocess.run(
                ["bash", "-euo", "pipefail", *options, script],
                env={**(os.environ if env is None else env), "PAGE_BLOCKS": str(ended)},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                check=False,
                **more,
            )
            numbers = [int(line) for line in ended.read_text().split()]
        assert done.returncode == 0, f"{done.stdout[-2000:]}\n{done.stderr[-3000:]}"
        expected = list(range(1, len(self.runnable) + 1))
        assert numbers == expected, f"blocks that ended: {numbers} of {expected}\n{done.stderr[-3000:]}"
        return done
