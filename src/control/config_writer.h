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

/// A value of a function's configuration: the name of a file, or the lines themselves.
struct StageValue {
  std::size_t stage = 0;  ///< position in the pipeline
  std::string key;
  std::string value;  ///< lines end in a newline; without any it is `[]`, if `is_file` is false
  bool is_file = false;
};

/// A copy of a configuration that is changed. Sections that were not asked for keep their text with its comments.
class ConfigEditor {
 public:
  explicit ConfigEditor(const ConfigNode& root);

  /// The elements of the list `ports`, each a map. Changes of the node change the configuration.
  YAML::Node ports();
  /// The configuration of a function, by its position in the pipeline: a map, also where the file has the function's
  /// name only. Changes of the node change the configuration.
  YAML::Node stage(std::size_t position);
  void set(const StageValue& value);
  /// The whole configuration as text.
  std::string text() const;

 private:
  const ConfigNode root_;
  YAML::Node copy_;
  std::set<std::string> changed_;  ///< top-level keys
};

/// The text of the configuration with these values. Other top-level sections, and all of it if there are no values,
/// stay as they are, with their comments.
std::string write_config(const ConfigNode& root, std::span<const StageValue> values);

}  // namespace penumbra::control
