// SPDX-License-Identifier: Apache-2.0
//
// Ends this program when it or Clang's library crashes. A crash is an internal error and has an exit code of its own,
// so that nobody takes it for a refusal of the source. Only an exhausted stack is a refusal.
#pragma once

#include <functional>
#include <string>

#include "llvm/ADT/StringRef.h"

namespace gopt {

class Guard {
 public:
  /// Exit code of an internal error. A refusal has 1, wrong usage has 2.
  static constexpr int kInternalError = 3;

  /// From here on a fatal error of LLVM, an abort or a fault ends the program with internal_error(). An exhausted stack
  /// ends it as a refusal of `file`.
  explicit Guard(const std::string& file);
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;

  /// Ends the program with a message that names the file, the line and `reason`. May be called in a signal's handler.
  [[noreturn]] static void internal_error(const char* reason);

  /// The line that is worked on, for the message. Takes any number of calls: it copies what fits.
  static void working_on(llvm::StringRef file, unsigned line);
  /// While the file is parsed: where the lexer is in `text`, the file's text; called in a signal's handler.
  static void parsing(llvm::StringRef text, std::function<const char*()> position);
  static void parsed();
};

}  // namespace gopt
