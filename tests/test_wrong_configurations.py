# SPDX-License-Identifier: Apache-2.0
"""Tests configurations whose parts are correct but wrong together, or wrong for this machine.

A configuration that can never work is an error of `check` and `run`, with file, line and column. A configuration
that is valid but unusual causes a warning of `check`. A '§' marks the place that the message must name."""

import os
import pathlib
import socket

import pytest

import conftest
from captures import frames_of, write_pcap
from test_bad_input import refused, write

WAN = "{name: wan, device: none}"
LAN = "{name: lan, device: none}"
TWIN = "{name: lan, device: none, twin: lan-host}"
NULL = "{name: wan, device: net_null0}"


def configuration(pipeline, *ports, more=""):
    listed = "".join(f"  - {port}\n" for port in ports or (WAN, LAN))
    return f"ports:\n{listed}{more}pipeline:\n{''.join(f'  - {stage}' + chr(10) for stage in pipeline)}"


def one(port):
    return configuration(["echo"], port)


def top(line):
    return configuration(["echo"], more=line + "\n")


ACL = "acl: {rules: acl.txt}"
FLOWS = "gswitch: {flows: flows.txt}"
ETHER = "ether://[02:00:00:00:00:bb]"


def face(text):
    return configuration([f"ndn: {{faces: [{text}]}}"])


