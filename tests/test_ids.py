# SPDX-License-Identifier: Apache-2.0
"""Tests `penumbra ids` with the rules of the examples, with real rule files, and with the alerts that suricata-verify
expects."""

import json
import re
import shutil
import struct
import tarfile

import pytest
import yaml

import conftest
from captures import frames_of, write_pcap
from conftest import penumbra

EXAMPLE = conftest.ROOT / "examples" / "ids"
PAGE = (conftest.ROOT / "docs" / "ids.md").read_text()
NIDS = conftest.DATA / "nids"
GOOD = "alert ip any any -> any any (msg:\"a\"; sid:1;)\n"


def check(*arguments, code=0):
    done = penumbra("ids", "check", *arguments)
    assert done.returncode == code, done.stdout + done.stderr
    return done


def report(*arguments, code=0):
    return json.loads(check("-j", *arguments, code=code).stdout)


def real(name):
    """Returns the path of real data, or skips the test."""
    if not (NIDS / name).exists():
        pytest.skip(f"no {NIDS / name}: real rules are not here")
    return NIDS / name


def test_the_example_prints_what_the_page_shows():
    shown = re.search(r"penumbra ids check examples/ids\n```\n\n```\n(.*?)```", PAGE, re.DOTALL)[1]
    assert check(EXAMPLE).stdout == shown


def test_the_example_has_a_configuration():
    found = check("-c", EXAMPLE / "suricata.yaml")
    assert found.stderr == ""
    assert "4  rules taken" in found.stdout
    copied = report(EXAMPLE, "-c", EXAMPLE / "suricata.yaml")
    assert (copied["taken"], copied["warnings"]) == (4, [])


def test_the_configuration_gives_variables(tmp_path):
    (tmp_path / "a.rules").write_text("alert ip $MINE any -> any any (sid:1;)\n")
    assert "address variable is not defined: '$MINE'" in check(tmp_path, code=3).stdout
    config = tmp_path / "suricata.yaml"
    config.write_text("vars:\n  address-groups:\n    MINE: 10.0.0.0/8\napp-layer: {protocols: {}}\nlogging: {}\n")
    found = check(tmp_path, "-c", config)
    assert found.stderr == f"{config}: these sections have no effect: logging, app-layer.protocols\n"


def test_refused_rules_are_reported_by_sid_place_and_word(tmp_path):
    file = tmp_path / "local.rules"
    file.write_text("\n" * 5 + GOOD + "alert ip any any -> any any (ttl:300; sid:7;)\nalert\n")
    text = check(file, code=3).stdout
    reason = "value of 'ttl' is wrong"
    assert f"sid 7: {file}:7:34: {reason}: '300' is no number or range with members up to 255\n" in text
    assert f"no sid: {file}:8:1: rule has no options in parentheses: 'alert'\n" in text
    assert f"       1    {reason}\n" in text
    found = report(file, code=3)
    assert (found["taken"], found["refused"], found["reasons"][reason]) == (1, 2, 1)
    first = found["refusals"][0]
    assert (first["sid"], first["line"], first["column"], first["reason"]) == (7, 7, 34, reason)
    assert found["refusals"][1]["sid"] is None


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        ([], 2, "no rules: name files or folders"),
        (["/nowhere/a.rules"], 3, "/nowhere/a.rules"),
        (["-c", "/nowhere/suricata.yaml"], 3, "/nowhere/suricata.yaml"),
        (["--nowhere"], 2, "--nowhere"),
    ],
)
def test_wrong_calls(arguments, code, message):
    assert message in check(*arguments, code=code).stderr


def test_wrong_files_around_the_rules_are_refused(tmp_path):
    (tmp_path / "a.rules").write_text(GOOD)
    for name, text in (
        ("classification.config", "config classification: a,b,0\n"),
        ("reference.config", "config reference: a\n"),
        ("threshold.config", "suppress gen_id 1\n"),
    ):
        (tmp_path / name).write_text(text)
        assert f"{tmp_path / name}:1:" in check(tmp_path, code=3).stderr
        (tmp_path / name).unlink()


