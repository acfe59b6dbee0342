# SPDX-License-Identifier: Apache-2.0
"""Tests the gopt compiler. The output must equal the expected files, compile without a warning and behave like the
baseline. The compiler must report unsupported constructs."""

import concurrent.futures
import os
import pathlib
import random
import shutil
import signal
import subprocess
import textwrap

import pytest

import conftest
import gopt_cases
import gopt_fuzz
import gopt_programs
import gopt_refusals

GOPT = conftest.PROGRAM.parent / "gopt"
INCLUDE = conftest.ROOT / "include"
CASES = conftest.ROOT / "tests" / "gopt"
WIDTHS = [1, 2, 7, 16, 64, 256]
#: The number and first seed of random programs. The environment can repeat or lengthen a run.
PROGRAMS = int(os.environ.get("GOPT_PROGRAMS", "120"))
SEED = int(os.environ.get("GOPT_SEED", str(random.SystemRandom().randrange(10**9))))

pytestmark = pytest.mark.skipif(not GOPT.exists(), reason="the gopt compiler is not built here (Clang 19 libraries)")


def run(*command, **options):
    return subprocess.run([*map(str, command)], capture_output=True, text=True, timeout=conftest.PATIENCE * 5, **options)


def gopt(source, output, *options, flags=(), **more):
    return run(GOPT, source, "-o", output, *options, "--", f"-I{INCLUDE}", *flags, **more)


def language(path):
    return ("c", "-std=c11") if path.suffix == ".c" else ("c++", "-std=c++20")


def compilers(path):
    """Returns the compilers for the language of the path. The output for C is valid C++ too."""
    names = ["g++", "clang++-19"] + (["gcc", "clang-19"] if path.suffix == ".c" else [])
    return [name for name in names if shutil.which(name)]


# The following tests check the output.

GOLDEN = sorted(CASES.glob("*.c")) + sorted(CASES.glob("*.cc"))


@pytest.mark.parametrize("source", GOLDEN, ids=lambda path: path.name)
def test_output_is_as_it_was(tmp_path, source):
    """GOPT_WRITE=1 writes the expected files again. Read them before you commit them."""
    output = tmp_path / f"out{source.suffix}"
    done = gopt(source.name, output, "--explain", flags=language(source)[1:], cwd=CASES)
    assert done.returncode == 0, done.stderr
    text = output.read_text().replace(str(output), "OUT").replace(str(CASES) + "/", "")
    for expected, found in ((f"{source.name}.out", text), (f"{source.name}.explain", done.stdout)):
        if os.environ.get("GOPT_WRITE"):
            (CASES / expected).write_text(found)
        assert found == (CASES / expected).read_text(), expected


@pytest.mark.parametrize("width", ["16", "any"])
@pytest.mark.parametrize("source", GOLDEN, ids=lambda path: path.name)
def test_output_compiles_without_a_warning(tmp_path, source, width):
    output = tmp_path / f"out{source.suffix}"
    assert gopt(source, output, "--width", width, flags=language(source)[1:]).returncode == 0
    for compiler in compilers(source):
        kind = "c++" if "++" in compiler else "c"
        standard = "-std=c++20" if kind == "c++" else "-std=c11"
        command = [compiler, "-x", kind, standard, "-O2", "-Wall", "-Wextra", "-Werror", f"-I{INCLUDE}", "-c", output]
        done = run(*command, "-o", tmp_path / "out.o")
        assert done.returncode == 0, done.stderr


# The following tests check refused sources.

REFUSALS = [("c", name, text) for name, text in gopt_refusals.C.items()]
REFUSALS += [("cc", name, text) for name, text in gopt_refusals.CXX.items()]


@pytest.mark.parametrize(("suffix", "name", "text"), REFUSALS, ids=[f"{suffix}-{name}" for suffix, name, _ in REFUSALS])
def test_refuses(tmp_path, suffix, name, text):
    source = tmp_path / f"refused.{suffix}"
    source.write_text(f'#include "gopt.h"\n{text}\n')
    output = tmp_path / "out"
    done = gopt(source, output, flags=language(source)[1:])
    line, said = next((number, part.split("//! ")[1]) for number, part in enumerate(source.read_text().splitlines(), 1) if "//! " in part)
    assert done.returncode == 1, done.stdout + done.stderr
    first = next(part for part in done.stderr.splitlines() if " error: " in part)
    if name != "nothing":
        assert f"{source.name}:{line}:" in first, done.stderr
    assert said in first, done.stderr
    assert not output.exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "FILE is missing"),
        (["a.c"], "-o OUT is missing"),
        (["a.c", "b.c", "-o", "c"], "one FILE at a time"),
        (["a.c", "-o"], "-o needs a value"),
        (["a.c", "-o", "b", "--width", "0"], "a number from 1 to 256"),
        (["a.c", "-o", "b", "--width", "257"], "a number from 1 to 256"),
        (["a.c", "-o", "b", "--suffix", "-x"], "letters, digits and _"),
        (["a.c", "-o", "b", "--wide"], "unknown option '--wide'"),
        (["a.c", "-o", "b", "--suggest", "profile"], "--suggest writes no OUT"),
        (["a.c", "--explain", "--suggest", "profile"], "--suggest writes no OUT"),
    ],
)
def test_bad_words(words, said):
    done = run(GOPT, *words)
    assert done.returncode == 2
    assert said in done.stderr


