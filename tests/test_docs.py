# SPDX-License-Identifier: Apache-2.0
"""The pages about the configuration, held to the program: what it takes they name, and what they show it takes."""

import re

import pytest

import conftest

DOCS = conftest.ROOT / "docs"
CONFIG = (DOCS / "configuration.md").read_text()
PORT = "{name: a, device: none}"
#: Configurations with a key or option that nothing knows, by what it belongs to.
UNKNOWN = {
    "the file": f"ports: [{PORT}]\npipeline: [echo]\nqqqqqqqqqq: 1\n",
    "ports": "ports: [{name: a, device: none, qqqqqqqqqq: 1}]\npipeline: [echo]\n",
    "workers": f"ports: [{PORT}]\npipeline: [echo]\nworkers: {{qqqqqqqqqq: 1}}\n",
    "control": f"ports: [{PORT}]\npipeline: [echo]\ncontrol: {{qqqqqqqqqq: 1}}\n",
    "pcap:": 'ports: [{name: a, device: "pcap:x,qqqqqqqqqq=1"}]\npipeline: [echo]\n',
    "synth:": 'ports: [{name: a, device: "synth:qqqqqqqqqq=1"}]\npipeline: [echo]\n',
}


def known_words(folder, config):
    """What an error about an unknown word says that there is."""
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
    for function in functions:
        page = (DOCS / "functions" / f"{function}.md").read_text()
        assert f"functions/{function}.md" in CONFIG
        for key in known_words(tmp_path, f"ports: [{PORT}]\npipeline: [{function}: {{qqqqqqqqqq: 1}}]\n"):
            assert is_named(key, page), (function, key)


def test_the_default_socket_is_the_one_that_is_named(tmp_path):
    done = conftest.penumbra("show", "ports", env={"XDG_RUNTIME_DIR": str(tmp_path)})
    named = re.findall(r"^- `([^`]*penumbra\.sock)`", CONFIG, re.MULTILINE)
    assert len(named) == 3
    told = [path.replace("$XDG_RUNTIME_DIR", str(tmp_path)) for path in named]
    assert any(path in done.stderr for path in told), done.stderr
    page = conftest.penumbra("man").stdout
    for path in named:
        assert path.replace("-", "\\-") in page


LINKS = [page for page in (*DOCS.rglob("*.md"), conftest.ROOT / "README.md")]


@pytest.mark.parametrize("page", LINKS, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    text = page.read_text()
    for target in re.findall(r"\]\(([^)]+)\)", text):
        if "://" in target:
            continue
        file, _, heading = target.partition("#")
        there = (page.parent / file) if file else page
        assert there.exists(), target
        if heading:
            headings = re.findall(r"^#+ (.*)$", there.read_text(), re.MULTILINE)
            slugs = [re.sub(r"[^\w -]", "", h.lower()).replace(" ", "-") for h in headings]
            assert heading in slugs, target
