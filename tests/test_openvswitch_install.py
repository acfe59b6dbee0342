# SPDX-License-Identifier: Apache-2.0
"""Installs ovs-vswitchd with the provider in a root file system of the test (`make test-ovs`)."""

import os
import pathlib
import subprocess

import pytest

import needs
import openvswitch
from openvswitch import OVS

pytestmark = [*openvswitch.NEEDS, needs.tools("update-alternatives")]
INSTALL = pathlib.Path(__file__).parents[1] / "integrations" / "openvswitch" / "install"
LINK, OWN = "usr/sbin/ovs-vswitchd", "usr/lib/openvswitch-switch-penumbra/ovs-vswitchd"
DEBIANS = "usr/lib/openvswitch-switch/ovs-vswitchd"


@pytest.fixture
def root(tmp_path):
    """Returns a root file system with Debian's ovs-vswitchd."""
    for folder in ("etc/alternatives", "var/lib/dpkg/alternatives", "var/log", "usr/sbin"):
        (tmp_path / folder).mkdir(parents=True)
    program = tmp_path / DEBIANS
    program.parent.mkdir(parents=True)
    program.touch(0o755)
    alternatives(tmp_path, "--install", f"/{LINK}", "ovs-vswitchd", f"/{DEBIANS}", "100")
    return tmp_path


def alternatives(root, *words):
    subprocess.run(["update-alternatives", "--root", root, "--quiet", *words], check=True, capture_output=True, timeout=60)


def install(root, word):
    subprocess.run([INSTALL, word], env={**os.environ, "ROOT": str(root)}, check=True, capture_output=True, timeout=60)


def selected(root):
    return os.readlink(root / "etc/alternatives/ovs-vswitchd")


def test_it_is_an_alternative_of_debians_program(root):
    install(root, OVS.parent)
    assert selected(root) == f"/{DEBIANS}", "Debian's program stays selected"
    alternatives(root, "--set", "ovs-vswitchd", f"/{OWN}")
    assert selected(root) == f"/{OWN}"
    said = subprocess.run([root / OWN, "--version"], check=True, capture_output=True, text=True, timeout=60).stdout
    assert said.startswith("ovs-vswitchd (Open vSwitch) 3.")
    install(root, "--remove")
    assert selected(root) == f"/{DEBIANS}" and not (root / OWN).exists()
