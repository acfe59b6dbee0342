# SPDX-License-Identifier: Apache-2.0
"""Compares the module boundaries of docs/design.md with the code: permitted includes, and modules that no other code
may name."""

import re
import subprocess
from pathlib import Path

import pytest

pytestmark = pytest.mark.release_only
ROOT = Path(__file__).resolve().parent.parent
INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', re.MULTILINE)
SOURCE_SUFFIXES = {".h", ".cc", ".c", ".cu", ".in", ".txt", ".cmake"}


def sources(*folders):
    """Yields the product's files below the folders, without tests, their support and fuzzers."""
    for folder in folders:
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in SOURCE_SUFFIXES and not path.stem.endswith(("_test", "_fuzz", "_testing")):
                yield path


def leaves(kind):
    """Returns the names of the modules, without the code that functions share."""
    names = {path.parent.name for path in (ROOT / "src" / kind).glob("*/CMakeLists.txt")}
    return sorted(names - {"forwarding", "learning", "rule_list"})


# The modules have their headers below src/engines. <cuda/atomic> is a header of CUDA's own library.
OF_ENGINES = r"^(engines|cuda(?!/atomic)|cuda_resident|opportunistic|scalar)/"


@pytest.mark.parametrize(
    ("folder", "forbidden"),
    [
        ("include", r"^(base|crypto|packet|io|runtime|functions|control|cli|tables)/|^rte_"),
        ("src/base", r"^(crypto|packet|io|runtime|functions|control|cli|tables)/|^rte_"),
        ("src/packet", r"^(io|runtime|functions|control|cli|tables)/|^rte_(?!mbuf)"),
        ("src/crypto", r"^(packet|io|runtime|functions|control|cli|tables)/|^rte_|^yaml-cpp|^nlohmann"),
        ("src/tables", r"^(io|runtime|functions|control|cli)/|^packet/.*mbuf|^rte_|^yaml-cpp|^nlohmann"),
        ("src/engines", r"^(packet|io|runtime|functions|control|cli|tables)/|^rte_|^yaml-cpp"),
        ("src/functions", r"^(io|runtime|cli)/"),
        ("src/functions/forwarding", r"^tables/|^functions/(?!forwarding/)"),
        ("src/functions/learning", r"^tables/|^control/|^functions/(?!learning/)"),
        ("src/functions/rule_list", r"^control/|^rte_|^functions/(?!rule_list/)"),
        ("src/control", r"^(io|runtime|functions|tables|cli)/|^rte_"),
        ("src/io", r"^(runtime|functions|tables|cli)/"),
        ("src/runtime", r"^(functions|tables|cli)/"),
        ("src/cli", r"^bench"),
        ("bench", r"^cli/"),
    ],
)
def test_a_folder_includes_only_what_the_design_allows(folder, forbidden):
    files = list(sources(folder))
    assert files
    offences = [
        f"{path.relative_to(ROOT)} includes {name}"
        for path in files
        if path.parent != ROOT / "bench" / "program"  # a command line, as src/cli is one
        for name in INCLUDE.findall(path.read_text())
        if re.search(forbidden, name)
    ]
    assert offences == []


USERS_OF_ENGINES = ["include", "bench", "src/base", "src/crypto", "src/functions", "src/control", "src/io", "src/runtime"]
USERS_OF_ENGINES += ["src/cli"]


@pytest.mark.parametrize("folder", USERS_OF_ENGINES)
def test_engines_are_chosen_by_name(folder):
    """Users of engines must include no header of them. Only tests of shaders share some headers, and bench/gpu those
    for launches."""
    including = {
        str(path.relative_to(ROOT))
        for path in sources(folder)
        if any(re.search(OF_ENGINES, name) for name in INCLUDE.findall(path.read_text()))
    }
    assert {name for name in including if not name.startswith("bench/gpu/")} == set()


@pytest.mark.parametrize(
    ("library", "headers"),
    [("yaml-cpp", ["config_node.h"]), ("nlohmann", ["function.h", "function_worker.h"])],
)
def test_few_headers_of_the_api_need_a_library(library, headers):
    needing = [p.name for p in sources("include") if any(n.startswith(library) for n in INCLUDE.findall(p.read_text()))]
    assert sorted(needing) == headers


def test_only_tests_include_the_helpers_of_tests():
    including = {
        str(path)
        for path in sources("include", "src", "bench")
        if any(name.startswith("testing/") for name in INCLUDE.findall(path.read_text()))
    }
    assert including
    assert {name for name in including if not re.search(r"(src/testing/|oracle|testing|test_support)[\w.]*$", name)} == set()


def tracked():
    """Returns the files of the repository."""
    if not (ROOT / ".git").exists():
        pytest.skip("not a git checkout")
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, timeout=60, check=True)
    return [ROOT / name for name in listed.stdout.splitlines() if (ROOT / name).is_file()]


def test_what_lies_at_the_top():
    files = {".clang-format", ".clang-tidy", ".dockerignore", ".gitignore", "CHANGELOG.md", "pytest.ini"}
    files |= {"CMakeLists.txt", "CMakePresets.json", "LICENSE", "Makefile", "README.md"}
    folders = {".ci", "bench", "cmake", "docs", "examples", "include", "integrations", "packaging", "python", "src", "tests", "tools"}
    top = {path.relative_to(ROOT).parts[0] for path in tracked()}
    assert top == files | folders


def test_the_design_says_what_every_folder_is_for():
    folders = {parent for path in tracked() for parent in path.relative_to(ROOT).parents} - {Path("."), Path("src")}
    told = (ROOT / "docs/design.md").read_text()
    of_inputs = {folder for folder in folders if any(part.endswith("corpus") for part in folder.parts)}
    untold = [str(folder) for folder in sorted(folders - of_inputs) if f"`{folder}`" not in told]
    assert untold == []


def test_every_source_names_its_licence():
    def is_source(path):
        suffixes = {*SOURCE_SUFFIXES, ".py"} - {".txt"}
        return path.suffix in suffixes or path.name in ("CMakeLists.txt", "Makefile") or path.parent == ROOT / "tools"

    sources_of_ours = [path for path in tracked() if is_source(path)]
    assert len(sources_of_ours) > 200
    line = "SPDX-License-Identifier: Apache-2.0"
    assert [str(p) for p in sources_of_ours if line not in "".join(p.read_text().splitlines()[:2])] == []


@pytest.mark.parametrize("function", leaves("functions"))
def test_no_code_but_its_own_includes_or_lists_a_function(function):
    """A new function is one folder: the build, the runtime, the engines and the ports must not name it."""
    named = re.compile(rf'functions/{function}\b|"{function}"|\b{function}_tests?\b')
    others = [path for path in sources("include", "cmake", "src/base", "src/engines", "src/io", "src/runtime")]
    others += [ROOT / "CMakeLists.txt", ROOT / "src/functions/CMakeLists.txt", ROOT / "Makefile"]
    assert [str(path.relative_to(ROOT)) for path in others if named.search(path.read_text())] == []


def test_echo_stands_nowhere_but_in_its_two_folders():
    word = re.compile(r"\becho\b", re.IGNORECASE)
    files = sources("include", "cmake", "src")
    found = [str(path.relative_to(ROOT)) for path in files if word.search(path.read_text())]
    assert found
    assert [path for path in found if not path.startswith(("src/functions/echo/", "src/tables/echo/"))] == []
