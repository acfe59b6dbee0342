# SPDX-License-Identifier: Apache-2.0
"""Runs two unmodified IKE daemons (strongSwan's charon) with the preload library, each with a keeper of its own."""

import os
import pathlib
import re
import shutil
import signal
import subprocess
import time

import pytest

import conftest
import netns
from test_xfrm import SaKeeper
from test_xfrm_preload import PRELOAD

CHARON = pathlib.Path("/usr/lib/ipsec/charon")
pytestmark = [
    pytest.mark.skipif(netns.unavailable() is not None, reason=f"{netns.unavailable()}"),
    pytest.mark.skipif(not CHARON.exists() or shutil.which("swanctl") is None, reason="needs strongSwan's charon and swanctl"),
]

CONFIGURATION = """
charon {{
  load = random nonce openssl pem pkcs1 pubkey hmac kdf kernel-netlink socket-default vici
  plugins {{ vici {{ socket = unix://{folder}/vici }} }}
  filelog {{ stderr {{ default = 1 }} }}
  {more}
}}
swanctl {{ load = random openssl pem pkcs1 }}
"""
CONNECTION = """
connections {{ t {{
  version = 2
  local_addrs = {0}
  remote_addrs = {1}
  proposals = aes128gcm16-prfsha256-x25519
  {options}
  local {{
    auth = psk
    id = {0}
  }}
  remote {{
    auth = psk
    id = {1}
  }}
  children {{ c {{
    local_ts = {2}
    remote_ts = {3}
    esp_proposals = {4}
    {child}
  }} {children} }}
}} }}
secrets {{ ike-1 {{ secret = "the same on both sides" }} }}
"""


class Daemon:
    """Runs charon with a keeper. `more` is added to its settings, `options` to its connection, `child` to its child, and
    `children` after that. A network without a length is one address."""

    def __init__(self, folder, namespace, *connection, more="", options="", child="", children=""):
        self.folder, self.namespace = folder, namespace
        folder.mkdir()
        (folder / "strongswan.conf").write_text(CONFIGURATION.format(folder=folder, more=more))
        own, peer, near, far, proposal = connection
        near, far = (each if "/" in each else f"{each}/32" for each in (near, far))
        text = CONNECTION.format(own, peer, near, far, proposal, options=options, child=child, children=children)
        (folder / "swanctl.conf").write_text(text)
        (folder / "etc").mkdir()
        self.keeper = SaKeeper(folder)
        (folder / "etc" / "xfrm-socket").write_text(f"{self.keeper.path}\n")
        self.environment = {**os.environ, "STRONGSWAN_CONF": str(folder / "strongswan.conf")}
        script = (
            f"mount -t tmpfs none /run && mkdir -p /etc/penumbra && mount --bind {folder / 'etc'} /etc/penumbra"
            f" && export LD_PRELOAD={PRELOAD} && exec {CHARON}"
        )
        self.process = subprocess.Popen(
            namespace.command("unshare", "--mount", "sh", "-c", script), env=self.environment, stderr=open(folder / "log", "w")
        )
        self.wait_for(lambda: (folder / "vici").exists())
        self.swanctl("--load-all", "--file", str(folder / "swanctl.conf"))

    def wait_for(self, holds):
        deadline = time.monotonic() + conftest.PATIENCE
        while not holds():
            assert self.process.poll() is None and time.monotonic() < deadline, (self.folder / "log").read_text()
            time.sleep(0.1)

    def swanctl(self, *words):
        words = ["swanctl", *words, "--uri", f"unix://{self.folder}/vici"]
        done = subprocess.run(words, env=self.environment, capture_output=True, text=True, timeout=conftest.PATIENCE, check=False)
        assert done.returncode == 0, done.stdout + done.stderr + (self.folder / "log").read_text()
        return done.stdout

    def spi(self):
        """Returns the SPI of the newest inbound SA."""
        found = re.findall(r"^\s+in\s+(\w+),", self.swanctl("--list-sas"), re.MULTILINE)
        return found[-1] if found else ""

    def close(self):
        self.process.kill()
        self.process.wait()
        self.keeper.stop(signal.SIGKILL)


@pytest.fixture(params=["aes128gcm16", "chacha20poly1305", "aes128-sha1", "aes128ctr-sha256", "aes256gcm16-esn"])
def daemons(request, tmp_path):
    if not PRELOAD.exists():
        pytest.skip(f"{PRELOAD} is not built")
    left, right = netns.Namespace("left"), netns.Namespace("right")
    started = []
    try:
        netns.veth(left, "wan", right, "wan")
        for namespace, outer, inner in ((left, "192.0.2.1", "10.0.0.1"), (right, "192.0.2.2", "10.1.0.1")):
            namespace.ip("address", "add", f"{outer}/24", "dev", "wan")
            namespace.ip("address", "add", f"{inner}/32", "dev", "lo")
        ends = ["192.0.2.1", "192.0.2.2", "10.0.0.1", "10.1.0.1"]
        started.append(Daemon(tmp_path / "left", left, *ends, request.param))
        started.append(Daemon(tmp_path / "right", right, ends[1], ends[0], ends[3], ends[2], request.param))
        yield started
    finally:
        for daemon in started:
            daemon.close()
        left.delete()
        right.delete()


def test_charon_negotiates_rekeys_and_outlives_the_keeper(daemons):
    left, right = daemons
    left.swanctl("--initiate", "--child", "c")
    for daemon in daemons:
        status = daemon.keeper.status()
        assert status["sas"] == 2
        assert status["policies"] == {"in": 1, "out": 1, "fwd": 1}
    first = left.spi()
    left.swanctl("--rekey", "--child", "c")
    left.wait_for(lambda: left.spi() not in ("", first))
    second = left.spi()
    left.keeper.stop(signal.SIGKILL)
    left.keeper.start()
    # The daemon hears of hard expiries, and negotiates new keys.
    left.wait_for(lambda: left.spi() not in ("", first, second) and left.keeper.status()["sas"] == 2)
    assert left.keeper.status()["policies"] == {"in": 1, "out": 1, "fwd": 1}
    left.process.send_signal(signal.SIGTERM)
    assert left.process.wait(conftest.PATIENCE) == 0
    assert left.keeper.status()["sas"] == 0
    right.keeper.stop()
    right.process.send_signal(signal.SIGTERM)
    assert right.process.wait(conftest.PATIENCE) == 0, "without a keeper, the daemon could not be stopped"
