# SPDX-License-Identifier: Apache-2.0
"""Lists sources that the gopt compiler refuses, one for each diagnostic. The line of the error has a comment //! with a
part of the message."""

from gopt_refusals_cxx import CXX

__all__ = ["C", "CXX"]

C = {
    "return": """
void f(const int* t, int* out, uint32_t n) {
  foreach (i, n) {
    g_expensive(&t[i]);
    if (t[i] < 0) return;  //! a return inside a foreach
    out[i] = t[i];
  }
}""",
    "break": """
void f(const int* t, int* out, uint32_t n) {
  foreach (i, n) {
    g_expensive(&t[i]);
    if (t[i] < 0) break;  //! a break out of a foreach
    out[i] = t[i];
  }
}""",
    "goto": """
void f(const int* t, int* out, uint32_t n) {
  foreach (i, n) {
    g_expensive(&t[i]);
    if (t[i] < 0) goto end;  //! a goto out of a foreach
    out[i] = t[i];
  }
end:;
}""",
    "goto into": """
void f(const int* t, int* out, uint32_t n) {
  if (out[0]) goto in;  //! a goto into a foreach
  foreach (i, n) {
    g_expensive(&t[i]);
  in:
    out[i] = t[i];
  }
}""",
    "calls a function with a foreach": """
static int look(const int* p) {
  int sum = 0;
  foreach (k, 3) {
    g_expensive(p + k);
    sum += p[k];
  }
  return sum;
}
void f(const int* t, int* out, uint32_t n) {
  const int first = look(t);  //! 'look' has a foreach, so that gopt writes it as look_gopt
  foreach (i, n) {
    g_expensive(&t[i]);
    out[i] = t[i] + first;
  }
}""",
    "number of items": """
void f(const int* t, const uint32_t* in, int* out, uint32_t n) {
  foreach (i, in) {  //! the number of items has the type 'const uint32_t *'
    g_expensive(&t[i]);
    out[i] = t[i];
  }
}""",
    "number of items by the item": """
void f(const int* t, int* out, uint32_t n) {
  foreach (i, i) {  //! the number of items depends on 'i', the item
    g_expensive(&t[i]);
    out[i] = t[i] + (int)n;
  }
}""",
    "nested": """
void f(const int* t, int* out, uint32_t n) {
  foreach (i, n) {
    g_expensive(&t[i]);
    foreach (k, 3) out[i] += t[k];  //! a foreach cannot be in a foreach
  }
}""",
    "outside": """
void f(const int* t, int* out, uint32_t n) {
  g_expensive(t);  //! outside of a foreach
  foreach (i, n) {
    g_expensive(&t[i]);
    out[i] = t[i];
  }
}""",
    "expression": """
void f(const int* t, int* out, uint32_t n) {
  foreach (i, n) {
    out[i] = (g_expensive(&t[i]), t[i]);  //! must be a statement of its own
    g_expensive(t);
  }
}""",
    "effect": """
void f(const int* t, int* out, uint32_t n) {
  foreach (i, n) {
    const int* p = t;
    g_expensive(p++);  //! may do more than compute an address
    out[i] = *p;
  }
}""",
    "no address": """
void f(const int* t, int* out, uint32_t n) {
  foreach (i, n) {
    g_expensive(t[i]);  //! incompatible integer to pointer conversion
    out[i] = t[i];
  }
}""",
    "arguments": """
void f(const int* t, int* out, uint32_t n) {
  foreach (i, n) {
    g_expensive(t, 4, 5);  //! takes an address and, if need be, a number of bytes
    out[i] = t[i];
  }
}""",
    "a pointer as a number of bytes": """
void f(const int* t, int* out, uint32_t n) {
  foreach (i, n) {
    g_expensive(&t[i], t);  //! takes an address and, if need be, a number of bytes
    out[i] = t[i];
  }
}""",
    "count": """
uint32_t next(void);
void f(const int* t, int* out) {
  foreach (i, next()) {  //! the number of items may be evaluated any number of times
    g_expensive(&t[i]);
    out[i] = t[i];
  }
}""",
    "index": """
void f(const int* t, int* out, uint32_t n) {
  foreach (i, n) {
    g_expensive(&t[i]);
    out[i] = t[i];
    i++;  //! the index of a foreach cannot be changed
  }
}""",
    "carried": """
void f(const int* t, int* out, uint32_t n) {
  int last = 0;
  foreach (i, n) {
    g_expensive(&t[i]);
    out[i] = last;
    last = t[i];  //! 'last' carries a value from one item to the next
  }
}""",
    "read after": """
int f(const int* t, int* out, uint32_t n) {
  int best;
  foreach (i, n) {
    g_expensive(&t[i]);
    best = t[i];  //! 'best' is read after the foreach
    out[i] = best;
  }
  return best;
}""",
    "global": """
int last;
void f(const int* t, int* out, uint32_t n) {
  foreach (i, n) {
    g_expensive(&t[i]);
    last = t[i];  //! what this leaves in 'last' is not defined
    out[i] = 1;
  }
}""",
    "shared array": """
void f(const int* t, int* out, uint32_t n) {
  int scratch[4];
  foreach (i, n) {
    scratch[0] = t[i];  //! items share the array 'scratch'
    g_expensive(&t[i]);
    out[i] = scratch[0];
  }
}""",
    "shared address": """
void fill(int* x);
void f(const int* t, int* out, uint32_t n) {
  int scratch = 0;
  foreach (i, n) {
    fill(&scratch);  //! the address of 'scratch' lets items write what they share
    g_expensive(&t[i]);
    out[i] = scratch;
  }
}""",
    "variable size": """
void f(const int* t, int* out, uint32_t n) {
  foreach (i, n) {
    int a[t[i]];  //! whose size is not constant
    a[0] = 1;
    g_expensive(&t[i]);
    out[i] = a[0];
  }
}""",
    "no name": """
void f(const int* t, int* out, uint32_t n) {
  foreach (i, n) {
    struct { int x; } a = {t[i]};  //! whose type has no name
    g_expensive(&t[i]);
    out[i] = a.x;
  }
}""",
    "two types": """
void f(const int* t, int* out, uint32_t n) {
  foreach (i, n) {
    {
      struct s { int x; } a = {t[i]};
      g_expensive(&t[i]);
      out[i] = a.x;
    }
    {
      struct s { long y; } b = {t[i]};  //! two types named 's'
      g_expensive(&t[i]);
      out[i] += (int)b.y;
    }
  }
}""",
    "static": """
void f(const int* t, int* out, uint32_t n) {
  foreach (i, n) {
    static int calls;  //! a static variable makes one item depend on another
    g_expensive(&t[i]);
    out[i] = t[i] + calls++;
  }
}""",
    "comma": """
static int look(const int* p) { g_expensive(p); return *p; }
void f(const int* t, int* out, uint32_t n) {
  foreach (i, n) {
    out[i] = (out[i]++, look(&t[i]));  //! cannot be expanded inside this expression
  }
}""",
    "several declared": """
static int look(const int* p) { g_expensive(p); return *p; }
void f(const int* t, int* out, uint32_t n) {
  foreach (i, n) {
    int a = 1, b = look(&t[i]);  //! must initialise the only variable of a declaration
    out[i] = a + b;
  }
}""",
    "recursion": """
static int look(const int* p) { g_expensive(p); if (*p) return *p; return look(p + 1); }  //! it calls itself
void f(const int* t, int* out, uint32_t n) {
  foreach (i, n) {
    out[i] = look(&t[i]);
  }
}""",
    "variadic": """
static int look(const int* p, ...) { g_expensive(p); return *p; }
void f(const int* t, int* out, uint32_t n) {
  foreach (i, n) {
    out[i] = look(&t[i], 1);  //! it takes any number of arguments
  }
}""",
    "goto in a helper": """
static int look(const int* p) {
  g_expensive(p);
  if (*p) goto end;  //! a function that is expanded in a foreach cannot use goto
  return 1;
end:
  return 2;
}
void f(const int* t, int* out, uint32_t n) {
  foreach (i, n) {
    out[i] = look(&t[i]);
  }
}""",
    "foreach in a helper": """
static int look(const int* p) {
  int sum = 0;
  foreach (k, 3) {  //! is called from a foreach and cannot hold one
    g_expensive(p + k);
    sum += p[k];
  }
  return sum;
}
void f(const int* t, int* out, uint32_t n) {
  foreach (i, n) {
    out[i] = look(&t[i]);
  }
}""",
    "statement expression": """
void f(const int* t, int* out, uint32_t n) {
  foreach (i, n) {
    g_expensive(&t[i]);
    out[i] = ({ if (t[i]) continue; 1; });  //! a statement expression with a jump
  }
}""",
    "computed goto": """
void f(const int* t, int* out, uint32_t n) {
  foreach (i, n) {
    g_expensive(&t[i]);
    void* to = &&end;
    goto *to;  //! cannot be in a foreach
  end:
    out[i] = t[i];
  }
}""",
    "static global": """
static int shift = 1;  //! 'shift' is static, and the output would have another one
void f(const int* t, int* out, uint32_t n) {
  foreach (i, n) {
    g_expensive(&t[i]);
    out[i] = t[i] << shift;
  }
}""",
    "macro": """
#define WIDTH 3
void f(const int* t, int* out, uint32_t n) {
  foreach (i, n) {
    g_expensive(&t[i]);
    out[i] = t[i] * WIDTH;  //! the macro 'WIDTH' is defined otherwise
  }
}
#undef WIDTH
#define WIDTH 4""",
    "function in the old style": """
static int look(p, k) const int* p; int k; { g_expensive(p); return *p + k; }
void f(const int* t, int* out, uint32_t n) {
  foreach (i, n) {
    out[i] = look(&t[i], 2);  //! its parameters are declared after the parentheses
  }
}""",
    "foreach in the old style": """
void f(t, out, n) const int* t; int* out; uint32_t n; {  //! the parameters are declared after the parentheses
  foreach (i, n) {
    g_expensive(&t[i]);
    out[i] = t[i];
  }
}""",
    "more arguments than parameters": """
static int look() { g_expensive("a"); return 1; }
void f(const int* t, int* out, uint32_t n) {
  foreach (i, n) {
    out[i] = look(t[i]);  //! another number of arguments than it has parameters
  }
}""",
    "any number of arguments": """
void f(const int* t, int* out, uint32_t n, ...) {  //! a foreach in a function of any number of arguments
  foreach (i, n) {
    g_expensive(&t[i]);
    out[i] = t[i];
  }
}""",
    "control character": """
void f(const int* t, int* out, uint32_t n) {
  foreach (i, n) {
    g_expensive(&t[i]);
    out[i] = t[i] + "\x03"[0];  //! a control character is here
  }
}""",
    "compound literal of a type without a name": """
void f(const int* t, int* out, uint32_t n) {
  foreach (i, n) {
    const int* p = &(struct { int x; }){t[i]}.x;  //! whose type has no name
    g_expensive(&t[i]);
    out[i] = *p;
  }
}""",
    "array of an object that a function returns": """
struct holder { int a[2]; };
static struct holder make(int x) { struct holder made = {{x, 1}}; return made; }
static int look(const int* p) { g_expensive(p); return *p; }
void f(const int* t, int* out, uint32_t n) {
  foreach (i, n) {
    out[i] = look(make(t[i]).a);  //! an array of an object without a name
  }
}""",
    "macro of a function": """
void f(const int* t, int* out, uint32_t n) {
#define MORE 3  //! the macro 'MORE' is defined in a function
  foreach (i, n) {
    g_expensive(&t[i]);
    out[i] = t[i] + MORE;
  }
}""",
    "condition around a function's start": """
#ifdef LONG
void f(const int* t, long* out, uint32_t n) {
#else
void f(const int* t, int* out, uint32_t n) {
#endif  //! this belongs to an #if on the other side
  foreach (i, n) {
    g_expensive(&t[i]);
    out[i] = t[i];
  }
}""",
    "nothing": "int f(void); //! no function here has a foreach",
}
