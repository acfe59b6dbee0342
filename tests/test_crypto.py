# SPDX-License-Identifier: Apache-2.0
"""Tests every form of the ciphers and digests with the vectors of Wycheproof (shared data) and of NIST's CAVP and RFCs
(the package cryptography-vectors). The program crypto_vectors (src/crypto) processes them. Also tests with valgrind that
no secret decides a branch or an address."""

import json
import pathlib
import shutil
import subprocess

import pytest

import conftest

TESTS = conftest.PROGRAM.parent.parent / "tests"
#: A form "job:ENGINE" processes packets as jobs on the engine.
JOB_FORMS = ["job:scalar", "job:scalar,library=0", "job:gopt"] + (["job:cuda"] if pathlib.Path("/dev/nvidia0").exists() else [])
FORMS = ["plain", "ipsec_mb"]
pytestmark = pytest.mark.skipif(not (TESTS / "crypto_vectors").exists(), reason="crypto_vectors is not built")


def word(text):
    return text or "-"


def line(form, operation, *, cipher="-", digest="-", tag_bytes=0, key="", digest_key="", nonce="", aad="", payload="", tag=""):
    """Returns a line for the program. All bytes are given as hexadecimal digits."""
    words = [form, operation, cipher, digest, str(tag_bytes), *map(word, (key, digest_key, nonce, aad, payload, "", tag))]
    return " ".join(words).lower()


def results(lines):
    """Runs the program. Returns (result, payload, tag) of each line, or "refused"."""
    done = subprocess.run([TESTS / "crypto_vectors"], input="\n".join(lines) + "\n", capture_output=True, text=True, timeout=conftest.PATIENCE)
    conftest.check_sanitizers(done.stderr)
    assert done.returncode == 0, done.stderr
    split = [answer.replace("-", "").split(" ") for answer in done.stdout.splitlines()]
    assert len(split) == len(lines)
    return [tuple(answer) if len(answer) > 1 else answer[0] for answer in split]


def check(cases):
    """Compares results with expectations. A case is (name, line, expected)."""
    assert cases
    answers = results([of for _, of, _ in cases])
    fit = [(*case, answer) for case, answer in zip(cases, answers, strict=True) if answer != "unfit"]
    assert len(fit) * 5 > len(cases), "jobs have room for the nonces and additional data of most packets"
    wrong = [(name, answer, expected) for name, _, expected, answer in fit if answer != expected]
    assert wrong == []


def seal_and_open(name, form, expected_seal, plain, sealed, **words):
    """Returns cases that seal a packet and open it again. `plain` and `sealed` are payloads."""
    tag = words.get("tag", "")
    words["tag_bytes"] = len(tag) // 2
    return [
        (f"seal {name}", line(form, "seal", payload=plain, **words), ("1", sealed, expected_seal)),
        (f"open {name}", line(form, "open", payload=sealed, **words), ("1", plain, "")),
    ]


def zeros(payload):
    return "0" * len(payload)


def sections(path):
    """Yields the vectors of a file of CAVP: attributes in upper case, and lines without '=' under their own names."""
    cryptography_vectors = pytest.importorskip("cryptography_vectors")
    current = {}
    with cryptography_vectors.open_vector_file(path, "r") as file:
        for text in map(str.strip, file):
            name, is_attribute, value = (part.strip() for part in text.partition("="))
            if text.startswith("#") or (text.startswith("[") and is_attribute):
                continue
            if not text and len(current) > 1:
                yield current
                current = {key: of for key, of in current.items() if key == "section"}
            elif text.startswith("["):
                current = {"section": text.strip("[]")}
            elif text:
                current[name.upper()] = value if value.startswith('"') else value.lower()
    if len(current) > 1:
        yield current


def wycheproof(data, name):
    """Yields (vector, group) of a file."""
    for group in json.loads((data / "crypto" / f"{name}_test.json").read_text())["testGroups"]:
        for vector in group["tests"]:
            yield vector, group


