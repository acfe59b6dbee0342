// SPDX-License-Identifier: Apache-2.0
//
// Writes a configuration back with some values changed.
#pragma once

#include <cstddef>
#include <set>
#include <span>
#include <string>

#include "penumbra/config_node.h"

namespace penumbra::control {

/// Holds a value of a function's configuration: the name of a file, or the lines themselves.
struct StageValue {
  std::size_t stage = 0;  ///< Position in the pipeline, from 0.
  std::string key;
  std::string value;  ///< Each line ends in a newline. Without lines the value is written as `[]`, unless `is_file`.
  bool is_file = false;
};

/// Edits a copy of a configuration. Sections that were not accessed keep their text and comments.
class ConfigEditor {
 public:
  explicit ConfigEditor(const ConfigNode& root);

  /// Returns the list `ports`, whose elements are maps. Changes of the node change the configuration.
  YAML::Node ports();
  /// Returns the configuration of the function at `position` in the pipeline. The result is a map, even if the file has
  /// only the function's name. Changes of the node change the configuration.
  YAML::Node stage(std::size_t position);
  void set(const StageValue& value);
  /// Returns the whole configuration as text.
  std::string text() const;

 private:
  const ConfigNode root_;
  YAML::Node copy_;
  std::set<std::string> changed_;  ///< Top-level keys that were accessed for a change.
};

/// Returns the text of the configuration with `values` set. Unchanged top-level sections keep their text and comments.
/// Without values, the whole text stays unchanged.
std::string write_config(const ConfigNode& root, std::span<const StageValue> values);

}  // namespace penumbra::control
