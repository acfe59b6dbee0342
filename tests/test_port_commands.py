# SPDX-License-Identifier: Apache-2.0
"""Tests commands that change ports and settings of a running router. A change applies all entries or none; it can be
saved and undone."""

import json
import re

import pytest

import conftest
import live

EMPTY = """\
# mine
ports: []
control: {socket: ctl}  # here
pipeline:
  - flows
  - acl: {rules: acl.txt, default: permit}
  - ipv4: {routes: routes.txt}
"""
WAN = "wan device synth:dst=uniform,rate=5k,seed=3 sink count"
LAN = "lan device none sink count addresses 10.1.0.1/24,2001:db8::1/64 mtu 9000"


@pytest.fixture
def empty(bench):
    """Starts a router without ports."""
    bench.config.write_text(EMPTY)
    for name, text in (("acl.txt", "deny src 10.66.0.0/16\n"), ("routes.txt", "")):
        (bench.folder / name).write_text(text)
    with bench.start() as router:
        yield router


@pytest.fixture
def filled(run, empty):
    """Adds two ports to the router."""
    assert run.do("port", "add", "-f", "-", input=f"# two\n{WAN}\n{LAN}\n") == [("router", 2, 0, 0)]
    return empty


def ports(router):
    return {row["name"]: row["mtu"] for row in router.show("ports")}


def local(router):
    return {row["prefix"] for row in router.show("routes", "all")["routes"] if row["type"] == "local"}


def test_ports_come_and_go(run, filled):
    assert ports(filled) == {"wan": 1500, "lan": 9000} and local(filled) == {"10.1.0.1/32"}
    assert run.do("route", "add", "default dev lan") == [("ipv4", 1, 0, 0)]
    filled.wait_for("packets through ipv4", lambda: "unknown_neighbour" in {row["reason"] for row in filled.show("drops")})
    changed = LAN.replace("10.1.0.1/24", "10.2.0.1/24")
    assert run.do("port", "replace", changed) == [("router", 0, 0, 1)]
    assert run.do("port", "replace", changed) == [("router", 0, 0, 0)]
    assert local(filled) == {"10.2.0.1/32"} and len(live.routes(filled)) == 1
    assert run.do("port", "replace", "dmz device none sink count") == [("router", 1, 0, 0)]
    assert run.do("port", "del", "dmz") == [("router", 0, 1, 0)]
    assert ports(filled) == {"wan": 1500, "lan": 9000}
    assert json.loads(run.try_to("port", "show", "-j").stdout)[1]["name"] == "lan"
    filled.stop()


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        ("add lan device none", 3, "command line:1:1: there is a port 'lan' already: `penumbra port replace` changes it"),
        ("add dmz device none mtu 5", 3, "command line:1:17: expected a whole number from 68 to 9194 for mtu, found '5'"),
        ("add dmz device none mtuu 1500", 3, "command line:1:17: unknown key 'mtuu' in the port; did you mean 'mtu'?"),
        ("add dmz device none mtu 1500 mtu 9000", 3, "command line:1:26: key 'mtu' is given twice in the port"),
        ("add dmz device none mtu", 3, "command line:1:20: expected a value of 'mtu'"),
        ("add dmz mtu 1500", 3, "command line:1:1: 'device' is missing in the port"),
        ("add d:z device none", 3, "command line:1:1: expected a name of 1 to 31 letters"),
        ("add dmz device none addresses 10.9.0.1", 3, "command line:1:17: expected an IPv4 address with the length"),
        ("add dmz device none addresses 10.1.0.1/24", 3, "ports.dmz.addresses: the address 10.1.0.1 is in ports.lan already"),
        ("add dmz device nosuch:file", 3, "command line:1:5: "),
        ("add dmz device pcap:missing.pcap", 1, "ports.dmz.device: "),
        ("replace wan device none", 1, "a change of ports.wan.device, ports.wan.sink takes a restart, or `penumbra port del` and `port add`"),
        ("del lam", 3, "command line:1:1: there is no port 'lam'; did you mean 'lan'?"),
        ("del lan mtu", 3, "command line:1:5: expected the end of the line, found 'mtu': a port's name is enough"),
        ("del lan --stage ipv4", 2, "unknown option '--stage'"),
    ],
)
def test_what_is_wrong_changes_nothing_and_says_where(run, filled, words, code, message):
    before = ports(filled), local(filled), run.try_to("show", "config").stdout
    exit_code, said = run.refused("port", *words.split(" "))
    assert (exit_code, message in said) == (code, True), said
    assert (ports(filled), local(filled), run.try_to("show", "config").stdout) == before
    filled.stop()