@pytest.mark.parametrize("name", ["a.c", "./a.c", "link.c", "hard.c", "../{}/a.c", "a.h"])
def test_output_that_is_read(tmp_path, name):
    """gopt must not overwrite a file that it reads, under any name."""
    source, header = tmp_path / "a.c", tmp_path / "a.h"
    header.write_text("static const int more = 1;\n")
    source.write_text('#include "gopt.h"\n#include "a.h"\nvoid f(int* out, uint32_t n) { foreach (i, n) out[i] = more; }\n')
    (tmp_path / "link.c").symlink_to(source)
    os.link(source, tmp_path / "hard.c")
    before = source.read_text(), header.read_text()
    output = name.format(tmp_path.name)
    for option in ("-o", "--depfile"):
        words = ["-o", "out.c"] if option == "--depfile" else []
        done = run(GOPT, "a.c", *words, option, output, "--", f"-I{INCLUDE}", cwd=tmp_path)
        assert done.returncode == 2, done.stderr
        assert f"{option} {output} is " in done.stderr and "name another one" in done.stderr
        assert (source.read_text(), header.read_text()) == before
    assert (tmp_path / "link.c").is_symlink()


def test_output_to_a_device(tmp_path):
    """gopt must not replace a device by a file."""
    done = gopt(CASES / "lookup.c", "/dev/stdout", cwd=tmp_path)
    assert done.returncode == 0 and "lookup_gopt" in done.stdout
    assert os.readlink("/dev/stdout").startswith("/proc/")


def test_too_much_for_the_program(tmp_path):
    """gopt must refuse a source that exhausts the stack, with its line."""
    source = tmp_path / "deep.c"
    sum_ = "+".join(["in[i]"] * 200_000)
    source.write_text(f'#include "gopt.h"\nvoid f(const int* in, int* out, uint32_t n) {{\n  foreach (i, n) {{\n    g_expensive(in);\n    out[i] = {sum_};\n  }}\n}}\n')
    done = gopt(source, tmp_path / "out.c")
    assert done.returncode == 1, done.stderr[-2000:]
    assert "deep.c:2:" in done.stderr and "error: gopt: the source is too much for this program (its stack is exhausted)" in done.stderr
    assert not (tmp_path / "out.c").exists()


@pytest.mark.parametrize("name", ["SIGSEGV", "SIGABRT", "SIGBUS", "SIGFPE", "SIGILL", "SIGTRAP"])
def test_a_crash_is_an_internal_error(tmp_path, name):
    """The signal arrives while gopt waits for the text of its source, a pipe."""
    source = tmp_path / "crash.c"
    os.mkfifo(source)
    words = [GOPT, source, "-o", tmp_path / "out.c", "--depfile", tmp_path / "out.d", "--", f"-I{INCLUDE}"]
    with subprocess.Popen(words, stderr=subprocess.PIPE, text=True) as process, source.open("w"):
        process.send_signal(getattr(signal, name))
        said = process.communicate(timeout=conftest.PATIENCE)[1]
    assert process.returncode == 3, said
    assert "crash.c:1:1: error: gopt: internal error (" in said and "please report it with this source" in said
    assert os.listdir(tmp_path) == ["crash.c"]


def test_output_that_cannot_be_written(tmp_path):
    done = gopt(CASES / "lookup.c", tmp_path / "missing" / "out.c")
    assert done.returncode == 2
    assert "cannot write" in done.stderr


def test_errors_of_the_language_are_clangs(tmp_path):
    source = tmp_path / "bad.c"
    source.write_text('#include "gopt.h"\nvoid f(int n) { foreach (i, n) { whatever(; } }\n')
    done = gopt(source, tmp_path / "out.c")
    assert done.returncode == 1
    assert "bad.c:2:" in done.stderr and "expected expression" in done.stderr
    assert not (tmp_path / "out.c").exists()


