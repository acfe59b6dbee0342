# SPDX-License-Identifier: Apache-2.0
"""The arithmetic of SASS on a warp's 32 lanes: values, and which of their bits depend on secrets.

Values are lists of a number for each active lane; numbers that all lanes share may be a longer list. Masks of secret
bits are lists too, or None if no bit of any lane depends on a secret. A bit of a result counts as secret if a secret bit
of an operand can change it."""

LANES = range(32)
ALL = 0xFFFFFFFF
ZERO = (0,) * 32


def any_secret(*masks):
    return any(each is not None for each in masks)


def clean(mask):
    """Returns the mask, or None if no bit is secret."""
    return mask if mask is not None and any(mask) else None


def merged(*masks):
    """Returns the bits that are secret in any of the masks."""
    found = [each for each in masks if each is not None]
    if not found:
        return None
    if len(found) == 1:
        return found[0]
    return [a | b for a, b in zip(*found)] if len(found) == 2 else [a | b | c for a, b, c in zip(*found)]


def upwards(mask, all_bits=ALL):
    """Returns the bits from the lowest secret bit on: a sum carries upwards."""
    return None if mask is None else [all_bits & -(each & -each) for each in mask]


def whole(*masks, all_bits=ALL):
    """Returns all bits of the lanes that have a secret bit in any operand."""
    mask = merged(*masks)
    return None if mask is None else [all_bits if each else 0 for each in mask]


def zeros_below(value):
    return 64 if value == 0 else (value & -value).bit_length() - 1


def product_mask(a, b, mask_a, mask_b, all_bits):
    """Returns the secret bits of products."""
    if not any_secret(mask_a, mask_b):
        return None
    mask = []
    for value_a, value_b, x, y in zip(a, b, mask_a or ZERO, mask_b or ZERO):
        low = 64
        if x and (y or value_b):
            low = zeros_below(x) + (0 if y else zeros_below(value_b))
        if y and (x or value_a):
            low = min(low, zeros_below(y) + (0 if x else zeros_below(value_a)))
        mask.append(all_bits & -(1 << low))
    return mask


def _table_function(table):
    """Returns the function of three words that a table of eight bits describes (LOP3)."""
    known = {0xC0: "a & b", 0xFC: "a | b", 0x3C: "a ^ b", 0x96: "a ^ b ^ c", 0xF8: "a | b & c", 0x78: "a ^ b & c", 0xFE: "a | b | c"}
    if table not in known:
        terms = [f"{'' if i & 4 else '~'}a & {'' if i & 2 else '~'}b & {'' if i & 1 else '~'}c" for i in range(8) if table >> i & 1]
        known[table] = f"({' | '.join(terms) or '0'}) & M"
    return eval(f"lambda a, b, c, M={ALL}: {known[table]}")  # noqa: S307


_functions = {}


def by_table(table, a, b, c, mask_a, mask_b, mask_c):
    """Returns the results of a table of eight bits, and their secret bits: those that change with a secret bit."""
    function = _functions.get(table)
    if function is None:
        function = _functions[table] = _table_function(table)
    values = list(map(function, a, b, c))
    if not any_secret(mask_a, mask_b, mask_c):
        return values, None
    mask = []
    for value, x, y, z, s, t, u in zip(values, a, b, c, mask_a or ZERO, mask_b or ZERO, mask_c or ZERO):
        changed = 0
        if s or t or u:
            for i in range(1, 8):
                changed |= value ^ function(x ^ (s if i & 1 else 0), y ^ (t if i & 2 else 0), z ^ (u if i & 4 else 0))
        mask.append(changed)
    return values, clean(mask)


def shifted(low, high, amount, to_left, high_half, limit, wraps):
    """Returns words of (high, low), shifted. An amount over the limit wraps or counts as the limit."""
    values = []
    for x, y, shift in zip(low, high, amount):
        by = shift % limit if wraps else min(shift, limit)
        both = y << 32 | x
        both = both << by if to_left else both >> by
        values.append(both >> 32 & ALL if high_half else both & ALL)
    return values


def permuted(low, selector, high, is_mask):
    """Returns bytes of (high, low) by the nibbles of a selector; a nibble from 8 on gives the sign of a byte."""
    values = []
    for x, select, y in zip(low, selector, high):
        both, value = y << 32 | x, 0
        for i in range(4):
            nibble = select >> 4 * i & 15
            byte = both >> 8 * (nibble & 7) & 0xFF
            if nibble & 8:
                byte = 0xFF if byte & 0x80 else 0
            value |= byte << 8 * i
        values.append(value)
    return values


def signed(value, bits=32):
    return value - (1 << bits) if value >> (bits - 1) else value


COMPARE = {
    "EQ": lambda a, b: a == b,
    "NE": lambda a, b: a != b,
    "LT": lambda a, b: a < b,
    "LE": lambda a, b: a <= b,
    "GT": lambda a, b: a > b,
    "GE": lambda a, b: a >= b,
}
COMBINE = {"AND": lambda a, b: a and b, "OR": lambda a, b: a or b, "XOR": lambda a, b: a != b}


def compared(parts, a, b, low):
    """Returns the results of ISETP's comparison `parts` (its modifiers). `low` has the results for the lower words of
    longer numbers (EX)."""
    operator = next(each for each in parts if each in COMPARE)
    function = COMPARE[operator]
    if "U32" not in parts:
        a, b = map(signed, a), map(signed, b)
    if "EX" not in parts:
        return [function(x, y) for x, y in zip(a, b)]
    if operator == "NE":
        return [x != y or before for x, y, before in zip(a, b, low)]
    return [before if x == y else operator != "EQ" and function(x, y) for x, y, before in zip(a, b, low)]