#: These configurations are wrong on any machine.
ERRORS = {
    # No packet reaches the following functions.
    "access list after ipv4": (configuration(["ipv4", f"§{ACL}"]), "no packet reaches 'acl'", "put it before 'ipv4'"),
    "access list after ipv6": (configuration(["ipv6", f"§{ACL}"]), "no packet reaches 'acl'", "put it before 'ipv6'"),
    "access list after l2": (configuration(["l2", f"§{ACL}"]), "put it before 'l2'"),
    "access list after gswitch": (configuration([FLOWS, f"§{ACL}"]), "put it before 'gswitch'"),
    "access list after echo": (configuration(["echo", f"§{ACL}"]), "'echo' in line 5 takes them all"),
    "flows after ipv4": (configuration(["ipv4", "§flows"]), "no packet reaches 'flows'", "put it before 'ipv4'"),
    "ipv4 after gswitch": (configuration([FLOWS, "§ipv4"]), "no packet reaches 'ipv4'"),
    "ipv4 after echo": (configuration(["echo", "§ipv4"]), "no packet reaches 'ipv4'"),
    "echo after both routers": (configuration(["ipv4", "ipv6", "§echo"]), "no packet reaches 'echo'"),
    "ipv4 twice": (configuration(["ipv4", "§ipv4"]), "no packet reaches 'ipv4'", "leave one of them out"),
    "ipv4 twice around ipv6": (configuration(["ipv4", "ipv6", "§ipv4"]), "leave one of them out"),
    "l2 twice": (configuration(["l2", "§l2"]), "leave one of them out"),
    # The following twins are wrong.
    "twin is the loopback": (one("{name: lan, device: none, twin: §lo}"), "no twin can be called 'lo'"),
    "twin is all": (one("{name: lan, device: none, twin: §all}"), "no twin can be called 'all'"),
    "twin by the port's name": (one("{name: default, device: none, twin: §true}"), "'default'", "'twin: NAME'"),
    "twin yes": (one("{name: lan, device: none, twin: §yes}"), "expected true, false or the name", "'yes'"),
    "twin True": (one("{name: lan, device: none, twin: §True}"), "expected true, false or the name", "'True'"),
    "twin off": (one("{name: lan, device: none, twin: §off}"), "expected true, false or the name"),
    "twin is its own interface": (
        one('{name: eth7, device: "net_af_packet0,iface=eth7", twin: §true}'),
        "the twin 'eth7' has the name of the interface of the port in line 2",
    ),
    "twin is another port's interface": (
        configuration(["echo"], '{name: wan, device: "net_af_packet0,iface=eth7"}', "{name: lan, device: none, twin: §eth7}"),
        "the twin 'eth7'",
    ),
    "twin is a TAP device": (
        configuration(["echo"], "{name: lan, device: none, twin: §tap7}", '{name: wan, device: "net_tap0,iface=tap7"}'),
        "the twin 'tap7' has the name of the interface of the port in line 3",
    ),
    # The following devices are wrong.
    "one interface, two ports": (
        configuration(["echo"], '{name: wan, device: "net_af_packet0,iface=eth7"}', '{name: lan, device: §"net_af_packet1,iface=eth7"}'),
        "the interface 'eth7' is in line 2 already",
    ),
    "one interface, two drivers": (
        configuration(["echo"], '{name: wan, device: "net_af_packet0,iface=eth7"}', '{name: lan, device: §"net_af_xdp0,iface=eth7"}'),
        "the interface 'eth7' is in line 2 already",
    ),
    "one device, two ports": (
        configuration(["echo"], NULL, '{name: lan, device: §"net_null0,size=100"}'),
        "the device 'net_null0' is in line 2 already",
    ),
    "one card, written in two ways": (
        configuration(["echo"], '{name: wan, device: "0000:81:00.0"}', '{name: lan, device: §"81:00.0"}'),
        "the device '0000:81:00.0' is in line 2 already",
    ),
    "af_packet without interface": (one("{name: wan, device: §net_af_packet0}"), "add iface=NAME"),
    "af_packet with an empty one": (one('{name: wan, device: §"net_af_packet0,iface="}'), "add iface=NAME"),
    "af_xdp without interface": (one("{name: wan, device: §net_af_xdp0}"), "add iface=NAME"),
    "unknown argument of null": (one('{name: wan, device: §"net_null0,sise=3"}'), "'sise'", "did you mean 'size'?"),
    "unknown argument of af_packet": (one('{name: wan, device: §"net_af_packet0,iface=lo,frames=3"}'), "no argument 'frames'"),
    "unknown argument of af_xdp": (one('{name: wan, device: §"net_af_xdp0,iface=lo,force=3"}'), "no argument 'force'"),
    "unknown argument of tap": (one('{name: wan, device: §"net_tap0,ifcae=x"}'), "did you mean 'iface'?"),
    "unknown argument of memif": (one('{name: wan, device: §"net_memif0,rol=server"}'), "did you mean 'role'?"),
    "unknown argument of vhost": (one('{name: wan, device: §"net_vhost0,iface=/tmp/s,queus=1"}'), "did you mean 'queues'?"),
    "argument twice": (one('{name: wan, device: §"net_af_packet0,iface=lo,iface=eth7"}'), "'iface' is given twice"),
    "several packet sockets": (one('{name: wan, device: §"net_af_packet0,iface=lo,qpairs=2"}'), "leave qpairs out"),
    # The following numbers and words are wrong.
    "leading zeros": (one("{name: wan, device: none, mtu: §0100}"), "without leading zeros"),
    "punts twice": (configuration(["ipv4"], TWIN, more="punts: {each: §10, each: 20}\n"), "'each' is given twice"),
    # The following listening addresses are wrong.
    "metrics and fpm at one address": (
        top("fpm: {listen: '127.0.0.1:2620'}\nmetrics: {listen: §'127.0.0.1:2620'}"),
        "both listen on 127.0.0.1:2620",
    ),
    "metrics at a group": (top("metrics: {listen: §'224.0.0.1:9464'}"), "expected an address of this machine"),
    "metrics at an IPv6 group": (top("metrics: {listen: §'[ff02::1]:9464'}"), "expected an address of this machine"),
    "metrics at a link-local address": (top("metrics: {listen: §'[fe80::1]:9464'}"), "does not say on which link"),
    "metrics at an address without brackets": (top("metrics: {listen: §'::1:9464'}"), "[X:X::X]:PORT"),
    "metrics at nobody's address": (top("metrics: {listen: §'203.0.113.7:9464'}"), "metrics: cannot listen on 203.0.113.7:9464"),
    # The following control sockets are wrong.
    "socket in a missing folder": (top("control: {socket: §nowhere/at/all/ctl}"), "there is no folder", "nowhere/at"),
    "socket in a file": (top("control: {socket: §acl.txt/ctl}"), "acl.txt is no folder"),
    "socket is a file": (top("control: {socket: §acl.txt}"), "there is a file of this name"),
    "read-only socket in a missing folder": (
        top("control: {socket: ctl, read_only: {socket: §nowhere/at/all/ctl}}"),
        "there is no folder",
    ),
    "read-only socket is a file": (
        top("control: {socket: ctl, read_only: {socket: §acl.txt}}"),
        "there is a file of this name",
    ),
    "socket is a folder": (top("control: {socket: §.}"), "it is a folder; name a file in it"),
    # The following keys of functions are wrong.
    "no list of rules": (configuration(["acl: {rules: §nowhere.txt}", "echo"]), "nowhere.txt", "No such file"),
    "no flows": (configuration(["gswitch: {flows: §nowhere.txt}"]), "nowhere.txt", "No such file"),
    "no names": (configuration([f'ndn: {{faces: [{{name: a, port: lan, remote: "{ETHER}"}}], routes: §nowhere.txt}}']), "No such file"),
    "collector 0.0.0.0": (configuration(["flows: {export: {collector: §'0.0.0.0:4739'}}", "echo"]), "no address that the host can send to"),
    "collector ::": (configuration(["flows: {export: {collector: §'[::]:4739'}}", "echo"]), "no address that the host can send to"),
    "collector for all": (configuration(["flows: {export: {collector: §'255.255.255.255:4739'}}", "echo"]), "it is a broadcast"),
    "collector on a link": (configuration(["flows: {export: {collector: §'[fe80::1]:4739'}}", "echo"]), "does not say on which link"),
    "VLAN twice in a trunk": (configuration(["l2: {ports: {wan: {trunk: {vlans: [20-29, §25]}}}}"]), "VLAN 25 is in this list already"),
    "face to its own port": (face('{name: a, port: lan, remote: §"ether://[02:00:00:00:00:02]"}'), "the MAC address of the port 'lan'"),
    "face to its own address": (
        face('{name: a, port: lan, remote: §"udp4://192.0.2.7", local: "udp4://192.0.2.7", mac: "02:00:00:00:00:aa"}'),
        "the address of this end",
    ),
    "link_local": (configuration(["ipv4: {link_local: §pass}"]), "there are: drop, forward"),
    # aliases are named where they stand
    "alias of a whole port": ("ports:\n  - &p {name: wan, device: none}\n  - §*p\npipeline: [echo]\n", "the name 'wan' is in line 2 already"),
    "alias of a name": ("ports:\n  - {name: &n wan, device: none}\n  - {name: §*n, device: none}\npipeline: [echo]\n", "the name 'wan'"),
    "alias with an unknown key": (
        "ports:\n  - {name: wan, device: none}\npipeline:\n  - flows: {export: &e {collector: '192.0.2.1:1'}}\n  - echo: §*e\n",
        "unknown key 'collector'",
    ),
    # The following file is wrong.
    "configuration in UTF-16": ("\ufeff" + one(WAN), "UTF-16"),
}  # fmt: skip