# The following tests run the output.


def compare(folder, seed, count, standard, compiler):
    """Builds `count` random programs with their compiled forms, and runs both over items and widths."""
    cxx = "++" in standard
    suffix = "cc" if cxx else "c"
    source, output, driver = (folder / f"{part}{seed}.{suffix}" for part in ("program", "output", "driver"))
    source.write_text(gopt_programs.programs(seed, count, cxx, standard))
    driver.write_text(gopt_programs.driver(count, WIDTHS))
    standard = f"-std={standard}"
    done = gopt(source, output, "--width", "any", flags=[standard])
    assert done.returncode == 0, f"seed {seed}, {standard}: {done.stderr}"
    program = folder / f"run{seed}"
    done = run(compiler, standard, "-O1", "-w", f"-I{INCLUDE}", "-o", program, source, output, driver)
    assert done.returncode == 0, f"seed {seed}, {compiler} {standard}: {done.stderr}"
    done = run(program)
    assert done.returncode == 0, f"seed {seed}, {compiler} {standard}: {done.stdout}"
    for file in (source, output, driver, program):
        file.unlink()
    return count


@pytest.mark.parametrize(
    ("suffix", "standard", "cases"),
    [
        ("c", "-std=c11", gopt_cases.C),
        ("c", "-std=gnu2x", gopt_cases.C),
        ("cc", "-std=c++17", gopt_cases.CXX),
        ("cc", "-std=c++20", gopt_cases.CXX | gopt_cases.CXX20),
    ],
)
def test_what_once_went_wrong(tmp_path, suffix, standard, cases):
    source, output, driver = (tmp_path / f"{part}.{suffix}" for part in ("cases", "output", "driver"))
    source.write_text(gopt_cases.source(cases))
    driver.write_text(gopt_cases.driver(len(cases), [1, 2, 7, 64]))
    done = gopt(source, output, "--width", "any", flags=[standard])
    assert done.returncode == 0, done.stderr
    for compiler in ("gcc", "clang-19") if suffix == "c" else ("g++", "clang++-19"):
        if shutil.which(compiler) is None:
            continue
        warnings = ("-Wall", "-Wextra", "-Werror")
        done = run(compiler, standard, "-O1", *warnings, f"-I{INCLUDE}", "-c", output, "-o", tmp_path / "output.o")
        assert done.returncode == 0, done.stderr
        done = run(compiler, standard, "-O1", "-w", f"-I{INCLUDE}", "-o", tmp_path / "run", source, tmp_path / "output.o", driver)
        assert done.returncode == 0, done.stderr
        done = run(tmp_path / "run")
        assert done.returncode == 0, f"{compiler}: {done.stdout} of {list(enumerate(cases))}"