@pytest.mark.parametrize("form", FORMS + JOB_FORMS)
@pytest.mark.parametrize("cipher", ["aes_gcm", "chacha20_poly1305"])
def test_wycheproof_ciphers_with_their_own_tags(data, form, cipher):
    cases = []
    for vector, group in wycheproof(data, cipher):
        words = {"cipher": cipher, "key": vector["key"], "nonce": vector["iv"], "aad": vector["aad"], "tag": vector["tag"]}
        name = f"{cipher} {vector['tcId']}"
        if group["keySize"] == 192:
            cases.append((name, line(form, "seal", payload=vector["msg"], tag_bytes=16, **words), "refused"))
        elif vector["result"] == "valid":
            cases += seal_and_open(name, form, vector["tag"], vector["msg"], vector["ct"], **words)
        else:
            opened = line(form, "open", payload=vector["ct"], tag_bytes=16, **words)
            cases.append((name, opened, ("0", zeros(vector["ct"]), "")))
    check(cases)


@pytest.mark.parametrize("form", FORMS + JOB_FORMS)
@pytest.mark.parametrize("digest", ["sha1", "sha256", "sha384", "sha512"])
def test_wycheproof_hmac(data, form, digest):
    cases = []
    for vector, group in wycheproof(data, f"hmac_{digest}"):
        words = {"digest": digest, "digest_key": vector["key"], "tag": vector["tag"]}
        name = f"{digest} {vector['tcId']}"
        if vector["result"] == "valid":
            cases += seal_and_open(name, form, vector["tag"], vector["msg"], vector["msg"], **words)
        else:
            opened = line(form, "open", payload=vector["msg"], tag_bytes=group["tagSize"] // 8, **words)
            cases.append((name, opened, ("0", zeros(vector["msg"]), "")))
    check(cases)


def padded(message):
    """Returns the message with the padding of PKCS #5, which the vectors of CBC have."""
    missing = 16 - len(message) // 2 % 16
    return message + f"{missing:02x}" * missing


def is_padded(message):
    octets = bytes.fromhex(message)
    return bool(octets) and 1 <= octets[-1] <= 16 and octets.endswith(octets[-1:] * octets[-1])


@pytest.mark.parametrize("form", FORMS + JOB_FORMS)
def test_wycheproof_cbc(data, form):
    cases, invalid = [], []
    for vector, group in wycheproof(data, "aes_cbc_pkcs5"):
        words = {"cipher": "aes_cbc", "key": vector["key"], "nonce": vector["iv"]}
        if group["keySize"] == 192:
            continue
        if vector["result"] == "valid":
            cases += seal_and_open(f"cbc {vector['tcId']}", form, "", padded(vector["msg"]), vector["ct"], **words)
        else:
            invalid.append(line(form, "open", payload=vector["ct"], **words))
    check(cases)
    opened = results(invalid)
    assert len(opened) > 50
    assert [payload for result, payload, _ in opened if result == "1" and is_padded(payload)] == []


@pytest.mark.parametrize("form", FORMS + JOB_FORMS)
@pytest.mark.parametrize("bits", [128, 256])
def test_cavp_gcm(form, bits):
    cases = []
    for kind in ("Decrypt", "EncryptExtIV"):
        for vector in sections(f"ciphers/AES/GCM/gcm{kind}{bits}.rsp"):
            words = {"cipher": "aes_gcm", "key": vector["KEY"], "nonce": vector["IV"], "aad": vector["AAD"], "tag": vector["TAG"]}
            name = f"{kind} {vector['COUNT']}"
            if "FAIL" in vector:
                opened = line(form, "open", payload=vector["CT"], tag_bytes=len(vector["TAG"]) // 2, **words)
                cases.append((name, opened, ("0", zeros(vector["CT"]), "")))
                continue
            cases += seal_and_open(name, form, vector["TAG"], vector["PT"], vector["CT"], **words)
            if not vector["PT"]:  # this is a vector of GMAC too, however its bytes are split
                part = len(vector["AAD"]) // 4 * 2
                first, second = vector["AAD"][:part], vector["AAD"][part:]
                words |= {"cipher": "aes_gmac", "aad": first}
                cases += seal_and_open(f"GMAC {name}", form, vector["TAG"], second, second, **words)
    assert len(cases) > 20000
    check(cases)


@pytest.mark.parametrize("form", FORMS + JOB_FORMS)
@pytest.mark.parametrize("bits", [128, 256])
def test_cavp_cbc(form, bits):
    cases = []
    for kind in ("GFSbox", "KeySbox", "MMT", "VarKey", "VarTxt"):
        for vector in sections(f"ciphers/AES/CBC/CBC{kind}{bits}.rsp"):
            words = {"cipher": "aes_cbc", "key": vector["KEY"], "nonce": vector["IV"]}
            name = f"{kind} {vector['section']} {vector['COUNT']}"
            cases += seal_and_open(name, form, "", vector["PLAINTEXT"], vector["CIPHERTEXT"], **words)
    assert len(cases) > 1000
    check(cases)


@pytest.mark.parametrize("form", FORMS + JOB_FORMS)
@pytest.mark.parametrize("bits", [128, 256])
def test_rfc_3686_ctr(form, bits):
    cases = []
    for vector in sections(f"ciphers/AES/CTR/aes-{bits}-ctr.txt"):
        assert vector["IV"].endswith("00000001")
        words = {"cipher": "aes_ctr", "key": vector["KEY"], "nonce": vector["IV"][:24]}
        cases += seal_and_open(vector["COUNT"], form, "", vector["PLAINTEXT"], vector["CIPHERTEXT"], **words)
    check(cases)


@pytest.mark.parametrize("form", FORMS + JOB_FORMS)
def test_chacha20_poly1305_of_other_libraries(form):
    def octets(value):
        return value.strip('"').encode().hex() if value.startswith('"') else value

    cases = []
    for vector in sections("ciphers/ChaCha20Poly1305/boringssl.txt"):
        words = {"cipher": "chacha20_poly1305", "key": vector["KEY"], "nonce": vector["NONCE"], "aad": octets(vector["AD"]), "tag": vector["TAG"]}
        cases += seal_and_open(vector["COUNT"], form, vector["TAG"], octets(vector["IN"]), octets(vector["CT"]), **words)
    for vector in sections("ciphers/ChaCha20Poly1305/openssl.txt"):
        words = {"cipher": "chacha20_poly1305", "key": vector["KEY"], "nonce": vector["IV"], "aad": vector["AAD"], "tag": vector["TAG"]}
        if "RESULT" in vector:
            opened = line(form, "open", payload=vector["CIPHERTEXT"], tag_bytes=16, **words)
            cases.append(("openssl", opened, ("0", zeros(vector["CIPHERTEXT"]), "")))
        else:
            cases += seal_and_open("openssl", form, vector["TAG"], vector["PLAINTEXT"], vector["CIPHERTEXT"], **words)
    assert len(cases) > 130
    check(cases)


@pytest.mark.parametrize("form", FORMS + JOB_FORMS)
@pytest.mark.parametrize("file", ["rfc-2202-sha1", "rfc-4231-sha256", "rfc-4231-sha384", "rfc-4231-sha512"])
def test_rfc_hmac(form, file):
    cases = []
    for vector in sections(f"HMAC/{file}.txt"):
        words = {"digest": file.rpartition("-")[2], "digest_key": vector["KEY"], "tag": vector["MD"]}
        cases += seal_and_open(vector["MD"], form, vector["MD"], vector["MSG"], vector["MSG"], **words)
    check(cases)


@pytest.mark.parametrize("digest", ["SHA1", "SHA256", "SHA384", "SHA512"])
def test_cavp_digests(digest):
    cases = []
    for length in ("Short", "Long"):
        for vector in sections(f"hashes/{'SHA1' if digest == 'SHA1' else 'SHA2'}/{digest}{length}Msg.rsp"):
            message = vector["MSG"][: int(vector["LEN"]) // 4]
            cases.append((vector["MD"], line("plain", "digest", digest=digest, payload=message), vector["MD"]))
    check(cases)


def memcheck(what, program="secrets_check"):
    """Returns the exit code of a program in memcheck: 9 if memcheck complains."""
    if conftest.SANITIZED:
        pytest.skip("valgrind does not run a sanitizer's build")
    if not shutil.which("valgrind"):
        pytest.skip("valgrind is not installed")
    words = ["valgrind", "--quiet", "--error-exitcode=9", TESTS / program, what]
    done = subprocess.run(words, capture_output=True, text=True, timeout=4 * conftest.PATIENCE)
    if done.returncode == 77:
        pytest.skip("the program was built without the headers of valgrind")
    return done.returncode, done.stderr


@pytest.mark.parametrize("form", FORMS)
def test_no_secret_decides_a_branch_or_an_address(form):
    assert memcheck(form) == (0, "")


@pytest.mark.parametrize("form", ["plain", "ifma"])
def test_no_secret_of_rsa_decides_a_branch_or_an_address(form):
    assert memcheck(form, "rsa_secrets_check") == (0, "")


def test_memcheck_finds_an_address_that_a_secret_decides():
    code, errors = memcheck("leak")
    assert code == 9
    assert "uninitialised value" in errors
