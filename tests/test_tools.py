# SPDX-License-Identifier: Apache-2.0
"""Tests the scripts in tools in situations in which they cannot do their work."""

import shutil
import subprocess

import pytest

import conftest

pytestmark = pytest.mark.release_only


@pytest.fixture
def repository(tmp_path):
    """Creates a repository of two commits that contains the script."""
    folder = tmp_path / "repository"
    (folder / "tools").mkdir(parents=True)
    shutil.copy(conftest.ROOT / "tools" / "test-upgrade", folder / "tools")
    git(folder, "init", "-q")
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", "First")
    return folder


def git(folder, *words):
    identity = ["-c", "user.name=Test", "-c", "user.email=test@localhost", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", *identity, *words], cwd=folder, check=True, capture_output=True, timeout=conftest.PATIENCE)


def upgrade(folder):
    words = [folder / "tools" / "test-upgrade", "missing.deb"]
    return subprocess.run(words, capture_output=True, text=True, timeout=conftest.PATIENCE, check=False)


def test_no_commit_to_upgrade_from(repository):
    done = upgrade(repository)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("SKIPPED tools/test-upgrade: there is no commit before this one")


def test_a_shallow_clone(repository, tmp_path):
    git(repository, "commit", "-q", "--allow-empty", "-m", "Second")
    git(tmp_path, "clone", "-q", "--depth", "1", f"file://{repository}", "shallow")
    done = upgrade(tmp_path / "shallow")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("SKIPPED tools/test-upgrade: this clone is shallow")
    assert "SKIPPED" not in upgrade(repository).stdout
