# SPDX-License-Identifier: Apache-2.0
"""Tests that the commands of docs/tls.md work for a newcomer."""

import os
import re

import pytest

import conftest
import needs
import netns
from openssl_provider import MODULE
from test_tls import needs_ifma

pytestmark = pytest.mark.release_only


@needs_ifma
@needs.NAMESPACES
@needs.tools("haproxy", "ab", "openssl")
@pytest.mark.page("docs/tls.md")
def test_the_page_as_it_stands(tmp_path, page):
    if not MODULE.exists():
        pytest.skip("the provider is not built")
    programs = tmp_path / "repository" / "build" / "release" / "bin"
    programs.mkdir(parents=True)
    (programs / "penumbra").symlink_to(conftest.PROGRAM)
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    with netns.of_page("pen-server", "pen-client"):
        done = page.run(env=environment, cwd=tmp_path / "repository", timeout=2 * conftest.PATIENCE)
    assert re.findall(r"Complete requests:\s+(\d+)\nFailed requests:\s+(\d+)", done.stdout) == [("500", "0")] * 2
    assert len(re.findall(r"CPU time of a connection: [\d.]+ ms", done.stdout)) == 2
    sums = {name: int(value) for name, value in re.findall(r"^([a-z-]+) (\d+)$", done.stdout, re.MULTILINE)}
    assert sums["taken"] == sums["answered"] + sums["abandoned"] >= 500
    assert sums["batched"] > sums["alone"]
    assert list(tmp_path.iterdir()) == [tmp_path / "repository"]
