# SPDX-License-Identifier: Apache-2.0
"""Lists functions that the gopt compiler once compiled wrongly, with the kind of fault. The compiled form of the
functions must agree with the plain loop.

@ is replaced by the function's name. All functions take (const int* t, const uint32_t* in, int* out, uint32_t n);
in[k] is below 1024."""

HEAD = "void @(const int* t, const uint32_t* in, int* out, uint32_t n)"

C = {
    "compound literal, the value of a pointer": HEAD + """ {
  foreach (i, n) {
    const int* pair = (const int[]){(int)in[i], 3};
    g_expensive(&t[in[i]]);
    out[i] = t[in[i]] + pair[0] * pair[1];
  }
}""",
    "compound literal by its address": HEAD + """ {
  foreach (i, n) {
    struct pair { int a, b; };
    struct pair* p = &(struct pair){(int)in[i], 2};
    p->b += (int)i;
    g_expensive(&t[in[i]]);
    out[i] = t[in[i]] + p->a + p->b;
  }
}""",
    "compound literal as an argument": """
static int @_look(const int* p, const int* more) { g_expensive(p); g_expensive(more); return *p + *more; }
""" + HEAD + """ {
  foreach (i, n) out[i] = @_look(&t[in[i]], (int[]){(int)in[i]}) + @_look(&t[in[i]], &(int){5});
}""",
    "compound literal in the head of a for": HEAD + """ {
  foreach (i, n) {
    int sum = 0, k = 0;
    for (int* p = (int[]){(int)in[i] & 3, 7}; k < 3; p = (int[]){k, (int)i}, ++k) {
      g_expensive(&t[in[i]]);
      sum += t[in[i]] + p[0] + p[1];
    }
    out[i] = sum;
  }
}""",
    "compound literal in one": HEAD + """ {
  foreach (i, n) {
    int** p = (int*[]){(int[]){(int)in[i]}, (int[]){4}};
    g_expensive(&t[in[i]]);
    out[i] = t[in[i]] + *p[0] + *p[1];
  }
}""",
    "compound literal in an expanded function": """
static int @_look(const int* t, int k) {
  const int* own = &(const int){k * 3};
  g_expensive(&t[k]);
  return t[k] + *own;
}
""" + HEAD + """ {
  foreach (i, n) out[i] = @_look(t, (int)in[i]);
}""",
    "objects that live when a goto goes back": HEAD + """ {
  foreach (i, n) {
    int* p = 0;
    int* q = 0;
  again:
    g_expensive(&t[in[i]]);
    if (p != 0) {
      out[i] = t[in[i]] + *p + *q;
      continue;
    }
    int x = (int)in[i];
    p = &x;
    q = (int[]){x + 1};
    goto again;
  }
}""",
    "struct with a constant member": HEAD + """ {
  foreach (i, n) {
    struct fixed { const int a; int b; };
    struct fixed x = {(int)in[i], 2};
    g_expensive(&t[in[i]]);
    out[i] = t[in[i]] + x.a + x.b;
  }
}""",
    "splice after a hint": HEAD + """ {
  foreach (i, n) {
    g_expensive(&t[in[i]]); \\
    out[i] = t[in[i]]; \\

  }
}""",
    "splices in tokens": HEAD + """ {
  foreach (i, n) {
    const char* text = "ab\\
  c";
    int val\\
ue = (int)in[i];
    g_expensive(&t[in[i]]);
    out[i] = t[in[i]] + text[3] + value;
  }
}""",
    "digraphs": HEAD + """ <%
  foreach (i, n) <%
    int a<:3:> = <%1, 2, (int)in<:i:>%>, b = 4;
    g_expensive(&t[in[i]]);
    out[i] = t[in[i]] + a<:2:> + b;
  %>
%>""",
    "arrays of the function's own that the item chooses": HEAD + """ {
  int found[1024];
  int pairs[1024][2];
  struct { int a[1024]; } inside;
  foreach (i, n) {
    int* own = &pairs[i][1];
    g_expensive(&t[in[i]]);
    found[i] = t[in[i]];
    pairs[i][0] = 2;
    *own = (int)i;
    inside.a[i] = 5;
    inside.a[i] += 1;
  }
  for (uint32_t k = 0; k < n; ++k) out[k] = found[k] + pairs[k][0] * pairs[k][1] + inside.a[k];
}""",
    "minus before a macro that is opened": """
#define @_NEGATED(x) -x
#define @_SECOND(x) x
""" + HEAD + """ {
  foreach (i, n) {
    const int x = (int)in[i];
    g_expensive(&t[x]);
    out[i] = t[x] -@_NEGATED(x)-@_SECOND(x)+@_SECOND(1);
  }
}""",
    "unbraced loops": HEAD + """ {
  foreach (i, n) {
    for (int k = 0; k < 3; ++k) g_expensive(&t[k]);
    do g_expensive(t); while (out[i]++ < (int)(in[i] & 1));
    switch (in[i] & 1) case 1: g_expensive(t);
    out[i] += t[in[i]];
  }
}""",
    "function made by a macro": """
#define @_BODY(x) foreach (i, n) { g_expensive(&t[in[i]]); out[i] = x; }
#define @_FUNCTION(name) void name(const int* t, const uint32_t* in, int* out, uint32_t n) { @_BODY(t[in[i]]) }
@_FUNCTION(@)
""",
    "constant arguments": """
enum @_kind { @_none, @_some, @_many = 70 };
static int @_other(const int* p) { g_expensive(p); return *p; }
static int @_look(const int* t, uint32_t k, enum @_kind kind, unsigned char small, int64_t wide) {
  int sum = 0, last = 5;
  if (kind == @_none && small) return -1;
  g_expensive(&t[k]);
  if (kind > @_some) {
    g_expensive(&t[k ^ 1]);
    sum += t[k ^ 1] + last;
  } else if (wide < 0)
    sum += @_other(&t[k ^ 2]);
  else
    sum = 3;
  if (kind == @_some) switch (small & 3) { case 1: { sum += 4; } break; default: sum += 5; }
  return sum + t[k] + (int)sizeof small + (int)(wide >> 60) + (small == 2 && @_other(&t[k ^ 4]) > 9) +
         (small == 2 ? 1 : @_other(&t[k ^ 8])) + (small != 2 || @_other(t) > 9);
}
static int @_both(const int* t, uint32_t k, int kind) { return @_look(t, k, kind, 2, -1) + @_look(t, k, kind + 1, (unsigned char)258, kind); }
""" + HEAD + """ {
  foreach (i, n) {
    const int small = 1;
    out[i] = @_look(t, in[i], @_many, (unsigned char)(small + 1), INT64_MIN) + @_both(t, in[i], @_none) +
             @_both(t, in[i], (int)(in[i] & 1)) + @_look(t, in[i], @_some, in[i] & 3, 0x7fffffffffffffff);
  }
}""",
    "constant arguments that change": """
static int @_look(const int* t, uint32_t k, int times, int kept, int step) {
  int sum = 0;
  int* at = &kept;
  for (; times > 0; times -= step) {
    g_expensive(&t[(k + (uint32_t)times) & 1023]);
    sum += t[(k + (uint32_t)times) & 1023] + kept;
    *at += 1;
  }
  return sum;
}
""" + HEAD + """ {
  foreach (i, n) out[i] = @_look(t, in[i], 3, 7, 1) - @_look(t, in[i], 2, 1, 2);
}""",
    "branches with labels that a constant excludes": """
static int @_look(const int* t, uint32_t k, int kind) {
  int sum = 0;
  switch (t[k] & 1) {
    case 0:
      if (kind == 1) {
        g_expensive(&t[k ^ 1]);
        sum += t[k ^ 1];
    case 1:
        g_expensive(&t[k ^ 2]);
        sum += t[k ^ 2];
      }
  }
  return sum;
}
""" + HEAD + """ {
  foreach (i, n) out[i] = @_look(t, in[i], 0);
}""",
    "no hint left": """
static int @_more(int x) { return x + 1; }
static int @_look(const int* t, uint32_t k, int kind) {
  if (kind == 1) g_expensive(&t[k]);
  return kind == 1 ? t[k] : @_more(t[k]);
}
""" + HEAD + """ {
  foreach (i, n) out[i] = @_look(t, in[i], 0);
  foreach (i, n) out[i] += @_look(t, in[i], 1);
}""",
    "no prototype": """
static int @_look() { g_expensive("a"); return 1; }
""" + HEAD + """ {
  foreach (i, n) {
    g_expensive(&t[in[i]]);
    out[i] = t[in[i]] + @_look();
  }
}""",
}

