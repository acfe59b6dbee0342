# SPDX-License-Identifier: Apache-2.0
"""FRR's daemons in a namespace, run by hand: a configuration, sockets, and logs of their own. A machine's own FRR is not
touched."""

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
    """Why FRR cannot be run here, or nothing."""
    if not (_DAEMONS / "zebra").exists() or shutil.which("vtysh") is None:
        return "needs FRR (Debian's package frr)"
    return None


class Frr:
    """A context manager: entered, the daemons run and have taken `config`, in the words of an frr.conf that serves them all.

    `daemons` are names of /usr/lib/frr, zebra the first; `options` are more arguments of some of them, as
    {"zebra": ["-M", "dplane_fpm_nl"]}."""

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
        # The daemons give up being root, for a user who can go to no folder of pytest's.
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
        """Starts these (or all) daemons, which do not run, and gives the configuration to all that run."""
        names = daemons or self.daemons
        if "zebra" in names:
            # The others try again only ten seconds later if it is not there.
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
        """Ends these (or all) daemons at once, without a farewell, and waits until they have."""
        ending = [self._running.pop(name) for name in daemons or tuple(self._running)]
        for process in ending:
            process.kill()
        for process in ending:
            process.wait(conftest.PATIENCE)

    def vtysh(self, *commands: str) -> str:
        """What vtysh says to these commands, one after the other: `vtysh("configure", "router bgp 65001", ...)`."""
        code, answer = self._vtysh(*(word for command in commands for word in ("-c", command)))
        assert code == 0 and "% Unknown" not in answer, answer
        return answer

    def wait_for(self, what: str, condition: Callable[[], Any]) -> Any:
        """Asks again and again until the condition is true, and returns it; fails when a daemon has ended."""

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