def test_one_wrong_line_of_a_file_and_none_counts(run, filled):
    code, said = run.refused("port", "add", "-f", "-", input="dmz device none\n\nold device none mtu x\n")
    assert code == 3 and said.startswith("standard input:3:17: "), said
    assert ports(filled) == {"wan": 1500, "lan": 9000}
    filled.stop()


def test_a_port_that_is_in_use_stays(run, filled):
    run.do("route", "add", "10.9.0.0/16 dev lan")
    code, said = run.refused("port", "del", "lan")
    assert code == 3
    assert said.startswith("ipv4.routes: '10.9.0.0/16 dev lan': expected the name of a port, found 'lan'"), said
    assert ports(filled) == {"wan": 1500, "lan": 9000}
    run.do("route", "del", "10.9.0.0/16")
    assert run.do("port", "del", "lan") == [("router", 0, 1, 0)]
    filled.stop()


def test_settings_of_functions_and_ports(run, filled):
    assert run.try_to("set", "flows.idle_timeout", "5s").stdout == "flows: idle timeout: 5000ms, was 15000ms\n"
    assert "flows: export: 127.0.0.1:4739" in run.try_to("set", "flows.export.collector", "127.0.0.1:4739").stdout
    assert run.try_to("set", "ports.lan.addresses", "[10.3.0.1/24]").returncode == 0
    assert local(filled) == {"10.3.0.1/32"}
    assert run.try_to("unset", "flows.idle_timeout").stdout == "flows: idle timeout: 15000ms, was 5000ms\n"
    assert run.try_to("unset", "ports.lan.addresses").returncode == 0
    assert local(filled) == set()
    filled.stop()


def test_the_mtu_of_a_built_in_port_changes_at_once(bench, run, filled):
    assert run.try_to("set", "ports.lan.mtu", "1400").stdout == "ports.lan.mtu: '1400', was '9000'\n"
    assert ports(filled) == {"wan": 1500, "lan": 1400}
    assert run.try_to("unset", "ports.lan.mtu").stdout == "ports.lan.mtu: not set, was '1400'\n"
    assert run.do("port", "replace", f"{WAN} mtu 600") == [("router", 0, 0, 1)]
    assert ports(filled) == {"wan": 600, "lan": 1500}
    assert run.try_to("save").returncode == 0
    bench.config.write_text(bench.config.read_text().replace("mtu: 600", "mtu: 1600"))
    assert run.try_to("reload").stdout == "ports.wan.mtu: '1600', was '600'\n"
    assert ports(filled) == {"wan": 1600, "lan": 1500}
    filled.stop()


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (("set", "flows.idle_timout", "5s"), 3, "flows.idle_timout: unknown key 'idle_timout' in flows"),
        (("set", "flows.idle_timeout", "soon"), 3, "flows.idle_timeout: "),
        (("set", "flows.idle_timeout.x", "5"), 3, "flows.idle_timeout.x: expected"),
        (("set", "flows", "5"), 2, "'flows': a key is missing after the last dot"),
        (("set", "ports.lam.mtu", "1500"), 2, "ports.lam.mtu: there is no port 'lam'; did you mean 'lan'?"),
        (("set", "ports.lan.mtu", "100000"), 3, "ports.lan.mtu: expected a whole number from 68 to 9194, found '100000'"),
        (("set", "ports.lan.mtuu", "1500"), 3, "ports.lan.mtuu: unknown key 'mtuu' in ports.lan; did you mean 'mtu'?"),
        (("set", "ports.lan.addresses", "[10.8.0.1]"), 3, "ports.lan.addresses: expected an IPv4 address with the length"),
        (("set", "ports.lan.twin", "eth0/1"), 3, "ports.lan.twin: expected true, false or the name of an interface"),
        (("set", "lan.mtu", "1500"), 2, "'lan.mtu': expected ports.PORT.KEY or FUNCTION.KEY; "),
        (("set", "punts.each", "1"), 2, "other settings take a restart: write them into "),
        (("set", "acl.default", "[permit"), 3, "acl.default: '[permit': not valid YAML: "),
        (("set", "acl.default", "permitt"), 3, "acl.default: "),
        (("set", "acl.rules", "&a [*a]"), 3, "acl.rules: '&a [*a]': an alias is inside the node that it names"),
        (("set", "acl.rules", ""), 3, "acl.rules: '': is empty"),
        (("set", "acl.rules", "no.txt"), 3, "acl.rules: "),
        (("set", "ipv4.routes", "|\n  10.9.0.0/16 dev lan\n  10.8.0.0/16 dev lam\n"), 3, "ipv4.routes: '10.8.0.0/16 dev lam': expected the name of a port, found 'lam'"),
        (("set", "ipv4.routes", "[10.9.0.0/16 dev lan, 10.8.0.0/16 dev lam]"), 3, "ipv4.routes: '10.8.0.0/16 dev lam': expected the name of a port, found 'lam'"),
        (("unset", "acl.log"), 2, "'acl.log' is not set"),
        (("set", "acl.engine", "scalar"), 1, "a change of pipeline takes a restart"),
        (("set", "acl.default", "deny", "--confirm", "abc"), 2, "from 100ms to 24h"),
        (("set", "acl.default", "deny", "--confirm", "25h"), 2, "from 100ms to 24h"),
    ],
)
def test_wrong_settings_change_nothing_and_name_the_key(run, filled, words, code, message):
    before = run.try_to("show", "config").stdout
    exit_code, said = run.refused(*words)
    assert (exit_code, message in said) == (code, True), said
    assert not re.search(r"\bline \d|running configuration", said), said
    assert run.try_to("show", "config").stdout == before
    filled.stop()


