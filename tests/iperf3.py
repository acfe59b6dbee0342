# SPDX-License-Identifier: Apache-2.0
"""Transfers data with iperf3 from one namespace to another."""

import json
import re
import subprocess

import conftest
import netns

PORT = 5201
LISTENING = "0A"  # state of a socket, proc_net_tcp(5)


def transfer(client, server, address, *arguments):
    """Returns the server's report. `address` is the address of the server."""
    command = server.command("iperf3", "-s", "-1", "-J", "-p", str(PORT))
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as serving:

        def listens():
            """Returns True when the server listens. Sockets of an earlier server stay in other states for a while."""
            assert serving.poll() is None
            sockets = server.run("cat", "/proc/net/tcp", "/proc/net/tcp6").stdout
            return re.search(rf":{PORT:04X} \S+ {LISTENING} ", sockets) is not None

        try:
            conftest.wait_until("iperf3", listens)
            command = ("iperf3", "-c", address, "-t", "1", "-p", str(PORT), *arguments)
            done = client.run(*command, check=False, timeout=netns.PATIENCE)
            assert done.returncode == 0, done.stdout + done.stderr
            return json.loads(serving.communicate(timeout=netns.PATIENCE)[0])["end"]
        finally:
            serving.kill()  # the server would wait for a client forever
