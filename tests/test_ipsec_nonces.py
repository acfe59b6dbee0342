# SPDX-License-Identifier: Apache-2.0
"""Runs a gateway through random days of operations. A checker reads all it sends: no key may meet a nonce twice."""

import dataclasses
import random
import shutil
import signal
import struct
import time

import pytest

import conftest
import ipsec_world
import needs
import netns
import xfrm_messages as xfrm
from captures import frames_of, write_pcap
from esp_codec import SUITES, Sa, Suite
from ipsec_nonces import Nonces, Tap, Twice
from ipsec_world import OWN, PEER, frame
from test_ipsec import plain
from test_xfrm import SaKeeper

KINDS = (SUITES[0], Suite("ctr", 16, 12, "sha1"), Suite("chacha", 32), Suite("cbc", 16, 16, "sha256"))
NAMES = {"gcm": "rfc4106(gcm(aes))", "chacha": "rfc7539esp(chacha20,poly1305)", "ctr": "rfc3686(ctr(aes))", "cbc": "cbc(aes)"}
ENGINES = ("scalar", "gopt", "auto")
WIRES = ("wan", "other")
#: Packets a second.
RATE = 20_000
OTHER = "192.0.2.3"  #: address that this gateway moves to


def algorithms(sa):
    if not sa.suite.digest:
        return xfrm.attribute(xfrm.ALG_AEAD, xfrm.algorithm(NAMES[sa.suite.cipher], sa.key, 8 * sa.suite.tag_bytes))
    digest = xfrm.algorithm(f"hmac({sa.suite.digest})", sa.digest_key, 8 * sa.suite.tag_bytes)
    cipher = xfrm.algorithm(NAMES[sa.suite.cipher], sa.key)
    return xfrm.attribute(xfrm.ALG_CRYPT, cipher) + xfrm.attribute(xfrm.ALG_AUTH_TRUNC, digest)


class Day:
    """A router on a wire that the checker listens to. Operations are the methods whose names begin with `do_`."""

    def __init__(self, bench, chance):
        self.bench, self.chance = bench, chance
        self.inside, self.outside = netns.Namespace("gateway"), netns.Namespace("wire")
        # The second wire is that of a second router.
        for wire in WIRES:
            netns.veth(self.inside, wire, self.outside, wire)
        self.nonces = Nonces()
        self.tap = Tap([self.outside.socket(wire) for wire in WIRES], self.nonces)
        self.tunnels = [plain(number, suite) for number, suite in enumerate(KINDS)]
        self.outs = [tunnel.out for tunnel in self.tunnels]
        for number, sa in enumerate(self.outs):
            self.nonces.know(sa, number)
        self.engine, self.workers, self.router = "scalar", 2, None
        self.addresses = [OWN]
        packets = [tunnel.leaving(20 + i) for i in range(16) for tunnel in self.tunnels]
        write_pcap(bench.folder / "in.pcap", frames_of(map(frame, packets)))

    def configure(self):
        wan = {"name": "wan", "device": "net_af_packet0,iface=wan", "addresses": [f"{own}/24" for own in self.addresses], "sink": None}
        source = {"name": "lan", "device": f"pcap:in.pcap,loop,rate={RATE}", "sink": "count"}
        # `echo` takes the first port for all packets.
        self.bench.configure(
            [wan, source], pipeline=f"  - ipsec: {{{self.settings()}}}\n  - echo: {{offset: 0}}", workers=self.workers, engine=self.engine
        )

    def start(self):
        self.configure()
        self.router = self.bench.start(command=self.inside.command())
        self.router.__enter__()

    def open(self):
        self.start()
        self.wait_for_traffic("the start")

    def close(self):
        if self.router is not None:
            self.router.__exit__(None, None, None)
        try:
            self.tap.close()
        finally:
            self.inside.delete()
            self.outside.delete()

    def wait_for_traffic(self, after):
        """Waits until each tunnel has sealed again. Nonces that stay unused for ever would be no achievement."""
        before = [self.nonces.counts.get(number, 0) for number in range(len(self.tunnels))]

        def has_more():
            assert self.tap.problem is None, f"after {after}: {self.tap.problem!r}"
            return all(self.nonces.counts.get(number, 0) > count + 10 for number, count in enumerate(before))

        conftest.wait_until(f"traffic after {after}", has_more)

    def run(self, steps):
        """Does each operation once, and then others at random. Returns what was done."""
        names = sorted(name for name in dir(self) if name.startswith("do_"))
        order = self.chance.sample(names, len(names))
        order += self.chance.choices(names, k=max(steps - len(names), 0))
        for name in order:
            getattr(self, name)()
            self.wait_for_traffic(name)
            time.sleep(self.chance.random() / 4)
        return order

    def pick(self):
        return self.chance.randrange(len(self.tunnels))

    def do_crash(self):
        self.router.process.send_signal(signal.SIGKILL)
        self.router.process.communicate()
        self.start()

    def do_restart(self):
        self.router.finish(signal.SIGTERM)
        self.start()

    def do_change_the_engine(self):
        self.engine = self.chance.choice([each for each in ENGINES if each != self.engine])
        self.do_restart()

    def do_change_the_workers(self):
        self.workers = 3 - self.workers
        self.do_restart()

    def reload(self):
        done = conftest.penumbra("reload", "--socket", self.router.socket)
        assert done.returncode == 0, done.stdout + done.stderr


