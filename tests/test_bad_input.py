# SPDX-License-Identifier: Apache-2.0
"""Tests wrong configurations, route files and command lines. The router must report an error with its place and a
remedy, return the right exit code, and start nothing. A '§' in a text marks the place that the error must name."""

import os
import socket

import pytest

import conftest
from captures import frames_of, read_capture, write_pcap

CORE = min(os.sched_getaffinity(0))
GOOD = f"""\
# A comment, so that lines do not count from the first key.
ports:
  - {{name: wan, device: "pcap:in.pcap", sink: wan.pcap}}
  - {{name: lan, device: none, sink: count}}
workers: {{cores: [{CORE}]}}
engine: auto
control: {{socket: ctl}}
pipeline:
  - ipv4: {{routes: routes.txt, neighbours: neighbours.txt}}
"""
ROUTES = "default via 192.0.2.1 dev lan\n"
NEIGHBOURS = "192.0.2.1 dev lan lladdr 02:aa:00:00:00:01\n"
EARLIER = frames_of([bytes(99)])
WAN = '{name: wan, device: "pcap:in.pcap", sink: wan.pcap}'
LAN = "{name: lan, device: none, sink: count}"
IPV4 = "ipv4: {routes: routes.txt, neighbours: neighbours.txt}"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Creates a correct configuration, and a capture of an earlier run."""
    monkeypatch.chdir(tmp_path)
    write("router.yaml", GOOD)
    write("routes.txt", ROUTES)
    write("neighbours.txt", NEIGHBOURS)
    write_pcap("in.pcap", frames_of([bytes(60)] * 3))
    write_pcap("wan.pcap", EARLIER)
    return tmp_path


def write(name, text):
    """Writes the text without its mark and returns the place of the mark as LINE:COLUMN."""
    before, mark, _ = text.partition("§")
    with open(name, "w") as file:
        file.write(text.replace("§", ""))
    return f"{name}:{before.count(chr(10)) + 1}:{len(before) - before.rfind(chr(10))}: " if mark else f"{name}: "


def refused(command, place, fragments):
    """Asserts that the command ends with exit code 3 and one message with these parts, and that no file has changed."""
    before = {name: os.stat(name).st_mtime_ns for name in os.listdir(".")}
    done = conftest.penumbra(command, "router.yaml")
    assert done.returncode == 3, (done.returncode, done.stdout, done.stderr)
    assert done.stdout == ""
    for fragment in [place, *fragments]:
        assert fragment in done.stderr
    assert {name: os.stat(name).st_mtime_ns for name in os.listdir(".")} == before


def test_the_good_configuration_is_good(folder):
    assert conftest.penumbra("check", "router.yaml").returncode == 0
    assert [f.data for f in read_capture(folder / "wan.pcap").frames] == [bytes(99)]
    assert conftest.penumbra("run", "router.yaml").returncode == 0
    assert not (folder / "ctl").exists()


CONFIGURATIONS = {
    # The following cases have unknown, repeated and missing keys.
    "unknown key": ("engine: auto", "§engin: auto", "unknown key 'engin'", "did you mean 'engine'?"),
    "unknown key, nothing near": ("engine: auto", "§qqqqqqqqqqqq: auto", "valid keys:", "ports", "pipeline"),
    "unknown key of a port": (WAN, "{name: wan, device: none, §snik: x.pcap}", "'snik'", "did you mean 'sink'?"),
    "unknown key of the workers": ("cores:", "§corse:", "did you mean 'cores'?"),
    "unknown key of the control": ("{socket: ctl}", "{§soket: ctl}", "did you mean 'socket'?"),
    "unknown key of a function": ("neighbours: n", "§neighbors: n", "did you mean 'neighbours'?"),
    "key twice": ("engine: auto", "engine: auto\n§engine: scalar", "'engine'", "twice"),
    "key without a value": ("control: {socket: ctl}", "§control:", "found nothing"),
    "routes without a value": ("{routes: routes.txt, n", "{§routes: , n", "found nothing"),
    "port's key twice": (WAN, "{name: wan, device: none, §name: wan2}", "'name'", "twice"),
    "no ports": (GOOD[GOOD.index("ports:") : GOOD.index("workers")], "", "'ports' is missing"),
    "no pipeline": (GOOD[GOOD.index("pipeline:") :], "", "'pipeline' is missing"),
    "no name": (WAN, "§{device: none}", "'name' is missing"),
    "no device": (WAN, "§{name: wan}", "'device' is missing"),
    # The following values lack quotes or contain tabs.
    "a device without quotes": (WAN, "{name: wan, device: net_af_packet0,§iface=eth0}", "in quotes", '"net_af_packet0,iface=eth0"'),
    "a capture without quotes": (WAN, "{name: wan, device: pcap:in.pcap,§loop}", 'device: "pcap:in.pcap,loop"'),
    "a tab": (f"  - {WAN}", f"\t§- {WAN}", "not valid YAML", "a tab begins this line"),
    "a port that l2 does not know": (IPV4, "l2: {ports: {dmz: §{access: 1}}}", "there is no port 'dmz'; there are: wan, lan"),
    # The following values or their types are wrong.
    "ports no list": (GOOD[GOOD.index("ports:") : GOOD.index("workers")], "ports: §many\n", "expected a list"),
    "port no map": (WAN, "§wan", "expected a map"),
    "workers no map": (f"{{cores: [{CORE}]}}", "§2", "expected a map"),
    "cores no list": (f"[{CORE}]", "§two", "expected a list"),
    "core no number": (f"[{CORE}]", "[§first]", "expected a whole number"),
    "negative core": (f"[{CORE}]", "[§-1]", "expected a whole number"),
    "core that does not exist": (f"[{CORE}]", "[§1023]", "core 1023"),
    "core twice": (f"[{CORE}]", f"[{CORE}, §{CORE}]", f"core {CORE}"),
    "no cores": (f"[{CORE}]", "§[]", "core"),
    "mtu no number": (LAN, "{name: lan, device: none, mtu: §big}", "expected a whole number"),
    "mtu too small": (LAN, "{name: lan, device: none, mtu: §10}", "68"),
    "queues 0": (LAN, "{name: lan, device: none, queues: §0}", "expected a whole number"),
    "promiscuous no boolean": (LAN, "{name: lan, device: none, promiscuous: §maybe}", "expected true or false"),
    "mac": (LAN, "{name: lan, device: none, mac: §'02:00:00:00:00'}", "MAC"),
    "mac of a group": (LAN, "{name: lan, device: none, mac: §'01:00:5e:00:00:01'}", "group"),
    "address without length": (LAN, "{name: lan, device: none, addresses: [§192.0.2.1]}", "A.B.C.D/LENGTH"),
    "address too long": (LAN, "{name: lan, device: none, addresses: [§192.0.2.1/33]}", "A.B.C.D/LENGTH"),
    "address of loopback": (LAN, "{name: lan, device: none, addresses: [§127.0.0.1/8]}", "127.0.0.1/8"),
    "addresses no list": (LAN, "{name: lan, device: none, addresses: §192.0.2.1/24}", "expected a list"),
    "address twice": (LAN, "{name: lan, device: none, addresses: [192.0.2.1/24, §192.0.2.1/25]}", "192.0.2.1"),
    "port name twice": (LAN, "{name: §wan, device: none}", "'wan'", "line 3"),
    "port name with a blank": (LAN, "{name: §'l an', device: none}", "name"),
    "empty port name": (LAN, "{name: §'', device: none}", "name"),
    "pipeline no list": (f"\n  - {IPV4}", " §ipv4", "expected a list"),
    "function's configuration no map": (IPV4, "ipv4: §routes.txt", "expected a map"),
    # The following names are unknown.
    "unknown engine": ("engine: auto", "engine: §scaler", "unknown engine 'scaler'", "did you mean 'scalar'?"),
    "unknown engine of a function": (IPV4, "ipv4: {engine: §abacus}", "unknown engine 'abacus'; there are: gopt, "),
    "unknown function": ("ipv4:", "§ipv44:", "unknown function 'ipv44'", "did you mean 'ipv4'?"),
    "two functions in one": (IPV4, "§ipv4: {routes: routes.txt}\n    echo: {}", "one function"),
    # The following devices and sinks are wrong.
    "unknown kind of device": ("pcap:in.pcap", "§pcpa:in.pcap", "did you mean 'pcap'?"),
    "bare capture": ('"pcap:in.pcap"', "§in.pcap", "'pcap:in.pcap'"),
    "unknown driver": ('"pcap:in.pcap"', "§net_af_pocket0", "did you mean 'net_af_packet'?"),
    "empty device": ('"pcap:in.pcap"', "§''", "expected pcap:FILE"),
    "no capture's name": ("pcap:in.pcap", "§pcap:", "the file is missing"),
    "unknown option of a capture": ("pcap:in.pcap", "§pcap:in.pcap,lop", "did you mean 'loop'?"),
    "rate no number": ("pcap:in.pcap", "§pcap:in.pcap,rate=fast", "rate="),
    "synthetic frame too small": ("pcap:in.pcap", "§synth:size=20", "60", "9214"),
    "synthetic destinations": ("pcap:in.pcap", "§synth:dst=everywhere", "uniform", "zipf[:FLOWS"),
    "sink": ("sink: count", "sink: §out.txt", "expected count"),
    "sink of a DPDK device": (LAN, "{name: lan, device: net_null0, sink: §lan.pcap}", "sink"),
    "sink twice": ("sink: count", "sink: §wan.pcap", "port 'wan' has the same sink"),
    "sink twice, in other words": ("sink: count", "sink: §./wan.pcap", "port 'wan' has the same sink"),
    "sink over the source": ("sink: count", "sink: §in.pcap", "the capture that port 'wan' reads"),
    "sink over what a DPDK device reads": (
        f"{WAN}\n  - {LAN}",
        '{name: wan, device: "net_pcap0,rx_pcap=in.pcap,tx_pcap=x.pcap"}\n'
        "  - {name: lan, device: none, sink: §./in.pcap}",
        "the capture that port 'wan' has open",
    ),
    "sink over what a DPDK device writes": (
        f"{WAN}\n  - {LAN}",
        '{name: wan, device: "net_pcap0,rx_pcap=in.pcap,tx_pcap=x.pcap"}\n'
        "  - {name: lan, device: none, sink: §./x.pcap}",
        "the capture that port 'wan' has open",
    ),
    "sink over the routes": ("sink: count", "sink: §'pcap:routes.txt'", "routes.txt, which is no capture"),
    "sink over the configuration": ("sink: count", "sink: §'pcap:router.yaml'", "router.yaml, which is no capture"),
    "socket's path too long": ("socket: ctl", f"socket: §{'x' * 200}", "long"),
    # The following files are invalid YAML.
    "unclosed map": (LAN, "{name: lan, device: none", "not valid YAML"),
    "tab": ("  - {name: lan", "\t- {name: lan", "not valid YAML"),
    "empty file": (GOOD, "", "is empty"),
    "a list": (GOOD, "§- ports", "expected a map"),
}


def marked(old, new):
    """Returns GOOD with a part replaced. A mark in `new` stays before the value, with or without quotes."""
    assert old in GOOD
    text = GOOD.replace(old, new, 1)
    # A value in double quotes begins at its quote.
    return text.replace('"§', '§"')


@pytest.mark.parametrize("command", ["check", "run"])
@pytest.mark.parametrize("case", CONFIGURATIONS)
def test_configuration(folder, command, case):
    old, new, *fragments = CONFIGURATIONS[case]
    place = write("router.yaml", marked(old, new))
    refused(command, place if "§" in new else "router.yaml", fragments)


LINES = {
    # The following routes are wrong.
    "prefix": ("routes.txt", "default dev lan\n10.0.0.0/§33 dev lan\n", "0 to 32"),
    "bits past the length": ("routes.txt", "\n# more\n  §10.0.0.1/8 via 192.0.2.1 dev lan\n", "10.0.0.0/8"),
    "octet": ("routes.txt", "§10.0.0.256/8 dev lan\n", "prefix"),
    "no prefix": ("routes.txt", "§via 192.0.2.1 dev lan\n", "prefix"),
    "IPv6": ("routes.txt", "§2001:db8::/32 dev lan\n", "IPv6"),
    "unknown port": ("routes.txt", "10.0.0.0/8 via 192.0.2.1 dev §lam\n", "'lam'", "did you mean 'lan'?"),
    "no port": ("routes.txt", "10.0.0.0/8 via §192.0.2.1\n", "dev PORT"),
    "no gateway": ("routes.txt", "10.0.0.0/8 via\n", "found the end of the line"),
    "gateway": ("routes.txt", "10.0.0.0/8 via §192.0.2 dev lan\n", "address"),
    "unknown word": ("routes.txt", "10.0.0.0/8 §vai 192.0.2.1 dev lan\n", "did you mean 'via'?"),
    "metric": ("routes.txt", "10.0.0.0/8 dev lan metric §low\n", "metric"),
    "route twice": ("routes.txt", "10.0.0.0/8 dev lan\n11.0.0.0/8 dev lan\n§10.0.0.0/8 dev wan\n", "line 1"),
    "weight 0": ("routes.txt", "10.0.0.0/8 nexthop dev lan weight §0\n", "1 to 256"),
    "weight 257": ("routes.txt", "10.0.0.0/8 nexthop dev lan weight §257\n", "1 to 256"),
    "blackhole via": ("routes.txt", "blackhole 10.0.0.0/8 §via 192.0.2.1\n", "'via'"),
    "empty next hop": ("routes.txt", "10.0.0.0/8 §nexthop nexthop dev lan\n", "dev"),
    "binary": ("routes.txt", "§\x7fELF\x02\x01\n", "prefix"),
    # The following neighbours are wrong.
    "neighbour's address": (
        "neighbours.txt",
        "192.0.2.1 dev lan lladdr 02:aa:00:00:00:01\n§192.0.2 dev lan\n",
        "address",
    ),
    "neighbour's MAC": ("neighbours.txt", "192.0.2.1 dev lan lladdr §02:aa:00:00:00\n", "MAC"),
    "neighbour's port": ("neighbours.txt", "192.0.2.1 dev §wam lladdr 02:aa:00:00:00:01\n", "did you mean 'wan'?"),
    "neighbour of a group": ("neighbours.txt", "192.0.2.1 dev lan lladdr §03:aa:00:00:00:01\n", "group"),
}


@pytest.mark.parametrize("command", ["check", "run"])
@pytest.mark.parametrize("case", LINES)
def test_line_of_a_file(folder, command, case):
    name, text, *fragments = LINES[case]
    place = write(name, text)
    refused(command, place if "§" in text else f"{name}:1:", fragments)


@pytest.mark.parametrize("command", ["check", "run"])
@pytest.mark.parametrize("key", ["routes", "neighbours"])
def test_missing_file(folder, command, key):
    place = write("router.yaml", GOOD.replace(f"{key}: ", f"{key}: §", 1))
    os.unlink(f"{key}.txt")
    refused(command, place, [f"{key}.txt", "No such file"])
    os.mkdir(f"{key}.txt")
    refused(command, place, [f"{key}.txt", "directory"])


@pytest.mark.parametrize("command", ["check", "run"])
def test_missing_configuration(folder, command):
    done = conftest.penumbra(command, "nothing.yaml")
    assert done.returncode == 3
    assert "nothing.yaml" in done.stderr


#: Errors in the files of ports.
PORT_FILES = {
    "missing capture": (WAN, '{name: wan, device: §"pcap:nothing.pcap"}', "nothing.pcap", "No such file"),
    "foreign capture": (WAN, '{name: wan, device: §"pcap:routes.txt"}', "routes.txt", "not a readable capture"),
    "capture that was cut off": (WAN, '{name: wan, device: §"pcap:cut.pcap"}', "cut.pcap", "packet 3", "cut off"),
    "missing prefixes": (WAN, '{name: wan, device: §"synth:dst=prefixes:nothing"}', "nothing", "No such file"),
    "no prefixes": (WAN, '{name: wan, device: §"synth:dst=prefixes:empty.txt"}', "empty.txt"),
    "sink in a missing folder": (LAN, "{name: lan, device: none, sink: §nowhere/out.pcap}", "nowhere/out.pcap"),
    "sink in a file": (LAN, "{name: lan, device: none, sink: §in.pcap/x.pcap}", "in.pcap/x.pcap", "Not a directory"),
    "sink that is a folder": (LAN, "{name: lan, device: none, sink: §folder.pcap}", "folder.pcap", "Is a directory"),
    "sink over a source by another name": (LAN, "{name: lan, device: none, sink: §link.pcap}", "'wan' reads"),
}
#: Errors that only opening a port can find.
UNOPENABLE = {
    "missing interface": (
        LAN,
        '{name: lan, device: §"net_af_packet0,iface=missing0"}',
        "there is no interface 'missing0'",
    ),
    "no interface": (LAN, "{name: lan, device: §net_af_packet0}", "on which interface: add iface=NAME"),
    "unknown devarg": (LAN, '{name: lan, device: §"net_null0,bogus=1"}', "no argument 'bogus'", "size, copy, no-rx"),
    "missing PCI device": (LAN, '{name: lan, device: §"0000:ff:1f.7"}', "0000:ff:1f.7"),
}


@pytest.mark.parametrize("command", ["check", "run"])
@pytest.mark.parametrize("case", PORT_FILES)
def test_file_of_a_port(folder, command, case):
    (folder / "cut.pcap").write_bytes((folder / "in.pcap").read_bytes()[:-1])
    (folder / "empty.txt").touch()
    (folder / "folder.pcap").mkdir()
    (folder / "link.pcap").symlink_to("in.pcap")
    old, new, *fragments = PORT_FILES[case]
    place = write("router.yaml", GOOD.replace(old, new, 1))
    refused(command, place, fragments)
    assert [f.data for f in read_capture(folder / "wan.pcap").frames] == [bytes(99)]


@pytest.mark.parametrize("case", UNOPENABLE)
def test_port_that_cannot_open(folder, case):
    old, new, *fragments = UNOPENABLE[case]
    place = write("router.yaml", GOOD.replace(old, new, 1))
    refused("run", place, fragments)
    assert [f.data for f in read_capture(folder / "wan.pcap").frames] == [bytes(99)]


def test_a_start_that_fails_late_leaves_the_sinks_as_they_were(folder):
    late = GOOD.replace(WAN, WAN.replace("}", ", twin: lan0}")).replace("sink: count", "sink: new.pcap")
    write("router.yaml", late)
    assert conftest.penumbra("check", "router.yaml").returncode == 0
    script = f"ip link add lan0 type veth peer name lan1; exec {conftest.PROGRAM} run router.yaml"
    command = ["unshare", "--net", "--map-root-user", "bash", "-ec", script]
    done = conftest.subprocess.run(command, capture_output=True, text=True, timeout=conftest.PATIENCE)
    assert done.returncode == 3 and "port 'wan': its twin" in done.stderr
    assert [f.data for f in read_capture(folder / "wan.pcap").frames] == [bytes(99)]
    assert not (folder / "new.pcap").exists()


def test_two_sinks_are_one_file_that_is_not_there_yet(folder):
    config = GOOD.replace("wan.pcap", "new.pcap").replace("sink: count", "sink: §./new.pcap")
    refused("run", write("router.yaml", config), ["port 'wan' has the same sink"])
    assert not (folder / "new.pcap").exists()


def test_socket_that_cannot_be_bound(folder):
    write("router.yaml", GOOD.replace("{socket: ctl}", "{socket: in.pcap/ctl}"))
    done = conftest.penumbra("run", "router.yaml")
    assert done.returncode == 3 and "router.yaml:7:19: control socket" in done.stderr and "in.pcap" in done.stderr
    assert [f.data for f in read_capture(folder / "wan.pcap").frames] == [bytes(99)]


def test_socket_that_is_a_file_stays_a_file(folder):
    write("ctl", "precious")
    done = conftest.penumbra("run", "router.yaml")
    assert done.returncode == 3 and "router.yaml:7:19: control socket" in done.stderr
    assert (folder / "ctl").read_text() == "precious"


def test_stale_socket_is_replaced(folder):
    """A router that was killed leaves its socket."""
    with socket.socket(socket.AF_UNIX) as stale:
        stale.bind("ctl")
    assert conftest.penumbra("run", "router.yaml").returncode == 0
    assert not (folder / "ctl").exists()


COMMAND_LINES = {
    "nothing": ([], ""),
    "unknown command": (["rnu", "router.yaml"], "did you mean 'run'?"),
    "unknown option": (["run", "router.yaml", "--packet", "5"], "did you mean '--packets'?"),
    "no configuration": (["run"], ""),
    "two configurations": (["run", "router.yaml", "router.yaml"], ""),
    "duration": (["run", "router.yaml", "--for", "10parsecs"], "10parsecs"),
    "negative duration": (["run", "router.yaml", "--for", "-1s"], "-1s"),
    "no duration": (["run", "router.yaml", "--for"], "--for"),
    "packets": (["run", "router.yaml", "--packets", "many"], "many"),
    "negative packets": (["run", "router.yaml", "--packets", "-5"], "-5"),
    "half a packet": (["run", "router.yaml", "--packets", "0.5"], "0.5"),
    "lookup without routes": (["lookup"], "--routes"),
    "lookup on an unknown engine": (
        ["lookup", "--routes", "routes.txt", "--engine", "scaler"],
        "did you mean 'scalar'?",
    ),
    "show nothing": (["show"], ""),
    "trace nothing": (["trace"], ""),
    "trace no number": (["trace", "add", "few"], "few"),
    "gen nothing": (["gen"], ""),
    "gen what": (["gen", "trafic"], "did you mean 'traffic'?"),
}


@pytest.mark.parametrize("case", COMMAND_LINES)
def test_command_line(folder, case):
    arguments, fragment = COMMAND_LINES[case]
    before = sorted(os.listdir("."))
    done = conftest.penumbra(*arguments, stdin=conftest.subprocess.DEVNULL)
    assert done.returncode == 2, (done.returncode, done.stdout, done.stderr)
    assert fragment in done.stderr and "--help" in done.stderr
    assert sorted(os.listdir(".")) == before


def test_traffic_to_standard_output(folder):
    """The output must equal the content of a file. No file named - may appear."""
    assert conftest.penumbra("gen", "traffic", "--packets", "100", "-o", "file.pcap").returncode == 0
    command = [conftest.PROGRAM, "gen", "traffic", "--packets", "100", "-o", "-"]
    done = conftest.subprocess.run(command, capture_output=True, timeout=conftest.PATIENCE)
    assert done.returncode == 0
    assert done.stdout == (folder / "file.pcap").read_bytes()
    assert not (folder / "-").exists()


@pytest.mark.parametrize("where", ["2>&-", "2>/dev/full", "2> >(true)"])
@pytest.mark.parametrize("arguments, code", [("run nothing.yaml", 3), ("rnu", 2), ("show ports --socket nowhere", 5)])
def test_errors_that_nobody_can_read(folder, where, arguments, code):
    # The pause lets the reader of the pipe end first.
    script = f"(sleep 0.1; exec {conftest.PROGRAM} {arguments}) {where}"
    done = conftest.subprocess.run(["bash", "-c", script], capture_output=True, timeout=conftest.PATIENCE)
    assert (done.returncode, done.stdout) == (code, b"")


@pytest.mark.parametrize("closed", ["1>&-", "2>&-", "0<&- 1>&- 2>&-"])
def test_closed_streams_do_not_end_in_a_capture(folder, closed):
    """A file must not get the number of a closed stream, because it would then receive the output for that stream."""
    write("router.yaml", GOOD.replace("device: none, sink: count", "device: none, sink: lan.pcap"))
    command = f"{conftest.PROGRAM} run router.yaml --progress {closed}"
    done = conftest.subprocess.run(["bash", "-c", command], timeout=conftest.PATIENCE)
    assert done.returncode == (1 if "1>" in closed else 0)  # a summary that cannot be written is an error
    for capture in ("wan.pcap", "lan.pcap"):
        assert (folder / capture).stat().st_size == 24  # a header and no packet


@pytest.mark.parametrize("arguments", [["show", "ports"], ["trace", "show"], ["trace", "add", "5"]])
def test_no_router_answers(folder, arguments):
    done = conftest.penumbra(*arguments, "--socket", "ctl")
    assert done.returncode == 5
    assert "ctl" in done.stderr
