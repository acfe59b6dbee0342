// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <map>
#include <mutex>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "control/config.h"
#include "runtime/pipeline.h"

namespace penumbra::runtime {

/// A running router's configuration, and how another one takes its place.
class Reloader {
 public:
  /// `pipeline` runs by `config` and outlives this.
  Reloader(const control::RouterConfig& config, Pipeline& pipeline);

  /// See Router::reload().
  nlohmann::ordered_json command(std::string_view action, std::span<const std::string> arguments);

 private:
  std::vector<std::string> restarts(const control::RouterConfig& next) const;
  bool comparable(const control::RouterConfig& next) const;
  void adopt(const control::RouterConfig& config);

  std::mutex mutex_;
  Pipeline& pipeline_;
  std::filesystem::path file_;  ///< absolute
  std::map<std::string, std::string> sections_;
  std::vector<std::string> ports_;                           ///< by name
  std::vector<std::pair<std::string, std::string>> stages_;  ///< function, engine
};

}  // namespace penumbra::runtime
