# SPDX-License-Identifier: Apache-2.0
"""Tests what the keeper sends to data planes, in the place of a data plane."""

import struct

import pytest

import xfrm_messages as xfrm
from test_xfrm import keeper  # noqa: F401 - fixture
from xfrm_messages import attribute, message


def data_plane(keeper):
    """Connects and says HELLO with the option of a data plane."""
    peer = xfrm.Peer(keeper.path)
    assert peer.ask(message(xfrm.HELLO, struct.pack("=3I", 0, 0, 2)))[0] == ""
    return peer


def add(daemon, *sas):
    for content in sas:
        assert daemon.ask(message(xfrm.NEWSA, content + xfrm.gcm()))[0] == ""


def add_policy(daemon, reqid):
    content = xfrm.policy(xfrm.OUT) + attribute(xfrm.TMPL, xfrm.template(reqid=reqid))
    assert daemon.ask(message(xfrm.NEWPOLICY, content))[0] == ""


DUMP = message(xfrm.GETSA, b"", xfrm.REQUEST | xfrm.DUMP)


def test_a_dump_does_not_miss_an_sa_that_moves_meanwhile(keeper):
    """The dump lists the oldest SA last. It moves, and becomes the newest, while the dump waits for its reader."""
    daemon, moved = xfrm.Peer(keeper.path), ("192.0.2.3", "192.0.2.2")
    add_policy(daemon, 7)
    add(daemon, xfrm.sa(1, reqid=7), *[xfrm.sa(spi) for spi in range(2, 2001)])
    following = data_plane(keeper)
    following.socket.send(DUMP)
    following.socket.recv(1 << 17)  # The dump has begun.
    migration = xfrm.migration(xfrm.OUT, xfrm.move(xfrm.ENDS, moved, reqid=7))
    assert daemon.ask(message(xfrm.MIGRATE, migration))[0] == ""
    with pytest.raises(AssertionError, match="closed the socket"):
        while True:
            data = following.socket.recv(1 << 17)
            assert data, "the peer closed the socket"
            assert 3 not in [kind for kind, _, _ in xfrm.split(data)], "the dump ended without the SA"
    listed = data_plane(keeper).ask(DUMP)[1]
    assert len(listed) == 2000
    sources = {content[72:76]: content[80:84] for _, content in listed}
    assert sources[(1).to_bytes(4)] == xfrm.address(moved[0])[:4]
