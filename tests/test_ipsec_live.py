# SPDX-License-Identifier: Apache-2.0
"""Tests that the commands of docs/ipsec.md work for a newcomer, and operates a running gateway."""

import os
import re

import pytest

import conftest
import ipsec_world
import needs
import netns
from esp_codec import SUITES
from ipsec_world import Combination, configure

NAMES = ("sec-h1", "sec-g1", "sec-g2", "sec-h2")


@needs.NAMESPACES
@needs.TAPS
@needs.tools("ping")
@pytest.mark.page("docs/ipsec.md")
def test_the_page_as_it_stands(tmp_path, page):
    programs = tmp_path / "repository" / "build" / "release" / "bin"
    programs.mkdir(parents=True)
    (programs / "penumbra").symlink_to(conftest.PROGRAM)
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    with netns.of_page(*NAMES):
        done = page.run(options=["-m"], env=environment, cwd=tmp_path / "repository", timeout=2 * conftest.PATIENCE)
    conftest.check_sanitizers(done.stderr)
    pings = re.findall(r"(\d+) packets transmitted, (?:\+\d+ errors, )?(\d+) received", done.stdout)
    assert pings[1] == ("5", "5"), done.stdout
    for words in ("rfc4106(gcm(aes)) 160", "192.0.2.1 -> 192.0.2.2", "policy_mismatch", "spi 0x00000101"):
        assert words in done.stdout, words
    assert list(tmp_path.iterdir()) == [tmp_path / "repository"]


def test_operates_a_running_gateway(bench):
    tunnel, other = (Combination(i, SUITES[i], "tunnel", False, False, False, False) for i in (0, 8))
    idle = {"name": "idle", "device": "synth:rate=1", "sink": "count"}
    configure(bench, [tunnel, other], ports=[{**ipsec_world.PORTS[0], "device": "none"}, idle])
    with bench.start() as router:
        shown = router.show("sa")["sas"]
        assert [row["spi"] for row in shown] == ["0x00001000", "0x00008000", "0x00001008", "0x00008008"]
        assert shown[0]["algorithms"] == "rfc4106(gcm(aes)) 160" and shown[0]["mtu"] == 1446
        assert shown[2]["algorithms"] == "cbc(aes) 128, hmac(sha256) 128"
        policies = router.show("policy")["policies"]
        assert [row["direction"] for row in policies] == ["out", "out", "fwd", "fwd", "in", "in"]
        assert policies[0]["action"] == "protect" and policies[0]["tunnel"] == "192.0.2.1 -> 192.0.2.2" and policies[0]["sas"] == 1
        assert router.show("ipsec")["policies_known"] and router.show("ipsec")["blocks_lent"] == 2
        everything = "".join(str(router.show(*topic)) for topic in (["sa", "all"], ["policy", "all"], ["ipsec"], ["functions"]))
        for sa in (tunnel.out, tunnel.back, other.out, other.back):
            assert sa.key.hex() not in everything and sa.digest_key.hex() not in everything

        wrong = conftest.penumbra("show", "sa", "nonsense", "--socket", router.socket)
        assert wrong.returncode != 0 and "takes only `all`" in wrong.stderr
        words = ["src", tunnel.near, "dst", tunnel.far]
        said = conftest.penumbra("explain", "--port", "wan", *words, "--socket", router.socket).stdout
        assert "spi 0x00001000 192.0.2.1 -> 192.0.2.2" in said and "out 10.0.0.0/24 -> 10.16.0.0/24 priority 5: protect" in said

        # A reload removes one SA and its policies; the other goes on.
        (bench.folder / "sa.txt").write_text(tunnel.states())
        (bench.folder / "sp.txt").write_text(tunnel.policies())
        done = conftest.penumbra("reload", "--socket", router.socket)
        assert done.returncode == 0, done.stderr
        assert "2 SAs are added, removed or changed" in done.stdout and "policies: 3, were 6" in done.stdout
        assert [row["spi"] for row in router.show("sa")["sas"]] == ["0x00001000", "0x00008000"]
        (bench.folder / "sa.txt").write_text("src 192.0.2.1 dst 192.0.2.2 proto esp spi 1 mode nonsense\n")
        wrong = conftest.penumbra("reload", "--socket", router.socket)
        assert wrong.returncode == 3 and "sa.txt:1" in wrong.stderr
        assert len(router.show("sa")["sas"]) == 2


