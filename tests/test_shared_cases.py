# SPDX-License-Identifier: Apache-2.0
"""Tests the small inputs of ../shared/cases that once failed. The README of that folder names the right value for each
input, which the tests assert."""

import ctypes
import importlib.util
import json
import pathlib
import re
import socket
import statistics
import subprocess

import pytest

import conftest
from captures import frames_of, read_capture, write_pcap

CASES = conftest.DATA.parent / "cases"
GOPT = conftest.PROGRAM.parent / "gopt"
INCLUDE = conftest.ROOT / "include"
#: The inputs need these files, or these files describe them.
HELPERS = {"README.md", "ipfix.py", "ipfixstat.py"}


def gopt(path, folder, call, expected, flags=()):
    """Asserts that `call` of the expanded function f_gopt gives the expected values, for several numbers of items."""
    if not GOPT.exists():
        pytest.skip("the gopt compiler is not built here (Clang 19 libraries)")
    output, driver, library = folder / f"output{path.suffix}", folder / f"driver{path.suffix}", folder / "output.so"
    words = [GOPT, path, "-o", output, "--width", "16", "--", f"-I{INCLUDE}", *flags]
    done = subprocess.run(words, capture_output=True, text=True, timeout=conftest.PATIENCE, check=False)
    assert done.returncode == 0, done.stderr
    linkage = 'extern "C" ' if path.suffix == ".cc" else ""
    arguments = "const int* table, const int* in, int* out, uint32_t n"
    driver.write_text(f'#include "{output}"\n{linkage}void call({arguments}) {{ {call}; }}\n')
    compiler = "g++" if path.suffix == ".cc" else "gcc"
    words = [compiler, *flags, "-O1", "-shared", "-fPIC", f"-I{INCLUDE}", "-o", library, driver]
    done = subprocess.run(words, capture_output=True, text=True, timeout=conftest.PATIENCE, check=False)
    assert done.returncode == 0, done.stderr
    function = ctypes.CDLL(str(library)).call
    for n in (1, 15, 16, 17, 64):
        table = [7 * k + 5 for k in range(64)]
        items = [(11 * k + 3) % 64 for k in range(n)]
        out = (ctypes.c_int * n)()
        function((ctypes.c_int * 64)(*table), (ctypes.c_int * n)(*items), out, ctypes.c_uint32(n))
        assert list(out) == [expected(table, items, k) for k in range(n)]


def digit_separator(path, bench):
    gopt(path, bench.folder, "f_gopt(table, in, out, n)", lambda table, items, k: table[items[k]] + 1000)


def member_pointer(path, bench):
    call = "f_gopt(table, reinterpret_cast<const uint32_t*>(in), out, n)"
    gopt(path, bench.folder, call, lambda table, items, k: table[items[k]] + (1 if items[k] & 1 else 2), ["-std=c++20"])


def compound_literal(path, bench):
    gopt(path, bench.folder, "f_gopt(table, in, out, n)", lambda table, items, k: table[items[k]] + items[k])


def default_argument(path, bench):
    gopt(path, bench.folder, "f_gopt(table, in, out, n)", lambda table, items, k: table[items[k]] + 3)


def line_splice(path, bench):
    gopt(path, bench.folder, "f_gopt(table, in, out, n)", lambda table, items, k: table[items[k]])


def local_array(path, bench):
    gopt(path, bench.folder, "(void)in; f_gopt(table, out, n)", lambda table, items, k: table[k])


def destination_options(path, bench):
    """The ten packets go to port 53 with 0 to 9 extension headers. None may pass the list that denies them."""
    pipeline = "  - acl: {rules: [deny proto udp dport 53, permit]}\n  - echo"
    bench.configure([{"name": "wan", "device": f"pcap:{path}"}], pipeline=pipeline)
    summary = bench.run()
    assert (summary.received, summary.sent) == (10, 0)
    dropped = {reason["reason"]: reason["packets"] for reason in summary.json["reasons"] if reason["stage"] == "acl"}
    assert dropped["denied"] == 9 and dropped["unparsable"] == 1


FACES = [
    {"name": "near", "port": "wan", "remote": "ether://[02:00:00:00:00:aa]"},
    {"name": "far", "port": "lan", "remote": "ether://[02:00:00:00:00:bb]"},
]


