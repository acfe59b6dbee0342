// SPDX-License-Identifier: Apache-2.0
//
// Runs the program within a test.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "base/scratch_folder.h"
#include "cli/command.h"

namespace penumbra::cli {

struct Outcome {
  int exit_code = 0;
  std::string output, errors;
};

/// Replaces standard input during its lifetime.
class StandardInput {
 public:
  explicit StandardInput(const std::string& text) {
    fwrite(text.data(), 1, text.size(), file_);
    fflush(file_);
    lseek(fileno(file_), 0, SEEK_SET);
    dup2(fileno(file_), STDIN_FILENO);
  }
  StandardInput(const StandardInput&) = delete;
  StandardInput& operator=(const StandardInput&) = delete;
  ~StandardInput() {
    dup2(before_, STDIN_FILENO);
    close(before_);
    fclose(file_);
  }

 private:
  int before_ = dup(STDIN_FILENO);
  FILE* file_ = tmpfile();
};

/// Runs `penumbra WORDS... < INPUT`.
inline Outcome run(std::vector<std::string> words, const std::string& input = "") {
  const StandardInput standard_input(input);
  words.insert(words.begin(), "penumbra");
  std::vector<const char*> arguments;
  arguments.reserve(words.size());
  for (const auto& word : words) arguments.push_back(word.c_str());
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  Outcome outcome;
  outcome.exit_code = run_program(static_cast<int>(arguments.size()), arguments.data());
  outcome.output = testing::internal::GetCapturedStdout();
  outcome.errors = testing::internal::GetCapturedStderr();
  return outcome;
}

}  // namespace penumbra::cli
