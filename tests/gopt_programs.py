# SPDX-License-Identifier: Apache-2.0
"""Generates random annotated programs for the gopt compiler: nested control flow, shadowing scopes, types, several
hints, and helper functions with hints.

All programs terminate and have defined behaviour, so that baseline and compiled function must agree. The seed
determines the program."""

from gopt_expressions import MASK, TYPES, Variable, words
from gopt_objects import Objects

SIGNATURE = (
    "const uint32_t* t, const struct node* nodes, const uint32_t* in, uint32_t* out, uint64_t* out2, uint64_t* total, "
    "uint32_t n"
)

C_STANDARDS = ["c99", "c11", "c17", "c2x", "gnu99", "gnu11", "gnu17", "gnu2x"]
CXX_STANDARDS = [f"{kind}{year}" for kind in ("c++", "gnu++") for year in (11, 14, 17, 20, "2b")]

PRELUDE = """#include "gopt.h"
#include <stdint.h>
struct node { uint32_t key; uint16_t small; const struct node* next; uint64_t wide; };
struct pair { uint32_t first; uint64_t second; };
enum limits { few = 3, c_limit = 5 };
static const uint32_t g[4] = {7, 11, 13, 17};
static inline uint32_t mix(uint32_t x) { x ^= x >> 15; x *= 0x2c1b3c6du; return x ^ (x >> 12); }
static inline void bump(uint32_t* x) { *x = mix(*x + 1); }
static inline uint64_t weigh(const uint8_t* bytes, uint32_t n) {
  uint64_t sum = 0;
  for (uint32_t k = 0; k < n; ++k) sum = sum * 31 + bytes[k];
  return sum;
}
static inline uint32_t peek(const uint32_t* t, const uint32_t* own) {
  g_expensive(&t[own[0] & 1023]);
  return t[own[0] & 1023] + own[1];
}
#define EXPENSIVE_NODE(p) g_expensive(p); (void)(p)
#define LAST(x, y) ((x) > (y) ? (x) : (y))
"""
CXX_PRELUDE = """#include <initializer_list>
struct boxed { uint32_t value = 3; uint64_t other = 4; };
struct point { uint32_t x, y; uint32_t sum() const { return x + y; } };
struct refers { const uint32_t& key; uint32_t more; };
static inline uint32_t peek_at(const uint32_t* t, const pair& own, uint32_t more = 3, const uint32_t& last = 2 + 2) {
  g_expensive(&t[own.first & 1023]);
  return t[own.first & 1023] + (uint32_t)own.second + more * last;
}
template <class T> static inline T twice(T x) { return static_cast<T>(x * 2); }
"""


