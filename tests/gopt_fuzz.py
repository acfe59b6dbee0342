# SPDX-License-Identifier: Apache-2.0
"""Fuzzes the gopt compiler: changes the tokens of test sources and generated programs, in all language modes.

For every input, gopt must exit with 0, or with 1 and an error with file and line. The output of gopt must compile.
An internal error (exit code 3) is a fault. An exhausted stack is a fault too, because no source is nested deeply
enough.

  python tests/gopt_fuzz.py SECONDS [SEED]

Run it from the root of the repository, after make build. Faults are kept in build/gopt-fuzz."""

import pathlib
import random
import re
import subprocess
import sys
import tempfile
import time

import gopt_cases
import gopt_programs
import gopt_refusals

ROOT = pathlib.Path(__file__).resolve().parent.parent
SEEDS = ROOT / "tests" / "gopt"
TOKEN = re.compile(r"\s+|//[^\n]*|\w+|\"[^\"\n]*\"|'[^'\n]*'|->\*|<=>|<<=|>>=|\.\.\.|[-+*/%&|^=!<>]=|->|\+\+|--|<<|>>|&&|\|\||::|.", re.DOTALL)
WORDS = """foreach g_expensive ( i , n ) { } [ ] ; : :: ? = == + - * / % & && | || ^ ~ ! < > << >> <=> -> ->* . .* ... += ++ --
if else for while do switch case default break continue return goto x: sizeof struct union enum typedef static const volatile
int char unsigned long float double void auto register extern inline restrict _Bool bool true false nullptr 0 1 42 1'000 0x1p3
"text" u8"a" L'c' R"x(a
b)x" (int[]){1,2} {1} {} t in out n i t[i] in[i] out[i] &t[i] *t [[maybe_unused]] __attribute__((unused)) __func__ __LINE__
_Generic(i,default:1) ({1;}) [&]{} [=](int){} template<class> decltype(i) using namespace class public operator new delete this
throw try catch(...) constexpr alignas(8) static_assert(1); <: :> <% %> and bitor \\
#line 7 "x"
#define A 1
#undef A
#if 1
#endif
#pragma pack(1)
""".split(" ")

STATEMENTS = """g_expensive(t);|g_expensive(&t[in[i]], 200);|out[i] += 1;|{ int x = t[i]; out[i] += x; }|if (in[i] & 1) continue;
|for (int k = 0; k < 2; ++k) { g_expensive(t + k); out[i] += k; }|const int* p_ = &t[in[i]]; g_expensive(p_); out[i] ^= *p_;
|int a_[3] = {1, 2, (int)in[i]}; g_expensive(t); out[i] += a_[2];|switch (in[i] & 3) { case 1: g_expensive(t); default: out[i]++; }
|do { g_expensive(t); } while (0);|while (out[i]-- > 5) { g_expensive(t); break; }|(void)sizeof(int[3]);|;|label_: out[i]++;|goto label_;
|struct own_ { int a, b; } s_ = {1, 2}; g_expensive(t); out[i] += s_.b;|enum { few_ = 3 }; out[i] += few_;|typedef int own_t_; own_t_ x_ = 1;
|const int c_ = 4; g_expensive(t); out[i] += c_;|int u_; g_expensive(t); u_ = 3; out[i] += u_;|static const int k_[2] = {1, 2}; out[i] += k_[1];
|int (*f_)(int) = 0; g_expensive(t); out[i] += f_ == 0;|int m_[2][2] = {{1}, {2}}; g_expensive(t); out[i] += m_[1][0];
|volatile int v_ = 3; g_expensive(t); out[i] += v_;|long l_ = in[i], *q_ = &l_; g_expensive(t); out[i] += *q_;|return;|break;""".split("|")
KINDS = [re.compile(r"[a-z_]\w*"), re.compile(r"[-+*/%&|^<>]=?|==|!=|&&|\|\||<<|>>"), re.compile(r"\d\w*")]


def corpus():
    """Returns two lists of (language, source): sources that gopt must accept and sources that it must refuse. The
    language is 'c' or 'cc'."""
    taken = [(path.suffix[1:], path.read_text()) for path in sorted(SEEDS.glob("*.c")) + sorted(SEEDS.glob("*.cc"))]
    for suffix, cases in (("c", gopt_cases.C), ("cc", gopt_cases.CXX), ("cc", gopt_cases.CXX20)):
        taken += [(suffix, gopt_cases.source({name: text})) for name, text in cases.items()]
    refused = []
    for suffix, texts in (("c", gopt_refusals.C), ("cc", gopt_refusals.CXX)):
        refused += [(suffix, f'#include "gopt.h"\n{text}\n') for text in texts.values()]
    return taken, refused


def mutate(tokens, pool, chance):
    """Removes, duplicates, swaps or replaces tokens."""
    at = chance.randrange(len(tokens))
    form = chance.randrange(7)
    end = at + chance.choice([1, 1, 2, 4, 9])
    if form == 0:
        del tokens[at:end]
    elif form == 1:
        tokens[at:at] = tokens[at:end]
    elif form == 2:
        tokens[at:at] = [" ", chance.choice(WORDS), " "]
    elif form == 3:
        tokens[at] = chance.choice(WORDS)
    elif form == 4:
        start = chance.randrange(len(pool))
        tokens[at:at] = pool[start : start + chance.choice([1, 3, 8, 20])]
    elif form == 5:
        other = chance.randrange(len(tokens))
        tokens[at], tokens[other] = tokens[other], tokens[at]
    else:
        start = chance.randrange(len(tokens))
        tokens[at:at] = tokens[start : start + chance.choice([3, 8, 20])]
    return tokens or [" "]


