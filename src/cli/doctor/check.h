// SPDX-License-Identifier: Apache-2.0
//
// The checks of `penumbra doctor`, one entry each. Checks are independent of each other.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cli/doctor/machine.h"

namespace penumbra::cli::doctor {

enum class State {
  ok,
  hint,     ///< it works, but could work better, or a feature that is not configured would not work
  problem,  ///< it will not work
};

struct Finding {
  State state = State::ok;
  std::string text;     ///< the state and its consequence
  std::string command;  ///< command that solves the problem, as a user types it; empty if there is none
};

struct Check {
  std::string name;
  /// Inspects the machine without changing it. Returns one result for each object of the kind, possibly none.
  std::function<std::vector<Finding>(const Machine&)> probe;
};

std::vector<Check> memory_checks();
std::vector<Check> rights_checks();
std::vector<Check> card_checks();
std::vector<Check> interface_checks();
std::vector<Check> core_checks();
std::vector<Check> node_checks();
std::vector<Check> gpu_checks();

/// Returns the PCI addresses of NVIDIA's GPUs.
std::vector<std::string> nvidia_cards(const Machine& machine);

/// Returns the Debian packages of the tools in `command` that this machine lacks.
std::vector<std::string> missing_packages(const Machine& machine, const std::string& command);

/// Returns all checks in the order of the output.
std::vector<Check> all_checks();

}  // namespace penumbra::cli::doctor