def forward_interest(path, bench):
    """Returns the summary of a forwarder that gets the file's Interest, and the frames that it sends."""
    interest = bytes.fromhex(path.read_text())
    frame = bytes.fromhex("020000000001" "0200000000aa" "8624") + interest
    write_pcap(bench.folder / "in.pcap", frames_of([frame.ljust(60, b"\0")]))
    (bench.folder / "names.txt").write_text("/ far\n")
    ports = [{"name": "wan", "device": "pcap:in.pcap"}, {"name": "lan", "device": "none"}]
    bench.configure(ports, pipeline=f"  - ndn: {{routes: names.txt, faces: {json.dumps(FACES)}}}")
    summary = bench.run()
    return summary, [frame.data for frame in read_capture(bench.folder / "lan.out.pcap").frames]


def no_nonce(path, bench):
    """The forwarder must add the Nonce, four bytes after the name."""
    summary, sent = forward_interest(path, bench)
    assert summary.sent == 1
    name = bytes.fromhex("0706080161080162")
    assert re.search(rb"\x05\x0e" + re.escape(name) + rb"\x0a\x04.{4}", sent[0], re.DOTALL), sent[0].hex()


def parameters_without_digest(path, bench):
    summary, sent = forward_interest(path, bench)
    assert summary.reasons == {("drop", "malformed"): 1} and sent == []


def long_idle(path, bench):
    """Records of a continuing flow must arrive after active_timeout (1 s), although idle_timeout is 80 s."""
    spec = importlib.util.spec_from_file_location("ipfix", CASES / "ipfix.py")
    ipfix = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(ipfix)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as collector:
        collector.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 24)
        collector.bind(("127.0.0.1", 0))
        collector.settimeout(conftest.PATIENCE)
        text = path.read_text()
        assert "127.0.0.1:4739" in text
        bench.config.write_text(text.replace("127.0.0.1:4739", f"127.0.0.1:{collector.getsockname()[1]}"))
        templates, durations = {}, []
        with conftest.RunningRouter(bench.config, socket=bench.folder / "fl.sock") as router:
            while len(durations) < 1000:
                records = ipfix.dec(collector.recv(65535), templates)[3]
                flows = [record for kind, _, record in records if kind == "R"]
                durations += [flow["en"] - flow["st"] for flow in flows if flow["end"] == 2]  # active timeout
            router.stop()
    # With timers that depend on idle_timeout (an eighth), the durations would be 9.5 s.
    assert statistics.median(durations) < 5000


def blackhole(path, bench):
    lan = {"name": "lan", "device": "none", "sink": "count", "addresses": ["192.0.2.1/24"]}
    wan = {"name": "wan", "device": "synth:rate=1k", "sink": "count"}
    bench.configure([wan, lan], routes=path.read_text())
    with bench.start() as router:
        rows = router.show("routes", "all")["routes"]
        assert [row["type"] for row in rows if row["prefix"] == "10.4.0.0/16"] == ["blackhole"]


CHECKS = {
    "acl-ipv6-0-to-9-destination-options.pcap": destination_options,
    "flows-long-idle.yaml": long_idle,
    "gopt-compound-literal.c": compound_literal,
    "gopt-default-argument.cc": default_argument,
    "gopt-digit-separator.cc": digit_separator,
    "gopt-line-splice.c": line_splice,
    "gopt-local-array-by-item.c": local_array,
    "gopt-member-pointer.cc": member_pointer,
    "ndn-app-params-without-digest.hex": parameters_without_digest,
    "ndn-no-nonce.hex": no_nonce,
    "route-blackhole-nhid.txt": blackhole,
}


def inputs() -> list[pathlib.Path]:
    """Returns the available inputs. Without ../shared, returns the inputs that have a check."""
    if not CASES.is_dir():
        return [CASES / name for name in sorted(CHECKS)]
    return sorted(path for path in CASES.iterdir() if path.name not in HELPERS)


def function_exists(name, bench):
    bench.configure([{"name": "wan", "device": "none"}], pipeline=f"  - {name}: {{}}")
    return "unknown function" not in conftest.penumbra("check", bench.config).stderr


@pytest.mark.parametrize("path", inputs(), ids=lambda path: path.name)
def test_input(path, bench):
    if not CASES.is_dir():
        pytest.skip(f"the shared cases are not at {CASES}")
    if path.name not in CHECKS:
        # The name of an input begins with the function that it tests.
        function = path.stem.split("-")[0]
        if not function_exists(function, bench):
            pytest.skip(f"function {function} does not exist yet")
        pytest.fail("this input has no check here: ../shared/cases/README.md names its right value")
    CHECKS[path.name](path, bench)