def mutate_mildly(tokens, chance):
    """Adds a statement, or replaces a token by another of its kind. The result usually compiles."""
    if chance.random() < 0.6:
        places = [k + 1 for k, token in enumerate(tokens) if token in (";", "{", "}")]
        if places:
            tokens.insert(chance.choice(places), " " + chance.choice(STATEMENTS) + " ")
        return tokens
    kind = chance.choice(KINDS)
    places = [k for k, token in enumerate(tokens) if kind.fullmatch(token)]
    if places:
        tokens[chance.choice(places)] = tokens[chance.choice(places)]
    return tokens


def mutated(text, other, chance):
    tokens, pool = TOKEN.findall(text), TOKEN.findall(other)
    mild = chance.random() < 0.6
    for _ in range(chance.choice([1, 1, 1, 2, 3, 5])):
        tokens = mutate_mildly(tokens, chance) if mild else mutate(tokens, pool, chance)
    return "".join(tokens)


class Fuzzer:
    """Generates sources and counts the results. `gopt` is the path of the compiler."""

    def __init__(self, gopt, seed, folder):
        self.gopt, self.seed, self.folder = gopt, seed, pathlib.Path(folder)
        self.chance = random.Random(seed)
        self.accepted, self.rejected = corpus()
        self.number = self.taken = self.refused = self.endless = 0
        self.faults = []

    def source(self):
        suffix, text = self.chance.choice(self.accepted if self.chance.random() < 0.75 else self.rejected)
        standards = gopt_programs.CXX_STANDARDS if suffix == "cc" else gopt_programs.C_STANDARDS
        standard = self.chance.choice(standards)
        if self.chance.random() < 0.2:
            text = gopt_programs.programs(self.chance.random(), 1, suffix == "cc", standard)
        others = [other for kind, other in self.accepted + self.rejected if kind == suffix]
        return suffix, standard, mutated(text, self.chance.choice(others), self.chance)

    def once(self):
        suffix, standard, text = self.source()
        self.number += 1
        source, output = self.folder / f"fuzz.{suffix}", self.folder / f"out.{suffix}"
        source.write_text(text)
        output.unlink(missing_ok=True)
        flags = [f"-I{ROOT / 'include'}", f"-std={standard}"]
        width = self.chance.choice(["any", "any", "16", "1"])
        try:
            done = subprocess.run([self.gopt, source, "-o", output, "--width", width, "--explain", "--", *flags], capture_output=True, timeout=60)
        except subprocess.TimeoutExpired:
            # Clang 19 does not terminate on `(::)` in C23.
            if self.compiles(source, flags) is not None:
                return self.fault("does not end", standard, text)
            self.endless += 1
            return None
        said = done.stderr.decode(errors="replace")
        if done.returncode not in (0, 1) or "too much for this program" in said:
            return self.fault(f"ends with {done.returncode}: {said[-300:]}", standard, text)
        if done.returncode == 1:
            self.refused += 1
            if not re.search(r":\d+:\d+: (fatal )?error: ", said):
                return self.fault(f"refuses without file and line: {said[-300:]}", standard, text)
            return None
        self.taken += 1
        if self.compiles(source, flags) != "":
            return None  # the baseline does not compile, because a word is missing without __GOPT__
        if said := self.compiles(output, flags):
            return self.fault(f"what is written does not compile: {said[:400]}", standard, text)
        return None

    @staticmethod
    def compiles(source, flags):
        """Returns Clang's errors, or None if Clang does not terminate."""
        words = ["clang-19", "-w", "-fsyntax-only", "-ferror-limit=1", *flags, source]
        try:
            return subprocess.run(words, capture_output=True, timeout=60).stderr.decode(errors="replace")
        except subprocess.TimeoutExpired:
            return None

    def fault(self, what, standard, text):
        self.faults.append((what, standard, text))

    def summary(self):
        return f"{self.number} sources, {self.taken} taken, {self.refused} refused, {len(self.faults)} faults (seed {self.seed})"


def main():
    seconds = float(sys.argv[1])
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else random.SystemRandom().randrange(10**9)
    kept = ROOT / "build" / "gopt-fuzz"
    kept.mkdir(parents=True, exist_ok=True)
    end = time.monotonic() + seconds
    with tempfile.TemporaryDirectory() as folder:
        fuzzer = Fuzzer(ROOT / "build" / "release" / "bin" / "gopt", seed, folder)
        written = 0
        while time.monotonic() < end:
            fuzzer.once()
            for what, standard, text in fuzzer.faults[written:]:
                written += 1
                (kept / f"{seed}-{written}.txt").write_text(f"{what}\n-std={standard}\n{text}")
                print(f"{kept}/{seed}-{written}.txt: {what.splitlines()[0]}", flush=True)
    print(fuzzer.summary())
    return 1 if fuzzer.faults else 0


if __name__ == "__main__":
    sys.exit(main())
