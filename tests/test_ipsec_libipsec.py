# SPDX-License-Identifier: Apache-2.0
"""strongSwan's own ESP in user space (kernel-libipsec) is the peer of a gateway with charon:

h1 - a, left, b - b, right with a TUN device

It knows tunnels in UDP over IPv4 only, and no extended sequence numbers."""

import os
import pathlib
import struct
import subprocess

import pytest

import conftest
import netns
from test_ipsec_charon import Gateway
from test_ipsec_charon import pytestmark as marks
from test_twin import ping
from test_xfrm_charon import CHARON, CONFIGURATION, CONNECTION, Daemon

LIBIPSEC = pathlib.Path("/usr/lib/ipsec/plugins/libstrongswan-kernel-libipsec.so")
pytestmark = [*marks, pytest.mark.skipif(not LIBIPSEC.exists(), reason="needs strongSwan's kernel-libipsec")]
OWN, PEER, HOST = "192.0.2.2", "192.0.2.1", "10.1.0.2"
IN_UDP = "encap = yes"


class LibipsecDaemon(Daemon):
    """Runs charon without a keeper: its SAs are in its own process."""

    def __init__(self, folder, namespace, proposal):
        self.folder, self.namespace = folder, namespace
        folder.mkdir()
        text = CONFIGURATION.replace("kernel-netlink", "kernel-libipsec kernel-netlink")
        (folder / "strongswan.conf").write_text(text.format(folder=folder, more=""))
        ends = (OWN, PEER, f"{HOST}/32", "10.0.0.2/32", proposal)
        (folder / "swanctl.conf").write_text(CONNECTION.format(*ends, options=IN_UDP, child="", children=""))
        self.environment = {**os.environ, "STRONGSWAN_CONF": str(folder / "strongswan.conf")}
        script = f"mount -t tmpfs none /run && exec {CHARON}"
        words = namespace.command("unshare", "--mount", "sh", "-c", script)
        self.process = subprocess.Popen(words, env=self.environment, stderr=open(folder / "log", "w"))
        self.wait_for(lambda: (folder / "vici").exists())
        self.swanctl("--load-all", "--file", str(folder / "swanctl.conf"))

    def close(self):
        self.process.kill()
        self.process.wait()


class Network:
    def __init__(self, folder):
        self.folder = folder
        self.host, self.right = netns.Namespace("h1"), netns.Namespace("right")
        self.left, self.peer = Gateway("left", self.host, folder / "left"), None
        netns.veth(self.left.namespace, "veth-b", self.right, "veth-b")
        self.right.ip("address", "add", f"{OWN}/24", "dev", "veth-b")
        self.right.ip("address", "add", f"{HOST}/32", "dev", "lo")
        self.wire = self.right.socket("veth-b")
        self.left.start()

    def connect(self, proposal):
        self.left.negotiate(proposal, options=IN_UDP)
        self.peer = LibipsecDaemon(self.folder / "right", self.right, proposal)
        self.left.daemon.swanctl("--initiate", "--child", "c")
        self.left.wait_for_sas()

    def close(self):
        if self.peer is not None:
            self.peer.close()
        self.left.close()
        for namespace in (self.host, self.right, self.left.namespace):
            namespace.delete()


@pytest.fixture
def tunnel(tmp_path):
    its = Network(tmp_path)
    yield its
    its.close()


@pytest.mark.parametrize("proposal", ["aes128gcm16", "aes256gcm16", "chacha20poly1305", "aes128-sha256", "aes256-sha512"])
def test_libipsec_opens_and_seals(tunnel, proposal):
    tunnel.connect(proposal)
    left = tunnel.left
    conftest.wait_until("an answer", lambda: left.host.run("ping", "-c", "1", "-W", "1", HOST, check=False).returncode == 0)
    ping(left.host, HOST)
    # The peer begins, also with packets of each length modulo the block, and with long ones.
    for size in (*range(8, 26), 1200):
        said = tunnel.right.run("ping", "-c", "1", "-W", "5", "-s", str(size), "-I", HOST, "10.0.0.2", check=False).stdout
        assert " 1 received" in said, (size, said)
    first = left.daemon.spi()
    left.daemon.swanctl("--rekey", "--child", "c")
    left.daemon.wait_for(lambda: left.daemon.spi() not in ("", first))
    ping(left.host, HOST)
    outbound, inbound = left.shown()
    for row in outbound + inbound:
        assert row["udp"] == "4500 -> 4500" and row["bad_icv"] == row["replayed"] == row["late"] == 0
    seen = set()
    for data in netns.receive(tunnel.wire, 1 << 30, patience=0.5):
        if data[12:14] != b"\x08\x00" or data[23] != 17:
            assert data[26:29] != bytes([10, 0, 0]), f"in clear: {data.hex()}"
            continue
        spi, number = struct.unpack("!II", data[42:50])
        if spi and data[36:38] == struct.pack("!H", 4500) and len(data) > 50:
            assert (spi, number) not in seen, "a nonce was used twice"
            seen.add((spi, number))
    assert len(seen) >= 30 and len({spi for spi, _ in seen}) == 2
