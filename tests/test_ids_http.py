# SPDX-License-Identifier: Apache-2.0
"""Compares how `ids` and libhtp read HTTP: method, normal form of the URI, host, status and lengths of bodies, on all
captures of the shared data and on seeds of the fuzzer. `ids_http_differences.txt` lists what both read differently."""

import collections
import json
import subprocess

import pytest

import conftest
from captures import unpack_corpus

ORACLE = conftest.PROGRAM.parent.parent / "tests" / "http_oracle"
SEEDS = conftest.ROOT / "src" / "functions" / "ids" / "applications_corpus"
LIST = conftest.ROOT / "tests" / "ids_http_differences.txt"


def compare(files):
    """Returns the differences, and the number of transactions."""
    command = [ORACLE, *map(str, files)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=conftest.PATIENCE, check=True)
    conftest.check_sanitizers(done.stderr)
    *lines, transactions = done.stdout.splitlines()
    return [json.loads(line) for line in lines], int(transactions)


def known_differences():
    """Reads the list: the number of transactions, the field, the file, and the reason."""
    known = {}
    for line in LIST.read_text().splitlines():
        if line and not line.startswith("#"):
            count, field, file, reason = line.split(None, 3)
            assert reason
            known[file, field] = int(count)
    return known


def test_http_is_read_as_libhtp_reads_it(data):
    """The list of differences must be exact. Prints lines for the list."""
    if not ORACLE.exists():
        pytest.skip("the build has no http_oracle: it needs libhtp-dev")
    captures = unpack_corpus(data / "pcap", conftest.CACHE)
    names = {str(path): str(path.relative_to(conftest.CACHE)) for path in captures}
    names |= {str(SEEDS / name): f"seed/{name}" for name in ("http", "gzip")}
    differences, transactions = compare(names)
    found = collections.Counter((names[each["file"]], each["field"]) for each in differences)
    for each in differences:
        print(names[each["file"]], each["field"], repr(each["ours"][:200]), repr(each["libhtp"][:200]))
    assert transactions > 1000
    assert dict(found) == known_differences()
    assert found.total() < transactions / 20
