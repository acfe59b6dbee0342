# SPDX-License-Identifier: Apache-2.0
"""Compares `penumbra classify` with a linear search in Python, which parses the rules itself, and with DPDK's program
for its classifier."""

import gzip
import json
import os
import random
import re
import shutil
import subprocess
from typing import NamedTuple

import pytest

import conftest
from conftest import penumbra

FAMILIES = ("acl1", "acl2", "fw1", "fw2", "ipc1")
FILTER = re.compile(r"@(\S+)/(\d+)\s+(\S+)/(\d+)\s+(\d+) : (\d+)\s+(\d+) : (\d+)\s+0x(\w+)/0x(\w+)")
SHADERS = re.search(r"--shader SHADER:\{([^}]*)\}", penumbra("classify", "--help").stdout).group(1).split(",")


class Filter(NamedTuple):
    """Holds the lowest and highest value of each header field, but value and mask of the protocol."""

    source: tuple[int, int]
    destination: tuple[int, int]
    source_port: tuple[int, int]
    destination_port: tuple[int, int]
    protocol: tuple[int, int]

    def matches(self, header):
        inside = all(low <= value <= high for (low, high), value in zip(self[:4], header))
        return inside and (header[4] ^ self.protocol[0]) & self.protocol[1] == 0

    def draw(self, generator):
        """Returns a random header that the filter matches."""
        ends = [generator.choice((low, high, generator.randint(low, high))) for low, high in self[:4]]
        value, mask = self.protocol
        return (*ends, (generator.getrandbits(8) & ~mask & 0xFF) | value)


def prefix(address, length):
    value = 0
    for part in address.split("."):
        value = value << 8 | int(part)
    free = 2 ** (32 - int(length)) - 1
    return value & ~free, value | free


def filters_of(text):
    found = []
    for line in text.splitlines():
        source, length, destination, other_length, *numbers = FILTER.match(line).groups()
        ports = [int(number) for number in numbers[:4]]
        value, mask = (int(number, 16) for number in numbers[4:])
        ends = (prefix(source, length), prefix(destination, other_length), tuple(ports[:2]), tuple(ports[2:]))
        found.append(Filter(*ends, (value & mask, mask)))
    return found


def winner(filters, header):
    return next((str(i + 1) for i, each in enumerate(filters) if each.matches(header)), "-")


def text_of(headers):
    return "".join(" ".join(map(str, header)) + "\n" for header in headers)


def headers_for(filters, count, seed):
    """Returns headers that rules match. Some have one changed bit."""
    generator = random.Random(seed)
    headers = []
    for i in range(count):
        header = list(generator.choice(filters).draw(generator))
        if i % 4 == 0:
            field = generator.randrange(5)
            header[field] = (header[field] ^ 1 << generator.randrange(8)) % (2 ** (32, 32, 16, 16, 8)[field])
        headers.append(tuple(header))
    return headers


def real(name):
    file = conftest.DATA / "acl" / name
    if not file.exists():
        pytest.skip(f"{file} is not there")
    return file


@pytest.mark.parametrize("shader", SHADERS)
@pytest.mark.parametrize("family", FAMILIES)
def test_the_first_rule_that_matches_wins(family, shader):
    file = real(f"{family}_1k")
    filters = filters_of(file.read_text())
    headers = headers_for(filters, 1000, seed=len(family))
    done = penumbra("classify", "--rules", file, "--shader", shader, "--check", input=text_of(headers))
    assert done.returncode == 0, done.stderr
    expected = [winner(filters, header) for header in headers]
    assert done.stdout.split() == expected
    assert len(set(expected)) > 50 and expected.count("-") < len(expected)


def dpdk_answers(rules, trace):
    """Returns the rules of dpdk-test-acl, which counts rules from 0."""
    arguments = [f"--rulesf={rules}", f"--tracef={trace}", "--verbose=3", "--rulenum=200000", "--alg=scalar"]
    core = str(min(os.sched_getaffinity(0)))  # each core gives all answers
    eal = ["--no-huge", "--no-pci", "-m", "1024", "--no-shconf", "--no-telemetry", "-l", core]
    done = subprocess.run(
        ["dpdk-test-acl", *eal, "--", *arguments], capture_output=True, text=True, timeout=240, check=False
    )
    assert done.returncode == 0, done.stderr
    return [int(number) + 1 for number in re.findall(r"result: (\d+)", done.stdout + done.stderr)]