class DayOfDaemon(Day):
    """The keeper has the SAs. The test does to it what an IKE daemon may do, also what a careless one does."""

    def __init__(self, bench, chance):
        super().__init__(bench, chance)
        self.keeper, self.peer = SaKeeper(bench.folder), None
        self.spi = 0x20000

    def settings(self):
        return f"follow: [xfrm], socket: {self.keeper.path}"

    def close(self):
        try:
            super().close()
        finally:
            self.keeper.stop(signal.SIGKILL)

    def open(self):
        self.install()
        super().open()

    def ask(self, kind, content):
        error, answer = self.peer.ask(xfrm.message(kind, content))
        assert error == "", (kind, error)
        return answer

    def install(self):
        self.peer = xfrm.Peer(self.keeper.path)
        for number in range(len(self.outs)):
            self.add(number)
            self.update_policy(number)

    def add(self, number, more=b""):
        sa = self.outs[number]
        self.nonces.know(sa, number)
        content = xfrm.sa(sa.spi, reqid=sa.reqid, window=32, ends=(sa.source, sa.destination))
        self.ask(xfrm.NEWSA, content + algorithms(sa) + more)

    def delete(self, sa):
        self.ask(xfrm.DELSA, xfrm.sa_id(sa.spi))

    def update_policy(self, number):
        tunnel, sa = self.tunnels[number], self.outs[number]
        content = xfrm.policy(xfrm.OUT, selected=xfrm.selector(tunnel.far, tunnel.near, (32, 32)))
        template = xfrm.template(reqid=sa.reqid, ends=(sa.source, sa.destination))
        self.ask(xfrm.UPDPOLICY, content + xfrm.attribute(xfrm.TMPL, template))

    def renew(self, number, **fields):
        """Replaces an SA as a rekeying does: the new one is there before the old one goes."""
        old = self.outs[number]
        self.spi += 1
        self.outs[number] = dataclasses.replace(old, **{"spi": self.spi, **fields})
        self.add(number)
        self.update_policy(number)
        time.sleep(self.chance.choice([0, 0, 0.05]))
        self.delete(old)

    def do_rekey(self):
        for number in range(len(self.outs)):
            self.renew(number, key=b"", digest_key=b"")

    def do_update_an_sa(self):
        """UPDSA changes a limit that no packet reaches. The data plane gets an SA with the same key and other settings."""
        sa = self.outs[self.pick()]
        limits = struct.pack("=8Q", xfrm.INFINITE, xfrm.INFINITE, self.chance.randint(1 << 40, 1 << 50), xfrm.INFINITE, 0, 0, 0, 0)
        content = xfrm.sa(sa.spi, reqid=sa.reqid, window=32, ends=(sa.source, sa.destination), limits=limits)
        self.ask(xfrm.UPDSA, content + algorithms(sa))

    def do_another_spi_with_the_same_key(self):
        self.renew(self.pick())

    def do_add_an_sa_again(self):
        number = self.pick()
        self.delete(self.outs[number])
        time.sleep(self.chance.choice([0, 0.3]))
        # The daemon claims that nothing was sent, or sends no state at all.
        self.add(number, self.chance.choice([b"", xfrm.attribute(xfrm.REPLAY_VAL, bytes(12))]))

    def do_another_key_for_the_spi(self):
        number = self.pick()
        self.delete(self.outs[number])
        # The checker tells the keys apart by the ICV, so that both differ.
        sizes = {name: len(getattr(self.outs[number], name)) for name in ("key", "digest_key")}
        secrets = {name: self.chance.randbytes(size) for name, size in sizes.items()}
        self.outs[number] = dataclasses.replace(self.outs[number], **secrets)
        self.add(number)

    def do_move(self):
        """MOBIKE: a policy blocks while the SA is deleted and added with another address."""
        number = self.pick()
        old = self.outs[number]
        state = self.ask(xfrm.GETAE, xfrm.event_id(old.spi))[0][1]
        assert len(state) > 48
        self.delete(old)
        self.outs[number] = dataclasses.replace(old, source=OTHER if old.source == OWN else OWN)
        self.add(number)
        self.update_policy(number)

    def do_migrate(self):
        """MOBIKE again, by one request that moves the policy and the SA."""
        number = self.pick()
        tunnel, old = self.tunnels[number], self.outs[number]
        new = dataclasses.replace(old, source=OTHER if old.source == OWN else OWN)
        move = xfrm.move((old.source, old.destination), (new.source, new.destination), reqid=old.reqid)
        self.outs[number] = new
        self.ask(xfrm.MIGRATE, xfrm.migration(xfrm.OUT, move, selected=xfrm.selector(tunnel.far, tunnel.near, (32, 32))))

    def do_run_two_routers(self):
        """Both have the same SAs for a while, as when one replaces the other without a break."""
        folder = self.bench.folder / "second"
        folder.mkdir(exist_ok=True)
        (folder / "router.yaml").write_text(self.bench.config.read_text().replace("iface=wan", "iface=other"))
        shutil.copy(self.bench.folder / "in.pcap", folder)

        def sealed(router):
            return sum(row["packets"] for row in router.show("sa", "all")["sas"])

        with conftest.Bench(folder).start(command=self.inside.command()) as second:
            second.wait_for("sealed packets", lambda: sealed(second) > 100)
            self.do_rekey()
            for router in (second, self.router):
                router.wait_for("packets of new SAs", lambda router=router: sealed(router) > 100)
            second.stop()

    def do_kill_the_keeper(self):
        self.keeper.stop(signal.SIGKILL)
        time.sleep(self.chance.random() / 2)
        self.keeper.start()
        self.install()

    def do_kill_both(self):
        self.router.process.send_signal(signal.SIGKILL)
        self.keeper.stop(signal.SIGKILL)
        self.router.process.communicate()
        self.keeper.start()
        self.install()
        self.start()

    def do_reload(self):
        self.addresses = [OWN] if len(self.addresses) > 1 else [OWN, OTHER]
        self.configure()
        self.reload()


