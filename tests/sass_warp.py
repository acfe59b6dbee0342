# SPDX-License-Identifier: Apache-2.0
"""Runs a kernel of an NVIDIA GPU instruction by instruction, for one warp, and follows secrets through it.

Memory has a shadow with a bit for each bit that depends on a secret. The warp lists every branch, address, choice of a
lane and vote that depends on one. An instruction that the warp does not know ends the run with an error. Only blocks of
one warp and grids of one block run here."""

import re
from dataclasses import dataclass

from sass_lanes import LANES, ZERO, any_secret, clean, merged, whole
from sass_step import LOCAL_WINDOW, Step

SHARED_BEGIN = 0x400  # of the dynamic shared memory; the driver has the bytes before it
SHARED_BYTES, LOCAL_BYTES = 0x3B000, 0x4000
GLOBAL_BASE = 0x10_0000_0000


@dataclass(frozen=True)
class Finding:
    """A place where a secret decides something. `bits` are the secret bits of an address; the addresses that were seen are
    from `least` to `most`."""

    kind: str  # branch, address, lane, vote
    address: int
    text: str
    bits: int = 0
    space: str = ""
    is_private: bool = False  # Each lane stays in a memory bank of its own.
    least: int = 0
    most: int = 0


class Memory:
    """Bytes from `base` on, with the shadow of their secret bits."""

    def __init__(self, base, size=0):
        self.base, self.values, self.masks = base, bytearray(size), bytearray(size)

    def place(self, content, secret=b""):
        """Appends bytes, of which `secret` has the mask. Returns the address, a multiple of 256."""
        begin, unused = len(self.values), -len(content) % 256
        self.values += content + bytes(unused)
        self.masks += secret.ljust(len(content) + unused, b"\0")
        return self.base + begin

    def at(self, address, size):
        begin = address - self.base
        if begin < 0 or begin + size > len(self.values):
            raise IndexError(f"address {address:#x} is outside of the memory")
        return begin

    def load(self, address, size):
        at = self.at(address, size)
        return int.from_bytes(self.values[at : at + size], "little"), int.from_bytes(self.masks[at : at + size], "little")

    def store(self, address, size, value, mask):
        at = self.at(address, size)
        self.values[at : at + size] = value.to_bytes(size, "little")
        self.masks[at : at + size] = mask.to_bytes(size, "little")

    def read(self, address, size):
        at = self.at(address, size)
        return bytes(self.values[at : at + size])

    def read_masks(self, address, size):
        at = self.at(address, size)
        return bytes(self.masks[at : at + size])


