# SPDX-License-Identifier: Apache-2.0
"""Tests RSA through OpenSSL's API, by the provider, with the vectors of Wycheproof (shared data) and of NIST's CAVP (the
package cryptography-vectors). The program provider_vectors (integrations/openssl) runs them, signatures in asynchronous
jobs of which 32 are paused at a time. OpenSSL's provider `default` verifies what they sign."""

import subprocess
import tempfile
from pathlib import Path

import pytest

import conftest
from openssl_provider import MODULE, command, configuration
from test_crypto import sections, word, wycheproof
from test_tls import needs_ifma

PROGRAM = conftest.PROGRAM.parent.parent / "tests" / "provider_vectors"
KEYS = Path(__file__).with_name("rsa_keys")
OURS, DEFAULT = "?provider=penumbra", "provider=default"
#: With `least-batch` 1 the code for eight computes every signature that the engine takes.
CONFIGURATION = configuration("least-batch = 1")
RSA_ENCRYPTION = bytes.fromhex("300d06092a864886f70d0101010500")  # AlgorithmIdentifier
pytestmark = [
    pytest.mark.release_only,
    pytest.mark.skipif(not (PROGRAM.exists() and MODULE.exists()), reason="the provider or provider_vectors is not built"),
]


def der(tag, content):
    size = len(content)
    length = bytes([size]) if size < 128 else bytes([0x82]) + size.to_bytes(2, "big")
    return bytes([tag]) + length + content


