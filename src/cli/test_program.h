// SPDX-License-Identifier: Apache-2.0
//
// Runs the program within a test.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "cli/command.h"

namespace penumbra::cli {

struct Outcome {
  int exit_code = 0;
  std::string output, errors;
};

/// `penumbra WORDS...`
inline Outcome run(std::vector<std::string> words) {
  words.insert(words.begin(), "penumbra");
  std::vector<const char*> arguments;
  for (const auto& word : words) arguments.push_back(word.c_str());
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  Outcome outcome;
  outcome.exit_code = run_program(static_cast<int>(arguments.size()), arguments.data());
  outcome.output = testing::internal::GetCapturedStdout();
  outcome.errors = testing::internal::GetCapturedStderr();
  return outcome;
}

/// A folder that goes away with the test.
class ScratchFolder {
 public:
  ScratchFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "penumbra-cli-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("cannot make a folder in " + name);
    path_ = name;
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  ~ScratchFolder() { std::filesystem::remove_all(path_); }

  std::string file(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

}  // namespace penumbra::cli
