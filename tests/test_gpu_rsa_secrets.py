# SPDX-License-Identifier: Apache-2.0
"""Tests that no secret decides a branch or an address in the GPU's kernels of RSA. An emulated warp (sass_warp.py) runs
the machine code of the program's kernels, with every bit of keys, blinding pairs and inputs marked."""

import random
import struct

import pytest

import conftest
import sass
from pages import LONG
from sass_warp import GLOBAL_BASE, Memory, Warp

pytestmark = pytest.mark.skipif(
    not all(map(sass.tool, ("nvdisasm", "cuobjdump"))),
    reason="needs the Python packages nvidia-cuda-nvdisasm and nvidia-cuda-cuobjdump",
)

DONE = 0  # of enum rsa_status
MOST_WORDS = 128
PUBLIC_EXPONENT = 65537
#: (lanes for each prime, words of each lane, bits of the window), as in src/crypto/rsa/rsa2048.cu and so on
FORMS = [(1, 32, 3), (4, 8, 4), (16, 2, 4), (4, 12, 3), (8, 6, 4), (4, 16, 3), (16, 4, 4)]
WHOLE = (16, 2, 4)  # the form that needs the fewest instructions


def is_prime(number, source):
    """Miller and Rabin's test."""
    if any(number % small == 0 for small in (3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37)):
        return False
    odd, twos = number - 1, 0
    while odd % 2 == 0:
        odd, twos = odd // 2, twos + 1
    for _ in range(8):
        power = pow(source.randrange(2, number - 1), odd, number)
        if power in (1, number - 1):
            continue
        for _ in range(twos - 1):
            power = power * power % number
            if power == number - 1:
                break
        else:
            return False
    return True


def prime_of(bits, source):
    """Returns a prime whose two highest bits are set."""
    while True:
        number = source.getrandbits(bits) | 3 << bits - 2 | 1
        if (number - 1) % PUBLIC_EXPONENT and is_prime(number, source):
            return number


def words(number, count):
    return number.to_bytes(4 * count, "little")


def half(prime, exponent, bits):
    """Returns a rsa_half."""
    r, room = 1 << bits, MOST_WORDS // 2
    parts = (prime, exponent % (prime - 1), -exponent % (prime - 1), r**3 % prime)
    return b"".join(words(each, room) for each in parts) + words(-pow(prime, -1, 1 << 32) % (1 << 32), 1)


class Key:
    """A generated key, as a rsa_key with the mask of its secret bits. The size, the modulus and its inverses are public."""

    def __init__(self, bits, source, exponent=PUBLIC_EXPONENT):
        self.bits = bits
        p, q = prime_of(bits // 2, source), prime_of(bits // 2, source)
        self.modulus = n = p * q
        self.private = pow(PUBLIC_EXPONENT, -1, (p - 1) * (q - 1))
        r, half_r = 1 << bits, 1 << bits // 2
        public = words(bits // 32, 1) + words(exponent, 1) + words(-pow(n, -1, 1 << 32) % (1 << 32), 1)
        public += words(n, MOST_WORDS) + words(r * r % n, MOST_WORDS)
        secret = words(half_r * pow(q, -1, p) % p, MOST_WORDS // 2)
        secret += half(p, self.private, bits // 2) + half(q, self.private, bits // 2)
        self.content, self.mask = public + secret, bytes(len(public)) + b"\xff" * len(secret)

    def pair(self, source):
        """Returns a rsa_pair."""
        r, a = 1 << self.bits, source.randrange(2, self.modulus)
        after = pow(a, -self.private, self.modulus)
        return words(a * r % self.modulus, MOST_WORDS) + words(after * r % self.modulus, MOST_WORDS)


@pytest.fixture(scope="module")
def kernels(tmp_path_factory):
    """Returns the program's kernels of RSA by their form."""
    found = {}
    for cubin in sass.cubins_of_program(conftest.PROGRAM, tmp_path_factory.mktemp("cubins")):
        if b"rsa_kernel" in cubin.read_bytes():
            for lanes, count, window in FORMS:
                for kernel in sass.kernels_of_cubin(cubin, f"rsa_kernelILj{lanes}ELj{count}ELj{window}E"):
                    found[lanes, count, window] = kernel
    if not found:
        pytest.skip("the program was built without CUDA")
    return found


def run(kernel, form, makes_pairs=False, most_rounds=None):
    """Runs a batch, whose results must depend on secrets. Returns the warp, the key, and (input, status, output) of each
    operation."""
    lanes, count, _ = form
    bits, source, operations = 64 * lanes * count, random.Random(3), 32 // (2 * lanes)
    # With all bits of the exponent, each round of the check multiplies.
    key = Key(bits, source, PUBLIC_EXPONENT if most_rounds is None else 0xFFFFFFFF)
    memory = Memory(GLOBAL_BASE)
    inputs = [source.randrange(key.modulus) for _ in range(operations)]
    content = b"".join(each.to_bytes(bits // 8, "big") for each in inputs)
    pairs = b"".join(key.pair(source) for _ in range(operations))
    columns = [
        memory.place(key.content, key.mask),
        memory.place(bytes(4 * operations)),
        pairs_at := memory.place(pairs, b"\xff" * len(pairs)),
        memory.place(struct.pack(f"<{operations}I", *range(operations))),
        memory.place(content, b"\xff" * len(content)),
        outputs := memory.place(bytes(len(content))),
        statuses := memory.place(b"\xff" * 4 * operations),
    ]
    tasks = struct.pack("<7QI?3x", *columns, operations, makes_pairs)
    warp = Warp(kernel, memory, tasks, are_votes_public=False, most_rounds=most_rounds)
    warp.run()
    results, size = (pairs_at, len(pairs)) if makes_pairs else (outputs, len(content))
    assert set(memory.read_masks(results, size)) == {0xFF}
    read = lambda at, size, order: [int.from_bytes(memory.read(at + size * i, size), order) for i in range(operations)]  # noqa: E731
    return warp, key, list(zip(inputs, read(statuses, 4, "little"), read(outputs, bits // 8, "big")))


def decisions(warp):
    """Returns the places where a secret decides a branch, an address or a lane."""
    return [each for each in warp.findings.values() if each.kind != "vote"]


@pytest.mark.parametrize("form", FORMS)
def test_no_secret_decides(kernels, form):
    """Runs two rounds of the long loops. Each round does the same with other digits of the exponent. The long tier makes
    blinding pairs with every form, which takes the same way through the code."""
    kernel, reached = kernels[form], set()
    for makes_pairs in (False, True) if LONG or form == WHOLE else (False,):
        warp, _, _ = run(kernel, form, makes_pairs, most_rounds=2)
        assert decisions(warp) == []
        reached |= warp.reached
    places = [each.address for each in kernel.code.values() if each.opcode.startswith(("BRA", "LD", "ST", "SHFL", "VOTE"))]
    assert sum(each in reached for each in places) > 0.9 * len(places)


@pytest.mark.skipif(not LONG, reason="takes minutes: PENUMBRA_LONG=1 (make test-long)")
def test_a_whole_operation(kernels):
    """The right result shows that the warp runs the instructions as a GPU does."""
    warp, key, results = run(kernels[WHOLE], WHOLE)
    for number, status, output in results:
        assert (status, output) == (DONE, pow(number, key.private, key.modulus))
    assert decisions(warp) == []
