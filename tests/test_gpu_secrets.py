# SPDX-License-Identifier: Apache-2.0
"""Tests that no secret decides a branch or an address in the GPU's kernels that process keys. An emulated warp
(sass_warp.py) runs the machine code of the program's kernels, with every bit of the keys and the payload marked."""

import random
import shutil
import struct
import subprocess
from pathlib import Path

import pytest
from Cryptodome.Cipher import AES, ChaCha20_Poly1305

import conftest
import sass
from sass_warp import GLOBAL_BASE, SHARED_BEGIN, Memory, Warp

pytestmark = pytest.mark.skipif(
    not all(map(sass.tool, ("nvdisasm", "cuobjdump"))),
    reason="needs the Python packages nvidia-cuda-nvdisasm and nvidia-cuda-cuobjdump",
)

NONE, CBC, CTR, GCM, GMAC, CHACHA = range(6)  # enum cipher_algorithm
SHA1, SHA256, SHA384, SHA512 = range(1, 5)  # enum hmac_digest
SEAL, OPEN = range(2)
DONE, WRONG_TAG = range(2)


def aes_sbox():
    power = inverse = 1
    box = [0x63] * 256
    while True:
        power ^= power << 1 & 0xFF ^ (0x1B if power & 0x80 else 0)
        for shift in (1, 2, 4):
            inverse = (inverse ^ inverse << shift) & 0xFF
        inverse ^= 0x09 if inverse & 0x80 else 0
        mixed = inverse
        for shift in range(1, 5):
            mixed ^= (inverse << shift | inverse >> 8 - shift) & 0xFF
        box[power] = mixed ^ 0x63
        if power == 1:
            return box


def aes_expanded(secret):
    """Returns the round keys of AES, and the number of rounds (FIPS 197, section 5.2)."""
    box, count, constant = aes_sbox(), len(secret) // 4, 1
    words = [secret[i : i + 4] for i in range(0, len(secret), 4)]
    for i in range(count, 4 * (count + 7)):
        word = words[-1]
        if i % count == 0:
            word = bytes(box[byte] ^ first for byte, first in zip(word[1:] + word[:1], (constant, 0, 0, 0)))
            constant = constant << 1 ^ (0x11B if constant & 0x80 else 0)
        elif count > 6 and i % count == 4:
            word = bytes(box[byte] for byte in word)
        words.append(bytes(a ^ b for a, b in zip(word, words[i - count])))
    return b"".join(words), count + 6


