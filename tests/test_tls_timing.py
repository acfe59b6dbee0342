# SPDX-License-Identifier: Apache-2.0
"""Reports whether the time of RSA decryption tells right paddings from wrong ones, with the provider and without. The
test fails if the tool finds no difference where there is one. It sets no limit to the rest, which a busy machine
disturbs: a t of a magnitude over 4.5 that comes again with more samples is a finding."""

import os
import subprocess

import pytest

import conftest
from openssl_provider import MODULE, configuration

PROGRAM = conftest.PROGRAM.parent.parent / "tests" / "decrypt_timing"
IS_LONG = "PENUMBRA_LONG" in os.environ
SAMPLES, BITS = (50_000, ["2048", "4096"]) if IS_LONG else (600, ["2048"])
pytestmark = [
    pytest.mark.release_only,
    pytest.mark.skipif(not (PROGRAM.exists() and MODULE.exists()), reason="the provider or decrypt_timing is not built"),
]


@pytest.mark.parametrize("bits", BITS)
@pytest.mark.parametrize("properties", ["?provider=penumbra", "provider=default"])
def test_decryption_of_wrong_paddings_is_timed(tmp_path, bits, properties):
    (tmp_path / "openssl.cnf").write_text(configuration())
    words = [PROGRAM, tmp_path / "openssl.cnf", properties, bits, str(SAMPLES)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=conftest.PATIENCE + SAMPLES / 10)
    assert done.returncode == 0, done.stderr
    print(f"{properties}, {bits} bits:\n{done.stdout}")
    rows = {name: (int(samples), float(t)) for name, samples, t in (line.split() for line in done.stdout.splitlines())}
    assert list(rows) == ["pkcs1", "tls", "control"]
    assert abs(rows["control"][1]) > 10, "the tool finds no difference where there is one"