def test_the_page_names_every_keyword(tmp_path):
    """Each name that the unit tests of keywords have must be in the page, or be formed as the page says."""
    sources = conftest.ROOT / "src" / "functions" / "ids" / "rules"
    names = set()
    for path in sources.glob("*_keywords.cc"):
        names |= set(re.findall(r'^ *{"([a-z][\w.-]*)",\s+(?:required|optional|none),', path.read_text(), re.MULTILINE))
    assert {"msg", "content", "flags", "byte_math", "flow", "urilen"} <= names
    buffers = re.findall(r'"([a-z][\w.]*)"', (sources / "buffer.cc").read_text())
    assert "http.uri" in buffers
    for name in names | set(buffers):
        formed = re.sub(r"^http_", "http.", name)
        assert f"`{name}`" in PAGE or f"`{formed}`" in PAGE, name


def test_rules_of_emerging_threats(tmp_path):
    """One of 12,369 rules is refused: its byte_test reads a number of 0 bytes. Suricata 7.0.10 refuses one, too."""
    with tarfile.open(real("et2020.tar.xz")) as archive:
        archive.extractall(tmp_path)
    found = report(tmp_path / "et2020", code=3)
    assert (found["taken"], found["refused"], found["disabled"]) == (12368, 1, 7600)
    assert found["needs"] == {"packet": 577, "stream": 1340, "application": 10451}
    assert [refusal["sid"] for refusal in found["refusals"]] == [2029634]
    assert "'0' is no number from 1 to 23" in found["refusals"][0]["message"]


def test_community_rules_of_snort(tmp_path):
    """Two of 1,059 rules have what only Snort takes: a list of bits in flowbits:set, and a range without members."""
    shutil.copy(real("snort_community_2019.rules"), tmp_path / "community.rules")
    found = report(tmp_path, code=3)
    assert (found["taken"], found["refused"], found["disabled"]) == (1057, 2, 2822)
    assert sorted(refusal["sid"] for refusal in found["refusals"]) == [31971, 37552]


def test_rules_of_suricata_verify(tmp_path):
    """Two rules are of a rule language of Suricata 8, with hooks."""
    with tarfile.open(real("suricata-verify.tar.xz")) as archive:
        archive.extractall(tmp_path)
    files = sorted((tmp_path / "suricata-verify" / "tests").rglob("*.rules"))
    assert len(files) > 80
    taken, refused = 0, {}
    for file in files:
        done = penumbra("ids", "check", "-j", file)
        found = json.loads(done.stdout)
        assert done.returncode == (3 if found["refused"] else 0)
        taken += found["taken"]
        refused |= {(file.parent.name, entry["sid"]): entry["reason"] for entry in found["refusals"]}
    hooks = "ruletype-firewall-85-packet-filter-accept-flow-with-td"
    assert refused == {(hooks, 1021): "unknown action", (hooks, 1023): "unknown action"}
    assert taken > 200


def events_of(folder, event_type):
    """Returns the events of a type that a run wrote."""
    events = [json.loads(line) for line in (folder / "eve.json").read_text().splitlines()]
    return [event for event in events if event["event_type"] == event_type]


def run(folder, capture, rules, *arguments, code=0):
    """Returns the alerts of a run, and the finished process."""
    folder.mkdir(parents=True, exist_ok=True)
    done = penumbra("ids", "-r", capture, "-S", rules, "-l", folder, *arguments)
    assert done.returncode == code, done.stdout + done.stderr
    return events_of(folder, "alert") if (folder / "eve.json").exists() else [], done