def test_tables_that_no_file_has_outlive_a_change_of_ports(run, filled):
    run.do("route", "add", "10.9.0.0/16 dev lan")
    run.do("acl", "add", "deny src 10.67.0.0/16")
    run.do("port", "add", "dmz device none")
    assert live.routes(filled) == {("10.9.0.0/16", 0): [(None, "lan")]}
    assert live.acl(filled) == ["deny src 10.66.0.0/16", "deny src 10.67.0.0/16"]
    code, said = run.refused("set", "acl.default", "deny")
    assert code == 1 and "acl: its tables were changed by commands: `penumbra save` first; nothing has changed" in said
    assert "not saved: acl: rules: + deny src 10.67.0.0/16\n" in run.try_to("plan").stdout
    assert run.try_to("save").returncode == 0
    assert run.try_to("set", "acl.default", "deny").returncode == 0
    assert live.acl(filled) == ["deny src 10.66.0.0/16", "deny src 10.67.0.0/16"]
    filled.stop()


def test_saved_killed_and_started(bench, run, filled):
    run.do("route", "add", "10.9.0.0/16 dev lan")
    run.try_to("set", "flows.idle_timeout", "5s")
    unsaved = [f"ports: + {WAN}", f"ports: + {LAN}", "flows.idle_timeout: 5s", "ipv4: routes: + 10.9.0.0/16 dev lan"]
    assert json.loads(run.try_to("show", "config", "-j").stdout)["unsaved"] == unsaved
    planned = run.try_to("plan").stdout
    assert "ports.wan: removed\n" in planned and "not saved: flows.idle_timeout: 5s\n" in planned
    assert run.try_to("save").stdout.split() == [str(bench.folder / "routes.txt"), str(bench.config)]
    assert run.try_to("plan").stdout == "nothing would change\n"
    text = bench.config.read_text()
    assert text == run.try_to("show", "config").stdout
    assert text.startswith("# mine\nports:\n  - {name: wan, ") and "control: {socket: ctl}  # here\n" in text
    before = ports(filled), local(filled), live.routes(filled)
    filled.process.kill()
    filled.process.wait(timeout=conftest.PATIENCE)
    with bench.start() as router:
        assert (ports(router), local(router), live.routes(router)) == before
        router.stop()


def test_what_is_not_saved_is_the_difference(run, filled):
    assert run.try_to("save").returncode == 0
    run.do("port", "add", "dmz device none")
    run.do("port", "del", "dmz")
    run.try_to("set", "acl.default", "permit")
    assert run.try_to("plan").stdout == "nothing would change\n"
    run.try_to("set", "ports.lan.addresses", "[10.3.0.1/24]")
    now = LAN.replace("10.1.0.1/24,2001:db8::1/64", "10.3.0.1/24")
    assert json.loads(run.try_to("show", "config", "-j").stdout)["unsaved"] == [f"ports: - {LAN}", f"ports: + {now}"]
    filled.stop()


