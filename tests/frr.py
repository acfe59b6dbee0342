# SPDX-License-Identifier: Apache-2.0
"""Runs FRR's daemons in a namespace, with a configuration, sockets and logs of their own. An FRR of the machine is not
affected."""

import os
import pathlib
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import conftest
from netns import Namespace

_DAEMONS = pathlib.Path("/usr/lib/frr")


def unavailable() -> str | None:
    """Returns the reason why FRR cannot run here, or None."""
    if not (_DAEMONS / "zebra").exists() or shutil.which("vtysh") is None:
        return "needs FRR (Debian's package frr)"
    return None


class Frr:
    """Runs FRR's daemons as a context manager. On entry, the daemons start and read `config`, a common frr.conf.

    `daemons` are names of /usr/lib/frr, zebra first. `options` maps daemons to more arguments, for example {"zebra":
    ["-M", "dplane_fpm_nl"]}."""

    def __init__(
        self,
        namespace: Namespace,
        config: str,
        daemons: Iterable[str] = ("zebra", "bgpd"),
        options: Mapping[str, Iterable[str]] | None = None,
    ) -> None:
        self.namespace = namespace
        self.config = config
        self.daemons = tuple(daemons)
        self._options = {name: list(arguments) for name, arguments in (options or {}).items()}
        self._running: dict[str, subprocess.Popen] = {}

    def __enter__(self) -> "Frr":
        # The daemons drop root privileges, and their user cannot access pytest's folders.
        self._folder = tempfile.TemporaryDirectory(prefix="penumbra-frr-", dir="/tmp")
        self.folder = pathlib.Path(self._folder.name)
        self.folder.chmod(0o755)
        shutil.chown(self.folder, "frr", "frr")
        (self.folder / "nothing.conf").touch()
        (self.folder / "frr.conf").write_text(self.config)
        try:
            self.start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: Any) -> None:
        self.kill()
        self._folder.cleanup()

    def start(self, *daemons: str) -> None:
        """Starts the given daemons (or all), which must not be running, and applies the configuration to all running
        daemons."""
        names = daemons or self.daemons
        if "zebra" in names:
            # The other daemons retry only after ten seconds if zebra is not running.
            self._start("zebra")
            self.wait_for("zebra", (self.folder / "zserv.api").exists)
        for name in set(names) - {"zebra"}:
            self._start(name)
        for name in names:
            self.wait_for(f"an answer of {name}", lambda name=name: self._vtysh("-d", name, "-c", "show version")[0] == 0)
        code, answer = self._vtysh("-f", str(self.folder / "frr.conf"))
        assert code == 0 and "%" not in answer, answer

    def _start(self, name: str) -> None:
        for socket in (f"{name}.vty", *(["zserv.api"] if name == "zebra" else [])):
            (self.folder / socket).unlink(missing_ok=True)
        with (self.folder / f"{name}.out").open("a") as output:
            self._running[name] = subprocess.Popen(
                self.namespace.command(str(_DAEMONS / name), *self._arguments(name)),
                stdout=output,
                stderr=subprocess.STDOUT,
            )

    def kill(self, *daemons: str) -> None:
        """Kills the given daemons (or all) with SIGKILL and waits for their end."""
        ending = [self._running.pop(name) for name in daemons or tuple(self._running)]
        for process in ending:
            process.kill()
        for process in ending:
            process.wait(conftest.PATIENCE)

    def vtysh(self, *commands: str) -> str:
        """Returns the output of vtysh for a sequence of commands: `vtysh("configure", "router bgp 65001", ...)`."""
        code, answer = self._vtysh(*(word for command in commands for word in ("-c", command)))
        assert code == 0 and "% Unknown" not in answer, answer
        return answer

    def wait_for(self, what: str, condition: Callable[[], Any]) -> Any:
        """Repeats the condition until it is true, and returns its value. Fails when a daemon has ended."""

        def asked() -> Any:
            for name, process in self._running.items():
                assert process.poll() is None, f"waiting for {what}: {name} ended: {self.log(name)}"
            return condition()

        return conftest.wait_until(what, asked)

    def log(self, name: str) -> str:
        return "".join(path.read_text() for path in self.folder.glob(f"{name}.[ol]*"))

    def _arguments(self, name: str) -> list[str]:
        arguments = {
            "-f": "nothing.conf",
            "-i": f"{name}.pid",
            "-z": "zserv.api",
            "--vty_socket": ".",
            "--log": f"{name}.log",
        }
        if name == "bfdd":
            arguments["--bfdctl"] = "bfdd.sock"
        words = [word for key, file in arguments.items() for word in (key, self._path(key, file))]
        return [*words, "-P", "0", *self._options.get(name, [])]

    def _path(self, key: str, file: str) -> str:
        return ("file:" if key == "--log" else "") + os.path.normpath(self.folder / file)

    def _vtysh(self, *arguments: str) -> tuple[int, str]:
        done = subprocess.run(
            ["vtysh", "--vty_socket", str(self.folder), *arguments],
            capture_output=True,
            text=True,
            timeout=conftest.PATIENCE,
            check=False,
        )
        return done.returncode, done.stdout + done.stderr
