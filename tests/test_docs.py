# SPDX-License-Identifier: Apache-2.0
"""Compares the pages about the configuration with the program. The pages must name all accepted keys, and the program
must accept all examples."""

import os
import re
import subprocess

import pytest

import conftest
from captures import write_pcap

pytestmark = pytest.mark.release_only
DOCS = conftest.ROOT / "docs"
CONFIG = (DOCS / "configuration.md").read_text()
PORT = "{name: a, device: none}"
#: Each configuration has an unknown key or option in one of its parts.
UNKNOWN = {
    "the file": f"ports: [{PORT}]\npipeline: [echo]\nqqqqqqqqqq: 1\n",
    "ports": "ports: [{name: a, device: none, qqqqqqqqqq: 1}]\npipeline: [echo]\n",
    "workers": f"ports: [{PORT}]\npipeline: [echo]\nworkers: {{qqqqqqqqqq: 1}}\n",
    "metrics": f"ports: [{PORT}]\npipeline: [echo]\nmetrics: {{qqqqqqqqqq: 1}}\n",
    "fpm": f"ports: [{PORT}]\npipeline: [echo]\nfpm: {{qqqqqqqqqq: 1}}\n",
    "control": f"ports: [{PORT}]\npipeline: [echo]\ncontrol: {{qqqqqqqqqq: 1}}\n",
    "read_only": f"ports: [{PORT}]\npipeline: [echo]\ncontrol: {{read_only: {{qqqqqqqqqq: 1}}}}\n",
    "pcap:": 'ports: [{name: a, device: "pcap:x,qqqqqqqqqq=1"}]\npipeline: [echo]\n',
    "synth:": 'ports: [{name: a, device: "synth:qqqqqqqqqq=1"}]\npipeline: [echo]\n',
}


def known_words(folder, config):
    """Returns the valid words that an error about an unknown word lists."""
    (folder / "router.yaml").write_text(config)
    done = conftest.penumbra("check", folder / "router.yaml")
    assert done.returncode == 3
    words = re.search(r"(?:valid (?:keys|options)|there are): (.*)", done.stderr)
    assert words, done.stderr
    return [word.strip() for word in words[1].split(",")]


def is_named(word, page):
    return re.search(rf"`{re.escape(word)}`|`{{{re.escape(word)}: ", page) is not None


@pytest.mark.parametrize("place", UNKNOWN)
def test_every_key_stands_in_the_page(tmp_path, place):
    for word in known_words(tmp_path, UNKNOWN[place]):
        assert is_named(word, CONFIG), word


def test_every_function_has_a_page_with_its_keys(tmp_path):
    functions = known_words(tmp_path, f"ports: [{PORT}]\npipeline: [qqqqqqqqqq]\n")
    assert len(functions) > 1
    readme = (conftest.ROOT / "README.md").read_text()
    for function in functions:
        assert f"| [`{function}`](docs/functions/{function}.md)" in readme.replace(", [`", " | [`"), function
        page = (DOCS / "functions" / f"{function}.md").read_text()
        assert f"functions/{function}.md" in CONFIG
        for key in known_words(tmp_path, f"ports: [{PORT}]\npipeline: [{function}: {{qqqqqqqqqq: 1}}]\n"):
            assert is_named(key, page), (function, key)


def test_the_default_socket_is_the_one_that_is_named(tmp_path):
    done = conftest.penumbra("show", "ports", env={"XDG_RUNTIME_DIR": str(tmp_path)})
    service = conftest.penumbra("show", "ports", env={"RUNTIME_DIRECTORY": str(tmp_path)})
    assert f"{tmp_path}/penumbra.sock" in service.stderr
    named = re.findall(r"^- `([^`]*penumbra\.sock)`", CONFIG, re.MULTILINE)
    assert len(named) == 4
    told = [path.replace("$XDG_RUNTIME_DIR", str(tmp_path)) for path in named]
    assert any(path in done.stderr for path in told), done.stderr
    page = conftest.penumbra("man").stdout
    for path in named:
        assert path.replace("-", "\\-") in page


