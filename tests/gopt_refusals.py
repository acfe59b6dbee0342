# SPDX-License-Identifier: Apache-2.0
"""What the gopt compiler refuses: a case per diagnostic. The line that the error must point to carries a comment //! with a
part of what it must say."""

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
    "nested": """
void f(const int* t, int* out, uint32_t n) {
  foreach (i, n) {
    g_expensive(&t[i]);
    foreach (k, 3) out[i] += t[k];  //! a foreach cannot stand in a foreach
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
    goto *to;  //! cannot stand in a foreach
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
    "nothing": "int f(void); //! no function here has a foreach",
}

CXX = {
    "destructor": """
struct owner { int* p; ~owner() { delete p; } };
void f(const int* t, int* out, uint32_t n) {
  foreach (i, n) {
    owner a{nullptr};  //! which cannot be copied byte by byte
    g_expensive(&t[i]);
    out[i] = t[i];
  }
}""",
    "lambda": """
void f(const int* t, int* out, uint32_t n) {
  foreach (i, n) {
    auto twice = [](int x) { return 2 * x; };  //! a lambda, whose type has no name
    g_expensive(&t[i]);
    out[i] = twice(t[i]);
  }
}""",
    "binding": """
struct two { int a, b; };
void f(const two* t, int* out, uint32_t n) {
  foreach (i, n) {
    auto [a, b] = t[0];  //! a structured binding
    g_expensive(&t[i]);
    out[i] = a + b;
  }
}""",
    "range": """
void f(const int* t, int* out, uint32_t n) {
  foreach (i, n) {
    const int steps[] = {1, 2, 3};
    for (int k : steps) {  //! a loop over a range
      g_expensive(&t[i]);
      out[i] += t[i] * k;
    }
  }
}""",
    "try": """
void f(const int* t, int* out, uint32_t n) {
  foreach (i, n) {
    try {  //! inside a try block
      g_expensive(&t[i]);
      out[i] = t[i];
    } catch (...) {
    }
  }
}""",
    "if constexpr": """
void f(const int* t, int* out, uint32_t n) {
  foreach (i, n) {
    if constexpr (sizeof(int) == 4) {  //! inside an if constexpr
      g_expensive(&t[i]);
    }
    out[i] = t[i];
  }
}""",
    "number of items of a class": """
struct count { uint32_t number; };
inline bool operator<(uint32_t i, count n) { return i < n.number; }
void f(const int* t, int* out, count n) {
  foreach (i, n) {  //! foreach needs a number of items
    g_expensive(&t[i]);
    out[i] = t[i];
  }
}""",
    "declarator that ends inside a token": """
template <class T> struct box {};
void f(const int* t, int* out, uint32_t n) {
  foreach (i, n) {
    auto (*make)(int) -> box<box<int>> = nullptr;  //! where this is initialised cannot be told
    g_expensive(&t[i]);
    out[i] = make == nullptr ? t[i] : 0;
  }
}""",
    "word behind a name": """
void f(const int* t, int* out, uint32_t n) {
  foreach (i, n) {
    const int x __asm__("y") = t[i];  //! put what stands behind its name before it
    g_expensive(&t[i]);
    out[i] = x;
  }
}""",
    "type by a variable of a template": """
template <class T> void f(const T* t, T* out, uint32_t n) {
  foreach (i, n) {
    T x = t[i];
    decltype(x + 1) y = x;  //! whose type is written with a variable and depends on the template's arguments
    g_expensive(&t[i]);
    out[i] = t[i] + y;
  }
}""",
    "name of a type by a variable": """
void f(const int* t, int* out, uint32_t n) {
  foreach (i, n) {
    int x = t[i];
    using number = decltype(x);  //! a type that is written with a variable
    number y = x;
    g_expensive(&t[i]);
    out[i] = t[i] + y;
  }
}""",
    "if with a variable": """
void f(const int* t, int* out, uint32_t n) {
  foreach (i, n) {
    if (int k = out[i]) {  //! a variable that an if declares
      g_expensive(&t[i]);
      out[i] = t[i] + k;
    }
  }
}""",
    "switch with a variable": """
void f(const int* t, int* out, uint32_t n) {
  foreach (i, n) {
    switch (int k = out[i]) {  //! a variable that a switch declares
      case 1:
        g_expensive(&t[i]);
        out[i] = t[i] + k;
    }
  }
}""",
    "while with a variable": """
void f(const int* t, int* out, uint32_t n) {
  foreach (i, n) {
    while (int k = out[i]) {  //! a variable that a condition declares
      g_expensive(&t[i]);
      out[i] = t[i] - k;
    }
  }
}""",
    "for with a variable": """
void f(const int* t, int* out, uint32_t n) {
  foreach (i, n) {
    for (; int k = out[i];) {  //! a variable that a condition declares
      g_expensive(&t[i]);
      out[i] = t[i] - k;
    }
  }
}""",
    "member": """
struct table {
  const int* t;
  void f(int* out, uint32_t n) const {  //! a foreach in a member of a class
    foreach (i, n) {
      g_expensive(&t[i]);
      out[i] = t[i];
    }
  }
};""",
    "member that is called": """
struct table {
  const int* t;
  int look(uint32_t i) const { g_expensive(&t[i]); return t[i]; }
};
void f(const table* a, int* out, uint32_t n) {
  foreach (i, n) {
    out[i] = a->look(i);  //! it is a member of a class
  }
}""",
    "reference returned": """
static const int& look(const int* p) { g_expensive(p); return *p; }
void f(const int* t, int* out, uint32_t n) {
  foreach (i, n) {
    out[i] = look(&t[i]);  //! it returns a reference
  }
}""",
    "namespace": """
namespace other { static int look(const int* p) { g_expensive(p); return *p; } }
void f(const int* t, int* out, uint32_t n) {
  foreach (i, n) {
    out[i] = other::look(&t[i]);  //! it stands in another namespace
  }
}""",
    "depends": """
static int look(const int* p) { g_expensive(p); return *p; }
template <class T> void f(const T* t, int* out, uint32_t n) {
  foreach (i, n) {
    out[i] = look(&t[i]);  //! depends on the template's arguments
  }
}""",
    "auto that depends": """
template <class T> void f(const T* t, int* out, uint32_t n) {
  foreach (i, n) {
    auto x = t[i];  //! whose type depends on the template's arguments
    g_expensive(&t[i]);
    out[i] = x;
  }
}""",
    "template of a template": """
template <template <class> class T> static int look(const T<int>& p) { g_expensive(&p); return p.x; }  //! types and integers
template <class T> struct box { T x; };
void f(const box<int>* t, int* out, uint32_t n) {
  foreach (i, n) {
    out[i] = look(t[i]);
  }
}""",
    "foreach in a lambda": """
void f(const int* t, int* out, uint32_t n) {
  auto all = [=] {
    foreach (i, n) {  //! a foreach in a lambda
      g_expensive(&t[i]);
      out[i] = t[i];
    }
  };
  all();
}""",
    "hint in a lambda": """
void f(const int* t, int* out, uint32_t n) {
  foreach (i, n) {
    out[i] = [&] { g_expensive(&t[i]); return t[i]; }();  //! must be a statement of its own
    g_expensive(t);
  }
}""",
    "reference captured": """
void f(const int* t, int* out, uint32_t n) {
  foreach (i, n) {
    const int& a = t[i];
    g_expensive(&a);
    out[i] = [=] { return a; }();  //! a lambda captures the reference 'a'
  }
}""",
}