def test_check_warns_of_legacy_algorithms_and_missing_sas(bench):
    cbc = next(suite for suite in SUITES if (suite.cipher, suite.digest) == ("cbc", "sha1"))
    configure(bench, [Combination(0, cbc, "tunnel", False, False, False, False)], ports=[{"name": "wan", "device": "none"}])
    said = conftest.penumbra("check", bench.config)
    assert said.returncode == 0 and "uses CBC and SHA1, which is legacy" in said.stdout + said.stderr
    (bench.folder / "sa.txt").write_text("")
    said = conftest.penumbra("check", bench.config)
    assert "has no SA, so that its packets are dropped" in said.stdout + said.stderr
    (bench.folder / "sp.txt").write_text("")
    said = conftest.penumbra("check", bench.config)
    assert "sp.txt: there is no policy, so that all packets are dropped" in said.stdout + said.stderr


def test_check_reads_states_and_policies_together(bench):
    tunnel = Combination(0, SUITES[0], "tunnel", False, False, False, False)
    configure(bench, [tunnel], ports=[{"name": "wan", "device": "none"}])
    states, policies = bench.folder / "sa.txt", bench.folder / "sp.txt"
    out, _, inbound = policies.read_text().splitlines(keepends=True)
    state = tunnel.out.text()

    def check(states_text, policies_text=policies.read_text()):
        states.write_text(states_text)
        policies.write_text(policies_text)
        done = conftest.penumbra("check", bench.config)
        return done.returncode, done.stdout + done.stderr

    assert check(state)[0] == 0
    code, said = check(state + state)
    assert code == 3 and "sa.txt: the SA 0x1000 to 192.0.2.2 is there twice; remove one" in said
    code, said = check(state.rstrip() + " mark 5\n")
    assert code == 3 and "sa.txt: the SA 0x1000 to 192.0.2.2 has a `mark`, and packets have none; remove it" in said
    code, said = check(state, out + inbound + out)
    assert code == 3 and "sp.txt: the out policy" in said and "is there twice; remove one" in said
    code, said = check(state, out.rstrip() + out[out.index(" tmpl") :])
    assert code == 3 and "has several templates; a packet goes through one SA here" in said
    code, said = check(state, out[: out.index(" tmpl")] + " mark 1\n" + out)
    assert code == 3 and "sp.txt: the out policy" in said and "lets packets pass in clear by a mark" in said
    for changed, words in (
        (state + state.replace("0x1000", "0x1001"), "has the key of the SA 0x1000 to 192.0.2.2"),
        (state.replace("0x1000", "0x20"), "the SA 0x20 to 192.0.2.2 has a reserved SPI (RFC 4303)"),
        (state.rstrip() + " limit packet-soft 9 limit packet-hard 5\n", "a soft limit above its hard limit"),
    ):
        assert words not in check(state)[1]
        code, said = check(changed)
        assert code == 0 and words in said, said
    code, said = check(state, out.replace(" dir out", " dir out action block"))
    assert code == 0 and "blocks, so that its template has no effect" in said


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ("{}", "expected `follow: [xfrm]`, or the files"),
        ("{follow: [kernel]}", "xfrm"),
        ("{follow: [xfrm], states: sa.txt}", "the keeper's; leave this out"),
        ("{states: sa.txt, policies: sp.txt, socket: x}", "needs `follow: [xfrm]`"),
        ("{states: sa.txt, policies: sp.txt, sas: 1}", "`sas` leaves room for 1"),
        ("{states: sa.txt, policies: sp.txt, mtu: 100}", "1280"),
        ("{states: sa.txt, policies: sp.txt, interfaces: {b: 1}}", "there is no port 'b'"),
        ("{states: sa.txt, policies: sp.txt, interfaces: {a: 0}}", "1 to 4294967295"),
    ],
)
def test_wrong_keys_are_refused(bench, keys, message):
    configure(bench, [Combination(0, SUITES[0], "tunnel", False, False, False, False)])
    assert message in bench.refused(f"ports: [{{name: a, device: none}}]\npipeline:\n  - ipsec: {keys}\n")
