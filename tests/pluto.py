# SPDX-License-Identifier: Apache-2.0
"""Runs libreswan's IKE daemon, pluto, with the preload library and a keeper. Debian's libreswan conflicts with
strongSwan, so tools/unpack-libreswan unpacks it into a folder."""

import os
import pathlib
import signal
import subprocess

import conftest
from test_xfrm import SaKeeper
from test_xfrm_preload import PRELOAD

FOLDER = pathlib.Path(os.environ.get("PENUMBRA_LIBRESWAN", conftest.ROOT / "build" / "libreswan"))
PROGRAMS = FOLDER / "usr" / "libexec" / "ipsec"
CONFIGURATION = """
config setup
    protostack=xfrm
    logfile={folder}/log
    logappend=no
    listen={0}

conn c
    ikev2=insist
    authby=secret
    type=tunnel
    pfs=no
    left={0}
    right={1}
    leftsubnet={2}/32
    rightsubnet={3}/32
    leftupdown=%disabled
    ike=aes_gcm128-sha2_256;dh31
    esp={4}
    auto=ignore
    {options}
"""


def unavailable():
    """Returns the reason why pluto cannot run here, or None."""
    if not (PROGRAMS / "pluto").exists():
        return f"needs libreswan in {FOLDER} (tools/unpack-libreswan)"
    if not PRELOAD.exists():
        return f"{PRELOAD} is not built"
    return None


class Pluto:
    """Runs pluto with a keeper. `options` is added to its connection."""

    def __init__(self, folder, namespace, *connection, options=""):
        self.folder, self.namespace = folder, namespace
        for name in ("", "etc", "run", "nss", "ipsec.d"):
            (folder / name).mkdir(exist_ok=True)
        self.configuration = folder / "ipsec.conf"
        self.configuration.write_text(CONFIGURATION.format(*connection, folder=folder, options=options))
        self.secrets = folder / "ipsec.secrets"
        self.secrets.write_text(f'{connection[0]} {connection[1]} : PSK "the same on both sides"\n')
        self.secrets.chmod(0o600)
        self.environment = {**os.environ, "LD_LIBRARY_PATH": str(FOLDER / "usr" / "lib" / "x86_64-linux-gnu")}
        self._run(FOLDER / "usr" / "bin" / "certutil", "-N", "-d", f"sql:{folder / 'nss'}", "--empty-password")
        self.keeper = SaKeeper(folder)
        self.process = None
        try:
            self._start()
        except BaseException:
            self.close()
            raise

    def _start(self):
        (self.folder / "etc" / "xfrm-socket").write_text(f"{self.keeper.path}\n")
        words = [PROGRAMS / "pluto", "--nofork", "--config", self.configuration, "--rundir", self.folder / "run"]
        words += ["--secretsfile", self.secrets, "--nssdir", self.folder / "nss", "--ipsecdir", self.folder / "ipsec.d", "--no-dnssec"]
        script = (
            f"mkdir -p /etc/penumbra && mount --bind {self.folder / 'etc'} /etc/penumbra"
            # pluto knows the folder of its programs by this name only.
            f" && mount -t tmpfs none /usr/libexec && ln -s {PROGRAMS} /usr/libexec/ipsec"
            f" && export LD_PRELOAD={PRELOAD} && exec {' '.join(map(str, words))}"
        )
        command = self.namespace.command("unshare", "--mount", "sh", "-c", script)
        self.process = subprocess.Popen(command, env=self.environment, stderr=open(self.folder / "stderr", "w"))
        self.wait_for("pluto listens", lambda: "listening for IKE messages" in self.log())
        self._run(PROGRAMS / "addconn", "--config", self.configuration, "--ctlsocket", self.folder / "run" / "pluto.ctl", "c")

    def log(self):
        log = self.folder / "log"
        return log.read_text() if log.exists() else ""

    def wait_for(self, what, holds):
        def still():
            assert self.process.poll() is None, self.log() + (self.folder / "stderr").read_text()
            return holds()

        conftest.wait_until(what, still)

    def _run(self, *words):
        done = subprocess.run(words, env=self.environment, capture_output=True, text=True, timeout=conftest.PATIENCE, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def whack(self, *words):
        """Returns what pluto says, and asserts nothing about it."""
        words = [PROGRAMS / "whack", "--ctlsocket", self.folder / "run" / "pluto.ctl", *words]
        done = subprocess.run(words, env=self.environment, capture_output=True, text=True, timeout=conftest.PATIENCE, check=False)
        return done.stdout + done.stderr

    def close(self):
        if self.process is not None:
            self.process.kill()
            self.process.wait()
        self.keeper.stop(signal.SIGKILL)