CXX = {
    "words right after a call": """
static int @_look(const int* p) { g_expensive(p); return *p; }
""" + HEAD + """ {
  foreach (i, n) out[i] = (@_look(&t[in[i]])bitor 4) + (@_look(&t[in[i]])xor @_look(&t[in[i]]));
}""",
    "a temporary of a class with an initialiser": """struct @_pair { int a, b, c = 1; @_pair(int first, int second) : a(first), b(second) {} };
static int @_look(const int* p, const @_pair& pair) { g_expensive(p); return *p + pair.a * pair.b + pair.c; }
""" + HEAD + """ {
  foreach (i, n) {
    g_expensive(&t[in[i]]);
    out[i] = t[in[i]] + @_look(&t[in[i]], {1, (int)i}) + @_look(&t[in[i]], @_pair{(int)i, 2});
  }
}""",
    "digit separators": HEAD + """ {
  foreach (i, n) {
    g_expensive(&t[in[i]]);
    out[i] = t[in[i]] + 1'000 + 0b1'01 + 0x1'F;
  }
}""",
    "raw strings of several lines": HEAD + """ {
  foreach (i, n) {
    const char* text = R"x(one
  two
three)x";
    g_expensive(&t[in[i]]);
    {
      const char other[] = R"(
 a)";
      out[i] = t[in[i]] + text[in[i] % 14] + other[in[i] % 3];
    }
  }
}""",
    "alternative words": HEAD + """ {
  foreach (i, n) {
    int a = in[i] bitand 7 and not (in[i] xor 4);
    a or_eq 2;
    g_expensive(&t[in[i]]);
    out[i] = t[in[i]] + a + (compl a bitor 4);
  }
}""",
    "pointers to members": """
struct @_point { int x, y; int sum() const { return x + y; } };
""" + HEAD + """ {
  foreach (i, n) {
    int @_point::*m = in[i] & 1 ? &@_point::x : &@_point::y;
    int (@_point::*f)() const = &@_point::sum;
    @_point p{1, (int)in[i]};
    const @_point* q = &p;
    g_expensive(&t[in[i]]);
    out[i] = t[in[i]] + p.*m + q->*m + (p.*f)() + (q->*f)();
  }
}""",
    "defaults": """
static const int @_more = 3;
static int @_look(const int* p, int more = @_more, const int& other = 1 + 2) { g_expensive(p); return *p + more * other; }
""" + HEAD + """ {
  foreach (i, n) out[i] = @_look(&t[in[i]]) + @_look(&t[in[i]], (int)i) + @_look(&t[in[i]], 1, (int)in[i]);
}""",
    "members that are references or constant": """
struct @_refers { const int& a; int b; };
struct @_fixed { const int a; int b; };
struct @_closed { int a; @_closed() = delete; explicit @_closed(int x) : a(x) {} };
""" + HEAD + """ {
  foreach (i, n) {
    @_refers r{t[in[i]], (int)i};
    @_fixed f{(int)in[i], 1};
    @_closed c(4);
    g_expensive(&r.a);
    out[i] = r.a + r.b + f.a + f.b + c.a;
  }
}""",
    "references to arrays": HEAD + """ {
  foreach (i, n) {
    int a[3] = {1, 2, (int)in[i]};
    int (&r)[3] = a;
    const int (&made)[2] = {(int)in[i], 6};
    const int (*p)[3] = &a;
    g_expensive(&t[in[i]]);
    r[0] += 4;
    out[i] = t[in[i]] + r[0] + r[2] + made[0] * made[1] + (*p)[1];
  }
}""",
    "references to temporaries": """
struct @_pair { int a, b; };
static int @_look(const int* p, const @_pair& pair) { g_expensive(p); return *p + pair.a * pair.b; }
""" + HEAD + """ {
  foreach (i, n) {
    const @_pair& kept = @_pair{(int)in[i], 3};
    int&& number = (int)in[i] + 1;
    g_expensive(&t[in[i]]);
    number += kept.a;
    out[i] = t[in[i]] + kept.b + number + @_look(&t[in[i]], {1, (int)i}) + @_look(&t[in[i]], @_pair{(int)i, 2});
  }
}""",
    "constant arguments of templates": """
#include <type_traits>
enum class @_kind : unsigned char { some, many };
static inline int @_deep(const int* p) { return *p / 3; }
template <int words, class T>
static int @_look(const int* t, uint32_t k, T more, @_kind kind, bool up) {
  g_expensive(&t[k]);
  int sum = t[k];
  if constexpr (words == 5) {
    const int* next = &t[k ^ 1];
    g_expensive(next);
    sum += *next + @_deep(next);
  } else if constexpr (std::is_same<T, long>::value)
    sum += 4;
  else
    sum += 9;
  if (up and kind == @_kind::some) [[likely]] { g_expensive(&t[k ^ 2]); sum += t[k ^ 2]; }
  return sum + words * (int)more;
}
static int @_captured(const int* t, uint32_t k, int a, int b, const int& c, int d) {
  const int sum = [a](int x) { return x + a; }(1) + [=](int x) { return x * b; }(2);
  decltype(d) other = d;
  g_expensive(&t[k]);
  return t[k] + sum + c + other;
}
""" + HEAD + """ {
  constexpr int seven = 7;
  foreach (i, n) {
    if constexpr (sizeof(int) == 4) g_expensive(&t[in[i]]);
    else g_expensive(out);
    out[i] = @_look<2>(t, in[i], 3, @_kind::some, true) + @_look<5>(t, in[i], 3L, @_kind::many, false) + @_look<2>(t, in[i], 'a', @_kind::many, true) +
             @_look<2, long>(t, in[i], seven, @_kind::some, in[i] & 1) + @_captured(t, in[i], 1, 2, 3, seven);
  }
}""",
    "declarators that end inside of >>": """
template <class T> struct @_box { T x; };
""" + HEAD + """ {
  foreach (i, n) {
    auto (*make)(int) -> @_box<@_box<int>> = nullptr;
    g_expensive(&t[in[i]]);
    out[i] = make == nullptr ? t[in[i]] : 0;
  }
}""",
}

