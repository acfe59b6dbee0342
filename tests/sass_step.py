# SPDX-License-Identifier: Apache-2.0
"""The instructions of SASS that kernels with secrets use, as steps of an emulated warp (sass_warp.py)."""

import re

from sass_lanes import (
    ALL,
    COMBINE,
    LANES,
    ZERO,
    any_secret,
    by_table,
    clean,
    compared,
    merged,
    permuted,
    product_mask,
    shifted,
    signed,
    upwards,
    whole,
)

SHARED_WINDOW, LOCAL_WINDOW = 0x7F00, 0x7E00  # upper words of generic addresses
UNIFORM = 256  # index of UR0
BYTES = {"U8": 1, "S8": 1, "U16": 2, "S16": 2, "64": 8, "128": 16}
IDLE = ("NOP", "MEMBAR", "ERRBAR", "CGAERRBAR", "CCTL", "BAR", "DEPBAR", "YIELD")

REGISTER = re.compile(r"([-~|]?)(U?R)(\d+|Z)(\.64|\.U32)?\|?$")
CONSTANT = re.compile(r"([-~]?)c\[0x([0-9a-f]+)\]\[(U?R(?:\d+|Z))?\+?(-?0x[0-9a-f]+)?\]$")
ADDRESS = re.compile(r"(?:desc\[\S+\])?\[(?:(U?R(?:\d+|Z))(?:\.64|\.U32)?)?\+?(?:(UR(?:\d+|Z)))?\+?(-?0x[0-9a-f]+)?\]$")
PREDICATE = re.compile(r"!?U?P(\d+|T)$")
LABEL = re.compile(r"`\((\S+)\)$")


def spread(values, lanes):
    """Returns values of some lanes as values of all lanes."""
    found = dict(zip(lanes, values))
    return [found.get(lane, 0) for lane in LANES]


def register(text):
    """Returns the index of a register, or None for the zero register."""
    found = re.match(r"[-~|]?(U?)R(\d+|Z)", text)
    return None if found[2] == "Z" else int(found[2]) + (UNIFORM if found[1] else 0)


