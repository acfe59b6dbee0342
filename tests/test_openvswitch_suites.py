# SPDX-License-Identifier: Apache-2.0
"""Runs test suites of Open vSwitch itself with the provider (`make test-ovs`). Tests of connection tracking and of kernel
offload are out, because the provider does neither.

openvswitch_suites.txt keeps the results of the system tests. To write it again: PENUMBRA_WRITE_RESULTS=1 make test-ovs."""

import os
import pathlib
import re
import subprocess

import conftest
import needs
import openvswitch
from openvswitch import OVS

pytestmark = [*openvswitch.NEEDS, needs.tools("autom4te", "unshare")]
ROOT = pathlib.Path(__file__).parents[1]
RUN = ROOT / "integrations" / "openvswitch" / "system-tests" / "run"
KEPT = pathlib.Path(__file__).with_name("openvswitch_suites.txt")
_HOUR = 3600
_RESULT = re.compile(r"^ *(\d+): (.*?) +(ok|skipped|FAILED|expected failure)\b", re.MULTILINE)


def results(*command, cwd=None):
    """Returns the results of a suite of Autotest by number: the name, and "ok", "skipped" or "FAILED"."""
    done = subprocess.run(list(map(str, command)), cwd=cwd, capture_output=True, text=True, timeout=_HOUR, check=False)
    found = {int(number): (name, result) for number, name, result in _RESULT.findall(done.stdout)}
    assert found, done.stdout[-2000:] + done.stderr
    return found


def system_tests(suite, *options):
    return results(RUN, OVS.parent, conftest.PROGRAM.parent, suite, *options)


def test_system_tests_are_no_worse_on_the_router():
    """Penumbra owns one end of each veth pair of the test, and Open vSwitch gets its twin."""
    together = system_tests("penumbra", "-k", "!conntrack")
    alone = system_tests("userspace", *together)  # The tests have the same numbers in both suites.
    assert {number: name for number, (name, _) in together.items()} == {number: name for number, (name, _) in alone.items()}
    assert len(together) > 50
    worse = [number for number in together if alone[number][1] == "ok" and together[number][1] != "ok"]
    if worse:  # A ping may be lost on a busy machine.
        again = system_tests("penumbra", *worse)
        together |= again
        worse = [number for number in worse if again[number][1] != "ok"]
    assert not worse, [together[number] for number in worse]
    text = "".join(f"{number}: {name}: {result}\n" for number, (name, result) in together.items())
    if os.environ.get("PENUMBRA_WRITE_RESULTS"):
        KEPT.write_text(text)
    # More may pass on a machine whose kernel has more devices.
    passes = [line for line in KEPT.read_text().splitlines() if line.endswith(": ok")]
    assert set(passes) <= set(text.splitlines())


def own_tests(options):
    """A namespace keeps the tests from the machine's network: one of them must not reach its controller."""
    script = 'ip link set lo up; exec make check "TESTSUITEFLAGS=$0"'
    return results("unshare", "--net", "bash", "-c", script, options, cwd=OVS)


def test_tests_on_dummy_devices_pass():
    """The tests that offload flows use the other provider of Open vSwitch, and show that ours breaks nothing."""
    found = own_tests("-k offload")
    failed = {number for number, (_, result) in found.items() if result == "FAILED"}
    if failed:  # Some wait for a limited time, which may be too short on a busy machine.
        again = own_tests(" ".join(map(str, failed)))
        failed = {number for number in failed if again[number][1] == "FAILED"}
    assert len(found) >= 6
    assert not failed, [found[number] for number in failed]
