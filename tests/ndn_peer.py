# SPDX-License-Identifier: Apache-2.0
"""Runs python-ndn as an application of a host: a producer or a consumer over UDP, without a forwarder of its own.

    ndn_peer.py produce FORWARDER PREFIX...     prints "ready", then answers Interests under the prefixes
    ndn_peer.py consume FORWARDER NAME...       requests each name in turn, and prints a line of JSON for each

python-ndn registers prefixes with NFD's management, which is not available here. Routes lead to the producer, which
sends from the port to which the routes lead."""

import asyncio
import json
import logging
import sys

from ndn import appv2, encoding, types
from ndn.security import NullSigner
from ndn.transport.prefix_registerer import PrefixRegisterer
from ndn.transport.udp_face import UdpFace

PORT = 6363


class NoRegistration(PrefixRegisterer):
    async def register(self, name):
        return True

    async def unregister(self, name):
        return True


class FixedPortFace(UdpFace):
    """Binds a UdpFace to a fixed port through the event loop, because a UdpFace itself takes any free port."""

    async def open(self):
        loop = asyncio.get_running_loop()
        create = loop.create_datagram_endpoint

        def bound(factory, remote_addr):
            return create(factory, local_addr=("0.0.0.0", PORT), remote_addr=remote_addr)

        loop.create_datagram_endpoint = bound
        await super().open()


def produce(forwarder, prefixes):
    app = appv2.NDNApp(FixedPortFace(forwarder, PORT), registerer=NoRegistration())

    def answer(name, app_param, reply, context):
        text = encoding.Name.to_str(name)
        content = json.dumps({"name": text, "token": context["pit_token"] is not None}).encode()
        reply(app.make_data(name, content, NullSigner(), freshness_period=1000))

    for prefix in prefixes:
        app.attach_handler(prefix, answer)

    async def ready():
        print("ready", flush=True)

    app.run_forever(after_start=ready())


async def ask(app, name):
    try:
        found, content, _ = await app.express(
            name, validator=appv2.pass_all, can_be_prefix=True, hop_limit=5, lifetime=4000
        )
        return {"data": encoding.Name.to_str(found), "content": json.loads(bytes(content))}
    except types.InterestNack as nack:
        return {"nack": nack.reason}
    except types.InterestTimeout:
        return {"timeout": True}


def consume(forwarder, names):
    app = appv2.NDNApp(UdpFace(forwarder, PORT), registerer=NoRegistration())

    async def ask_all():
        for name in names:
            print(json.dumps(await ask(app, name)), flush=True)
        app.shutdown()

    app.run_forever(after_start=ask_all())


if __name__ == "__main__":
    logging.basicConfig(level=logging.WARNING)
    {"produce": produce, "consume": consume}[sys.argv[1]](sys.argv[2], sys.argv[3:])
