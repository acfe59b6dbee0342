# SPDX-License-Identifier: Apache-2.0
"""Tests gopt --suggest. From a profile of the baseline it finds the lines that need a hint, the hint to write, and
hints that are not needed."""

import os
import random
import shutil

import pytest

import conftest
import gopt_programs
from test_gopt import GOPT, INCLUDE, SEED, run

PROFILES = conftest.ROOT / "tests" / "gopt" / "suggest"
EXAMPLE = conftest.ROOT / "examples" / "gopt"

pytestmark = pytest.mark.skipif(not GOPT.exists(), reason="the gopt compiler is not built here (Clang 19 libraries)")


def suggest(profile, source, *flags, **more):
    return run(GOPT, "--suggest", profile, source, "--", f"-I{INCLUDE}", *flags, **more)


def suggestion(profile, source, *flags):
    done = suggest(profile, source, *flags)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def without_hints(folder):
    """Writes the example without hints."""
    lines = (EXAMPLE / "dictionary.c").read_text().splitlines(keepends=True)
    bare = folder / "bare.c"
    bare.write_text("".join(line for line in lines if "g_expensive" not in line))
    return bare


# The following tests read profiles.


@pytest.mark.parametrize("form", ["cachegrind", "annotated", "report", "samples"])
def test_all_formats_say_the_same(tmp_path, form):
    text = suggestion(PROFILES / f"bare.{form}", without_hints(tmp_path), f"-I{EXAMPLE}")
    assert "bare.c:12: 1870" in text and ", 38%: *bucket, without a hint" in text
    assert "    before line 12:\n      g_expensive(bucket);\n" in text
    assert "bare.c:13: 26" in text and ", 53%: at->key, without a hint" in text
    assert "    before line 13:\n      g_expensive(at);\n" in text
    assert "bare.c:14" not in text
    gain = {"cachegrind": "about 1.2 times", "annotated": "0.5 to 3.0 times"}.get(form, "")
    event = {"report": "cache-misses:u", "samples": "samples"}.get(form, "DLmr")
    assert f"misses ({event})" in text
    assert gain in text and ("as fast" in text) == bool(gain)


@pytest.mark.parametrize("headers", ["a", "z"])
def test_the_page_shows_what_is_suggested(tmp_path, headers):
    """The order of suggestions must not depend on the paths of headers."""
    page = (conftest.ROOT / "docs" / "gopt.md").read_text()
    (tmp_path / "m").mkdir()
    shutil.copytree(EXAMPLE, tmp_path / headers)
    text = suggestion(PROFILES / "bare.cachegrind", without_hints(tmp_path / "m"), f"-I{tmp_path / headers}")
    assert f"```\n{text}```" in page
    assert run(GOPT, "--help").stdout.splitlines()[1].strip() in page