# These cases need C++20 or later.
CXX20 = {
    "comparison in three ways": """
#include <compare>
""" + HEAD + """ {
  foreach (i, n) {
    const int a = (int)in[i];
    g_expensive(&t[in[i]]);
    out[i] = (t[in[i]] <=> a) < 0 ? 1 : 2;
  }
}""",
    "characters in UTF-8": HEAD + """ {
  foreach (i, n) {
    const char8_t c = u8'x';
    g_expensive(&t[in[i]]);
    out[i] = t[in[i]] + c + u8'y';
  }
}""",
}


def source(cases):
    """Returns a source file with all functions, named f0, f1..."""
    texts = [text.replace("@", f"f{k}") for k, text in enumerate(cases.values())]
    return '#include "gopt.h"\n#include <stdint.h>\n' + "\n".join(texts) + "\n"


def driver(count, widths):
    """Returns a program that compares each function with its compiled form and prints the numbers of those that
    differ."""
    words = "const int* t, const uint32_t* in, int* out, uint32_t n"
    declared = "".join(f"void f{k}({words}); void f{k}_gopt({words}, uint32_t gopt_width);\n" for k in range(count))
    table = ", ".join(f"{{f{k}, f{k}_gopt}}" for k in range(count))
    return f"""#include <stdint.h>
#include <stdio.h>
#include <string.h>
{declared}
static const struct {{ void (*f)({words}); void (*g)({words}, uint32_t gopt_width); }} all[] = {{ {table} }};
static int t[1024], out[2][1000];
static uint32_t in[1000];
int main(void) {{
  static const uint32_t counts[] = {{0, 1, 2, 5, 64, 65, 1000}}, widths[] = {{ {", ".join(map(str, widths))} }};
  int bad = 0;
  for (uint32_t k = 0; k < 1024; ++k) t[k] = (int)(k * 2654435761u >> 12);
  for (uint32_t k = 0; k < 1000; ++k) in[k] = k * 40503u >> 3 & 1023;
  for (unsigned p = 0; p < sizeof all / sizeof *all; ++p) {{
    for (unsigned w = 0; w < sizeof widths / sizeof *widths; ++w) {{
      for (unsigned c = 0; c < sizeof counts / sizeof *counts; ++c) {{
        memset(out, 0, sizeof out);
        all[p].f(t, in, out[0], counts[c]);
        all[p].g(t, in, out[1], counts[c], widths[w]);
        if (memcmp(out[0], out[1], sizeof out[0]) == 0) continue;
        printf("%u differs at width %u, n %u\\n", p, widths[w], counts[c]);
        bad = 1;
      }}
    }}
  }}
  return bad;
}}
"""
