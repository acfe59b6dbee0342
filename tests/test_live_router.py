# SPDX-License-Identifier: Apache-2.0
"""Tests that the commands of docs/live-router.md work for a newcomer."""

import os
import re

import pytest

import conftest
import needs
import netns

TOOLS = ("ping", "traceroute", "iperf3")


@needs.NAMESPACES
@needs.TAPS
@needs.tools(*TOOLS)
@needs.FRR
@pytest.mark.page("docs/live-router.md")
def test_the_page_as_it_stands(tmp_path, page):
    programs = tmp_path / "repository" / "build" / "release" / "bin"
    programs.mkdir(parents=True)
    (programs / "penumbra").symlink_to(conftest.PROGRAM)
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    with netns.of_page("pen-h1", "pen-r", "pen-h2"):
        done = page.run(options=["-m"], env=environment, cwd=tmp_path / "repository", timeout=2 * conftest.PATIENCE)
    conftest.check_sanitizers(done.stderr)
    pings = re.findall(r"(\d+) packets transmitted, (?:\+\d+ errors, )?(\d+) received", done.stdout)
    assert [(int(sent), int(received)) for sent, received in pings] == [(3, 3), (5, 5), (1, 0), (1, 1), (3, 3), (2, 0), (3, 3)]
    for words in (" 1  10.1.0.1", "receiver", "mtu 1400", "10.2.0.2", "send lan", "192.0.2.0/24", "blackhole", "198.51.100.0/24", "holds"):
        assert words in done.stdout, words
    assert list(tmp_path.iterdir()) == [tmp_path / "repository"]
