# SPDX-License-Identifier: Apache-2.0
"""Asks a running Penumbra router over its control socket.

    import penumbra

    with penumbra.connect() as router:
        for port in router.show("ports"):
            print(port["name"], port["rx_packets"])

docs/python.md has more; docs/control-protocol.md describes the protocol.
"""

from penumbra.errors import InputError, NotConnected, PermissionRefused, Refused, UsageError, VersionMismatch
from penumbra.router import PROTOCOL_VERSION, Json, Router, connect, default_socket

__all__ = [
    "PROTOCOL_VERSION",
    "InputError",
    "Json",
    "NotConnected",
    "PermissionRefused",
    "Refused",
    "Router",
    "UsageError",
    "VersionMismatch",
    "connect",
    "default_socket",
]