@pytest.mark.skipif(shutil.which("dpdk-test-acl") is None, reason="needs dpdk-test-acl (Debian: dpdk-dev)")
@pytest.mark.parametrize("name", [*(f"{family}_10k" for family in FAMILIES), "cs_acl_1k", "cs_fw_1k", "cs_ipc_1k"])
def test_dpdk_finds_the_same_rules(name, tmp_path):
    """The sets are large. Every header matches a rule, because dpdk-test-acl reports no header without a match."""
    file = real(name)
    filters = filters_of(file.read_text())
    generator = random.Random(3)
    trace = tmp_path / "trace"
    trace.write_text(text_of(generator.choice(filters).draw(generator) for _ in range(20000)))
    done = penumbra("classify", "--rules", file, input=trace.read_text())
    assert done.returncode == 0, done.stderr
    assert [int(line) for line in done.stdout.split()] == dpdk_answers(file, trace)


@pytest.mark.parametrize("name", ["gen_acl1_100k", "gen_fw1_100k", "gen_ipc1_100k"])
def test_a_hundred_thousand_rules(name, tmp_path):
    rules = tmp_path / "rules"
    rules.write_bytes(gzip.decompress(real(f"{name}.gz").read_bytes()))
    lines = gzip.decompress(real(f"{name}_trace.gz").read_bytes()).decode().splitlines()
    headers = "\n".join(random.Random(1).sample(lines, 300)) + "\n"
    done = penumbra("classify", "--rules", rules, "--check", input=headers)
    assert done.returncode == 0, done.stderr
    assert all(answer.isdigit() for answer in done.stdout.split())


FLOWS = """\
# The page that ovs-ofctl prints has a heading, which is none of ours.
priority=10,tcp,nw_dst=10.0.0.0/8,tp_dst=80,actions=output:2
priority=10,ip,nw_dst=10.1.0.0/16,actions=drop

priority=20,udp,tp_dst=53,actions=output:1
arp,actions=flood
"""


@pytest.mark.parametrize("shader", ["auto", *SHADERS])
def test_flows(tmp_path, shader):
    rules = tmp_path / "flows"
    rules.write_text(FLOWS)
    keys = {
        "in_port=1,tcp,nw_src=192.0.2.1,nw_dst=10.1.2.3,tp_src=1,tp_dst=80": 2,
        "in_port=1,tcp,nw_src=192.0.2.1,nw_dst=10.1.2.3,tp_src=1,tp_dst=81": 3,
        "udp,nw_dst=10.1.0.1,tp_dst=53": 5,
        "dl_vlan=5,arp": 6,
        "ip,nw_dst=192.0.2.1": None,
    }
    text = "\n# nothing\n".join(keys) + "\n"
    done = penumbra("classify", "--rules", rules, "--shader", shader, "--json", input=text)
    assert done.returncode == 0, done.stderr
    assert [json.loads(line)["line"] for line in done.stdout.splitlines()] == list(keys.values())


def test_rules_of_ipv6(tmp_path):
    rules = tmp_path / "rules"
    rules.write_text(
        "@2001:db8::/32 ::/0 0 : 65535 80 : 90 0x06/0xFF 0x0000/0x0000\n"
        "@::/0 2001:db8::1/128 0 : 65535 0 : 65535 0x00/0x00 0x0000/0x0000\n"
    )
    headers = ["2001:db8::9 2001:db8::1 1 85 6", "2001:db9::9 2001:db8::1 1 85 6", "2001:db9::9 2001:db8::2 1 85 6"]
    done = penumbra("classify", "--rules", rules, input="\n".join(headers))
    assert (done.returncode, done.stdout.split()) == (0, ["1", "2", "-"]), done.stderr


@pytest.mark.parametrize(
    ("rules", "headers", "message"),
    [
        ("@1.2.3.4/33 1.2.3.4/32 0 : 1 0 : 1 0x06/0xFF\n", "", "rules:1:"),
        ("priority=10,tp_dst=80,actions=drop\n", "", "rules:1:"),
        ("@1.2.3.4/32 1.2.3.4/32 0 : 1 0 : 1 0x06/0xFF\n", "1 2 3 4 5\n1 2 3 4\n", "-:2:"),
        ("arp,actions=drop\n", "arp\n\ntcp,tp_dst=x\n", "-:3:"),
    ],
)
def test_bad_input(tmp_path, rules, headers, message):
    (tmp_path / "rules").write_text(rules)
    done = penumbra("classify", "--rules", tmp_path / "rules", input=headers)
    assert done.returncode == 3, (done.returncode, done.stderr)
    assert message in done.stderr
    assert len(done.stdout.splitlines()) == (1 if headers else 0), "what came before has its answer"