def test_the_first_configuration_as_it_stands_in_the_readme(tmp_path):
    """The commands for newcomers must run and give correct output."""
    section = (conftest.ROOT / "README.md").read_text().split("## A first configuration")[1]
    commands = next(block for block in re.findall(r"```sh\n(.*?)```", section, re.DOTALL) if "gen routes" in block)
    program = tmp_path / "bin" / "penumbra"
    program.parent.mkdir()
    program.symlink_to(conftest.PROGRAM)
    done = subprocess.run(
        ["bash", "-euxo", "pipefail", "-c", commands],
        cwd=tmp_path,
        env={**os.environ, "PATH": f"{program.parent}:{os.environ['PATH']}", "XDG_RUNTIME_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=conftest.PATIENCE,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "198.51.100.7 " in done.stdout
    for capture in ("wan-out.pcap", "lan-out.pcap"):
        assert (tmp_path / capture).stat().st_size > 1000000


def test_sample_files_of_the_readme(tmp_path):
    """The sample files must have routes, neighbours, and a neighbour for each next hop."""
    section = (conftest.ROOT / "README.md").read_text().split("## A first configuration")[1]
    routes, neighbours = re.findall(r"```\n(\d.*?)```", section, re.DOTALL)[:2]
    (tmp_path / "routes.txt").write_text(routes)
    (tmp_path / "neighbours.txt").write_text(neighbours)
    (tmp_path / "router.yaml").write_text(
        "ports: [{name: wan, device: none}, {name: lan, device: none}]\n"
        "pipeline: [ipv4: {routes: routes.txt, neighbours: neighbours.txt}]\n"
    )
    done = conftest.penumbra("check", tmp_path / "router.yaml")
    assert done.returncode == 0, done.stderr
    assert set(re.findall(r"via (\S+ dev \S+)", routes)) == set(re.findall(r"^(\S+ dev \S+)", neighbours, re.MULTILINE))


PAGES = sorted((DOCS / "functions").glob("*.md"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_configurations_of_functions_are_taken(tmp_path, page):
    """Examples are checked unchanged. An example without ports uses those of the example before it. Files are empty."""
    ports = "ports: [{name: a, device: none, twin: true}]\n"
    snippets = re.findall(r"```yaml\n(.*?)```", page.read_text(), re.DOTALL)
    assert snippets
    for snippet in snippets:
        if not snippet.startswith("ports:"):
            snippet = ports + snippet
        ports = snippet.split("pipeline:")[0]
        for file in re.findall(r"[\w-]+\.txt", snippet):
            (tmp_path / file).touch()
        (tmp_path / "router.yaml").write_text(snippet)
        done = conftest.penumbra("check", tmp_path / "router.yaml")
        assert done.returncode == 0, snippet + done.stderr


EXAMPLES = sorted((conftest.ROOT / "examples").glob("*.yaml"))


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)
def test_example_configurations_are_taken(tmp_path, example):
    """The files and captures that an example names are empty."""
    text = example.read_text()
    for file in re.findall(r"[\w-]+\.txt", text):
        (tmp_path / file).touch()
    for capture in re.findall(r"pcap:([\w.-]+)", text):
        write_pcap(tmp_path / capture, [])
    (tmp_path / example.name).write_text(text)
    done = conftest.penumbra("check", tmp_path / example.name)
    assert done.returncode == 0, done.stderr


LINKS = [*DOCS.rglob("*.md"), *(conftest.ROOT / "bench").rglob("README.md"), conftest.ROOT / "README.md", conftest.ROOT / "CHANGELOG.md"]


@pytest.mark.parametrize("page", LINKS, ids=lambda page: str(page.relative_to(conftest.ROOT)))
def test_links_lead_somewhere(page):
    text = page.read_text()
    for target in re.findall(r"\]\(([^)]+)\)", text) + re.findall(r'<img src="([^"]+)"', text):
        if "://" in target:
            continue
        file, _, heading = target.partition("#")
        there = (page.parent / file) if file else page
        assert there.exists(), target
        if heading:
            headings = re.findall(r"^#+ (.*)$", there.read_text(), re.MULTILINE)
            slugs = [re.sub(r"[^\w -]", "", h.lower()).replace(" ", "-") for h in headings]
            assert heading in slugs, target


def test_the_page_has_every_exit_code():
    told = re.findall(r"^  (\d)  ", conftest.penumbra("--help").stdout.split("Exit codes:")[1], re.MULTILINE)
    section = (DOCS / "commands.md").read_text().split("## Exit codes\n")[1]
    assert len(told) > 4 and re.findall(r"^\| (\d) \|", section, re.MULTILINE) == told


def test_every_page_is_in_the_readme_or_in_another_page():
    """Otherwise no reader finds it."""
    links = {page: re.findall(r"\]\(([^)#]+)", page.read_text()) for page in LINKS if page.name != "CHANGELOG.md"}
    linked = {(page.parent / target).resolve() for page, targets in links.items() for target in targets}
    assert [page for page in DOCS.rglob("*.md") if page.resolve() not in linked] == []
