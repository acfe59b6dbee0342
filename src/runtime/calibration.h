// SPDX-License-Identifier: Apache-2.0
//
// What the engines have found out about this machine, in a file, so that the next run begins with it.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "penumbra/engine.h"

namespace penumbra::runtime {

class Calibration {
 public:
  /// By the engine's name.
  using Calibrations = std::map<std::string, std::vector<EngineCalibration>>;

  /// calibration.json in $CACHE_DIRECTORY (a service of systemd), $XDG_CACHE_HOME/penumbra or $HOME/.cache/penumbra,
  /// the first of these that is an absolute path; empty if none is.
  static std::filesystem::path default_file();

  /// Of an empty name: load() gives nothing, keep() does nothing.
  explicit Calibration(std::filesystem::path file) : file_(std::move(file)) {}

  /// Empty if there is no file, or if it is of another machine, of another build of this program, or not from keep().
  Calibrations load() const;
  /// Adds to what the file has; of calibrations on the same shader and size of table under the same
  /// conditions the new one stays. Another process
  /// sees the file as it was or as it will be. Throws std::runtime_error with the reason if it cannot be written.
  void keep(const Calibrations& calibrations) const;

 private:
  std::filesystem::path file_;
};

}  // namespace penumbra::runtime
