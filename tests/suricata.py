# SPDX-License-Identifier: Apache-2.0
"""Runs Suricata, which tools/unpack-suricata has unpacked, over many captures with one set of rules."""

import json
import os
import pathlib
import socket
import subprocess
import time
from typing import Any

import yaml

from conftest import wait_until

#: Loading the rules of Emerging Threats takes so long, in seconds.
START_PATIENCE = 300
CAPTURE_PATIENCE = 300


def configuration(root: pathlib.Path, rules: pathlib.Path) -> dict:
    """Returns Suricata's default configuration with all addresses in each group, and with alerts as the only output."""
    folder = root / "etc" / "suricata"
    config = yaml.safe_load((folder / "suricata.yaml").read_text().split("---", 1)[1])
    config["vars"]["address-groups"] = dict.fromkeys(config["vars"]["address-groups"], "any")
    alerts = {"enabled": True, "filetype": "regular", "filename": "eve.json", "types": ["alert"]}
    config["outputs"] = [{"eve-log": alerts}]
    config["stats"] = {"enabled": False}
    config["classification-file"] = str(folder / "classification.config")
    config["reference-config-file"] = str(folder / "reference.config")
    config["default-rule-path"], config["rule-files"] = str(rules), ["*.rules"]
    config["logging"] = {"default-log-level": "notice", "outputs": [{"console": {"enabled": True}}]}
    config["runmode"] = "single"  # so that thresholds see the packets in their order
    return config


def write_configuration(config: dict, file: pathlib.Path) -> None:
    """Writes a configuration with Suricata's words for true and false."""
    text = yaml.safe_dump(config, sort_keys=False).replace(": true", ": yes").replace(": false", ": no")
    file.write_text(f"%YAML 1.1\n---\n{text}")


class Suricata:
    """One process that evaluates captures, each without the state of those before. It starts again if it ends."""

    def __init__(self, root: pathlib.Path, config: pathlib.Path, folder: pathlib.Path) -> None:
        self.folder = folder
        self.folder.mkdir(parents=True)
        self.address = folder / "socket"
        program = root / "usr" / "bin" / "suricata"
        self.command = [program, "-c", config, f"--unix-socket={self.address}", "-k", "none", "-l", folder]
        self.environment = os.environ | {"LD_LIBRARY_PATH": str(root / "usr/lib/x86_64-linux-gnu")}
        self.start()

    def start(self) -> None:
        self.address.unlink(missing_ok=True)
        log = (self.folder / "log").open("ab")
        self.process = subprocess.Popen(self.command, env=self.environment, stdout=log, stderr=log)
        self.stream = None

    def connect(self) -> None:
        wait_until("Suricata's rules", lambda: self.address.exists() or self.process.poll() is not None, START_PATIENCE)
        connection = socket.socket(socket.AF_UNIX)
        connection.connect(str(self.address))
        self.stream = connection.makefile("rwb")
        self.send({"version": "0.2"})

    def send(self, message: dict) -> Any:
        self.stream.write(json.dumps(message).encode() + b"\n")
        self.stream.flush()
        answer = json.loads(self.stream.readline())
        assert answer["return"] == "OK", answer
        return answer.get("message")

    def is_idle(self) -> bool:
        return self.send({"command": "pcap-file-number"}) == 0 and self.send({"command": "pcap-current"}) == "None"

    def alerts(self, capture: pathlib.Path, number: int) -> list[dict]:
        """Returns the alerts of a capture. Suricata 7.0.10 ends at times between captures; then this tries again."""
        output = self.folder / str(number)
        output.mkdir()
        for attempt in range(3):
            try:
                if self.stream is None:
                    self.connect()
                self.send({"command": "pcap-file", "arguments": {"filename": str(capture), "output-dir": str(output)}})
                deadline = time.monotonic() + CAPTURE_PATIENCE
                while not self.is_idle():
                    assert time.monotonic() < deadline, capture
                    time.sleep(0.05)
                break
            except (OSError, ValueError):
                assert attempt < 2, capture
                self.process.wait()
                self.start()
        eve = output / "eve.json"
        return [json.loads(line) for line in eve.read_text().splitlines()] if eve.exists() else []

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait()