class Jobs:
    """Jobs for one launch of the kernel cipher_jobs, which a single warp processes."""

    STRIDE = 12  # The warp takes every twelfth item of a block.

    def __init__(self, kernel):
        self.kernel, self.random, self.keys, self.jobs = kernel, random.Random(1), [], []

    def add_key(self, cipher, digest, secret):
        """Adds a key and returns its index. HMAC gets any states of its digest."""
        rounds, authentication = 0, self.random.randbytes(128)
        if cipher in (GCM, GMAC):
            authentication = AES.new(secret, AES.MODE_ECB).encrypt(bytes(16)).ljust(128, b"\0")
        if cipher not in (CHACHA, NONE):
            secret, rounds = aes_expanded(secret)
        tag_bytes = 16 if cipher in (GCM, GMAC, CHACHA) else 12 if digest else 0
        self.keys.append(struct.pack("<BBBB4x240sI4x128s", cipher, digest, tag_bytes, 1, secret, rounds, authentication))
        return len(self.keys) - 1

    def add(self, key, direction, source, room, nonce=b"", prefix=b"", aad=b"", trailer=b""):
        lengths = (len(nonce), len(prefix), len(aad), len(trailer))
        self.jobs.append((struct.pack("<IBBBBB3x4s16s24s24s", key, direction, *lengths, trailer, nonce, prefix, aad), source, room))

    def run(self):
        """Returns the warp after the launch, and (status, bytes of the destination) of each job."""
        memory = Memory(GLOBAL_BASE)
        count = self.STRIDE * (len(self.jobs) - 1) + 1
        items = [self.jobs[i // self.STRIDE] if i % self.STRIDE == 0 else (bytes(80), b"", 0) for i in range(count)]
        # Algorithm, lengths and rounds of a key are public.
        keys = memory.place(b"".join(self.keys), (bytes(4) + b"\xff" * 244 + bytes(8) + b"\xff" * 128) * len(self.keys))
        sources = [memory.place(bytes(3) + source, bytes(3) + b"\xff" * len(source)) + 3 for _, source, _ in items]
        rooms = [memory.place(bytes(5 + room)) + 5 for _, _, room in items]

        def column(kind, values):
            return memory.place(struct.pack(f"<{count}{kind}", *values))

        columns = [
            memory.place(b"".join(job for job, _, _ in items)),
            column("Q", [each - GLOBAL_BASE for each in sources]),
            column("I", [len(source) for _, source, _ in items]),
            column("Q", [each - GLOBAL_BASE for each in rooms]),
            column("I", [room for _, _, room in items]),
            lengths := column("I", [0] * count),
            statuses := column("B", [0xFF] * count),
        ]
        view = struct.pack("<QQI4x", keys, 0, len(self.keys))
        segment = struct.pack("<7QI4xQQ", *columns, count, GLOBAL_BASE, GLOBAL_BASE)
        warp = Warp(self.kernel, memory, view + segment)
        warp.run()
        length_of = lambda i: int.from_bytes(memory.read(lengths + 4 * i, 4), "little")  # noqa: E731
        own = range(0, count, self.STRIDE)
        return warp, [(memory.read(statuses + i, 1)[0], memory.read(rooms[i], length_of(i))) for i in own]


@pytest.fixture(scope="module")
def kernel(tmp_path_factory):
    """Returns the program's kernel of cipher_jobs for launches of few batches."""
    cubins = sass.cubins_of_program(conftest.PROGRAM, tmp_path_factory.mktemp("cubins"))
    if not cubins:
        pytest.skip("the program was built without CUDA")
    found = [each for each in cubins if b"cipher_jobs_by_warps" in each.read_bytes()]
    assert len(found) == 1
    return sass.kernels_of_cubin(found[0], "cipher_jobs_by_warps.*ELm4E")[0]


def check_findings(warp):
    """Checks that secrets decide nothing but rows of AES's tables, each lane in its own bank, and the tag's verdict."""
    tables = 2 * 256 * 32 * 4
    others = []
    for found in warp.findings.values():
        is_row = found.kind == "address" and found.space == "shared" and found.is_private and found.bits & 0x7F == 0
        if not (is_row and SHARED_BEGIN <= found.least and found.most < SHARED_BEGIN + tables) and found.kind != "vote":
            others.append(found)
    assert others == []
    return [found for found in warp.findings.values() if found.kind == "vote"]


# (cipher, bytes of the key, digest, bytes of the payload)
CASES = [
    (GCM, 16, 0, 0),
    (GCM, 16, 0, 33),
    (GCM, 32, 0, 600),
    (GMAC, 16, 0, 33),
    (CHACHA, 32, 0, 33),
    (CHACHA, 32, 0, 600),
    (CTR, 32, 0, 33),
    (CBC, 16, SHA1, 528),
    (CBC, 32, 0, 48),
    (NONE, 16, SHA256, 100),
    (NONE, 16, SHA384, 0),
    (CTR, 16, SHA512, 150),
]


def test_kernel_of_ciphers(kernel):
    sealing, cases = Jobs(kernel), []
    for cipher, key_bytes, digest, size in CASES:
        secret, payload = sealing.random.randbytes(key_bytes), sealing.random.randbytes(size)
        nonce, prefix, text = (sealing.random.randbytes(each) for each in (16 if cipher == CBC else 12, 24, 12))
        words = {"nonce": nonce, "prefix": prefix} | ({"trailer": text[:4]} if digest else {"aad": text})
        cases.append((sealing.add_key(cipher, digest, secret), secret, payload, words))
        sealing.add(cases[-1][0], SEAL, payload, size + 64, **words)
    warp, sealed = sealing.run()
    assert {status for status, _ in sealed} == {DONE}
    assert check_findings(warp) == []
    # The right answers show that the warp runs the instructions as a GPU does.
    for (cipher, *_), (_, secret, payload, words), (_, bytes_of) in zip(CASES, cases, sealed, strict=True):
        if cipher in (GCM, CHACHA):
            nonce = words["nonce"]
            oracle = AES.new(secret, AES.MODE_GCM, nonce=nonce) if cipher == GCM else ChaCha20_Poly1305.new(key=secret, nonce=nonce)
            oracle.update(words["aad"])
            assert bytes_of == words["prefix"] + b"".join(oracle.encrypt_and_digest(payload))
    opening = Jobs(kernel)
    opening.keys = sealing.keys
    for (key, _, payload, words), (_, bytes_of) in zip(cases, sealed, strict=True):
        opening.add(key, OPEN, bytes_of, len(payload), **words)
    key, _, payload, words = cases[1]
    opening.add(key, OPEN, sealed[1][1][:-1] + bytes([sealed[1][1][-1] ^ 1]), len(payload), **words)
    opened, results = opening.run()
    assert results == [(DONE, payload) for _, _, payload, _ in cases] + [(WRONG_TAG, b"")]
    assert len(check_findings(opened)) == 1  # The verdict on a tag is public.
    places = [each.address for each in kernel.code.values() if each.opcode.startswith(("BRA", "LD", "ST", "SHFL"))]
    reached = warp.reached | opened.reached
    assert sum(each in reached for each in places) > len(places) / 2


@pytest.fixture(scope="module")
def leaks(tmp_path_factory):
    """Returns the kernels of gpu_leaks.cu by name."""
    compiler = sass.tool("nvcc")
    if compiler is None or shutil.which("g++") is None:
        pytest.skip("needs nvcc")
    cubin = tmp_path_factory.mktemp("leaks") / "leaks.cubin"
    source = Path(__file__).with_name("gpu_leaks.cu")
    subprocess.run([compiler, "-cubin", f"-arch={sass.ARCHITECTURE}", "-O3", "-o", cubin, source], check=True)
    return {each.name: each for each in sass.kernels_of_cubin(cubin, "^leak_")}


@pytest.mark.parametrize(
    ("name", "kinds"),
    [
        ("leak_nothing", set()),
        ("leak_address", {("address", "global")}),
        ("leak_branch", {("branch", "")}),
        ("leak_bank", {("address", "shared")}),
        ("leak_lane", {("lane", "")}),
    ],
)
def test_planted_leaks_are_found(leaks, name, kinds):
    memory = Memory(GLOBAL_BASE)
    secret = memory.place(random.Random(2).randbytes(128), b"\xff" * 128)
    result = memory.place(bytes(128))
    warp = Warp(leaks[name], memory, struct.pack("<QQ", secret, result))
    warp.run()
    assert {(found.kind, found.space) for found in warp.findings.values()} == kinds
    assert memory.read(result, 128) != bytes(128)
    if name == "leak_bank":
        assert all(found.bits & 0x7F for found in warp.findings.values())