def dns_query(name, source=1):
    """Returns an Ethernet frame with an IPv4 packet of UDP to port 53."""
    payload = bytes(12) + b"".join(bytes([len(part)]) + part.encode() for part in name.split(".")) + bytes(5)
    udp = struct.pack("!HHHH", 5000, 53, 8 + len(payload), 0) + payload
    ip = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 20 + len(udp), 0, 0, 64, 17, 0, bytes([192, 0, 2, source]), bytes([192, 0, 2, 53]))
    return bytes(12) + b"\x08\x00" + ip + udp


def test_the_example_finds_its_name_in_a_capture(tmp_path):
    queries = [dns_query("a.example"), dns_query("EVIL.example"), b"short", dns_query("evil.example", 9)]
    write_pcap(tmp_path / "dns.pcap", frames_of(queries))
    alerts, done = run(tmp_path / "log", tmp_path / "dns.pcap", EXAMPLE, "-c", EXAMPLE / "suricata.yaml")
    assert [(alert["alert"]["signature_id"], alert["src_ip"], alert["pcap_cnt"]) for alert in alerts] == [
        (1000002, "192.0.2.1", 2),
        (1000002, "192.0.2.9", 4),
    ]
    assert alerts[0]["alert"]["category"] == "A name that an attack uses"
    assert alerts[0]["alert"]["severity"] == 1
    assert "not evaluated" not in done.stderr
    for line in ("4  rules evaluated", "4  frames", "3  packets inspected", "1  frames without readable IP", "2  alerts"):
        assert re.search(rf"^ *{line}$", done.stdout, re.MULTILINE), done.stdout


def test_a_folder_of_captures_has_the_flows_of_each_apart(tmp_path):
    """The rule tests a flowbit that a query sets, and the second capture has an answer only."""
    rules = tmp_path / "a.rules"
    rules.write_text('alert udp any any -> any 53 (content:"first"; flowbits:set,seen; sid:1;)\n'
                     'alert udp any any -> any 53 (content:"second"; flowbits:isset,seen; sid:2;)\n')
    captures = tmp_path / "captures"
    (captures / "inner").mkdir(parents=True)
    write_pcap(captures / "b.pcap", frames_of([dns_query("first.example"), dns_query("second.example")]))
    write_pcap(captures / "inner" / "c.pcap", frames_of([dns_query("second.example")]))
    (captures / "a.txt").write_text("no capture")
    alerts, done = run(tmp_path / "log", captures, rules)
    assert [(a["alert"]["signature_id"], a["pcap_filename"], a["pcap_cnt"]) for a in alerts] == [
        (1, str(captures / "b.pcap"), 1),
        (2, str(captures / "b.pcap"), 2),
    ]
    assert f"not inspected: {captures / 'a.txt'}" in done.stderr
    assert re.search(r"^ *3  frames$", done.stdout, re.MULTILINE)


def test_a_truncated_capture_is_read_to_its_end(tmp_path):
    write_pcap(tmp_path / "whole.pcap", frames_of([dns_query("evil.example")] * 3))
    cut = tmp_path / "cut.pcap"
    cut.write_bytes((tmp_path / "whole.pcap").read_bytes()[:-7])
    alerts, done = run(tmp_path / "log", cut, EXAMPLE, "-c", EXAMPLE / "suricata.yaml")
    assert len(alerts) == 2
    assert f"{cut}: read to frame 2 only: " in done.stderr


def test_captures_of_other_link_types_are_refused_by_name(tmp_path):
    write_pcap(tmp_path / "a.pcap", frames_of([dns_query("evil.example")]), link_type=105)
    _, done = run(tmp_path / "log", tmp_path / "a.pcap", EXAMPLE, code=3)
    assert "a.pcap: link type IEEE802_11 is not supported; there are Ethernet, raw IP" in done.stderr


