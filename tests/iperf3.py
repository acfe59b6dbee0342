# SPDX-License-Identifier: Apache-2.0
"""A transfer by iperf3 from one namespace to another."""

import json
import re
import subprocess

import conftest
import netns

PORT = 5201
LISTENING = "0A"  # a socket's state, proc_net_tcp(5)


def transfer(client, server, address, *arguments):
    """What the server says of it. `address` is the server's."""
    command = server.command("iperf3", "-s", "-1", "-J", "-p", str(PORT))
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as serving:

        def listens():
            """What an earlier server has had is there for a while, in other states."""
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
            serving.kill()  # it would wait for a client for ever
