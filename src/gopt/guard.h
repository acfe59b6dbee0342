// SPDX-License-Identifier: Apache-2.0
//
// The one place where this program ends when it, or Clang's library, comes upon what it cannot deal with: a refusal
// with file and line and the exit code of a refusal, never an abort.
#pragma once

#include <functional>
#include <string>

#include "llvm/ADT/StringRef.h"

namespace gopt {

class Guard {
 public:
  /// From here on a fatal error of LLVM, an abort, a fault or an exhausted stack ends the program as a refusal of
  /// `file`.
  explicit Guard(const std::string& file);
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;

  /// The line that is worked on, for the message. Takes any number of calls: it copies what fits.
  static void working_on(llvm::StringRef file, unsigned line);
  /// While the file is parsed: where the lexer is in `text`, the file's text; called in a signal's handler.
  static void parsing(llvm::StringRef text, std::function<const char*()> position);
  static void parsed();
};

}  // namespace gopt
