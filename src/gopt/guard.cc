// SPDX-License-Identifier: Apache-2.0
#include "guard.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <csetjmp>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>

#include "llvm/Support/ErrorHandling.h"

namespace gopt {
namespace {

constexpr int kSignals[] = {SIGSEGV, SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGTRAP};
constexpr size_t kStack = size_t{1} << 17;
constexpr rlim_t kDeepStack = rlim_t{1} << 26;
/// The kernel counts the environment, which lies above main's frame, as part of the stack.
constexpr std::uintptr_t kStackMargin = std::uintptr_t{1} << 22;

/// Lowest address to which the main thread's stack grows.
std::uintptr_t stack_end = 0;

// Global, because a signal handler takes no argument and must not allocate.
char place_file[4096];
unsigned place_line = 1;
llvm::StringRef parsed_text;
std::function<const char*()> parser_position;
sigjmp_buf after_lookup;
volatile sig_atomic_t looks = 0;

/// Finds the lexer's current line during parsing. The lexer's data may be damaged: a fault ends the look-up.
void look_up_line() {
  if (!parser_position) return;
  looks = 1;
  if (sigsetjmp(after_lookup, 1) == 0) {
    const char* at = parser_position();
    if (at >= parsed_text.begin() && at <= parsed_text.end()) {
      place_line = 1 + static_cast<unsigned>(std::count(parsed_text.begin(), at, '\n'));
    }
  }
  looks = 0;
}

/// Ends the program with an error at the current line. Safe in a signal handler.
[[noreturn]] void end(int code, const char* what, const char* reason, const char* advice) {
  look_up_line();
  char text[sizeof place_file + 512];
  const int bytes = std::snprintf(text, sizeof text, "%s:%u:1: error: gopt: %s (%s); %s\n", place_file, place_line,
                                  what, reason, advice);
  if (write(STDERR_FILENO, text, std::min(static_cast<size_t>(bytes), sizeof text - 1)) < 0) _exit(code);
  _exit(code);
}

/// Returns true if the kernel refused to grow the stack to this address.
bool is_end_of_stack(const siginfo_t& signal) {
  if (signal.si_signo != SIGSEGV || signal.si_code <= 0) return false;
  const auto at = reinterpret_cast<std::uintptr_t>(signal.si_addr);
  return at >= stack_end - kStackMargin && at <= stack_end + kStackMargin;
}

void on_signal(int number, siginfo_t* signal, void* /*context*/) {
  if (looks != 0) siglongjmp(after_lookup, 1);
  if (is_end_of_stack(*signal)) {
    end(1, "the source is too much for this program", "its stack is exhausted", "nest less, or split the function");
  }
  Guard::internal_error(sigdescr_np(number));
}

void on_fatal_error(void* /*data*/, const char* reason, bool /*generate_crash_diagnostic*/) {
  Guard::internal_error(reason);
}

}  // namespace

Guard::Guard(const std::string& file) {
  working_on(file, 1);
  rlimit stack{};
  if (getrlimit(RLIMIT_STACK, &stack) == 0) {
    if (stack.rlim_cur < kDeepStack || stack.rlim_cur == RLIM_INFINITY) {
      stack.rlim_cur = std::min(kDeepStack, stack.rlim_max);
      setrlimit(RLIMIT_STACK, &stack);  // The main thread's stack grows up to that limit.
    }
    stack_end = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)) - stack.rlim_cur;
  }
  static char handlers_stack[kStack];
  stack_t alternate{};
  alternate.ss_sp = handlers_stack;
  alternate.ss_size = sizeof handlers_stack;
  sigaltstack(&alternate, nullptr);
  struct sigaction action{};
  action.sa_sigaction = on_signal;
  action.sa_flags = SA_ONSTACK | SA_NODEFER | SA_SIGINFO;
  for (const int number : kSignals) sigaction(number, &action, nullptr);
  llvm::install_fatal_error_handler(on_fatal_error, nullptr);
}

void Guard::internal_error(const char* reason) {
  end(kInternalError, "internal error", reason, "please report it with this source");
}

void Guard::working_on(llvm::StringRef file, unsigned line) {
  const size_t bytes = std::min(file.size(), sizeof place_file - 1);
  std::memcpy(place_file, file.data(), bytes);
  place_file[bytes] = '\0';
  place_line = line;
}

void Guard::parsing(llvm::StringRef text, std::function<const char*()> position) {
  parsed_text = text;
  parser_position = std::move(position);
}

void Guard::parsed() {
  parser_position = nullptr;
}

}  // namespace gopt
