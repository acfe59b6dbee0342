# SPDX-License-Identifier: Apache-2.0
"""Lists C++ sources that the gopt compiler refuses: see gopt_refusals.py."""

CXX = {
    "a static constant of the first item": """
void f(const int* t, int* out, uint32_t n) {
  foreach (i, n) {
    g_expensive(&t[i]);
    static const int first = t[i];  //! a static variable makes one item depend on another
    out[i] = t[i] + first;
  }
}""",
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
template <int width>
void f(const int* t, int* out, uint32_t n) {
  foreach (i, n) {
    if constexpr (width == 4) {  //! inside an if constexpr
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
    "word behind a name": """
void f(const int* t, int* out, uint32_t n) {
  foreach (i, n) {
    const int x __asm__("y") = t[i];  //! put the text after its name before it
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
    out[i] = other::look(&t[i]);  //! it is in another namespace
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
    "operator": """
struct view { const int* t; };
void operator<<(view v, int* out) {  //! a foreach in an operator
  foreach (i, 3u) {
    g_expensive(&v.t[i]);
    out[i] = v.t[i];
  }
}""",
    "specialization": """
template <int K> void f(const int* t, int* out, uint32_t n);
template <> void f<1>(const int* t, int* out, uint32_t n) {  //! a foreach in a template's specialization
  foreach (i, n) {
    g_expensive(&t[i]);
    out[i] = t[i];
  }
}""",
    "default that depends on the place": """
static int look(const int* p, int line = __builtin_LINE()) { g_expensive(p); return *p + line; }  //! the default of 'line'
void f(const int* t, int* out, uint32_t n) {
  foreach (i, n) {
    out[i] = look(&t[i]);
  }
}""",
    "default in a template": """
template <class T> static int look(const T* p, T more = T(1)) { g_expensive(p); return *p + more; }  //! the default of 'more'
void f(const int* t, int* out, uint32_t n) {
  foreach (i, n) {
    out[i] = look(&t[i]);
  }
}""",
    "array of an initializer list": """
#include <initializer_list>
void f(const int* t, int* out, uint32_t n) {
  foreach (i, n) {
    std::initializer_list<int> list = {t[i], 2};  //! an object without a name lives on
    g_expensive(&t[i]);
    out[i] = t[i] + *list.begin();
  }
}""",
    "initializer list in the head of a for": """
#include <initializer_list>
void f(const int* t, int* out, uint32_t n) {
  foreach (i, n) {
    for (std::initializer_list<int> list = {t[i], 2}; out[i] < 3; ++out[i]) {  //! an object without a name lives on
      g_expensive(&t[i]);
      out[i] += *list.begin();
    }
  }
}""",
    "initializer list as an argument": """
#include <initializer_list>
static int look(const int* p, std::initializer_list<int> more) { g_expensive(p); return *p + *more.begin(); }
void f(const int* t, int* out, uint32_t n) {
  foreach (i, n) {
    out[i] = look(&t[i], {t[i], 2});  //! an object without a name in what a call is given
  }
}""",
    "pointer into a temporary as an argument": """
struct wrap { int x; const int* at() const { return &x; } };
static int look(const int* p, const int* q) { g_expensive(p); return *p + *q; }
void f(const int* t, int* out, uint32_t n) {
  foreach (i, n) {
    out[i] = look(&t[i], wrap{t[i]}.at());  //! an object without a name in what a call is given
  }
}""",
    "member that refers to a temporary": """
struct refers { const int& a; };
void f(const int* t, int* out, uint32_t n) {
  foreach (i, n) {
    refers r{t[i] + 1};  //! an object without a name lives on
    g_expensive(&t[i]);
    out[i] = r.a;
  }
}""",
    "reference to a part of a temporary": """
struct pair { int a, b; };
void f(const int* t, int* out, uint32_t n) {
  foreach (i, n) {
    const int& b = pair{t[i], 2}.b;  //! an object without a name lives on
    g_expensive(&t[i]);
    out[i] = t[i] + b;
  }
}""",
    "reference to a temporary's base": """
struct base { int a; };
struct derived : base { int b; };
void f(const int* t, int* out, uint32_t n) {
  foreach (i, n) {
    const base& b = derived{{t[i]}, 2};  //! an object without a name lives on
    g_expensive(&t[i]);
    out[i] = t[i] + b.a;
  }
}""",
    "reference that may be to a temporary": """
template <class T> T make(T x) { return x; }
template <class T> void f(const T* t, int* out, uint32_t n) {
  foreach (i, n) {
    const T& x = make(t[i]);  //! an object without a name lives on
    g_expensive(&t[i]);
    out[i] = t[i] + x;
  }
}""",
    "parameter of type auto": """
static int look(const auto* p) { g_expensive(p); return *p; }  //! a parameter of type 'auto' cannot be expanded
void f(const int* t, int* out, uint32_t n) {
  foreach (i, n) {
    out[i] = look(&t[i]);
  }
}""",
}