ROUTE_ERRORS = {
    "gateway of IPv6": ("10.0.0.0/8 via §fe80::1 dev lan\n", "'via inet6'"),
    "gateway of IPv6 that is of IPv4": ("10.0.0.0/8 via inet6 §192.0.2.1 dev lan\n", "expected an IPv6 address"),
    "no prefix, with colons": ("§10.0.0.0:8 dev lan\n", "expected a prefix (A.B.C.D/LENGTH)"),
    "nat": ("§nat 10.0.0.0/8 via 192.0.2.1\n", "no such routes any more"),
    "anycast": ("§anycast 10.0.0.0/8 dev lan\n", "'addresses'"),
    "blackhole with half a dev": ("blackhole 10.0.0.0/8 dev\n", "the name of an interface"),
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write("acl.txt", "permit\n")
    write("flows.txt", "actions=drop\n")
    write("r.txt", "default dev lan\n")
    write_pcap("in.pcap", frames_of([bytes(60)] * 3))
    return tmp_path


def write_configuration(text):
    if text.startswith("\ufeff"):
        (open("router.yaml", "wb")).write(text.encode("utf-16-le"))
        return "router.yaml:1:1: "
    # A value in quotes begins at its quote.
    return write("router.yaml", text)


@pytest.mark.parametrize("command", ["check", "run"])
@pytest.mark.parametrize("case", ERRORS)
def test_error(folder, command, case):
    text, *fragments = ERRORS[case]
    refused(command, write_configuration(text), fragments)


@pytest.mark.parametrize("command", ["check", "run"])
@pytest.mark.parametrize("case", ROUTE_ERRORS)
def test_error_in_a_route(folder, command, case):
    text, *fragments = ROUTE_ERRORS[case]
    write("router.yaml", configuration(["ipv4: {routes: routes.txt}"]))
    place = write("routes.txt", text)
    refused(command, place if "§" in text else "routes.txt:1:", fragments)


PUNTS = "punts: §{each: 10}\n"
#: These configurations can be valid.
WARNINGS = {
    "acl twice": (configuration([ACL, f"§{ACL}", "echo"]), "'acl' is in line 5 already"),
    "flows twice": (configuration(["flows", "§flows", "echo"]), "'flows' is in line 5 already"),
    "access list between routers": (configuration(["ipv4", f"§{ACL}", "ipv6"]), "put it before 'ipv4'"),
    "kernel without a twin": (configuration(["ipv4: {follow: [§kernel]}"]), "no port has a twin", "'twin: true'"),
    "kernel without a twin, IPv6": (configuration(["ipv6: {follow: [§kernel]}"]), "no port has a twin"),
    "fpm without a twin": (configuration(["ipv4: {follow: [§fpm]}"]), "no port has a twin"),
    "kernel without a twin, with a file": (
        configuration(["ipv4: {follow: [§kernel], routes: r.txt}"]),
        "no port has a twin",
    ),
    "fpm that nobody follows": (top("fpm: §{listen: '127.0.0.1:2620'}"), "no function follows FPM"),
    "punts without a twin": (configuration(["ipv4"], more=PUNTS), "'punts' limits nothing"),
    "two ports of one MAC address": (
        configuration(["echo"], WAN, '§{name: lan, device: none, mac: "02:00:00:00:00:01"}'),
        "port 'lan' has the MAC address 02:00:00:00:00:01 of port 'wan'",
    ),
    "missing interface": (one('{name: wan, device: §"net_af_packet0,iface=nosuch0"}'), "no interface 'nosuch0' here"),
    "missing card": (one('{name: wan, device: §"0000:ff:1f.7"}'), "no PCI device 0000:ff:1f.7 here"),
    "addresses that nothing uses": (
        one("{name: wan, device: none, addresses: §[192.0.2.1/24, 2001:db8::1/64]}"),
        "port 'wan': nothing uses its addresses",
        "give it a twin",
    ),
    "addresses of IPv6 and a router of IPv4": (
        configuration(["ipv4"], "{name: wan, device: none, addresses: §[192.0.2.1/24, 2001:db8::1/64]}"),
        "nothing uses its IPv6 addresses",
        "add 'ipv6'",
    ),
    "switch of one port": (configuration(["§l2"], WAN), "no VLAN has two ports"),
    "switch of lonely VLANs": (configuration(["l2: §{ports: {wan: {access: 2}}}"]), "no VLAN has two ports"),
    "switch that does not listen to all": (configuration(["§l2"], NULL, LAN), "port 'wan' is not promiscuous"),
}  # fmt: skip


@pytest.mark.parametrize("case", WARNINGS)
def test_warning(folder, case):
    text, *fragments = WARNINGS[case]
    place = write_configuration(text)
    done = conftest.penumbra("check", "router.yaml")
    assert done.returncode == 0, done.stderr
    for fragment in [place, *fragments]:
        assert fragment in done.stderr


@pytest.mark.parametrize(
    ("stage", "more"),
    [
        ("echo", ", twin: w0"),
        ("{ipv4: {}}", ""),
        ('{ndn: {faces: [{name: a, port: wan, remote: "udp4://192.0.2.7", mac: "02:00:00:00:00:aa"}]}}', ""),
    ],
)
def test_addresses_that_something_uses(folder, stage, more):
    write("router.yaml", configuration([stage], f"{{name: wan, device: none, addresses: [192.0.2.1/24]{more}}}"))
    done = conftest.penumbra("check", "router.yaml")
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("command", ["check", "run"])
def test_entries_that_never_decide(folder, command):
    write("acl.txt", "permit src 10.0.0.0/8\ndeny src 10.1.0.0/16\npermit\npermit proto tcp dport 80\n")
    write("router.yaml", configuration([ACL, "echo"]))
    done = conftest.penumbra(command, "router.yaml", *(["--for", "100ms"] if command == "run" else []))
    assert done.returncode == 0, done.stderr
    assert "acl.txt:2: 'deny src 10.1.0.0/16' never decides: 'permit src 10.0.0.0/8' in line 1 matches all its packets" in done.stderr
    assert "put it before that line, or remove it" in done.stderr
    assert "acl.txt:4: 'permit proto tcp dport 80' never decides: 'permit' in line 3 matches all its packets; remove it" in done.stderr


def test_ports_that_come_by_command(folder):
    """A configuration without ports is a starting point, so it causes no warning that ports can resolve."""
    write("flows.txt", "in_port=1,actions=drop\n")
    for stage in ("ipv4: {follow: [kernel]}", "ipv6: {follow: [fpm]}", "l2", FLOWS):
        write("router.yaml", f"ports: []\npunts: {{each: 10}}\npipeline:\n  - {stage}\n")
        done = conftest.penumbra("check", "router.yaml")
        assert (done.returncode, done.stderr) == (0, ""), stage


FILE_WARNINGS = {
    "port that is not there": (FLOWS, "flows.txt", "in_port=9,actions=output:1\n", "flows.txt:1: ", "there is no port 9"),
    "port 0": (FLOWS, "flows.txt", "actions=drop\nin_port=0,actions=1\n", "flows.txt:2: ", "there is no port 0"),
    "gateway that is the router": ("ipv4: {routes: r.txt}", "r.txt", "10.0.0.0/8 via 192.0.2.1 dev lan\n", "the router's own address"),
    "route of no packet": ("ipv4: {routes: r.txt}", "r.txt", "127.0.0.0/8 dev lan\n", "no packet takes the route to 127.0.0.0/8"),
    "names that stay on their host": (
        f'ndn: {{faces: [{{name: a, port: lan, remote: "{ETHER}"}}], routes: names.txt}}',
        "names.txt",
        "/a a\n/localhost/nfd a\n",
        "names.txt:2: no packet takes the route to '/localhost/nfd'",
        "remove the route",
    ),
    "neighbour that is the router": (
        "ipv4: {neighbours: n.txt}",
        "n.txt",
        "192.0.2.1 dev lan lladdr 02:00:00:00:00:05\n",
        "192.0.2.1 is the router's own address",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", FILE_WARNINGS)
def test_warning_of_a_file(folder, case):
    function, name, text, *fragments = FILE_WARNINGS[case]
    write(name, text)
    write("router.yaml", configuration([function], WAN, "{name: lan, device: none, addresses: [192.0.2.1/24]}"))
    done = conftest.penumbra("check", "router.yaml")
    assert done.returncode == 0, done.stderr
    for fragment in fragments:
        assert fragment in done.stderr


def in_a_namespace(script):
    """Runs the shell script in a new network namespace, where the caller is root."""
    command = ["unshare", "--net", "--map-root-user", "bash", "-ec", script]
    done = conftest.subprocess.run(command, capture_output=True, text=True, timeout=conftest.PATIENCE)
    conftest.check_sanitizers(done.stderr)
    return done


def test_an_mtu_above_the_interfaces(folder):
    place = write("router.yaml", one('{name: wan, device: "net_af_packet0,iface=lan0", mtu: §9000}'))
    for command in ("check router.yaml", "run router.yaml --for 100ms"):
        script = f"ip link add lan0 type veth peer name lan1; ip link set lan0 up; {conftest.PROGRAM} {command}"
        done = in_a_namespace(script)
        assert done.returncode == 0, done.stderr
        assert f"{place}port 'wan': an MTU of 9000 is above the interface's, so 1500 holds" in done.stderr
        assert "ip link set dev lan0 mtu 9000" in done.stderr


def test_an_mtu_above_the_interfaces_by_command(folder):
    write("router.yaml", "ports: []\ncontrol: {socket: ctl}\npipeline: [echo]\n")
    done = in_a_namespace(
        f"""ip link add lan0 type veth peer name lan1; ip link set lan0 up
        penumbra() {{ {conftest.PROGRAM} "$@" --socket ctl; }}
        {conftest.PROGRAM} run router.yaml 2>log & trap 'kill $!' EXIT
        for try in $(seq 300); do [ -S ctl ] && break; sleep 0.1; done
        penumbra port add wan device net_af_packet0,iface=lan0 mtu 9000
        echo set >&2
        penumbra set ports.wan.mtu 1400
        penumbra set ports.wan.mtu 8000
        penumbra plan"""
    )
    assert done.returncode == 0, done.stderr
    added, changed = done.stderr.split("set\n")
    assert added.startswith("port 'wan': an MTU of 9000 is above the interface's, so 1500 holds; set the interface's (ip link set dev lan0 mtu 9000)")
    assert changed.startswith("port 'wan': an MTU of 8000 is above the interface's, so 1500 holds"), changed
    assert "port 'wan': an MTU of 9000 is above" in pathlib.Path("log").read_text()


def test_a_twin_that_is_no_tap(folder):
    place = write("router.yaml", one("{name: wan, device: none, twin: §lan0}"))
    done = in_a_namespace(f"ip link add lan0 type veth peer name lan1; {conftest.PROGRAM} check router.yaml")
    assert done.returncode == 0 and f"{place}port 'wan': there is an interface 'lan0' here that is no TAP" in done.stderr


def test_one_interface_and_two_routers(folder):
    """The second router is refused while the first one runs, and starts after the first one ends in any way."""
    for name in ("one", "two"):
        more = f"control: {{socket: {name}.ctl}}\n"
        write(f"{name}.yaml", configuration(["echo"], '{name: wan, device: "net_af_packet0,iface=lan0"}', more=more))
    script = f"""
        ip link add lan0 type veth peer name lan1; ip link set lan0 up
        {conftest.PROGRAM} run one.yaml > /dev/null & first=$!
        until {conftest.PROGRAM} show ports --socket one.ctl > /dev/null 2>&1; do sleep 0.05; done
        {conftest.PROGRAM} run two.yaml --for 100ms && exit 9
        echo first is $first >&2
        kill -9 $first; wait $first || true
        {conftest.PROGRAM} run two.yaml --for 100ms
        """
    done = in_a_namespace(script)
    assert done.returncode == 0, (done.returncode, done.stderr)
    assert "two.yaml:2:25: port 'wan': another router (process " in done.stderr
    assert "has the interface 'lan0'" in done.stderr


def test_text_files_may_have_a_byte_order_mark(folder):
    pipeline = [ACL, "ipv4: {routes: r.txt, neighbours: n.txt}"]
    texts = {"r.txt": "default via 192.0.2.1 dev lan\n", "n.txt": "192.0.2.1 dev lan lladdr 02:00:00:00:00:05\n"}
    for name, text in {"router.yaml": configuration(pipeline), "acl.txt": "permit\n", **texts}.items():
        (folder / name).write_bytes(b"\xef\xbb\xbf" + text.encode())
    done = conftest.penumbra("check", "router.yaml")
    assert done.returncode == 0, done.stderr
    (folder / "r.txt").write_bytes(texts["r.txt"].encode("utf-16"))
    done = conftest.penumbra("check", "router.yaml")
    assert done.returncode == 3 and "r.txt:1:1: begins with the byte order mark of UTF-16" in done.stderr


def test_a_socket_that_a_router_has(folder):
    """Checking the configuration of a running router is no error."""
    write("router.yaml", top("control: {socket: ctl}"))
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("ctl")
        listener.listen()
        assert conftest.penumbra("check", "router.yaml").returncode == 0
    os.unlink("ctl")
