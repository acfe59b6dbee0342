// SPDX-License-Identifier: Apache-2.0
//
// The command line.
#pragma once

#include <string>
#include <vector>

#include "function.h"

namespace gopt {

struct Arguments {
  std::string file;
  std::string output;
  std::string depfile;
  std::string profile;
  Options options;
  bool explain = false;
  std::vector<std::string> flags;
};

/// Ends the program with the exit code of wrong usage.
[[noreturn]] void complain(const std::string& message);

Arguments parse_arguments(const std::vector<std::string>& words);

}  // namespace gopt
