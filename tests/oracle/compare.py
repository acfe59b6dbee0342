# SPDX-License-Identifier: Apache-2.0
"""Compares the output of a router with the oracle, packet by packet."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from .ipv4 import Outcome, Router, explain

PROTOCOLS_WITH_PORTS = (6, 17, 50, 132, 136)  # TCP, UDP, ESP with its SPI, SCTP, UDP-Lite


class Expected(NamedTuple):
    sent: list[tuple[Outcome, ...]]  #: permitted outcomes of every packet to send, in order of arrival
    counted: Counter  #: (kind, reason) -> packets
    received: int


def expect(router: Router, frames: Sequence[bytes], rx_port: str) -> Expected:
    sent, counted = [], Counter()
    for frame in frames:
        outcomes = router.judge(frame, rx_port)
        if outcomes[0].kind == "send":
            assert all(o.kind == "send" for o in outcomes), f"this table leaves it open: {explain(outcomes)}"
            sent.append(outcomes)
        else:
            assert len(outcomes) == 1, f"this table leaves it open: {explain(outcomes)}"
            counted[outcomes[0].kind, outcomes[0].where] += 1
    return Expected(sent, counted, len(frames))


def flow_of(frame: bytes) -> bytes:
    """Returns the key of a packet's flow: the addresses, the protocol, and the ports unless the packet is a
    fragment."""
    flow = frame[26:34] + frame[23:24]
    fragment = frame[20] & 0x3F or frame[21]
    if not fragment and frame[23] in PROTOCOLS_WITH_PORTS and len(frame) >= 38:
        flow += frame[34:38]
    return flow


def compare(expected: Expected, outputs: Mapping[str, Sequence[bytes]], *, total_order: bool) -> None:
    """Asserts that every flow leaves complete, in order and through one next hop. With `total_order` (one worker) each
    port's packets must leave in the order of arrival. Fails with the first difference."""
    came, wanted = sum(len(frames) for frames in outputs.values()), len(expected.sent)
    assert came == wanted, f"{came} packets came out in place of {wanted}"
    came_out: dict[bytes, list[Outcome]] = defaultdict(list)
    for port, frames in outputs.items():
        for frame in frames:
            came_out[flow_of(frame)].append(Outcome("send", port, frame))
    positions: dict[bytes, list[int]] = defaultdict(list)
    for i, outcomes in enumerate(expected.sent):
        positions[flow_of(outcomes[0].frame)].append(i)

    in_order: dict[str, list[bytes]] = {port: [] for port in outputs}
    chosen: list[Outcome | None] = [None] * len(expected.sent)
    for flow, indices in positions.items():
        actual = came_out.pop(flow, [])
        ways = [[expected.sent[i][way] for i in indices] for way in range(len(expected.sent[indices[0]]))]
        if actual not in ways:
            raise AssertionError(_difference(flow, ways, actual))
        for i, outcome in zip(indices, actual):
            chosen[i] = outcome
    assert not came_out, f"packets of flows that were never received: {list(came_out.values())[0][0].frame.hex()}"
    if total_order:
        for outcome in chosen:
            in_order[outcome.where].append(outcome.frame)
        for port, frames in outputs.items():
            assert list(frames) == in_order[port], f"port {port}: packets overtook each other"


def _difference(flow: bytes, ways: list[list[Outcome]], actual: list[Outcome]) -> str:
    text = f"flow {flow.hex()}: {len(ways[0])} packets expected, {len(actual)} came out"
    for i, (wanted, got) in enumerate(zip(zip(*ways), actual)):
        if got not in wanted:
            lines = [f"  expected {o.where}: {o.frame.hex()}" for o in wanted] + [
                f"  got      {got.where}: {got.frame.hex()}"
            ]
            return "\n".join([text + f"; packet {i} differs", *lines])
    return text + "; each packet is right, but they took different next hops or some are missing"
