// SPDX-License-Identifier: Apache-2.0
//
// Plots as files of their own.
#pragma once

#include <string>
#include <vector>

#include "report/context.h"

namespace penumbra::report {

struct PlotFile {
  std::string name;  ///< "e06-look-ups-in-tables.svg": small letters, digits and hyphens
  std::string text;  ///< SVG that needs nothing else, on a ground of its own, light or dark as the reader's system is
};

/// Every plot, the machines' parts of it side by side, with title, machines and legend. A name is made of measurement
/// (or benchmark) and title; of the unit too where several plots have both in common.
std::vector<PlotFile> plot_files(const Context& context);

}  // namespace penumbra::report