def test_random_programs(tmp_path):
    """Batches alternate between C and C++. Each run of four batches uses the next two language modes."""
    batch = 30
    jobs = []
    with concurrent.futures.ThreadPoolExecutor(int(os.environ.get("GOPT_JOBS", str(os.cpu_count())))) as pool:
        for k in range(0, PROGRAMS, batch):
            turn = SEED + k // batch
            cxx = turn % 2 == 1
            standards = gopt_programs.CXX_STANDARDS if cxx else gopt_programs.C_STANDARDS
            standard = standards[turn // 2 % len(standards)]
            compiler = (["gcc", "clang-19"], ["g++", "clang++-19"])[cxx][turn // 2 // len(standards) % 2 ^ turn // 4 % 2]
            jobs.append(pool.submit(compare, tmp_path, SEED + k, min(batch, PROGRAMS - k), standard, compiler))
    assert sum(job.result() for job in jobs) == PROGRAMS


def test_fuzzed_sources(tmp_path):
    """gopt_fuzz.py runs for a longer time."""
    fuzzer = gopt_fuzz.Fuzzer(GOPT, SEED, tmp_path)
    for _ in range(40):
        fuzzer.once()
    assert fuzzer.faults == []
    assert fuzzer.taken + fuzzer.refused + fuzzer.endless == 40


@pytest.mark.parametrize(
    ("code", "said"),
    [(3, "x.c:1:1: error: gopt: internal error"), (1, "x.c:1:1: error: gopt: the source is too much for this program"), (-11, "")],
)
def test_the_fuzzer_counts_a_crash(tmp_path, code, said):
    crashing = tmp_path / "gopt"
    crashing.write_text(f"#!/bin/sh\necho '{said}' >&2\n{f'kill {code} $$' if code < 0 else f'exit {code}'}\n")
    crashing.chmod(0o755)
    fuzzer = gopt_fuzz.Fuzzer(crashing, SEED, tmp_path)
    fuzzer.once()
    assert len(fuzzer.faults) == 1


@pytest.mark.parametrize("width", WIDTHS)
def test_fixed_widths(tmp_path, width):
    """The random programs have a width that is fixed by the compiler."""
    source, output, driver = tmp_path / "p.c", tmp_path / "q.c", tmp_path / "d.c"
    source.write_text(gopt_programs.programs(7, 8, False))
    driver.write_text(gopt_programs.driver(8, [width]))
    assert gopt(source, output, "--width", width, "--suffix", "_fixed", flags=["-std=c11"]).returncode == 0
    wrappers = "".join(
        f"void f{k}_fixed({gopt_programs.SIGNATURE});\n"
        f"void f{k}_gopt({gopt_programs.SIGNATURE}, uint32_t gopt_width);\n"
        f"void f{k}_gopt({gopt_programs.SIGNATURE}, uint32_t gopt_width) {{\n"
        f"  (void)gopt_width; f{k}_fixed(t, nodes, in, out, out2, total, n);\n}}\n"
        for k in range(8)
    )
    (tmp_path / "w.c").write_text(f"#include <stdint.h>\nstruct node;\n{wrappers}")
    files = [source, output, driver, tmp_path / "w.c"]
    done = run("gcc", "-std=c11", "-O1", "-w", f"-I{INCLUDE}", "-o", tmp_path / "x", *files)
    assert done.returncode == 0, done.stderr
    assert run(tmp_path / "x").returncode == 0


SOURCES = conftest.ROOT / "src"
# These headers include the others.
SHADERS = sorted(path for path in (SOURCES / "tables").glob("*/*.shader.h") if "foreach (" in path.read_text())


@pytest.mark.parametrize("shader", SHADERS, ids=lambda path: path.name)
@pytest.mark.parametrize(("suffix", "compiler"), [("c", "gcc"), ("cc", "g++")])
def test_every_shader_goes_through(tmp_path, shader, suffix, compiler):
    output = tmp_path / f"out.{suffix}"
    kind, standard = language(output)
    assert gopt(shader, output, "--width", "any", flags=["-x", kind, standard, f"-I{SOURCES}"]).returncode == 0
    done = run(compiler, standard, "-Wall", "-Wextra", "-Werror", f"-I{INCLUDE}", f"-I{SOURCES}", "-O2", "-c", output, "-o", tmp_path / "out.o")
    assert done.returncode == 0, done.stderr


def test_example_of_a_project(tmp_path):
    """The project uses find_package(gopt) with the installed files. A changed header must cause new output."""
    build = conftest.PROGRAM.parent.parent
    done = run("cmake", "--install", build, "--component", "gopt", "--prefix", tmp_path / "installed")
    assert done.returncode == 0, done.stdout + done.stderr
    project = tmp_path / "project"
    shutil.copytree(conftest.ROOT / "examples" / "gopt", project)
    steps = [
        ["cmake", "-G", "Ninja", "-S", project, "-B", project / "build", f"-DCMAKE_PREFIX_PATH={tmp_path / 'installed'}"],
        ["cmake", "--build", project / "build"],
        [project / "build" / "dictionary", "100000"],
    ]
    for step in steps:
        done = run(*step)
        assert done.returncode == 0, done.stdout + done.stderr
    assert "100000 keys" in done.stdout
    output = next(pathlib.Path(project / "build").rglob("dictionary_gopt.c"))
    before = output.stat().st_mtime_ns
    (project / "dictionary.h").touch()
    assert run("cmake", "--build", project / "build").returncode == 0
    assert output.stat().st_mtime_ns > before


def test_the_page_shows_what_is_written():
    """docs/gopt.md must show the example, its output and its explanation."""
    page = (conftest.ROOT / "docs" / "gopt.md").read_text()
    source, output, explained = ((CASES / f"lookup.c{part}").read_text() for part in ("", ".out", ".explain"))
    assert f"```c\n{source[source.index('void lookup'):]}```" in page
    written = "".join(line for line in output.splitlines(keepends=True) if not line.startswith("#line"))
    written = written[written.index("void lookup_gopt") :].split("\n#if defined")[0].rstrip("\n")
    assert f"```c\n{written}\n```" in page
    assert f"```\n{explained}```" in page
    kernel = (conftest.ROOT / "bench" / "gopt" / "kernels" / "memcached.shader.h").read_text()
    body = kernel[kernel.index("  foreach (i, n)") : kernel.index("\n}\n\n#endif")]
    assert f"```c\n{textwrap.dedent(body)}\n```" in page
