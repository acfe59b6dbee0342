// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace penumbra::bench {

struct Finished {
  std::string output;                            ///< Its standard output.
  std::string errors;                            ///< Its standard error.
  std::map<std::string, double> thread_seconds;  ///< CPU seconds of each of its threads, by name.
};

/// Runs a program to its end. The program receives SIGINT once `enough` is true of its output so far. The program is
/// killed after a minute, and when this process ends. Throws std::runtime_error, with its standard error, unless it
/// ends with status 0.
Finished run_program(const std::vector<std::string>& arguments,
                     const std::function<bool(const std::string& output)>& enough = {});

/// Returns the path of `penumbra` in the folder of this program.
std::string router_program();

/// Returns the path of a program on the PATH, or none.
std::optional<std::string> find_program(const std::string& name);

}  // namespace penumbra::bench
