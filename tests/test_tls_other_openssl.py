# SPDX-License-Identifier: Apache-2.0
"""Tests the provider, which was built with OpenSSL 3.0, with a newer OpenSSL (`make test-openssl`)."""

import re
import subprocess

import pytest

import conftest
from openssl_provider import MODULE, OTHER_OPENSSL, command
from test_tls import folder, openssl  # noqa: F401 - a fixture

UNIT_TESTS = conftest.PROGRAM.parent.parent / "tests" / "openssl_provider_tests"
pytestmark = [
    pytest.mark.release_only,
    pytest.mark.skipif(OTHER_OPENSSL is None, reason="needs another OpenSSL (make test-openssl)"),
]


def test_another_openssl_loads_the_provider(folder):  # noqa: F811
    version = re.match(r"OpenSSL (\d+)\.(\d+)\..*Library: OpenSSL \1\.\2", openssl(folder, "version"))
    assert tuple(map(int, version.groups())) >= (3, 5)
    assert re.search(r"penumbra\s+name: .*\s+status: active", openssl(folder, "list", "-providers"))


def test_unit_tests_pass_with_another_openssl():
    if not (UNIT_TESTS.exists() and MODULE.exists()):
        pytest.skip("openssl_provider_tests is not built")
    done = subprocess.run([*command(UNIT_TESTS)], capture_output=True, text=True, timeout=4 * conftest.PATIENCE)
    assert done.returncode == 0, done.stdout
    assert re.search(r"\[  PASSED  \] \d+ tests", done.stdout)
