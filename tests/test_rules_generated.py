# SPDX-License-Identifier: Apache-2.0
"""Tests the output of `gen rules` and `gen headers` with other readers: a short reader of ClassBench's files, and
ovs-ofctl."""

import collections
import ipaddress
import shutil
import subprocess

import pytest

import conftest
from conftest import penumbra


def generate(*arguments):
    done = penumbra("gen", *arguments)
    assert done.returncode == 0, done.stderr
    return done.stdout


def classbench_rules(text):
    """Returns (source, destination, ports, ports, (protocol, mask)) of each line."""
    rules = []
    for line in text.splitlines():
        assert line.startswith("@")
        source, destination, *columns = line[1:].split("\t")
        low_high = [tuple(map(int, column.split(" : "))) for column in columns[:2]]
        protocol = tuple(int(part, 16) for part in columns[2].split("/"))
        rules.append((ipaddress.ip_network(source), ipaddress.ip_network(destination), *low_high, protocol))
    return rules


def mask_of(rule):
    source, destination, source_ports, destination_ports, protocol = rule
    sizes = (source_ports[1] - source_ports[0], destination_ports[1] - destination_ports[0])
    return (source.prefixlen, destination.prefixlen, *sizes, protocol[1])


def trace_headers(text):
    for line in text.splitlines():
        source, destination, *numbers = line.split("\t")
        address = [ipaddress.ip_address(int(a) if a.isdigit() else a) for a in (source, destination)]
        yield (*address, *map(int, numbers))


def is_match(rule, header):
    return (
        header[0] in rule[0]
        and header[1] in rule[1]
        and rule[2][0] <= header[2] <= rule[2][1]
        and rule[3][0] <= header[3] <= rule[3][1]
        and header[4] & rule[4][1] == rule[4][0]
    )


@pytest.mark.parametrize("family", [[], ["--ipv6"]])
def test_the_knobs_of_5_tuples(tmp_path, family):
    shape = ["--count", "400", "--classes", "40", "--full-classes", "8", "--matching-classes", "4"]
    overlaps = tmp_path / "overlaps"
    text = generate("rules", "--fields", "5", *family, *shape, "--overlaps", overlaps)
    rules = classbench_rules(text)
    sizes = sorted(collections.Counter(map(mask_of, rules)).values(), reverse=True)
    assert sizes == [46] * 8 + [1] * 32
    (tmp_path / "rules").write_text(text)

    inside = generate("headers", "--rules", tmp_path / "rules", "--inside", overlaps, "--count", "200")
    for header in trace_headers(inside):
        matching = [mask_of(rule) for rule in rules if is_match(rule, header)]
        assert len(matching) == len(set(matching)) == 4

    mixed = list(
        trace_headers(generate("headers", "--rules", tmp_path / "rules", "--count", "1000", "--hits", "70"))
    )
    for header in mixed:
        drawn_from = header[6]
        if drawn_from:
            assert is_match(rules[drawn_from - 1], header)
        else:
            assert not any(is_match(rule, header) for rule in rules)
    assert 650 <= sum(header[6] != 0 for header in mixed) <= 750


def test_headers_come_again_with_locality(tmp_path):
    (tmp_path / "rules").write_text(generate("rules", "--fields", "5"))

    def different(locality):
        text = generate("headers", "--rules", tmp_path / "rules", "--count", "5k", "--locality", locality)
        lines = text.splitlines()
        assert len(lines) == 5000
        return len(set(lines))

    assert different("0") > 4900 > different("0.05") > different("1") > 100


def test_rules_and_headers_are_seeded(tmp_path):
    texts = [generate("rules", "--count", "500", "--seed", seed) for seed in ("1", "1", "2")]
    assert texts[0] == texts[1] != texts[2]
    (tmp_path / "rules").write_text(texts[0])
    headers = [
        generate("headers", "--rules", tmp_path / "rules", "--count", "500", "--seed", seed) for seed in ("1", "1", "2")
    ]
    assert headers[0] == headers[1] != headers[2]