def test_a_command_does_not_end_the_run(run, filled):
    run.do("port", "del", "wan")
    run.do("port", "add", "dmz device none")
    assert ports(filled) == {"lan": 9000, "dmz": 1500}
    run.do("port", "add", WAN)
    filled.wait_for_packets()
    filled.stop()


def test_save_overwrites_no_table(bench, run, filled):
    code, said = run.refused("save", bench.folder / "routes.txt")
    assert code == 1 and "'routes' of ipv4 is in it: save the configuration as another file" in said
    run.do("route", "add", "10.9.0.0/16 dev lan")
    assert run.try_to("save").returncode == 0
    (bench.folder / "routes.txt").unlink()
    code, said = run.refused("save")
    assert code == 1 and "routes.txt: changed on disk since it was read" in said
    assert run.try_to("save", "--force").returncode == 0
    assert (bench.folder / "routes.txt").read_text() == "10.9.0.0/16 dev lan\n"
    (bench.folder / "acl.txt.new").symlink_to(bench.folder / "precious")
    run.do("acl", "add", "deny src 10.67.0.0/16")
    assert run.refused("save")[0] == 1 and not (bench.folder / "precious").exists()
    filled.stop()


def test_two_functions_of_one_file_are_not_saved_over_each_other(bench, run):
    acl = "  - acl: {rules: acl.txt}\n"
    bench.configure(live.PORTS, live.ROUTES, live.NEIGHBOURS, pipeline=acl + acl + "  - ipv4: {routes: routes.txt}")
    (bench.folder / "acl.txt").write_text("permit\n")
    with bench.start() as router:
        run.do("acl", "add", "--stage", "acl.2", "at 1 deny proto 50")
        code, said = run.refused("save")
        assert code == 1 and "acl.txt: acl and acl.2 both name it" in said, said
        assert (bench.folder / "acl.txt").read_text() == "permit\n"
        router.stop()


def test_a_reload_returns_to_the_file(run, filled):
    assert run.try_to("reload").stdout.startswith("ports.wan: removed\nports.lan: removed\n")
    assert ports(filled) == {} and run.try_to("plan").stdout == "nothing would change\n"
    filled.stop()


def test_a_change_that_nobody_confirms_is_taken_back(run, filled):
    before = ports(filled), local(filled)
    done = run.try_to("port", "del", "lan", "--confirm", "300s")
    assert done.stdout == "router: port: 1 removed\ntaken back in 300 s unless `penumbra confirm` comes\n"
    run.do("route", "add", "10.9.0.0/16 dev wan", "--confirm", "1s")  # restarts the timeout of both changes
    filled.wait_for("the port", lambda: (ports(filled), local(filled)) == before)
    assert live.routes(filled) == {}
    assert "taken back in 300 s" in run.try_to("set", "ports.lan.addresses", "[10.3.0.1/24]", "--confirm", "300s").stdout
    assert local(filled) == {"10.3.0.1/32"}
    assert run.try_to("rollback").stdout == "taken back\n"
    assert local(filled) == before[1]
    assert f"not saved: ports: + {LAN}\n" in run.try_to("plan").stdout
    assert "ports.lan.addresses" not in run.try_to("plan").stdout
    filled.stop()


def test_a_change_that_is_confirmed_stays_and_others_are_taken_back(bench, run, filled):
    run.do("port", "add", "dmz device none", "--confirm", "300s")
    assert run.try_to("confirm").stdout == "confirmed\n"
    run.do("port", "del", "dmz", "--confirm", "300s")
    run.do("port", "add", "dmz device none mtu 2000")
    assert run.try_to("rollback").stdout == "taken back\n"
    assert ports(filled) == {"wan": 1500, "lan": 9000, "dmz": 1500}
    assert run.try_to("save").returncode == 0
    bench.config.write_text(bench.config.read_text().replace("  - {name: dmz, device: none}\n", ""))
    assert "ports.dmz: removed\n" in run.try_to("reload", "--confirm", "300s").stdout
    assert run.try_to("rollback").stdout == "taken back\n"
    assert ports(filled) == {"wan": 1500, "lan": 9000, "dmz": 1500}
    filled.stop()
