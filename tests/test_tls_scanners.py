# SPDX-License-Identifier: Apache-2.0
"""Lets testssl.sh and sslscan examine HAProxy with the provider. They must find what they find without it."""

import json
import re
import subprocess

import pytest

import conftest
import needs
from pages import LONG
from test_tls import folder, haproxy, needs_ifma, run, settled_counters  # noqa: F401 - fixtures

pytestmark = [pytest.mark.release_only, pytest.mark.peers, needs_ifma]
#: Of testssl.sh: what it finds out about a server's answers to wrong messages, and about its protocols and suites.
CHECKS = ("--protocols", "--fs", "--server-defaults", "--robot", "--heartbleed", "--ccs-injection", "--ticketbleed")
#: Findings that change with each certificate, day or run.
VOLATILE = re.compile(r"^cert|^DNS|ticket|clock_skew|scanTime|engine_problem|TLS_timestamp")


def findings(folder, server):  # noqa: F811
    """Returns what testssl.sh finds, without what changes."""
    file = folder / "findings.json"
    file.unlink(missing_ok=True)
    words = ["--quiet", "--color", "0", "--warnings", "off", "--jsonfile", file, *CHECKS, f"127.0.0.1:{server.port}"]
    done = subprocess.run(["testssl", *words], capture_output=True, text=True, timeout=10 * conftest.PATIENCE)
    assert file.exists(), done.stdout + done.stderr
    found = {each["id"]: each["finding"] for each in json.loads(file.read_text())}
    return {name: text for name, text in found.items() if not VOLATILE.search(name)}


@needs.tools("testssl")
@pytest.mark.skipif(not LONG, reason="takes minutes: PENUMBRA_LONG=1 (make test-long)")
def test_testssl_finds_the_same(folder, haproxy):  # noqa: F811
    with haproxy("rsa:2048") as server:
        ours = findings(folder, server)
        assert settled_counters(folder, 1)["fell-back"] == 0
    with haproxy("rsa:2048", "--plain") as server:
        plain = findings(folder, server)
    assert ours == plain
    assert "not vulnerable" in ours["ROBOT"]
    assert ours["TLS1_3"] == "offered with final"


@needs.tools("sslscan")
def test_sslscan_finds_the_same(folder, haproxy):  # noqa: F811
    def scan(server):
        done = run("sslscan", "--no-colour", f"127.0.0.1:{server.port}")
        assert done.returncode == 0, done.stdout
        return [line for line in done.stdout.splitlines() if "Not valid" not in line and str(server.port) not in line]

    with haproxy("rsa:2048") as server:
        ours = scan(server)
        assert settled_counters(folder, 10)["fell-back"] == 0
    with haproxy("rsa:2048", "--plain") as server:
        assert scan(server) == ours
    assert "TLSv1.3   enabled" in ours
