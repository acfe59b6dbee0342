# SPDX-License-Identifier: Apache-2.0
"""Generates statements of random programs with pointers to variables and with unnamed objects: compound literals,
temporaries, and references to them."""

from gopt_expressions import MASK, Expressions


class Objects(Expressions):
    """Requires hint(), which Program implements."""

    def values(self, variable, count):
        return ", ".join(f"(uint32_t)({self.without(variable, self.leaf)})" for _ in range(count))

    def literal(self, budget):
        """Writes a compound literal."""
        variable = self.declare("number")
        self.fuel += 1
        own = f"own_{self.fuel}"
        made = f"(const uint32_t[]){{{self.values(variable, 2)}}}"
        form = self.random.randrange(6)
        if form == 0:
            self.put(f"struct pair* {own} = &(struct pair){{{self.values(variable, 2)}}};")
            self.hint(0)
            self.put(f"{own}->second += 3;")
            self.hint(0)
            self.put(f"uint32_t {variable.name} = {own}->first + (uint32_t){own}->second;")
        elif form == 1:
            self.put(f"uint32_t {variable.name} = peek(t, {made});")
        elif form == 2:
            k = self.counted()
            self.put(f"uint32_t {variable.name} = 0;")
            step = f"{own} = (const uint32_t[]){{{self.random.randrange(99)}, {k}}}"
            self.put(f"for (const uint32_t* {own} = (const uint32_t[]){{(uint32_t)({self.without(variable, self.leaf)}), 5}}; {k}++ < 3; {step}) {{")
            self.put(f"  {variable.name} += {own}[0] + {own}[1];")
            self.scopes.append([variable])
            self.looped(min(budget, 2))
            self.scopes.pop()
            self.put("}")
        elif form == 3:
            self.put(f"const uint32_t* {own} = {made};")
            self.put(f"{own} = ({self.condition()}) ? {own} : (const uint32_t[]){{{self.values(variable, 2)}}};")
            self.hint(0)
            self.put(f"uint32_t {variable.name} = {own}[0] ^ {own}[1];")
        elif form == 4:
            self.put(f"const uint32_t* {own}[2] = {{{made}, &(const uint32_t){{4}}}};")
            self.hint(0)
            self.put(f"uint32_t {variable.name} = {own}[0][1] + *{own}[1];")
        else:
            self.put(f"uint32_t {variable.name} = {made}[1] + weigh((const uint8_t[]){{1, (uint8_t)({self.without(variable, self.leaf)})}}, 2);")
        self.add(variable)

    def temporary(self, _budget):
        """Writes a reference to a temporary, or an object that refers to another object."""
        variable = self.declare("number")
        self.fuel += 1
        own = f"own_{self.fuel}"
        first = f"(uint32_t)({self.without(variable, self.leaf)})"
        made = self.pick(
            [
                (f"const pair& {own} = pair{{{first}, 2}};", f"{own}.first + (uint32_t){own}.second"),
                (f"uint32_t&& {own} = {first} + 1;", f"++{own}"),
                (f"const uint32_t (&{own})[2] = {{{first}, 7}};", f"{own}[0] + {own}[1]"),
                (f"refers {own}{{t[{first} & {MASK}], 4}};", f"{own}.key + {own}.more"),
                (f"uint32_t {own}_a[2] = {{{first}, 1}}; uint32_t (&{own})[2] = {own}_a;", f"{own}[0] * ++{own}[1]"),
                (f"uint32_t point::*{own} = ({first} & 1) ? &point::x : &point::y; point {own}_p{{{first}, 9}};", f"{own}_p.*{own} + (&{own}_p)->*{own}"),
            ]
        )
        self.put(made[0])
        self.hint(0)
        number = "10'000u" if self.standard is not None and not self.standard.endswith("11") else "10000u"
        self.put(f"uint32_t {variable.name} = {made[1]} + {number};")
        self.add(variable)

    def argument(self, _budget):
        """Writes a call that is expanded, with a temporary and default values as arguments."""
        variable = self.declare("number")
        value = self.without(variable, self.leaf)
        more = self.pick(["", ", 5", f", 1, (uint32_t)({self.without(variable, self.leaf)})"])
        self.put(f"uint32_t {variable.name} = peek_at(t, {self.pick(['pair', ''])}{{(uint32_t)({value}), 6}}{more});")
        self.add(variable)

    def escape(self, _budget):
        variable = self.declare("number")
        self.put(f"uint32_t {variable.name} = (uint32_t)({self.without(variable, self.leaf)});")
        self.add(variable)
        if self.chance(0.5):
            self.put(f"bump(&{variable.name});")
            return
        self.fuel += 1
        self.put(f"uint32_t* at_{self.fuel} = &{variable.name};")
        at = self.fuel
        self.hint(0)
        self.put(f"*at_{at} += (uint32_t)({self.expression(1)});")

    def fill_array(self, _budget):
        self.fuel += 1
        name = f"bytes_{self.fuel}"
        self.put(f"uint8_t {name}[{self.pick([5, 16, 40])}];")
        self.put(f"for (uint32_t k = 0; k < sizeof {name}; ++k) {name}[k] = (uint8_t)(k * ({self.leaf()}));")
        self.hint(0)
        variable = self.declare("number")
        self.put(f"uint64_t {variable.name} = weigh({name}, sizeof {name});")
        self.add(variable)
