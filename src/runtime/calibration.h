// SPDX-License-Identifier: Apache-2.0
//
// Keeps the engines' calibrations of this machine in a file for the next run.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "penumbra/engine.h"

namespace penumbra::runtime {

class Calibration {
 public:
  /// Maps an engine's name to its calibrations.
  using Calibrations = std::map<std::string, std::vector<EngineCalibration>>;

  /// Returns calibration.json in $CACHE_DIRECTORY (set by systemd), $XDG_CACHE_HOME/penumbra or $HOME/.cache/penumbra.
  /// The first absolute path is taken; without one the result is empty.
  static std::filesystem::path default_file();

  /// With an empty name, load() returns nothing and keep() does nothing.
  explicit Calibration(std::filesystem::path file) : file_(std::move(file)) {}

  /// Returns the calibrations of the file. The result is empty if there is no file, or if keep() of this build on this
  /// machine did not write it.
  Calibrations load() const;
  /// Adds calibrations to the file. A new calibration replaces an old one with the same shader, table size and
  /// calibration key. The file is replaced atomically. Throws std::runtime_error with the reason if it cannot be
  /// written.
  void keep(const Calibrations& calibrations) const;

 private:
  std::filesystem::path file_;
};

}  // namespace penumbra::runtime