class DayOfFiles(Day):
    """Files have the SAs, and the router its own marks."""

    def settings(self):
        (self.bench.folder / "sa.txt").write_text("".join(sa.text() for sa in self.outs))
        (self.bench.folder / "sp.txt").write_text("".join(tunnel.policies() for tunnel in self.tunnels))
        return "states: sa.txt, policies: sp.txt, marks: marks"

    def do_reload_without_an_sa_and_with_it(self):
        whole = self.outs
        self.outs = self.chance.sample(whole, len(whole) - 1)
        self.configure()
        self.reload()
        self.outs = whole
        self.configure()
        self.reload()

    def do_rekey(self):
        number = self.pick()
        self.outs[number] = dataclasses.replace(self.outs[number], spi=self.outs[number].spi + 0x100, key=b"", digest_key=b"")
        self.nonces.know(self.outs[number], number)
        self.configure()
        self.reload()

    def do_change_the_window(self):
        """An SA with the same key and other settings replaces one."""
        number = self.pick()
        self.outs[number] = dataclasses.replace(self.outs[number], window=self.chance.choice([32, 64, 128, 256]))
        self.configure()
        self.reload()


@needs.NAMESPACES
@pytest.mark.parametrize(("kind", "seed"), [(DayOfDaemon, 1), (DayOfDaemon, 2), (DayOfFiles, 3)])
def test_no_nonce_is_used_twice_on_a_random_day(bench, kind, seed):
    day = kind(bench, random.Random(seed))
    try:
        day.open()
        done = day.run(24)
        print(f"{len(done)} operations, {sum(day.nonces.counts.values())} packets")
    finally:
        day.close()
    assert min(day.nonces.counts.values()) > 1000


@needs.NAMESPACES
def test_the_checker_finds_a_nonce_that_repeats(bench):
    """The operator answers for keys when marks are lost, and here breaks the promise: the checker must see it."""
    day = DayOfDaemon(bench, random.Random(4))
    with pytest.raises(Twice):
        try:
            day.open()
            day.keeper.stop(signal.SIGKILL)
            (day.keeper.folder / "state" / "xfrm.marks").unlink()
            day.keeper.start("--accept-lost-marks")
            day.install()
            day.do_crash()
            conftest.wait_until("a repetition", lambda: day.tap.problem)
        finally:
            day.close()


def test_the_checker_knows_numbers_by_key():
    nonces = Nonces()
    first = Sa(0x100, SUITES[0], OWN, PEER)
    same_key = dataclasses.replace(first, spi=0x101)
    other_key = dataclasses.replace(first, key=bytes(20))
    for sa in (first, same_key, other_key):
        nonces.know(sa)
    inner = ipsec_world.ip_packet("10.0.0.7", "10.1.0.7", 9)
    nonces.take(first.seal(1, inner))
    nonces.take(first.seal(2, inner))
    nonces.take(other_key.seal(1, inner))
    for again in (first.seal(2, inner), same_key.seal(1, inner), other_key.seal(1, inner)):
        with pytest.raises(Twice):
            nonces.take(again)
    cbc = Sa(0x102, KINDS[3], OWN, PEER)
    nonces.know(cbc)
    nonces.take(cbc.seal(1, inner))
    with pytest.raises(Twice):
        # Another number with the IV of the first.
        esp = cbc.seal_payload(2, inner, 4, iv=cbc.seal(1, inner)[28:44])
        nonces.take(cbc.header(len(esp), 50) + esp)