HEAD = "events: Ir DLmr\n"
REPORT = "# Samples: 3K of event 'misses'\n#\n#  Samples  Symbol  Source:Line\n# .....  .....  .....\n#\n"
DASHES = "-" * 80 + "\n"
BAD = {
    "empty": ("", "the profile is empty"),
    "blank": ("\n \n", "the profile is empty"),
    "binary": ("\x7fELF\0\0", "this is no text"),
    "perf's": ("PERFILE2\0\0", "this is perf's own file"),
    "callgrind's": ("# callgrind format\nversion: 1\n", "this is callgrind's"),
    "report's columns": ("# To display\n#\n# Overhead  Symbol\n# ...\n   5.65%  [.] f\n", ":5: counts in other columns"),
    "no report": ("# To display\n", "this is not what is printed by perf report"),
    "report's events": (f"{REPORT} 5  [.] f  a.c:3\n# Samples: 1K of event 'cycles'\n", ":7: several events"),
    "report's count": (f"{REPORT} x  [.] f  a.c:3\n", ":6: a number was expected, not 'x'"),
    "prose": ("what is this?\n", ":1: neither cachegrind's file"),
    "sample": ("a.c:3 5\na.c:x 5\n", ":2: neither cachegrind's file"),
    "no cache": ("desc: x\nevents: Ir\nsummary: 1\n", ":2: it counts no cache misses"),
    "no events": ("desc: x\ncmd: y\n", "there is no line 'events:'"),
    "header": ("desc: x\nfl=a.c\n", ":2: a line 'events:' was expected, not 'fl=a.c'"),
    "cut off": (f"{HEAD}fl=a.c\nfn=f\n3 5 6\n", ":4: there is no line 'summary:'"),
    "no file": (f"{HEAD}3 5 6\n", ":2: counts of no file"),
    "more": (f"{HEAD}fl=a.c\n3 5 6 7\n", ":3: more counts than events"),
    "no number": (f"{HEAD}fl=a.c\n3 5 x\n", ":3: a number was expected, not 'x'"),
    "difference": (f"{HEAD}fl=a.c\n3 5 -6\n", ":3: a count below zero"),
    "huge": (f"{HEAD}fl=a.c\n3 99999999999999999999999 0\n", ":3: a number was expected"),
    "line": (f"{HEAD}fl=a.c\n99999999999 1 1\n", ":3: no file has so many lines"),
    "word": (f"{HEAD}fl=a.c\nhello\n", ":3: fl=, fn= or counts were expected, not 'hello'"),
    "no shown": (f"{DASHES}hello\n", "there is no line 'Events shown:'"),
    "no sources": (f"{DASHES}Events shown:  Ir DLmr\n", "no source is annotated here"),
    "annotation": (f"{DASHES}Events shown:  Ir DLmr\n-- Auto-annotated source: a.c\n{DASHES}Ir DLmr\n5 x f\n", ":6: a number was"),
    "dashes": (f"{DASHES}Events shown:  Ir DLmr\n-- Auto-annotated source: a.c\nhello\n", ":4: a line '----' was expected"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_profiles(tmp_path, name):
    text, said = BAD[name]
    profile = tmp_path / "profile"
    profile.write_text(text)
    done = suggest(profile, without_hints(tmp_path), f"-I{EXAMPLE}")
    assert done.returncode == 2, done.stdout + done.stderr
    assert done.stderr.startswith(f"gopt: {profile}") and said in done.stderr
    assert done.stdout == ""


def test_broken_profiles_never_crash_it(tmp_path):
    chance = random.Random(SEED)
    whole = [path.read_bytes() for path in sorted(PROFILES.iterdir())]
    bare = without_hints(tmp_path)
    for _ in range(60):
        text = bytearray(chance.choice(whole))
        for _ in range(chance.randrange(1, 6)):
            at = chance.randrange(len(text) + 1)
            how = chance.randrange(4)
            if how == 0:
                del text[at : at + chance.randrange(1, 200)]
            elif how == 1:
                text[at : at + 1] = bytes([chance.randrange(256)])
            elif how == 2:
                text[at:at] = chance.choice([b"-", b"\n", b"9" * 25, b"fl=\n", b"fn=\n", b" ", b":", b"(", b"%)", b"events:\n"])
            else:
                text = text[: at + 1]
        profile = tmp_path / "profile"
        profile.write_bytes(text)
        # the message quotes the profile, which may contain any bytes
        done = suggest(profile, bare, f"-I{EXAMPLE}", errors="replace")
        assert done.returncode in (0, 2), f"seed {SEED}: {done.returncode} {done.stderr}\n{bytes(text)!r}"
        assert (done.returncode == 2) == done.stderr.startswith(f"gopt: {profile}"), f"seed {SEED}: {done.stderr}"


def test_a_profile_of_other_files(tmp_path):
    bare = without_hints(tmp_path)
    profile = tmp_path / "profile"
    profile.write_text("other.c:3 5\n")
    done = suggest(profile, bare, f"-I{EXAMPLE}")
    assert done.returncode == 2 and "the profile has no line of" in done.stderr
    profile.write_text("/one/bare.c:12 5\n/two/bare.c:12 5\n")
    done = suggest(profile, bare, f"-I{EXAMPLE}")
    assert done.returncode == 2 and "several files" in done.stderr and "/one/bare.c, /two/bare.c" in done.stderr
    profile.write_text(f"/one/bare.c:12 5\n{bare}:13 5\n")
    assert "bare.c:13: 5, 100%" in suggestion(profile, bare, f"-I{EXAMPLE}")
    done = suggest(tmp_path / "nothing", bare)
    assert done.returncode == 2 and "cannot read the profile" in done.stderr


def test_an_old_profile_is_noticed(tmp_path):
    bare, profile = without_hints(tmp_path), tmp_path / "profile"
    shutil.copy(PROFILES / "bare.cachegrind", profile)
    os.utime(profile, (1, 1))
    assert "is newer than the profile" in suggest(profile, bare, f"-I{EXAMPLE}").stderr
    os.utime(bare, (0, 0))
    assert suggest(profile, bare, f"-I{EXAMPLE}").stderr == ""


@pytest.mark.parametrize("words", [["-o", "x"], ["--explain"]])
def test_it_suggests_and_does_nothing_else(tmp_path, words):
    done = run(GOPT, "--suggest", PROFILES / "bare.cachegrind", without_hints(tmp_path), *words)
    assert done.returncode == 2 and "--suggest writes no OUT" in done.stderr


# The following tests check suggestions.

#: A line that misses has a comment //! with the required parts of the suggestion. Parts are separated by |. A part that
#: begins with - must be absent.
C = {
    "chain": """
struct node { const struct node* next; uint32_t key, value; };
static const struct node* find(const struct node* at, uint32_t key) {
  for (; at; at = at->next) {  //! at->next, of which line 5 reads first: the hint belongs there
    if (at->key == key) return at;  //! at->key, without a hint|before line 5:|g_expensive(at);
  }
  return 0;
}
void f(const struct node* const* heads, const uint32_t* key, uint32_t* out, uint32_t n) {
  foreach (i, n) {
    const struct node* at = find(heads[key[i] & 1023], key[i]);  //! heads[key[i] & 1023]|g_expensive(&heads[key[i] & 1023]);
    out[i] = at ? at->value : 0;
  }
}""",
    "in sequence": """
void f(const uint32_t* t, const uint32_t* key, uint32_t* out, uint32_t n) {
  foreach (i, n) {
    const uint32_t k = key[i];  //! key[i], in sequence|-write
    out[i] = t[k];  //! t[k], without a hint|before line 5:|g_expensive(&t[k]);|-key[i]
  }
}""",
    "hinted": """
struct entry { uint32_t key, value; };
static int is(const struct entry* e, uint32_t key) {
  return e->key == key;  //! e->key, with the hint of line 8
}
void f(const struct entry* t, const uint32_t* key, uint32_t* out, uint32_t n) {
  foreach (i, n) {
    g_expensive(&t[key[i]]);
    const struct entry* e = t + key[i];
    const struct entry* next = e;
    out[i] = is(next, 3);
    out[i] += e->value;  //! e->value, with the hint of line 8
    next = next + 1;
    out[i] += next->value;  //! next->value, without a hint|g_expensive(next);
  }
}""",
    "hinted on one way": """
void f(const uint32_t* const* t, const uint32_t* key, uint32_t* out, uint32_t n) {
  foreach (i, n) {
    const uint32_t* p = t[key[i]];
    if (key[i] & 1) g_expensive(p);
    out[i] = *p;  //! *p, without a hint
  }
}""",
    "loops": """
struct node { const struct node* next; uint32_t key, value; };
void f(const struct node* const* t, const uint32_t* key, uint32_t* out, uint32_t n) {
  foreach (i, n) {
    const struct node* p = t[i];
    while (p && p->key < 3)  //! p->key|at the start of the body of the loop in line 6|g_expensive(p);|if (!(p && p->key < 3)) break;
      p = p->next;
    const struct node* q = t[i];
    do {
      ++out[i];
    } while ((q = q->next) && q->value);  //! q->value|at the end of the body of the loop in line 9
    for (const struct node* r = t[i]; r; r = r->next) ++out[i];  //! r->next|where its step goes too|r = r->next;
  }
}""",
    "in one statement": """
struct node { const struct node* next; uint32_t key, value; };
void f(const struct node* t, const uint32_t* key, uint32_t* out, uint32_t n) {
  foreach (i, n) {
    out[i] = t[key[i]].next->value;  //! t[key[i]].next|perhaps also|const struct node *place = t[key[i]].next;|g_expensive(place);
    out[i] += t[i].next != 0 && t[key[i] + 1].next->key;  //! make it an if, and write in it
    const struct node* p = &t[key[i] + 2], *q = p->next;  //! declare 'p' in a statement of its own
    out[i] += q != 0;
    uint32_t k = key[i];
    out[i] += t[k++ * 5].value;  //! const struct node *place = &t[k++ * 5];
    if (out[i])
      out[i] = t[k * 7].key;  //! before line 12, in braces with it:
  }
}""",
    "big objects": """
#include <string.h>
struct big { uint32_t head; char name[200]; uint32_t slot[4]; };
void f(const struct big* t, const uint32_t* key, uint32_t* out, uint32_t* count, uint32_t n) {
  foreach (i, n) {
    const struct big* p = &t[key[i]];
    g_expensive(p);
    out[i] = p->head;  //! p->head, with the hint of line 7
    out[i] += p->slot[out[i] & 3];  //! p->slot[out[i] & 3], with the hint of line 7
    p = &t[key[i] + 1];
    out[i] += p->slot[out[i] & 3];  //! g_expensive(&p->slot);
    char name[16];
    memcpy(name, t[key[i] + 2].name, 16);  //! which 'memcpy' is given, without a hint|g_expensive(t[key[i] + 2].name);
    ++count[key[i]];  //! count[key[i]]|g_expensive(&count[key[i]]);
    out[i] += name[3];
  }
}""",
    "atomic": """
#define load(p) __atomic_load_n((p), __ATOMIC_RELAXED)
void f(const uint16_t* t, const uint16_t* u, const uint32_t* key, uint16_t* out, uint32_t n) {
  foreach (i, n) {
    const uint16_t* slot = &t[key[i] >> 8];
    g_expensive(slot);
    uint16_t entry = load(slot);  //! load(slot), with the hint of line 6
    if (entry > 3) {
      slot = &u[entry];
      entry = load(slot);  //! load(slot), without a hint|before line 10:|g_expensive(slot);
    }
    out[i] = entry;
  }
}""",
    "not of an item": """
struct table { const uint32_t* values; uint32_t mask; };
void f(const struct table* t, const uint32_t* key, uint32_t* out, uint32_t n) {
  foreach (i, n) {
    out[i] = t->values[key[i] & t->mask];  //! t->values[key[i] & t->mask], without a hint|-perhaps
    uint32_t local[4] = {key[i]};
    out[i] += local[out[i] & 3] + t->mask;  //! in sequence|-without a hint
  }
}""",
}
CXX = {
    "references": """
struct entry { uint32_t key, value; };
void f(const entry* t, const uint32_t* key, uint32_t* out, uint32_t n) {
  foreach (i, n) {
    const entry& e = t[key[i]];
    out[i] = e.key;  //! e.key, without a hint|g_expensive(&e);
    out[i] += t[key[i]].value;  //! t[key[i]].value, of which line 6 reads first
  }
}""",
    "no place": """
struct entry { uint32_t key, value; uint32_t get() const {
  return key; } };  //! 'get' takes no hint: it is a member of a class
namespace other { inline uint32_t of(const entry* e) {
  return e->key; } }  //! 'of' takes no hint: it is in another namespace
namespace mine {
void f(const entry* t, const entry (*lists)[5], const uint32_t* key, uint32_t* out, uint32_t n) {
  foreach (i, n) {
    out[i] = t[key[i]].get() + other::of(&t[key[i] + 9]);
    const auto look = [&](uint32_t k) {
      return t[k].key;  //! a lambda takes no hint
    };
    out[i] += look(key[i] + 3);
    try {
      out[i] += t[key[i] + 5].key;  //! a try block takes no hint
    } catch (...) { }
    for (auto e : lists[key[i]])  //! an element of the range|loop over an index or a pointer
      out[i] += e.key;
  }
}
}""",
    "vector": """
#include <vector>
void f(const std::vector<uint32_t>& t, const uint32_t* key, uint32_t* out, uint32_t n) {
  foreach (i, n) {
    out[i] = t[key[i]];  //! t[key[i]], without a hint|auto* place = &t[key[i]];
  }
}""",
    "template": """
template <class T> static T pick(const T* t, uint32_t k) {
  return t[k];  //! t[k], without a hint|g_expensive(&t[k]);
}
template <class T> void f(const T* t, const uint32_t* key, T* out, uint32_t n) {
  foreach (i, n) out[i] = pick(t, key[i]);
}
template void f<long>(const long*, const uint32_t*, long*, uint32_t);
""",
}
CASES = [("c", name, text) for name, text in C.items()] + [("cc", name, text) for name, text in CXX.items()]


@pytest.mark.parametrize(("suffix", "name", "text"), CASES, ids=[f"{suffix}-{name}" for suffix, name, _ in CASES])
def test_suggests(tmp_path, suffix, name, text):
    """Each line is tested alone, so that it has all misses."""
    source, profile = tmp_path / f"case.{suffix}", tmp_path / "profile"
    source.write_text(f'#include "gopt.h"{text}\n')
    wanted = [(at, line.split("//! ")[1]) for at, line in enumerate(source.read_text().splitlines(), 1) if "//! " in line]
    assert wanted, name
    for number, parts in wanted:
        profile.write_text(f"case.{suffix}:{number} 100\n")
        said = suggestion(profile, source, "-std=c11" if suffix == "c" else "-std=c++20")
        assert f"case.{suffix}:{number}: 100, 100%: " in said
        about = said.split(f"case.{suffix}:{number}: 100, 100%: ")[1]
        for part in parts.split("|"):
            assert (part.lstrip("-") in about) != part.startswith("-"), f"{part}\n{said}"


def test_what_is_suggested_is_taken(tmp_path):
    """gopt must accept the suggested lines as hints and then know them."""
    text = C["chain"].replace("//!", "// was:")
    for number, hint in ((11, "g_expensive(&heads[key[i] & 1023]);"), (5, "g_expensive(at);")):
        lines = f'#include "gopt.h"{text}\n'.splitlines()
        lines.insert(number - 1, hint)
        text = "\n".join(lines)[len('#include "gopt.h"') :]
    source, profile = tmp_path / "case.c", tmp_path / "profile"
    source.write_text(f'#include "gopt.h"{text}\n')
    assert run(GOPT, source, "-o", tmp_path / "out.c", "--", f"-I{INCLUDE}").returncode == 0
    profile.write_text("case.c:6 50\ncase.c:13 50\n")
    said = suggestion(profile, source)
    assert "at->key, with the hint of line 5" in said and "heads[key[i] & 1023], with the hint of line 12" in said


LOOKUP = """#include "gopt.h"
void f(const uint32_t* t, const uint32_t* u, const uint32_t* key, uint32_t* out, uint32_t n) {
  foreach (i, n) {
    g_expensive(&u[key[i] & 7]);
    out[i] = u[key[i] & 7];
    out[i] += t[key[i]];
  }
}
void g(const uint32_t* t, uint32_t* out, uint32_t n) {
  foreach (i, n) out[i] = t[i];
}
"""


def report(tmp_path, counts, events="Ir DLmr"):
    source, profile = tmp_path / "case.c", tmp_path / "profile"
    source.write_text(LOOKUP)
    profile.write_text(f"events: {events}\nfl=case.c\nfn=f\n{counts}summary: 0\n")
    return suggestion(profile, source)


def test_hints_that_never_miss_and_functions_that_never_ran(tmp_path):
    said = report(tmp_path, "5 900 2\n6 100 1000\n")
    assert "case.c:4: g_expensive(&u[key[i] & 7]): misses 2 times: a switch for nothing" in said
    assert "case.c:6: 1000, 100%: t[key[i]], without a hint" in said
    assert "with the hints that are there: 1.0 to 1.0 times as fast as the plain loop; with these too: " in said
    assert "case.c:9: g: the profile has nothing of its foreach" in said
    assert "a switch for nothing" not in report(tmp_path, "5 900 500\n6 100 500\n")


@pytest.mark.parametrize("counts", ["5 1000 0\n6 1000\n", "5 1000000 0\n6 1000000 3\n"])
def test_nothing_misses(tmp_path, counts):
    assert "misses (DLmr) in" in report(tmp_path, counts)
    assert ": the hints that are there gain nothing\n" in report(tmp_path, counts)
    assert "without a hint" not in report(tmp_path, counts)


def test_first_level_and_branches(tmp_path):
    """Without counts of the last level, the first level is used. Mispredicted branches determine how far the core looks
    ahead by itself."""
    assert "1000 misses (D1mr)" in report(tmp_path, "6 9 1000\n", "Ir D1mr")
    assert "as fast" not in report(tmp_path, "6 1000\n", "DLmr")
    assert "0.5 to 3.7 times" in report(tmp_path, "6 10000 1000\n")
    assert "gain nothing, for the core waits for 10 of them at a time by itself" in report(tmp_path, "6 10000 1000 0\n", "Ir DLmr Bcm")
    assert "about 3.7 times" in report(tmp_path, "6 10000 1000 3000\n", "Ir DLmr Bcm")


def test_counts_of_other_callers_are_left_out(tmp_path):
    source, profile = tmp_path / "case.c", tmp_path / "profile"
    source.write_text(
        '#include "gopt.h"\n'
        "static inline uint32_t of(const uint32_t* t, uint32_t k) {\n  return t[k];\n}\n"
        "void f(const uint32_t* t, const uint32_t* key, uint32_t* out, uint32_t n) {\n"
        "  foreach (i, n) out[i] = of(t, key[i]);\n}\n"
    )
    profile.write_text("events: Ir DLmr\nfl=case.c\nfn=f\n3 9 70\n6 9 0\nfn=main\n3 9 1000\nfn=of.isra.0\n3 9 30\nsummary: 0\n")
    assert "case.c:3: 100, 100%: t[k]" in suggestion(profile, source)


def test_random_programs(tmp_path):
    """The analysis must finish for any program."""
    for cxx in (False, True):
        source, profile = tmp_path / ("p.cc" if cxx else "p.c"), tmp_path / "profile"
        text = gopt_programs.programs(SEED, 12, cxx)
        source.write_text(text)
        for first in range(1, len(text.splitlines()), 16):
            profile.write_text("".join(f"{source}:{line} 9\n" for line in range(first, first + 16)))
            done = suggest(profile, source, "-std=c++20" if cxx else "-std=c11")
            assert done.returncode == 0, f"seed {SEED}: {done.stderr}"


def test_with_cachegrind(tmp_path):
    """The test goes from the run to the hint, and to the run with the hint."""
    if not shutil.which("valgrind"):
        pytest.skip("valgrind is not installed (80 MB; apt-get install valgrind)")
    without_hints(tmp_path)
    for name in ("main.c", "dictionary.c", "dictionary.h"):
        shutil.copy(EXAMPLE / name, tmp_path)
    said = {}
    for name in ("bare.c", "dictionary.c"):
        build = ["gcc", "-g", "-O2", f"-I{INCLUDE}", "-Ddictionary_find_gopt=dictionary_find", "-o", "run", "main.c", name]
        caches = ["--cache-sim=yes", "--branch-sim=yes", "--LL=1048576,16,64", "--cachegrind-out-file=profile"]
        for command in (build, ["valgrind", "--tool=cachegrind", *caches, "./run", "200000"]):
            done = run(*command, cwd=tmp_path)
            assert done.returncode == 0, done.stderr
        said[name] = suggestion(tmp_path / "profile", tmp_path / name)
    assert "*bucket, without a hint" in said["bare.c"] and "before line 12:\n      g_expensive(bucket);" in said["bare.c"]
    assert "at->key, without a hint" in said["bare.c"] and "before line 13:\n      g_expensive(at);" in said["bare.c"]
    assert "without a hint" not in said["dictionary.c"] and "for nothing" not in said["dictionary.c"]
    assert "*bucket, with the hint of line 11" in said["dictionary.c"]
    assert "at->key, with the hint of line 14" in said["dictionary.c"]
