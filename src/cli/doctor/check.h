// SPDX-License-Identifier: Apache-2.0
//
// `penumbra doctor`: what it looks at, one entry each. A check knows nothing of the others.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cli/doctor/machine.h"

namespace penumbra::cli::doctor {

enum class State {
  ok,
  hint,     ///< it works, but could work better, or something that is not configured would not work
  problem,  ///< it will not work
};

struct Finding {
  State state = State::ok;
  std::string text;     ///< what is so, and what follows from it
  std::string command;  ///< what mends it or spares work, as one types it; empty if nothing can or has to be done
};

struct Check {
  std::string name;
  /// Looks, and changes nothing. Several findings if there are several things of the kind; none if there are none.
  std::function<std::vector<Finding>(const Machine&)> probe;
};

std::vector<Check> memory_checks();
std::vector<Check> rights_checks();
std::vector<Check> card_checks();
std::vector<Check> interface_checks();
std::vector<Check> core_checks();
std::vector<Check> gpu_checks();

/// Debian's packages of the tools in a command that this machine lacks.
std::vector<std::string> missing_packages(const Machine& machine, const std::string& command);

/// All of them, in the order in which they are shown.
std::vector<Check> all_checks();

}  // namespace penumbra::cli::doctor