def der_numbers(*numbers):
    return der(0x30, b"".join(der(2, number.to_bytes(number.bit_length() // 8 + 1, "big")) for number in numbers))


def private_key(n, e, d, p, q):
    """Returns RSAPrivateKey (RFC 8017, appendix A.1.2) in hexadecimal digits."""
    return der_numbers(0, n, e, d, p, q, d % (p - 1), d % (q - 1), pow(q, -1, p)).hex()


def public_key(n, e):
    """Returns SubjectPublicKeyInfo in hexadecimal digits."""
    return der(0x30, RSA_ENCRYPTION + der(3, b"\0" + der_numbers(n, e))).hex()


def der_parts(content):
    """Yields the contents of the elements of a sequence."""
    at = 0
    while at < len(content):
        size, at = content[at + 1], at + 2
        if size >= 0x80:
            at += size & 0x7F
            size = int.from_bytes(content[at - (size & 0x7F) : at], "big")
        yield content[at : at + size]
        at += size


def bits_of_primes(pkcs8):
    """Returns the sizes of the two primes of PrivateKeyInfo (RFC 5208) in hexadecimal digits."""
    (info,) = der_parts(bytes.fromhex(pkcs8))
    (key,) = der_parts(list(der_parts(info))[2])
    return [int.from_bytes(number, "big").bit_length() for number in list(der_parts(key))[4:6]]


def run(lines):
    """Runs operations. Returns their results, and the signatures that the provider took, answered and batched."""
    text = "".join(" ".join(map(word, line)) + "\n" for line in lines)
    with tempfile.NamedTemporaryFile("w", suffix=".cnf") as file:
        file.write(CONFIGURATION)
        file.flush()
        done = subprocess.run([*command(PROGRAM), file.name], input=text, capture_output=True, text=True, timeout=2 * conftest.PATIENCE)
    assert done.returncode == 0, done.stderr
    *results, counts = done.stdout.splitlines()
    assert len(results) == len(lines) > 0
    return [result.removeprefix("-") for result in results], [int(count) for count in counts.split()]


def check(lines, expected):
    results, counts = run(lines)
    assert [one for one in zip(expected, results, lines, strict=True) if one[0] != one[1]] == []
    return counts


def check_taken(counts, expected):
    """Checks that the code for eight made the signatures."""
    assert counts == [expected] * 3


@needs_ifma
def test_wycheproof_signatures_are_made(data):
    """Three keys have a prime of 684 bits. The halves of the code for eight have equal sizes, so OpenSSL signs."""
    lines, expected, sizes = [], [], []
    for vector, group in wycheproof(data, "rsa_pkcs1_2048_sig_gen"):
        lines.append((OURS, "sign", group["privateKeyPkcs8"], "pkcs1", group["sha"], "", vector["msg"], ""))
        expected.append(vector["sig"])
        sizes.append(bits_of_primes(group["privateKeyPkcs8"]))
    counts = check(lines, expected)
    assert sum(one != other for one, other in sizes) == 3
    check_taken(counts, sizes.count([1024, 1024]))
    assert len(sizes) == 43 == 3 + counts[0]


@pytest.mark.parametrize("properties", [OURS, DEFAULT])
def test_wycheproof_signatures_are_verified(data, properties):
    lines, expected = [], []
    for vector, group in wycheproof(data, "rsa_signature_2048_sha256"):
        if vector["result"] != "acceptable":
            lines.append((properties, "verify", group["publicKeyDer"], "pkcs1", group["sha"], "", vector["msg"], vector["sig"]))
            expected.append("right" if vector["result"] == "valid" else "refused")
    check(lines, expected)


@pytest.mark.parametrize("file", ["rsa_pkcs1_2048", "rsa_pkcs1_3072", "rsa_pkcs1_4096", "rsa_oaep_2048_sha256_mgf1sha256"])
def test_wycheproof_ciphertexts(data, file):
    """Valid ciphertexts give their messages. Invalid ones give the same with and without the provider: OpenSSL refuses
    them or, by implicit rejection, returns a message that is not theirs."""
    cases = list(wycheproof(data, file))

    def lines(properties):
        for vector, group in cases:
            padding = "oaep" if "oaep" in file else "pkcs1"
            yield (properties, "decrypt", group["privateKeyPkcs8"], padding, group.get("sha", ""), vector.get("label", ""), vector["ct"], "")

    ours, theirs = run(list(lines(OURS)))[0], run(list(lines(DEFAULT)))[0]
    assert ours == theirs
    results = [(vector["result"] == "valid", result == vector["msg"]) for (vector, _), result in zip(cases, ours, strict=True)]
    assert [number for number, (is_valid, is_message) in enumerate(results) if is_valid != is_message] == []


def cavp(file):
    """Yields (vector, n, p, q) of a file of CAVP. Keys precede their vectors."""
    n = p = 0
    for vector in sections(f"asymmetric/RSA/FIPS_186-2/{file}.rsp"):
        if "N" in vector:
            n, p = int(vector["N"], 16), int(vector["P"], 16)
        if "S" in vector:
            yield vector, n, p, n // p


@pytest.mark.parametrize("properties", [OURS, DEFAULT])
@pytest.mark.parametrize(("file", "padding"), [("SigVer15_186-3", "pkcs1"), ("SigVerPSS_186-3", "pss")])
def test_cavp_signatures_are_verified(file, padding, properties):
    lines, expected = [], []
    for vector, n, _, _ in cavp(file):
        salt = str(len(vector["SALTVAL"]) // 2)
        lines.append((properties, "verify", public_key(n, int(vector["E"], 16)), padding, vector["SHAALG"], salt, vector["MSG"], vector["S"]))
        expected.append("right" if vector["RESULT"].startswith("p") else "refused")
    assert len(lines) == 450
    check(lines, expected)


@needs_ifma
@pytest.mark.parametrize(("file", "padding"), [("SigVer15_186-3", "pkcs1"), ("SigVerPSS_186-3", "pss")])
def test_cavp_signatures_are_made(file, padding):
    """Signs the messages of valid vectors. PSS has a salt, so `default` verifies it."""
    lines, checks, expected = [], [], []
    for vector, n, p, q in cavp(file):
        if vector["RESULT"].startswith("p"):
            e, d = int(vector["E"], 16), int(vector["D"], 16)
            of = padding, vector["SHAALG"], str(len(vector["SALTVAL"]) // 2), vector["MSG"]
            lines.append((OURS, "sign", private_key(n, e, d, p, q), *of, ""))
            checks.append((DEFAULT, "verify", public_key(n, e), *of))
            expected.append(vector["S"])
    signatures, counts = run(lines)
    if padding == "pkcs1":
        assert signatures == expected
    check([(*one, signature) for one, signature in zip(checks, signatures, strict=True)], ["right"] * len(checks))
    check_taken(counts, len(lines) * 3 // 5)  # of 2048, 3072 and 4096 bits


@needs_ifma
@pytest.mark.parametrize(
    ("name", "is_taken"),
    [("1024", False), ("8192", False), ("16384", False), ("three_primes", False), ("exponent_3", True)],
)
def test_keys_of_files_are_taken_or_delegated(name, is_taken):
    """The keys were made by `openssl genrsa`. `three_primes` and `exponent_3` have 2048 bits."""
    file = KEYS / f"{name}.pem"
    key, public = (
        subprocess.run(["openssl", "rsa", "-in", file, "-outform", "DER", *words], capture_output=True, check=True).stdout.hex()
        for words in ((), ("-pubout",))
    )
    message = "00" * 100
    lines = [(OURS, "sign", key, padding, "SHA256", "32", message, "") for padding in ("pkcs1", "pss")]
    signatures, counts = run(lines)
    check_taken(counts, 2 if is_taken else 0)
    checks = [(DEFAULT, "verify", public, *line[3:7], signature) for line, signature in zip(lines, signatures, strict=True)]
    check(checks + [(OURS, *line[1:]) for line in checks], ["right"] * 4)


@pytest.mark.parametrize("padding", ["pkcs1", "pss"])
def test_a_flipped_bit_is_found(padding):
    """Shows that the tests above can fail."""
    vector, n, p, q = next(one for one in cavp("SigVer15_186-3") if one[0]["RESULT"].startswith("p") and one[1].bit_length() == 2048)
    e, d = int(vector["E"], 16), int(vector["D"], 16)
    of = padding, vector["SHAALG"], "10", vector["MSG"]
    (signature,), _ = run([(OURS, "sign", private_key(n, e, d, p, q), *of, "")])
    flipped = f"{int(signature, 16) ^ 1 << 77:0{len(signature)}x}"
    lines = [(properties, "verify", public_key(n, e), *of, one) for properties in (OURS, DEFAULT) for one in (signature, flipped)]
    check(lines, ["right", "refused"] * 2)