class Program(Objects):
    """Generates one annotated function with its helpers."""

    def statement(self, budget):
        """Writes one statement that contains at most about `budget` statements."""
        simple = [self.assign, self.assign, self.hint, self.hint, self.declaration, self.declaration, self.declaration, self.output, self.escape, self.fill_array]
        simple += [self.temporary, self.argument] if self.cxx else [self.literal, self.literal]
        nested = [self.if_, self.if_, self.for_, self.while_, self.do_, self.switch, self.block, self.unbraced]
        jumps = [self.jump]
        if self.helpers:
            simple += [self.call, self.call]
        if self.cxx:
            simple += [self.reference, self.boxed, self.automatic, self.constant, self.quiet, self.written_type]
        choices = simple + (nested if budget > 1 and self.depth < 5 else []) + (jumps if self.depth > 0 else [])
        self.pick(choices)(budget)

    def body(self, budget):
        self.scopes.append([])
        self.depth += 1
        for _ in range(self.random.randrange(1, max(2, budget))):
            self.statement(budget // 2)
        self.depth -= 1
        self.scopes.pop()

    def hint(self, _budget):
        self.hints += 1
        kinds = [f"&t[({self.expression(1)}) & {MASK}]", f"&nodes[({self.leaf()}) & {MASK}]"]
        kinds += [v.name for v in self.of_kind("pointer") + self.of_kind("node")] * 2
        # The address must have no side effect and no call, because the baseline does not evaluate it.
        address = self.pick([k for k in kinds if "mix" not in k] or ["t"])
        form = self.random.randrange(10)
        if form == 0:
            self.put(f"g_expensive({address}, {self.pick(['4', '64', '200', 'sizeof(struct node)'])});")
        elif form == 1:
            self.put(f"g_expensive({address}); g_expensive(t);")
        elif form == 2 and ("&" not in address):
            self.put(f"EXPENSIVE_NODE({address});")
        else:
            self.put(f"g_expensive({address});")

    def declaration(self, _budget):
        kind = self.pick(["number"] * 6 + ["pointer", "node", "pair", "array", "late", "const", "two", "local_type"])
        if kind == "number":
            type_ = self.pick(TYPES)
            variable = self.declare("number")
            self.put(f"{type_} {self.declarator(variable.name)} = {self.narrowed(type_, self.without(variable, self.expression))};")
        elif kind == "late":
            type_ = self.pick(TYPES)
            variable = self.declare("number")
            self.put(f"{type_} {variable.name};")
            value = self.without(variable, self.expression)
            if self.chance(0.5):
                self.put(f"g_expensive(&t[({self.without(variable, self.leaf)}) & {MASK}]);")
                self.hints += 1
            self.put(f"{variable.name} = {self.narrowed(type_, value)};")
        elif kind == "const":
            type_ = self.pick(TYPES)
            variable = self.declare("number", changes=False)
            value = f"{self.random.randrange(100)}" if self.chance(0.5) else self.narrowed(type_, self.without(variable, self.expression))
            self.put(f"const {type_} {variable.name} = {value};")
        elif kind == "two":
            one = self.declare("number")
            value = self.without(one, self.expression)
            self.put(f"uint32_t {one.name} = (uint32_t)({value}), * const {one.name}_at = &{one.name};")
            self.put(f"*{one.name}_at += 1;")
            variable = one
        elif kind == "pointer":
            variable = self.declare("pointer")
            self.put(f"const uint32_t* {variable.name} = &t[({self.without(variable, self.expression)}) & {MASK}];")
        elif kind == "node":
            variable = self.declare("node")
            self.put(f"const struct node* {variable.name} = &nodes[({self.without(variable, self.expression)}) & {MASK}];")
        elif kind == "pair":
            variable = self.declare("pair")
            first, second = self.without(variable, self.expression), self.without(variable, self.leaf)
            self.put(f"struct pair {variable.name} = {{(uint32_t)({first}), (uint64_t)({second})}};")
        elif kind == "array":
            variable = self.declare("array")
            values = ", ".join(f"(uint32_t)({self.without(variable, self.leaf)})" for _ in range(3))
            self.put(f"uint32_t {variable.name}[4] = {{{values}}};")
        else:
            variable = self.declare("number")
            self.fuel += 1
            tag = f"local_{self.fuel}"
            self.put(f"struct {tag} {{ uint32_t left; uint8_t right; }};")
            value = self.without(variable, self.leaf)
            self.put(f"struct {tag} s_{tag} = {{(uint32_t)({value}), 1}};")
            self.put(f"g_expensive(&t[s_{tag}.left & {MASK}]);")
            self.put(f"uint32_t {variable.name} = s_{tag}.left + s_{tag}.right;")
        self.add(variable)

    def declarator(self, name):
        """Returns the name, usually plain and sometimes in another notation."""
        return self.pick([name] * 6 + [f"({name})", f"{name} __attribute__((unused))", f"{name} __attribute((unused))", f"(({name}))"])

    def written_type(self, _budget):
        """Writes a type that is derived from a variable."""
        variable = self.declare("number")
        numbers = [other.name for other in self.of_kind("number") if other.name != variable.name]
        type_ = f"decltype({self.pick(numbers or ['4u'])} + 0u)"
        value = f"({type_})({self.without(variable, self.leaf)})"
        name = self.declarator(variable.name)
        self.put(self.pick([f"{type_} {name}({value});", f"{type_} {name} = {value};", f"{type_} {name}{{{value}}};"]))
        self.add(variable)

    def assign(self, _budget):
        numbers = self.of_kind("number", True)
        kinds = [k for k in ("number", "number", "number", "pointer", "node", "pair", "array", "boxed") if self.of_kind(k, True)]
        if not kinds:
            return self.output(0)
        kind = self.pick(kinds)
        name = self.pick(self.of_kind(kind, True)).name
        value = self.expression()
        if kind == "number":
            form = self.random.randrange(6)
            if form == 0:
                self.put(f"{name} = ({name} & 0xff) {self.pick(['+', '^', '|'])} 3;")
            elif form == 1 and len(numbers) > 1:
                self.put(f"{name} = {self.leaf_number()} & 0x7f;")
            elif form == 2:
                self.put(f"{name} = {name} & 63, {name}++;")
            else:
                self.put(f"{name} = ({value}) & 0x7f;")
        elif kind == "pointer":
            self.put(f"{name} = &t[({value}) & {MASK}];")
        elif kind == "node":
            self.put(self.pick([f"{name} = {name}->next;", f"{name} = &nodes[({value}) & {MASK}];"]))
        elif kind == "pair":
            self.put(self.pick([f"{name}.first = (uint32_t)({value});", f"{name}.second += ({value});"]))
        elif kind == "boxed":
            self.put(f"{name}.value = (uint32_t)({value});")
        else:
            self.put(f"{name}[({self.leaf_number()}) & 3] {self.pick(['=', '+=', '^='])} (uint32_t)({value});")
        return None

    def output(self, _budget):
        if self.in_helper:
            return self.put(f"(void)({self.expression(1)});")
        value = self.expression()
        return self.put(self.pick([f"out[i] = (uint32_t)({value});", f"out2[i] += ({value});", f"out[i] ^= (uint32_t)({value});", f"sum += ({value});", "count++;"]))

    # The following methods write nested statements.

    def if_(self, budget):
        self.put(f"if ({self.condition()}) {{")
        self.body(budget)
        if self.chance(0.5):
            self.put("} else {")
            self.body(budget)
        self.put("}")

    def unbraced(self, _budget):
        if self.chance(0.3):
            k = self.counter()
            self.put(f"for (uint32_t {k} = 0; {k} < 2; ++{k}) g_expensive(&t[{k}]);")
        self.put(f"if ({self.condition()})")
        self.depth += 1
        self.put(f"g_expensive(&t[({self.leaf_number()}) & {MASK}]);")
        self.hints += 1
        self.depth -= 1
        if self.chance(0.5):
            self.put("else")
            self.put("  g_expensive(t);")

    def for_(self, budget):
        k = self.counter()
        limit = f"(({self.expression(1)}) & 3)"
        if self.chance(0.2):
            self.put(f"for (uint32_t {k} = 0;;) {{")
            self.put(f"  if ({k}++ > {limit}) break;")
        elif self.chance(0.3):
            self.put(f"for (uint32_t {k} = 0, {k}_end = (uint32_t){limit}; {k} < {k}_end; {k}++) {{")
        else:
            self.put(f"for ({self.pick(TYPES)} {k} = 0; {k} < {self.pick(['few', '4', '2'])}; ++{k}) {{")
        self.looped(budget, [Variable(k, "number", False)])
        self.put("}")

    def while_(self, budget):
        k = self.counter()
        self.put(f"uint32_t {k} = (uint32_t)({self.leaf()}) & 3;")
        self.put(f"while ({k}-- > 0) {{")
        self.looped(budget, [Variable(k, "number", False)])
        self.put("}")

    def do_(self, budget):
        k = self.counted()
        self.put("do {")
        self.looped(budget, [Variable(k, "number", False)])
        self.put(f"}} while (++{k} < {self.pick([2, 3])} && ({self.condition()}));")

    def switch(self, budget):
        self.put(f"switch (({self.expression(1)}) & 7) {{")
        self.loops.append("switch")
        cases = self.random.sample(range(8), self.random.randrange(1, 5))
        labels = [f"case {value}:" for value in cases] + (["default:"] if self.chance(0.6) else [])
        self.random.shuffle(labels)
        for label in labels:
            self.put(f"  {label} {{")
            self.depth += 1
            self.body(budget)
            self.depth -= 1
            last = label is labels[-1]
            self.put("  } " + ("break;" if last or self.chance(0.6) else "__attribute__((fallthrough));"))
        self.loops.pop()
        self.put("}")

    def block(self, budget):
        self.put("{")
        self.body(budget)
        self.put("}")

    def jump(self, _budget):
        choices = []
        if self.loops:
            choices.append("break;")
        if "loop" in self.loops or not self.in_helper:
            choices.append("continue;")
        if self.in_helper:
            choices.append(f"return (uint32_t)({self.expression(1)});")
        if choices:
            self.put(f"if ({self.condition()}) {self.pick(choices)}")

    # The following methods write calls of helpers.

    def call(self, _budget):
        helper = self.pick(self.helpers)
        argument = f"(uint32_t)({self.expression(1)}), &nodes[({self.leaf()}) & {MASK}], {self.kind()}"
        call = f"{helper}(t, nodes, {argument})"
        numbers = self.of_kind("number", True)
        form = self.random.randrange(10)
        if form == 7:
            self.put(f"if (({self.condition()}) {self.pick(['&&', '||'])} ({call} & 1)) {{")
            self.body(2)
            self.put("}")
        elif form == 8 and numbers:
            second = f"{self.pick(self.helpers)}(t, nodes, {self.random.randrange(99)}u, nodes, {self.kind()})"
            name = self.pick(numbers).name
            self.put(f"{name} = (({self.condition()}) ? {call} : {second} + 1) & 0x7f;")
        elif form == 9:
            k = self.counted()
            self.put(f"while ({k}++ < 2 && !({call} & 3 && {self.leaf()})) {{")
            self.looped(2)
            self.put("}")
        elif form == 0:
            variable = self.declare("number")
            self.put(f"uint32_t {variable.name} = {self.without_call(variable, call, helper)};")
            self.add(variable)
        elif form == 1 and numbers:
            self.put(f"{self.pick(numbers).name} = (int)({call} & 0x7f);")
        elif form == 2:
            self.put(f"if ({call} & 1) {{")
            self.body(2)
            self.put("}")
        elif form == 3:
            k = self.counted()
            self.put(f"while (({call} & 3) + {k}++ < 3) {{")
            self.looped(2)
            self.put("}")
        elif form == 4:
            k = self.counted()
            self.put("do {")
            self.looped(2)
            self.put(f"}} while (({call} & 1) + {k}++ < 2);")
        elif form == 5:
            self.put(f"{call};")
        else:
            variable = self.declare("number")
            second = f"{self.pick(self.helpers)}(t, nodes, {self.random.randrange(99)}u, nodes, {self.kind()})"
            self.put(f"uint64_t {variable.name} = {self.without_call(variable, call, helper)} + (uint64_t){second};")
            self.add(variable)

    def without_call(self, variable, call, helper):
        if any(word == variable.name for word in words(call)):
            return f"{helper}(t, nodes, 3u, nodes, 1)"
        return call

    def kind(self):
        """Returns the argument that decides in helpers: usually a constant."""
        constants = [str(self.random.randrange(4)), "few", "(1 << 1)", "c_limit - 4"]
        return self.pick([*constants, "kind"] if self.in_helper else [*constants, self.leaf_number()])

    # The following methods write C++ statements.

    def reference(self, _budget):
        arrays, numbers = self.of_kind("array", True), self.of_kind("node")
        self.fuel += 1
        if arrays and self.chance(0.5):
            self.put(f"uint32_t& r{self.fuel} = {self.pick(arrays).name}[{self.random.randrange(4)}];")
            name = f"r{self.fuel}"
            self.hint(0)
            self.put(f"{name} += 5;")
            return
        self.put(f"const auto& r{self.fuel} = {'*' + self.pick(numbers).name if numbers else f'nodes[({self.leaf()}) & {MASK}]'};")
        name = f"r{self.fuel}"
        self.hint(0)
        variable = self.declare("number")
        self.put(f"uint32_t {variable.name} = {name}.key + {name}.small;")
        self.add(variable)

    def boxed(self, _budget):
        variable = self.declare("boxed")
        self.put(self.pick([f"boxed {variable.name};", f"boxed {variable.name}{{}};"]))
        self.add(variable)
        self.hint(0)

    def automatic(self, _budget):
        variable = self.declare("number", changes=False)
        value = self.without(variable, self.leaf)
        self.put(self.pick([f"auto {variable.name} = (uint32_t)({value});", f"uint32_t {variable.name}((uint32_t)({value}));", f"uint32_t {variable.name}{{(uint32_t)({value})}};", f"const auto {variable.name} = twice((uint32_t)({value}));"]))
        self.add(variable)

    def constant(self, _budget):
        variable = self.declare("number", changes=False)
        self.put(f"constexpr uint32_t {variable.name} = {self.random.randrange(1, 9)};")
        self.add(variable)

    def quiet(self, _budget):
        """Writes a construct without a switch inside: a lambda, a range-based loop, or a condition with a variable."""
        variable = self.declare("number")
        value = self.without(variable, self.leaf)
        self.fuel += 1
        form = self.random.randrange(3 if self.in_helper else 4)
        if form == 3:  # captures the index by name
            self.put(f"uint32_t {variable.name} = [i](uint32_t x) {{ return x * i; }}((uint32_t)({value}));")
        elif form == 0:
            self.put(f"uint32_t {variable.name} = [=](uint32_t x) {{ return x + (uint32_t)({value}); }}(3);")
        elif form == 1:
            self.put(f"uint32_t {variable.name} = 0;")
            self.put(f"for (const uint32_t x{self.fuel} : {{1u, 2u, 3u}}) {variable.name} += x{self.fuel} + (uint32_t)({value});")
        else:
            self.put(f"uint32_t {variable.name} = point{{1, (uint32_t)({value})}}.sum();")
            test = f"if (uint32_t x{self.fuel} = {variable.name} & 3"
            old = self.standard is not None and self.standard.endswith(("11", "14"))
            self.put(test + (f") {variable.name} += x{self.fuel};" if old else f"; x{self.fuel} > 1) {variable.name} += x{self.fuel};"))
        self.add(variable)

    # The following methods assemble the program.

    def helper(self, number):
        self.in_helper = True
        name = f"help{self.number}_{number}"
        changes = self.chance(0.1)
        kinds = ["uint32_t", "uint8_t"] + ([] if changes else ["const int"]) + ([] if self.cxx else ["enum limits"])
        self.scopes = [[Variable("x", "number"), Variable("b", "node"), Variable("kind", "number", changes)]]
        self.lines = []
        self.hint(0)
        for _ in range(self.random.randrange(1, 5)):
            self.statement(4)
        self.put(f"return (uint32_t)({self.expression()});")
        body = "\n".join(self.lines)
        self.in_helper = False
        parameter = "const uint32_t& x_" if self.cxx and self.chance(0.5) else "uint32_t x_"
        template = "template <class T> " if self.cxx and self.chance(0.3) else ""
        if template:
            parameter = "T x_"
        text = (
            f"{template}static inline uint32_t {name}(const uint32_t* t, const struct node* nodes, {parameter}, "
            f"const struct node* b, {self.pick(kinds)} kind) {{\n"
            f"  uint32_t x = x_;\n  (void)nodes; (void)b; (void)x; (void)kind;\n{body}\n}}\n"
        )
        self.helpers.append(name)
        return text

    def text(self):
        helpers = "".join(self.helper(k) for k in range(self.pick([0, 0, 1, 2])))
        self.lines, self.scopes, self.hints = [], [[]], 0
        outer = self.chance(0.3)
        if outer:
            self.scopes[0].append(Variable("temporary", "number"))
            self.put("  temporary = in[i] & 0x7f;")
        for _ in range(self.random.randrange(2, 8)):
            self.statement(self.pick([3, 6, 9]))
        if not self.hints:
            self.hint(0)
        self.output(0)
        body = "\n".join("  " + line for line in self.lines)
        return (
            f"{helpers}void f{self.number}({SIGNATURE}) {{\n  uint64_t sum = 0;\n  uint32_t count = 0;\n"
            + ("  uint32_t temporary;\n" if outer else "")
            + f"  (void)t; (void)nodes; (void)in; (void)out; (void)out2;\n  foreach (i, n) {{\n{body}\n  }}\n"
            "  *total = sum + count;\n}\n"
        )


def programs(seed, count, cxx, standard=None):
    """Returns a source with `count` annotated functions f0, f1... in the language mode `standard`. The default is the
    mode of the tests."""
    functions = [Program(f"{seed}/{k}", cxx, k, standard).text() for k in range(count)]
    return PRELUDE + (CXX_PRELUDE if cxx else "") + "\n" + "\n".join(functions)


def driver(count, widths):
    """Returns a C program that compares f0... with f0_gopt..., compiled with --width any."""
    declarations = "\n".join(f"void f{k}({SIGNATURE}); void f{k}_gopt({SIGNATURE}, uint32_t gopt_width);" for k in range(count))
    table = ", ".join(f"{{f{k}, f{k}_gopt}}" for k in range(count))
    return f"""#include <stdint.h>
#include <stdio.h>
#include <string.h>
struct node {{ uint32_t key; uint16_t small; const struct node* next; uint64_t wide; }};
#ifdef __cplusplus
extern "C++" {{
#endif
{declarations}
#ifdef __cplusplus
}}
#endif
typedef void (*plain)({SIGNATURE});
typedef void (*wide)({SIGNATURE}, uint32_t gopt_width);
static const struct {{ plain f; wide g; }} all[] = {{ {table} }};
enum {{ most = 1000 }};
static uint32_t t[{MASK + 1}], in[most], out[2][most];
static struct node nodes[{MASK + 1}];
static uint64_t out2[2][most], total[2];
static uint32_t state = 12345;
static uint32_t next(void) {{ state ^= state << 13; state ^= state >> 17; state ^= state << 5; return state; }}
int main(void) {{
  static const uint32_t counts[] = {{0, 1, 2, 3, 6, 15, 16, 17, 64, 65, 130, 300, 1000}};
  static const uint32_t widths[] = {{ {", ".join(map(str, widths))} }};
  int bad = 0;
  for (uint32_t k = 0; k <= {MASK}; ++k) {{
    t[k] = next();
    nodes[k].key = next(); nodes[k].small = (uint16_t)next(); nodes[k].wide = next(); nodes[k].next = &nodes[next() & {MASK}];
  }}
  for (unsigned p = 0; p < sizeof all / sizeof *all; ++p) {{
    for (unsigned w = 0; w < sizeof widths / sizeof *widths; ++w) {{
      for (unsigned c = 0; c < sizeof counts / sizeof *counts; ++c) {{
        if (counts[c] == 1000 && (p + w) % 8 != 0) continue;
        for (uint32_t k = 0; k < most; ++k) in[k] = next();
        memset(out, 0, sizeof out); memset(out2, 0, sizeof out2); memset(total, 0, sizeof total);
        all[p].f(t, nodes, in, out[0], out2[0], &total[0], counts[c]);
        all[p].g(t, nodes, in, out[1], out2[1], &total[1], counts[c], widths[w]);
        if (memcmp(out[0], out[1], sizeof out[0]) || memcmp(out2[0], out2[1], sizeof out2[0]) || total[0] != total[1]) {{
          printf("f%u differs at width %u, n %u\\n", p, widths[w], counts[c]);
          bad = 1;
          goto next_program;
        }}
      }}
    }}
    next_program:;
  }}
  return bad;
}}
"""