def test_wrong_runs(tmp_path):
    write_pcap(tmp_path / "a.pcap", [])
    assert "-r names the capture" in penumbra("ids").stderr
    assert run(tmp_path / "log", tmp_path / "none.pcap", EXAMPLE, code=3)
    assert run(tmp_path / "log", tmp_path / "a.pcap", tmp_path / "none.rules", code=3)
    done = penumbra("ids", "-r", tmp_path / "a.pcap", "-S", EXAMPLE, "-l", tmp_path / "nowhere")
    assert done.returncode == 1
    assert f"cannot write {tmp_path / 'nowhere' / 'eve.json'}" in done.stderr


def has(event, wanted):
    """True if an event has the fields of an expectation."""
    for path, value in wanted.items():
        found = event
        for part in path.split("."):
            found = found.get(part) if isinstance(found, dict) else None
        if isinstance(value, dict):
            if not isinstance(found, dict) or not has(found, value):
                return False
        elif found != value:
            return False
    return True


#: Fields that Suricata prints on request only, and the action, which a capture does not have.
UNCOMPARED = ("packet", "packet_info", "payload", "ether", "stream", "tunnel", "alert.action")


def expectations(folder):
    """Yields number and fields of the alerts that a test of suricata-verify expects."""
    for check in yaml.safe_load((folder / "test.yaml").read_text())["checks"]:
        match = check.get("filter", {}).get("match", {})
        if match.get("event_type") != "alert":
            continue
        fields = {key: value for key, value in match.items() if not key.startswith(UNCOMPARED) and key != "event_type"}
        yield check["filter"]["count"], fields


def lines(name):
    """The lines of a list in the folder of the tests, without comments."""
    text = (conftest.ROOT / "tests" / name).read_text()
    return [line for line in text.splitlines() if line and not line.startswith("#")]


#: The class of rules that expectations of suricata-verify have.
CLASSES = "config classification: web-application-activity,access to a potentially vulnerable web application,2\n"


def configuration_of(folder, test):
    """Writes the configuration of a test of suricata-verify with what its `--set` options say."""
    (folder / "classes").write_text(CLASSES)
    file = folder / "suricata.yaml"
    text = file.read_text().split("---", 1)[1] if file.exists() else ""
    config = {"classification-file": "classes"} | (yaml.safe_load(text) or {})
    words = " ".join(str(word) for word in test.get("args") or []).split()
    for option, word in zip(words, words[1:]):
        if option != "--set":
            continue
        path, value = word.split("=", 1)
        *sections, key = path.split(".")
        section = config
        for name in sections:
            section = section.setdefault(name, {})
        section[key] = value.replace("${TEST_DIR}", str(folder))
    file.write_text(yaml.safe_dump(config, sort_keys=False))
    # Suricata's runner simulates an inline system if the name of a test says so.
    is_inline = not {"--simulate-ips", "stream.inline=true"}.isdisjoint(words) or folder.name.endswith("-ips")
    return file, ["--simulate-ips"] if is_inline else []


def test_alerts_of_suricata_verify(tmp_path):
    """Compares the alerts of each test. The list of differences must be exact."""
    with tarfile.open(real("suricata-verify.tar.xz")) as archive:
        archive.extractall(tmp_path)
    tests = tmp_path / "suricata-verify" / "tests"
    known = {line.split()[0] for line in lines("ids_differences.txt")}
    names = lines("ids_tests.txt")
    different = set()
    for name in names:
        folder = tests / name
        test = yaml.safe_load((folder / "test.yaml").read_text())
        named = test.get("pcap")
        capture = folder / named if named else next(iter(sorted(folder.glob("*.pcap*"))))
        rules = folder if (folder / "threshold.config").exists() else next(folder.glob("*.rules"))
        config, options = configuration_of(folder, test)
        alerts, _ = run(tmp_path / "log" / name, capture, rules, "-c", config, *options)
        if any(sum(has(alert, fields) for alert in alerts) != count for count, fields in expectations(folder)):
            different.add(name)
    assert different == known
    assert len(names) - len(different) >= 84
