# SPDX-License-Identifier: Apache-2.0
"""Generates the parts of the random programs of gopt_programs.py: variables in scopes, expressions over them, and loops
that end."""

import random

MASK = 1023  # number of entries of the table and of the nodes, minus one
TYPES = ["uint8_t", "uint16_t", "uint32_t", "uint64_t", "int"]
NAMES = ["a", "b", "c", "d", "e", "f", "g", "h"]


def words(text):
    word = ""
    for character in text + " ":
        if character.isalnum() or character == "_":
            word += character
        else:
            if word:
                yield word
            word = ""


class Variable:
    def __init__(self, name, kind, changes=True):
        self.name, self.kind, self.changes = name, kind, changes


class Expressions:
    """Holds the generated text, the visible variables and the permitted statements."""

    def __init__(self, seed, cxx, number, standard=None):
        self.random = random.Random(f"{seed}/{cxx}")
        self.cxx, self.number, self.standard = cxx, number, standard
        self.scopes = [[]]
        self.loops = []  # targets of break and continue: "loop", "switch"
        self.helpers = []
        self.lines = []
        self.depth = 0
        self.fuel = 0
        self.in_helper = False
        self.hints = 0

    # The following methods write text.

    def put(self, line):
        self.lines.append("  " * (self.depth + 1) + line)

    def chance(self, probability):
        return self.random.random() < probability

    def pick(self, things):
        return self.random.choice(things)

    # The following methods manage variables.

    def visible(self):
        seen = {}
        for scope in self.scopes:
            for variable in scope:
                seen[variable.name] = variable
        return list(seen.values())

    def declare(self, kind, changes=True, name=None):
        taken = {variable.name for variable in self.scopes[-1]}
        if name is None:
            free = [n for n in NAMES if n not in taken]
            name = self.pick(free) if free and self.chance(0.8) else f"v{self.fuel}"
            self.fuel += 1
        variable = Variable(name, kind, changes)
        return variable

    def add(self, variable):
        self.scopes[-1].append(variable)

    def of_kind(self, kind, changing=False):
        return [v for v in self.visible() if v.kind == kind and (v.changes or not changing)]

    # The following methods generate expressions. All are unsigned and of any width.

    def leaf(self):
        choices = ["literal", "item", "number"]
        choices += ["number"] * 3 if self.of_kind("number") else []
        choices += ["pointer"] if self.of_kind("pointer") else []
        choices += ["node"] * 2 if self.of_kind("node") else []
        choices += ["pair"] if self.of_kind("pair") else []
        choices += ["array"] if self.of_kind("array") else []
        choices += ["boxed"] if self.of_kind("boxed") else []
        kind = self.pick(choices)
        found = self.of_kind(kind)
        if kind == "item" and not self.in_helper:
            return "in[i]"
        if kind in ("literal", "item") or not found:
            return f"{self.random.randrange(1, 5000)}u"
        name = self.pick(found).name
        if kind == "number":
            return name
        if kind == "pointer":
            return f"*{name}"
        if kind == "node":
            return f"{name}->{self.pick(['key', 'small', 'wide', 'next->key'])}"
        if kind == "pair":
            return f"{name}.{self.pick(['first', 'second'])}"
        if kind == "boxed":
            return f"{name}.{self.pick(['value', 'other'])}"
        return f"{name}[({self.leaf_number()}) & 3]"

    def leaf_number(self):
        found = self.of_kind("number")
        return self.pick(found).name if found else "1"

    def expression(self, depth=2):
        if depth == 0 or self.chance(0.25):
            return self.leaf()
        kind = self.random.randrange(12)
        left, right = self.expression(depth - 1), self.expression(depth - 1)
        if kind < 5:
            return f"((uint64_t)({left}) {self.pick(['+', '-', '*', '^', '|', '&'])} (uint64_t)({right}))"
        if kind == 5:
            return f"((uint64_t)({left}) >> (({right}) & 7))"
        if kind == 6:
            return f"(({self.condition(0)}) ? (uint64_t)({left}) : (uint64_t)({right}))"
        if kind == 7:
            return f"mix((uint32_t)({left}))"
        if kind == 8:
            return f"t[({left}) & {MASK}]"
        if kind == 9:
            return f"nodes[({left}) & {MASK}].{self.pick(['key', 'small', 'wide'])}"
        if kind == 10:
            return f"(uint64_t)LAST((uint32_t){self.leaf_number()}, 3u)"
        return f"(uint64_t)(({left}) % (({right}) | 1))" if self.chance(0.5) else f"(uint64_t)g[({left}) & 3]" if not self.shadows("g") else left

    def shadows(self, name):
        return any(v.name == name for v in self.visible())

    def condition(self, depth=1):
        if self.in_helper and self.chance(0.3):
            return self.decided(depth)
        left, right = self.expression(depth), self.expression(depth)
        simple = f"(uint64_t)({left}) {self.pick(['<', '>', '==', '!=', '<='])} (uint64_t)({right})"
        if depth and self.chance(0.3):
            return f"({simple}) {self.pick(['&&', '||'])} (({self.expression(0)}) & {self.pick([1, 2, 4])})"
        return simple if self.chance(0.6) else f"(({left}) & {self.pick([1, 3, 4, 8])})"

    def decided(self, depth):
        """Returns a condition that a helper's parameter decides, at least in part. Most calls have a constant for it."""
        simple = self.pick(["kind", "!kind", "kind == 1", "kind != few", "(uint64_t)kind * 2 > 4", "sizeof kind + kind < 4"])
        return f"{simple} {self.pick(['&&', '||'])} {self.leaf()} > 3" if depth and self.chance(0.4) else simple

    def narrowed(self, kind, text):
        return f"(int)(({text}) & 0x7fff)" if kind == "int" else f"({kind})({text})"

    def without(self, variable, make):
        """Returns the result of `make` without a name that `variable` is about to hide. In C, the new variable is
        visible in its own initialiser."""
        for _ in range(20):
            text = make()
            if not any(word == variable.name for word in words(text)):
                return text
        return "5u"

    def counter(self):
        self.fuel += 1
        return f"k{self.fuel}"

    def counted(self):
        """Declares a counter that begins with 0."""
        k = self.counter()
        self.put(f"uint32_t {k} = 0;")
        return k

    def looped(self, budget, more=()):
        self.loops.append("loop")
        self.scopes.append(list(more))
        self.body(budget)
        self.scopes.pop()
        self.loops.pop()
