// SPDX-License-Identifier: Apache-2.0
//
// Writes plots as separate files.
#pragma once

#include <string>
#include <vector>

#include "report/context.h"

namespace penumbra::report {

struct PlotFile {
  std::string name;  ///< For example "e06-look-ups-in-tables.svg": lower-case letters, digits and hyphens.
  std::string text;  ///< Self-contained SVG with its own background, light or dark as the reader's system.
};

/// Returns every plot with title, machines and legend; the machines' panels are side by side. A name consists of
/// measurement (or benchmark) and title. The unit is appended where several plots share both.
std::vector<PlotFile> plot_files(const Context& context);

}  // namespace penumbra::report