class Step:
    """An instruction, prepared to be run many times."""

    def __init__(self, instruction):
        self.instruction = instruction
        name, *self.parts = instruction.opcode.split(".")
        self.is_uniform = name.startswith("U")
        self.name = name[1:] if self.is_uniform else name
        self.operands = instruction.operands
        self.action = getattr(self, "do_" + self.name.lower(), None)
        if self.name in IDLE:
            self.action = lambda warp: None
        if self.action is None:
            raise NotImplementedError(f"{instruction.address:#x}: {instruction.text}")
        self.outs, self.ins, self.regs = [], [], []
        for at, each in enumerate(self.operands):
            if PREDICATE.match(each):
                (self.outs if len(self.regs) <= (1 if at else 0) and not self.ins and not each.startswith("!") else self.ins).append(each)
            else:
                self.regs.append(each)

    def run(self, warp, group):
        """Runs the instruction in lanes that are at it, as far as the guard lets them."""
        warp.jumped, warp.guard_mask, warp.group, warp.lanes = set(), None, group, group
        if self.instruction.guard:
            values, mask = warp.predicate(self.instruction.guard)
            if mask is not None and self.name in CONTROL:
                warp.find("branch", self.instruction, mask)
            elif mask is not None and self.name in MEMORY:
                warp.find("address", self.instruction, mask, "any")
            warp.guard_mask = mask and spread(mask, group)
            warp.lanes = [lane for lane, runs in zip(group, values) if runs]
        if not warp.lanes:
            return
        if self.is_uniform:
            warp.lanes = LANES
        self.action(warp)

    # Operands.

    def source(self, warp, text):
        """Returns the values of a source of 32 bits, and its secret bits."""
        found = REGISTER.match(text)
        if found:
            sign, index = found[1], register(text)
            values, mask = (ZERO, None) if index is None else (warp.active(warp.value(index)), warp.active(warp.masks.get(index)))
        elif found := CONSTANT.match(text):
            sign, (values, mask) = found[1], self.constants(warp, text, 4)
        else:
            return [int(text, 16) & ALL] * 32, None
        if sign == "~":
            return [each ^ ALL for each in values], mask
        if sign == "-":
            return [-each & ALL for each in values], upwards(mask)
        if sign == "|":
            return [abs(signed(each)) for each in values], whole(mask)
        return values, mask

    def addend(self, warp, text):
        """As source(), for sums: 2^32 - x for -x, so that carries are those of the hardware."""
        if text.startswith("-") and not text.startswith("-0x"):
            values, mask = self.source(warp, text[1:])
            return [(1 << 32) - each for each in values], upwards(mask)
        return self.source(warp, text)

    def pair(self, warp, text):
        """Returns the values of a source of 64 bits, and its secret bits."""
        if REGISTER.match(text):
            index = register(text)
            if index is None:
                return ZERO, None
            mask, high = warp.active(warp.masks.get(index)), warp.active(warp.masks.get(index + 1))
            values = [x | y << 32 for x, y in zip(warp.active(warp.value(index)), warp.active(warp.value(index + 1)))]
            mask = [x | y << 32 for x, y in zip(mask or ZERO, high or ZERO)] if any_secret(mask, high) else None
            if text.startswith("-"):
                every = (1 << 64) - 1
                return [-each & every for each in values], upwards(mask, every)
            assert text[0] not in "~|"
            return values, mask
        if CONSTANT.match(text):
            return self.constants(warp, text, 8)
        return [int(text, 16) & (1 << 64) - 1] * 32, None

    def constants(self, warp, text, size):
        found = CONSTANT.match(text)
        bank, offset = int(found[2], 16), int(found[4] or "0", 16)
        if found[3] is None or register(found[3]) is None:
            return [warp.constant(bank, offset, size)] * 32, None
        values, mask = self.source(warp, found[3])
        warp.find("address", self.instruction, mask, "constant")
        return [warp.constant(bank, each + offset, size) for each in values], whole(mask, all_bits=(1 << 8 * size) - 1)

    def write_pair(self, warp, text, values, mask):
        index = register(text)
        if index is None:
            return
        warp.write(index, [each & ALL for each in values], mask and [each & ALL for each in mask])
        warp.write(index + 1, [each >> 32 & ALL for each in values], mask and [each >> 32 & ALL for each in mask])

    def carries(self, warp):
        """Returns the sum of the carries into an instruction (X), and whether they are secret."""
        total, mask = ZERO, None
        for each in self.ins if "X" in self.parts else ():
            values, secret = warp.predicate(each)
            total = [x + y for x, y in zip(total, values)]
            mask = merged(mask, secret)
        return total, mask

    def write_sum(self, warp, sums, mask, carry_mask):
        """Writes sums of 32 bits and more, and their carries."""
        low = upwards(mask)
        if carry_mask is not None:
            low = [ALL if carry else each for carry, each in zip(carry_mask, low or ZERO)]
        warp.write(register(self.regs[0]), [each & ALL for each in sums], low)
        for count, name in enumerate(self.outs, 1):
            warp.write_predicate(name, [each >> 32 >= count for each in sums], whole(low, all_bits=1))

    # Integers.

    def do_mov(self, warp):
        warp.write(register(self.regs[0]), *self.source(warp, self.regs[1]))

    def do_iadd3(self, warp):
        (a, mask_a), (b, mask_b), (c, mask_c) = (self.addend(warp, each) for each in self.regs[1:4])
        carry, carry_mask = self.carries(warp)
        self.write_sum(warp, [sum(each) for each in zip(a, b, c, carry)], merged(mask_a, mask_b, mask_c), carry_mask)

    def do_viadd(self, warp):
        (a, mask_a), (b, mask_b) = (self.source(warp, each) for each in self.regs[1:3])
        warp.write(register(self.regs[0]), [x + y & ALL for x, y in zip(a, b)], upwards(merged(mask_a, mask_b)))

    def do_imad(self, warp):
        (a, mask_a), (b, mask_b) = (self.source(warp, each) for each in self.regs[1:3])
        carry, carry_mask = self.carries(warp)
        if "WIDE" in self.parts or "HI" in self.parts:
            every = (1 << 64) - 1
            if "U32" not in self.parts:
                a, b = list(map(signed, a)), list(map(signed, b))
            c, mask_c = self.pair(warp, self.regs[3])
            mask = upwards(merged(product_mask(a, b, mask_a, mask_b, every), mask_c, carry_mask), every)
            sums = [(x * y & every) + z + plus for x, y, z, plus in zip(a, b, c, carry)]
            for name in self.outs:
                warp.write_predicate(name, [each >> 64 > 0 for each in sums], whole(mask, all_bits=1))
            if "HI" in self.parts:
                return warp.write(register(self.regs[0]), [each >> 32 & ALL for each in sums], mask and [each >> 32 for each in mask])
            return self.write_pair(warp, self.regs[0], sums, mask)
        c, mask_c = self.addend(warp, self.regs[3])
        product = [x * y & ALL for x, y in zip(a, b)]
        mask = merged(product_mask(a, b, mask_a, mask_b, ALL), mask_c)
        return self.write_sum(warp, [x + y + z for x, y, z in zip(product, c, carry)], mask, carry_mask)

    def do_lea(self, warp):
        (a, mask_a), (b, mask_b) = self.source(warp, self.regs[1]), self.addend(warp, self.regs[2])
        shift = int(self.regs[-1], 16)
        high, mask_high = self.source(warp, self.regs[3]) if "HI" in self.parts else (ZERO, None)
        carry, carry_mask = self.carries(warp)
        arguments = (True, "HI" in self.parts, 32, False)
        by = [shift] * 32
        part = shifted(a, high, by, *arguments)
        mask = shifted(mask_a or ZERO, mask_high or ZERO, by, *arguments) if any_secret(mask_a, mask_high) else None
        self.write_sum(warp, [sum(each) for each in zip(part, b, carry)], merged(clean(mask), mask_b), carry_mask)

    def do_shf(self, warp):
        (low, mask_low), (amount, mask_amount), (high, mask_high) = (self.source(warp, each) for each in self.regs[1:4])
        if "S32" in self.parts and "HI" in self.parts:
            values = [signed(x) >> min(by, 31) & ALL for x, by in zip(high, amount)]
            mask = upwards(mask_high) and whole(mask_high)
        else:
            limit = (64 if "U64" in self.parts else 32) if "W" in self.parts else (63 if "U64" in self.parts else 32)
            arguments = ("L" in self.parts, "HI" in self.parts, limit, "W" in self.parts)
            values = shifted(low, high, amount, *arguments)
            mask = shifted(mask_low or ZERO, mask_high or ZERO, amount, *arguments) if any_secret(mask_low, mask_high) else None
        warp.write(register(self.regs[0]), values, merged(clean(mask), whole(mask_amount)))

    def do_prmt(self, warp):
        (a, mask_a), (selector, mask_selector), (b, mask_b) = (self.source(warp, each) for each in self.regs[1:4])
        mask = permuted(mask_a or ZERO, selector, mask_b or ZERO, True) if any_secret(mask_a, mask_b) else None
        warp.write(register(self.regs[0]), permuted(a, selector, b, False), merged(clean(mask), whole(mask_selector)))

    def do_lop3(self, warp):
        (a, mask_a), (b, mask_b), (c, mask_c) = (self.source(warp, each) for each in self.regs[1:4])
        values, mask = by_table(int(self.regs[4], 16), a, b, c, mask_a, mask_b, mask_c)
        for name in self.outs:
            warp.write_predicate(name, [each != 0 for each in values], whole(mask, all_bits=1))
        warp.write(register(self.regs[0]), values, mask)

    def do_plop3(self, warp):
        names = [each for each in self.operands if PREDICATE.match(each)]
        table = int(self.operands[5], 16)
        (a, mask_a), (b, mask_b), (c, mask_c) = (warp.predicate(each) for each in names[2:5])
        values = [bool(table >> (x << 2 | y << 1 | z) & 1) for x, y, z in zip(a, b, c)]
        warp.write_predicate(names[0], values, merged(mask_a, mask_b, mask_c))
        assert names[1] in ("PT", "UPT")

    def do_isetp(self, warp):
        first, second = self.operands[0], self.operands[1]
        (a, mask_a), (b, mask_b) = (self.source(warp, each) for each in self.operands[2:4])
        (other, mask_other) = warp.predicate(self.operands[4])
        low, mask_low = warp.predicate(self.operands[5]) if "EX" in self.parts else (None, None)
        combine = COMBINE[next(each for each in self.parts if each in COMBINE)]
        found = compared(self.parts, a, b, low)
        mask = merged(whole(mask_a, mask_b, all_bits=1), mask_other, mask_low)
        warp.write_predicate(first, [bool(combine(x, y)) for x, y in zip(found, other)], mask)
        warp.write_predicate(second, [bool(combine(not x, y)) for x, y in zip(found, other)], mask)

    def do_sel(self, warp):
        (a, mask_a), (b, mask_b) = (self.source(warp, each) for each in self.regs[1:3])
        choice, mask_choice = warp.predicate(self.operands[3])
        values = [x if first else y for x, y, first in zip(a, b, choice)]
        mask = [x if first else y for x, y, first in zip(mask_a or ZERO, mask_b or ZERO, choice)]
        warp.write(register(self.regs[0]), values, merged(clean(mask), whole(mask_choice)))

    def choose(self, warp, a, b, masks, predicate):
        order = (lambda x: x) if "U32" in self.parts else signed
        is_least, mask = warp.predicate(predicate)
        values = [(min if least else max)(x, y, key=order) for x, y, least in zip(a, b, is_least)]
        warp.write(register(self.regs[0]), values, whole(*masks, mask))

    def do_imnmx(self, warp):
        (a, mask_a), (b, mask_b) = (self.source(warp, each) for each in self.regs[1:3])
        self.choose(warp, a, b, (mask_a, mask_b), self.operands[3])

    do_vimnmx = do_imnmx

    def do_viaddmnmx(self, warp):
        (a, mask_a), (b, mask_b), (c, mask_c) = (self.source(warp, each) for each in self.regs[1:4])
        self.choose(warp, [x + y & ALL for x, y in zip(a, b)], c, (merged(mask_a, mask_b), mask_c), self.operands[4])

    def do_brev(self, warp):
        values, mask = self.source(warp, self.regs[1])
        turned = lambda words: [int(f"{each:032b}"[::-1], 2) for each in words]  # noqa: E731
        warp.write(register(self.regs[0]), turned(values), mask and turned(mask))

    def do_p2r(self, warp):
        chosen = int(self.operands[3], 16)
        values, mask = list(self.source(warp, self.operands[2])[0]), [0] * 32
        for bit in range(7):
            if chosen >> bit & 1:
                flags, secret = warp.predicate(f"P{bit}")
                values = [each & ~(1 << bit) | flag << bit for each, flag in zip(values, flags)]
                mask = [each | (1 << bit if hidden else 0) for each, hidden in zip(mask, secret or ZERO)]
        warp.write(register(self.operands[0]), values, clean(mask))

    def do_r2p(self, warp):
        values, mask = self.source(warp, self.operands[1])
        for bit in range(7):
            if int(self.operands[2], 16) >> bit & 1:
                secret = mask and [each >> bit & 1 for each in mask]
                warp.write_predicate(f"P{bit}", [bool(each >> bit & 1) for each in values], secret)

    def do_s2r(self, warp):
        known = {"SR_TID.X": list(LANES), "SR_LANEID": list(LANES), "SR_SWINHI": [SHARED_WINDOW] * 32}
        zero = ("SR_CTAID.X", "SR_CTAID.Y", "SR_CgaCtaId", "SR_TID.Y", "SR_TID.Z")
        values = ZERO if self.operands[1] in zero else known[self.operands[1]]
        if self.operands[0].startswith("UR"):
            warp.lanes = LANES
        warp.write(register(self.operands[0]), warp.active(values), None)

    do_s2ur = do_s2r

    def do_cs2r(self, warp):
        assert self.operands[1] == "SRZ"
        self.write_pair(warp, self.operands[0], ZERO, None)

    def do_r2ur(self, warp):
        values, mask = self.source(warp, self.operands[-1])
        warp.lanes = LANES
        warp.write(register(self.operands[0]), values[:1] * 32, mask and mask[:1] * 32)

    # Lanes.

    def do_shfl(self, warp):
        kind = next(each for each in self.parts if each in ("IDX", "UP", "DOWN", "BFLY"))
        source = register(self.regs[1])
        values, mask = warp.value(source), warp.masks.get(source)
        (index, mask_index), (limits, mask_limits) = (self.source(warp, each) for each in self.regs[2:4])
        warp.find("lane", self.instruction, merged(mask_index, mask_limits))
        moved, moved_mask, is_inside = [], [], []
        for lane, by, limit in zip(warp.lanes, index, limits):
            segment = limit >> 8 & 31
            last = lane & segment | limit & 31 & ~segment
            place = {"IDX": lane & segment | by & 31 & ~segment, "UP": lane - by, "DOWN": lane + by, "BFLY": lane ^ by}[kind]
            inside = place >= last if kind == "UP" else place <= last
            place = place if inside else lane
            moved.append(values[place])
            moved_mask.append(mask[place] if mask else 0)
            is_inside.append(inside)
        for name in self.outs:
            warp.write_predicate(name, is_inside, mask_index)
        warp.write(register(self.regs[0]), moved, clean(moved_mask))

    def do_vote(self, warp):
        values, mask = warp.predicate(self.operands[-1])
        warp.find("vote", self.instruction, mask)
        votes = values[: len(warp.lanes)]
        is_secret = not warp.are_votes_public and bool(clean(mask))
        for name in self.operands[:-1]:
            if REGISTER.match(name):
                result = [sum(vote << lane for lane, vote in zip(warp.lanes, votes))] * 32
                warp.write(register(name), result, [ALL] * 32 if is_secret else None)
            else:
                warp.write_predicate(name, [(any if "ANY" in self.parts else all)(votes)] * 32, [1] * 32 if is_secret else None)

    # Memory.

    def address(self, warp, text, is_long):
        """Returns the addresses of an operand."""
        found = ADDRESS.match(text)
        values, mask = (self.pair if is_long else self.source)(warp, found[1] or "RZ")
        if found[2]:
            more, mask_more = (self.pair if is_long else self.source)(warp, found[2])
            values, mask = [x + y for x, y in zip(values, more)], merged(mask, mask_more)
        offset, bits = int(found[3] or "0", 16), 64 if is_long else 32
        every = (1 << bits) - 1
        return [each + offset & every for each in values], upwards(mask, every)

    def memories(self, warp):
        """Yields lane, memory, address and mask of the address for each lane."""
        space = SPACES[self.name]
        text = next(each for each in self.operands if ADDRESS.match(each))
        addresses, mask = self.address(warp, text, space in ("global", "generic"))
        warp.find("address", self.instruction, mask, space, addresses)
        for lane, at, secret in zip(warp.lanes, addresses, mask or ZERO):
            where = space
            if space == "generic":
                where = {SHARED_WINDOW: "shared", LOCAL_WINDOW: "local"}.get(at >> 32, "global")
                at = at if where == "global" else at & ALL
            yield {"global": warp.memory, "shared": warp.shared, "local": warp.local[lane]}[where], at, secret

    def load(self, warp):
        size = next((BYTES[each] for each in self.parts if each in BYTES), 4)
        words = [([], []) for _ in range(max(1, size // 4))]
        for memory, address, secret in self.memories(warp):
            value, mask = memory.load(address, size)
            if "S8" in self.parts or "S16" in self.parts:
                value, mask = signed(value, 8 * size) & ALL, ALL if mask else 0
            for i, (values, masks) in enumerate(words):
                values.append(value >> 32 * i & ALL)
                masks.append(ALL if secret else mask >> 32 * i & ALL)
        index = register(self.operands[0])
        for i, (values, masks) in enumerate(words):
            warp.write(None if index is None else index + i, values, clean(masks))

    def store(self, warp):
        size = next((BYTES[each] for each in self.parts if each in BYTES), 4)
        every = (1 << 8 * min(size, 4)) - 1
        index = register(self.operands[1])
        words = [None if index is None else index + i for i in range(max(1, size // 4))]
        values = [warp.active(warp.value(each)) for each in words]
        masks = [warp.active(warp.masks.get(each)) or ZERO for each in words]
        for place, (memory, address, _) in enumerate(self.memories(warp)):
            value = sum((each[place] & every) << 32 * i for i, each in enumerate(values))
            mask = sum((each[place] & every) << 32 * i for i, each in enumerate(masks))
            memory.store(address, size, value, mask)

    do_lds = do_ldg = do_ldl = do_ld = load
    do_sts = do_stg = do_stl = do_st = store

    def do_ldc(self, warp):
        size = 8 if "64" in self.parts else 4
        values, mask = self.constants(warp, self.operands[1], size)
        if size == 8:
            self.write_pair(warp, self.operands[0], values, mask)
        else:
            warp.write(register(self.operands[0]), values, mask)

    # Control.

    def do_bra(self, warp):
        target = warp.kernel.labels[LABEL.match(self.operands[-1])[1]]
        if "DIV" in self.parts:  # The lanes meet here; the way for lanes that cannot is never needed.
            return warp.wait(("D", self.instruction.address), self.warp_mask(warp))
        for each in self.operands[:-1]:
            values, mask = warp.predicate(each)
            warp.find("branch", self.instruction, mask)
            warp.lanes = [lane for lane, goes in zip(warp.lanes, values) if goes]
        return warp.jump(warp.lanes, target) if warp.lanes and not warp.ends_early(self.instruction) else None

    def warp_mask(self, warp):
        """Returns the lanes that a mask operand names."""
        values, _ = self.source(warp, self.operands[0])
        return [lane for lane in LANES if values[0] >> lane & 1]

    def do_warpsync(self, warp):
        assert "COLLECTIVE" not in self.parts
        warp.wait(("W", self.instruction.address), LANES if "ALL" in self.parts else self.warp_mask(warp))

    def do_bssy(self, warp):
        members = set(warp.lanes)  # All of them have the same set.
        for lane in warp.lanes:
            warp.barriers[self.operands[0], lane] = members

    def do_break(self, warp):
        for lane in warp.lanes:
            warp.barriers[self.operands[0], lane].discard(lane)

    def do_bsync(self, warp):
        members = [(lane, warp.barriers[self.operands[0], lane]) for lane in warp.lanes]
        for lane, its in members:
            warp.lanes = [lane]
            warp.wait(("B", id(its)), its)

    def do_call(self, warp):
        warp.jump(warp.lanes, warp.kernel.labels[LABEL.match(self.operands[-1])[1]])

    def do_ret(self, warp):
        values, mask = self.source(warp, self.operands[0].split(" ")[0])
        warp.find("branch", self.instruction, mask)
        for lane, target in zip(warp.lanes, values):
            warp.jump([lane], target)

    def do_exit(self, warp):
        warp.moved = True
        warp.alive -= set(warp.lanes)


SPACES = {"LDS": "shared", "STS": "shared", "LDG": "global", "STG": "global", "LDL": "local", "STL": "local", "LD": "generic", "ST": "generic"}
MEMORY = (*SPACES, "LDC")
CONTROL = ("BRA", "EXIT", "BREAK", "CALL", "RET", "BSSY", "BSYNC")