class Warp:
    """A warp that runs a kernel. `parameters` are the bytes of the kernel's parameters. The results of votes are secret
    unless `are_votes_public`. With `most_rounds`, a loop that has loops inside ends after so many rounds. The results are
    then wrong, but secrets go the same ways."""

    PARAMETERS = 0x210

    def __init__(self, kernel, memory, parameters, are_votes_public=True, most_rounds=None):
        self.are_votes_public, self.most_rounds = are_votes_public, most_rounds
        self.rounds, self.outer = {}, None
        self.kernel, self.memory = kernel, memory
        self.shared, self.local = Memory(0, SHARED_BYTES), [Memory(0, LOCAL_BYTES) for _ in LANES]
        self.registers, self.masks = {}, {}
        self.predicates, self.predicate_masks = {}, {}
        self.barriers = {}
        self.findings, self.reached = {}, set()
        self.steps = {}
        self.lanes, self.guard_mask = LANES, None
        bank = bytearray(0x1000)
        for place, value in ((0, 32), (4, 1), (8, 1), (0xC, 1), (0x10, 1), (0x14, 1), (0x24, LOCAL_WINDOW), (0x28, LOCAL_BYTES)):
            bank[place : place + 4] = value.to_bytes(4, "little")
        bank[self.PARAMETERS : self.PARAMETERS + len(parameters)] = parameters
        self.banks = {0: bank} | {number: bytearray(content) for number, content in kernel.constants.items()}
        data = memory.place(kernel.data)
        for number, place, offset in kernel.pointers:
            self.banks[number][place : place + 8] = (data + offset).to_bytes(8, "little")

    def run(self):
        """Runs the kernel to its end."""
        self.alive, self.counters, self.waits = set(LANES), [0] * 32, {}
        while self.alive:
            ready = self.alive - self.waits.keys()
            if not ready and not self.release():
                raise RuntimeError("all lanes wait")
            elif ready:
                counter = min(self.counters[lane] for lane in ready)
                self.run_group(counter, [lane for lane in sorted(ready) if self.counters[lane] == counter])

    def run_group(self, counter, lanes):
        """Runs lanes that are at the same instruction, until some of them branch or wait."""
        code = self.kernel.code
        self.moved = False
        while not self.moved:
            self.reached.add(counter)
            step = self.steps.get(counter)
            if step is None:
                step = self.steps[counter] = Step(code[counter])
            self.counter, self.next = counter, counter + 16
            step.run(self, lanes)
            counter = self.next
        for lane in lanes:
            if lane in self.alive and lane not in self.jumped:
                self.counters[lane] = counter
        self.release()

    def jump(self, lanes, target):
        """Ends the group's turn: these lanes go on at `target`."""
        self.moved = True
        for lane in lanes:
            self.counters[lane] = target
        self.jumped = self.jumped | set(lanes)

    def ends_early(self, branch):
        """Returns whether a loop has had its rounds. Only conditional branches end loops early."""
        if self.most_rounds is None or branch.address not in self.outer_loops() or not (branch.guard or len(branch.operands) > 1):
            return False
        self.rounds[branch.address] = self.rounds.get(branch.address, 0) + 1
        return self.rounds[branch.address] % self.most_rounds == 0

    def outer_loops(self):
        """Returns the branches that go back over another one that goes back."""
        if self.outer is None:
            back = []
            for each in self.kernel.code.values():
                label = re.match(r"`\((\S+)\)$", each.operands[-1]) if each.opcode == "BRA" else None
                if label and self.kernel.labels[label[1]] < each.address:
                    back.append((self.kernel.labels[label[1]], each.address))
            self.outer = {end for begin, end in back if any(begin <= other < end for _, other in back)}
        return self.outer

    def wait(self, key, wanted):
        """Lets the active lanes wait until all those of `wanted` that live do so at the same place."""
        self.moved = True
        for lane in self.lanes:
            self.waits[lane] = (key, wanted)

    def release(self):
        done = [lane for lane, (key, wanted) in self.waits.items() if self.has_met(key, wanted)]
        for lane in done:
            del self.waits[lane]
        return bool(done)

    def has_met(self, key, wanted):
        return all(lane not in self.alive or (lane in self.waits and self.waits[lane][0] == key) for lane in wanted)

    def find(self, kind, instruction, mask, space="", addresses=()):
        """Notes a finding if the mask has secret bits."""
        bits = 0
        for each in mask or ():
            bits |= each
        if not bits:
            return
        seen = addresses[: len(self.lanes)] or [0]
        is_private = all(at >> 2 & 31 == lane for at, lane in zip(addresses, self.lanes))
        least, most = min(seen), max(seen)
        if before := self.findings.get((instruction.address, kind)):
            bits, is_private = bits | before.bits, is_private and before.is_private
            least, most = min(least, before.least), max(most, before.most)
        self.findings[instruction.address, kind] = Finding(
            kind, instruction.address, instruction.text, bits, space, is_private, least, most
        )

    def value(self, index):
        """Returns the values of a register in all lanes."""
        return self.registers.get(index, ZERO)

    def write(self, index, values, mask):
        """Writes a register in the active lanes; None is the zero register."""
        if index is None:
            return
        if len(self.lanes) == 32:
            mask = mask and list(mask[:32])
            values = list(values)
        else:
            new, new_mask, old_mask = values, mask, self.masks.get(index)
            values, mask = list(self.value(index)), None
            for place, lane in enumerate(self.lanes):
                values[lane] = new[place]
            if any_secret(new_mask, old_mask):
                mask = list(old_mask or ZERO)
                for place, lane in enumerate(self.lanes):
                    mask[lane] = new_mask[place] if new_mask else 0
        if self.guard_mask is not None:  # A secret decides whether a lane is written.
            mask = merged(mask, whole(self.guard_mask))
        self.registers[index] = values
        mask = clean(mask)
        if mask is None:
            self.masks.pop(index, None)
        else:
            self.masks[index] = mask

    def write_predicate(self, name, values, mask):
        """Writes a predicate in the active lanes."""
        if name in ("PT", "UPT"):
            return
        now = list(self.predicates.get(name, (False,) * 32))
        now_mask = list(self.predicate_masks.get(name) or ZERO)
        for place, lane in enumerate(self.lanes):
            now[lane] = values[place]
            now_mask[lane] = mask[place] if mask else 0
        self.predicates[name] = now
        self.predicate_masks[name] = clean(merged(now_mask, self.guard_mask))

    def predicate(self, text):
        """Returns the values of a predicate operand in the active lanes, and which are secret."""
        name = text.lstrip("!")
        if name in ("PT", "UPT"):
            return (not text.startswith("!"),) * 32, None
        values = self.active(self.predicates.get(name, (False,) * 32))
        return ([not each for each in values] if text.startswith("!") else values), self.active(self.predicate_masks.get(name))

    def active(self, values):
        """Returns the values of the active lanes."""
        return values if values is None or len(self.lanes) == 32 else [values[lane] for lane in self.lanes]

    def constant(self, bank, place, size):
        return int.from_bytes(self.banks[bank][place : place + size], "little")


