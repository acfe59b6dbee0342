// SPDX-License-Identifier: Apache-2.0
//
// Ends this program when it or Clang's library crashes. A crash is an internal error with its own exit code, so that it
// differs from a refusal of the source. Only an exhausted stack is a refusal.
#pragma once

#include <functional>
#include <string>

#include "llvm/ADT/StringRef.h"

namespace gopt {

class Guard {
 public:
  /// Exit code of an internal error. A refusal has 1, wrong usage has 2.
  static constexpr int kInternalError = 3;

  /// Installs the handlers: a fatal error of LLVM, an abort or a fault then calls internal_error(). An exhausted stack
  /// ends the program as a refusal of `file`.
  explicit Guard(const std::string& file);
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;

  /// Ends the program with a message that names the file, the line and `reason`. Safe in a signal handler.
  [[noreturn]] static void internal_error(const char* reason);

  /// Sets the current line for the message. May be called often; a long file name is truncated.
  static void working_on(llvm::StringRef file, unsigned line);
  /// Sets the function that returns the lexer's position in `text`, the file's text, until parsed(). `position` is
  /// called in a signal handler.
  static void parsing(llvm::StringRef text, std::function<const char*()> position);
  static void parsed();
};

}  // namespace gopt