def test_headers_are_written_as_they_are_made(tmp_path):
    """Another program can read the headers while they are generated, and its end must end the generator."""
    (tmp_path / "rules").write_text(generate("rules", "--fields", "5", "--count", "10", "--classes", "2"))
    script = f"set -o pipefail; {conftest.PROGRAM} gen headers --rules {tmp_path}/rules --count 1G | head -n 3"
    done = subprocess.run(
        ["bash", "-c", script], capture_output=True, text=True, timeout=conftest.PATIENCE, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert len(done.stdout.splitlines()) == 3


def test_open_vswitch_reads_the_flows_as_they_stand(tmp_path):
    if shutil.which("ovs-ofctl") is None:
        pytest.skip("ovs-ofctl is not here")
    flows = tmp_path / "flows"
    assert generate("rules", "--count", "3000", "--classes", "500", "--matching-classes", "3", "-o", flows) == ""
    read = subprocess.run(
        ["ovs-ofctl", "-F", "NXM-table_id", "parse-flows", flows],
        capture_output=True,
        text=True,
        timeout=conftest.PATIENCE,
        check=True,
    )
    assert "WARN" not in read.stderr and "normalization" not in read.stderr
    added = [line.split(": ADD ")[1] for line in read.stdout.splitlines() if ": ADD " in line]
    assert added == flows.read_text().splitlines()
    # Headers are flows in which every field has one value.
    headers = tmp_path / "headers"
    generate("headers", "--rules", flows, "--count", "500", "--hits", "50", "-o", headers)
    keys = headers.read_text().splitlines()
    (tmp_path / "keys").write_text("".join(f"{key} actions=drop\n" for key in keys))
    read = subprocess.run(
        ["ovs-ofctl", "-F", "NXM-table_id", "parse-flows", tmp_path / "keys"],
        capture_output=True,
        text=True,
        timeout=conftest.PATIENCE,
        check=True,
    )
    assert "normalization" not in read.stderr
    added = [line.split(": ADD ")[1] for line in read.stdout.splitlines() if ": ADD " in line]
    assert added == [f"{key} actions=drop" for key in keys]


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["rules", "--count", "5", "--classes", "6"], 2, "the number of classes must be from 1 to 5, not 6"),
        (["rules", "--count", "2M"], 2, "the number of rules must be from 1 to 1000000"),
        (["rules", "--full-classes", "0"], 2, "the number of full classes must be from 1 to 128, not 0"),
        (["rules", "--matching-classes", "129"], 2, "the number of matching classes must be from 1 to 128"),
        (["rules", "--fields", "7"], 2, "'7' is not one of 5, 12"),
        (["rules", "--ipv6"], 2, "ask for --fields 5"),
        (["rules", "-o", "x", "--overlaps", "x"], 2, "rules and overlaps cannot both go to x"),
        (["rules", "-o", "/nonexistent/x"], 1, "/nonexistent/x: cannot be written"),
        (["headers"], 2, "--rules"),
        (["headers", "--rules", "none"], 3, "none: cannot be read"),
        (["headers", "--rules", "empty"], 3, "empty: there are no rules to draw headers from"),
        (["headers", "--rules", "all", "--hits", "50"], 3, "all: rule number 1 matches every header"),
        (["headers", "--rules", "all", "-o", "all"], 2, "all is read, and cannot be written too"),
        (["headers", "--rules", "all", "--inside", "flow"], 3, "all and flow have different fields"),
        (["headers", "--rules", "all", "--hits", "101"], 2, "--hits"),
        (["headers", "--rules", "all", "--locality", "2"], 2, "--locality"),
        (["headers", "--rules", "wrong"], 3, "wrong:2:1: expected '@' and a source prefix, found 'x'"),
    ],
)
def test_what_is_refused(tmp_path, arguments, code, message):
    everything = "@0.0.0.0/0 0.0.0.0/0 0 : 65535 0 : 65535 0x00/0x00\n"
    files = {"empty": "", "all": everything, "flow": "actions=drop\n", "wrong": everything + "x\n"}
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    done = penumbra("gen", *arguments, cwd=tmp_path)
    assert done.returncode == code, done.stderr
    assert message in done.stderr
    assert (tmp_path / "all").read_text() == everything
