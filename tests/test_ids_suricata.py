# SPDX-License-Identifier: Apache-2.0
"""Compares the alerts of `penumbra ids` with Suricata's, on all captures of the shared data and with the rules of
Emerging Threats. Runs in make test-long only.

PENUMBRA_SURICATA is the folder in which tools/unpack-suricata has unpacked Suricata."""

import collections
import concurrent.futures
import gzip
import json
import os
import pathlib
import re
import tarfile

import pytest

import conftest
from conftest import penumbra
from suricata import Suricata, configuration, write_configuration

PROCESSES = 3
#: First bytes of captures.
MAGIC = {bytes.fromhex(m) for m in ("d4c3b2a1", "a1b2c3d4", "4d3cb2a1", "a1b23c4d", "34cdb2a1", "a1b2cd34", "0a0d0d0a")}
LIST = conftest.ROOT / "tests" / "ids_capture_differences.txt"
LONG = os.environ.get("PENUMBRA_LONG") == "1"
pytestmark = pytest.mark.skipif(not LONG, reason="takes minutes: PENUMBRA_LONG=1 (make test-long)")


def unpack(folder):
    """Unpacks all captures, also those that are compressed, and removes all other files."""
    archives = sorted((conftest.DATA / "pcap").glob("*.tar.gz"))
    if not archives:
        pytest.skip(f"no captures in {conftest.DATA / 'pcap'}")
    for archive in archives:
        with tarfile.open(archive) as opened:
            opened.extractall(folder / archive.name.removesuffix(".tar.gz"))
    for path in [path for path in folder.rglob("*") if not path.is_dir()]:
        if path.is_symlink():
            path.unlink()
            continue
        if path.suffix == ".gz":
            content = gzip.decompress(path.read_bytes())
            path.unlink()
            path = path.with_suffix("")
            path.write_bytes(content)
        with path.open("rb") as file:
            is_capture = file.read(4) in MAGIC
        if not is_capture:
            path.unlink()
    return sorted(path for path in folder.rglob("*") if path.is_file())


def rules_with_thresholds(rules):
    """Returns the sids of rules that count matches of several flows. Suricata's alerts of them differ from run to
    run."""
    lines = [line for file in rules.glob("*.rules") for line in file.read_text(errors="replace").splitlines()]
    counting = [line for line in lines if re.search(r"[ ;(](threshold|detection_filter):", line)]
    return {int(sid) for line in counting for sid in re.findall(r"[ ;]sid: ?(\d+);", line)}


def counted(capture, alerts, thresholds):
    """Counts alerts by capture, rule and flow, or by capture and rule if the rule is one of `thresholds`. A flow is its
    two ends in any order."""
    found = collections.Counter()
    for alert in alerts:
        sid = alert["alert"]["signature_id"]
        ends = sorted(f"{alert[f'{side}_ip']} {alert.get(f'{side}_port')}" for side in ("src", "dest"))
        found[capture, sid, *([] if sid in thresholds else ends)] += 1
    return found


def suricatas_alerts(root, config, captures, folder):
    """Evaluates the captures in several processes, each of which loads the rules once."""
    processes = [Suricata(root, config, folder / str(number)) for number in range(PROCESSES)]

    def evaluate(number):
        turns = range(number, len(captures), PROCESSES)
        return [(captures[i], processes[number].alerts(captures[i], i)) for i in turns]

    try:
        with concurrent.futures.ThreadPoolExecutor(PROCESSES) as pool:
            return dict(pair for pairs in pool.map(evaluate, range(PROCESSES)) for pair in pairs)
    finally:
        for process in processes:
            process.stop()


def our_alerts(config, rules, captures, folder):
    folder.mkdir()
    done = penumbra("ids", "-r", captures, "-S", rules, "-c", config, "-l", folder, timeout=1800)
    assert done.returncode == 0, done.stderr
    found = collections.defaultdict(list)
    for line in (folder / "eve.json").read_text().splitlines():
        event = json.loads(line)
        if event["event_type"] == "alert":
            found[pathlib.Path(event["pcap_filename"])].append(event)
    return found


def by_rule(differences, thresholds):
    """Adds up the flows of a capture, without rules of `thresholds`."""
    total = collections.Counter()
    for (capture, sid, *_), count in differences.items():
        if sid not in thresholds:
            total[capture, sid] += count
    return total


def known_differences():
    """Reads the list: `missed` or `extra`, the count, the sid, the capture, and the reason."""
    known = {"missed": {}, "extra": {}}
    for line in LIST.read_text().splitlines():
        if line and not line.startswith("#"):
            kind, count, sid, capture, reason = line.split(None, 4)
            assert reason
            known[kind][capture, int(sid)] = int(count)
    return known


def test_alerts_of_all_captures(tmp_path):
    """The list of differences must be exact for rules without a threshold. Prints lines for the list."""
    root = pathlib.Path(os.environ.get("PENUMBRA_SURICATA", conftest.ROOT / "build" / "suricata"))
    archive = conftest.DATA / "nids" / "et2020.tar.xz"
    if not (root / "usr/bin/suricata").exists() or not archive.exists():
        pytest.skip("needs Suricata (tools/unpack-suricata) and the rules of Emerging Threats")
    with tarfile.open(archive) as opened:
        opened.extractall(tmp_path)
    rules, captures = tmp_path / "et2020", unpack(tmp_path / "captures")
    config = tmp_path / "suricata.yaml"
    write_configuration(configuration(root, rules), config)
    ours = our_alerts(config, rules, tmp_path / "captures", tmp_path / "ours")
    theirs = suricatas_alerts(root, config, captures, tmp_path / "theirs")
    thresholds = rules_with_thresholds(rules)
    missed, extra, equal, total = (collections.Counter() for _ in range(4))
    for capture in captures:
        name = str(capture.relative_to(tmp_path / "captures"))
        expected, found = (counted(name, alerts[capture], thresholds) for alerts in (theirs, ours))
        missed += expected - found
        extra += found - expected
        equal += expected & found
        total += expected
    counts = {"alerts of Suricata": total, "equal": equal, "missed": missed, "extra": extra}
    print(f"{len(captures)} captures, " + ", ".join(f"{count.total()} {name}" for name, count in counts.items()))
    differences = {"missed": by_rule(missed, thresholds), "extra": by_rule(extra, thresholds)}
    for kind, counts in differences.items():
        for (capture, sid), count in sorted(counts.items()):
            print(f"{kind:<6} {count:>4} {sid:>8} {capture}")
    assert total.total() > 1000
    assert differences == known_differences()
    assert missed.total() + extra.total() < total.total() / 100
