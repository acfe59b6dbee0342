// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace penumbra::bench {

struct Finished {
  std::string output;                            ///< what it wrote on standard output
  std::string errors;                            ///< likewise on standard error
  std::map<std::string, double> thread_seconds;  ///< how long each of its threads, by name, had a core
};

/// Runs a program to its end. With `enough` it is sent SIGINT once that is true of what it has written so far. It is
/// killed after a minute, and when this process ends. Throws std::runtime_error, with what it wrote on standard error,
/// unless it ends with status 0.
Finished run_program(const std::vector<std::string>& arguments,
                     const std::function<bool(const std::string& output)>& enough = {});

/// The path of a program on the PATH, or nothing.
std::optional<std::string> find_program(const std::string& name);

}  // namespace penumbra::bench
