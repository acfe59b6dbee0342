// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "control/config.h"
#include "runtime/commands.h"
#include "runtime/config_edits.h"
#include "runtime/pipeline.h"
#include "runtime/unconfirmed.h"

namespace penumbra::runtime {

class PortChanges;

/// Holds a running router's configuration and replaces it.
class Reloader {
 public:
  /// `pipeline` must run with `config` and outlive this object. Users of its functions must hold `functions`.
  Reloader(const control::RouterConfig& config, Pipeline& pipeline, std::mutex& functions);

  /// Sets the object that changes ports. Call before the first command. `ports` must outlive this object.
  void use(PortChanges& ports) { ports_ = &ports; }

  /// Ends changes: unconfirmed changes stay, and later commands are refused. Call before ports and workers are
  /// destroyed.
  void stop();
  /// See Router::reload().
  nlohmann::ordered_json command(std::string_view action, std::span<const std::string> arguments);
  /// See Router::reconfigure().
  nlohmann::ordered_json take_over(const control::RouterConfig& next, bool apply);
  /// See Router::change().
  nlohmann::ordered_json change(const std::string& command, std::string_view action,
                                std::span<const std::string> arguments);
  /// See Router::configure().
  nlohmann::ordered_json configure(std::string_view action, std::span<const std::string> arguments);

 private:
  nlohmann::ordered_json save(std::span<const std::string> arguments);
  void tell_unconfirmed(nlohmann::ordered_json& answer) const;
  std::vector<std::string> restarts(const control::RouterConfig& next) const;
  /// Applies `next`, then keeps `kept` as the configuration. Both are equivalent, but `kept` names the files of tables
  /// that commands have changed, while `next` contains the tables themselves.
  nlohmann::ordered_json take_over_locked(const control::RouterConfig& next, const control::RouterConfig& kept,
                                          bool apply, std::optional<std::chrono::nanoseconds> confirm);
  nlohmann::ordered_json change_ports(std::string_view action, const CommandRequest& request);
  nlohmann::ordered_json set(std::string_view action, std::span<const std::string> arguments);
  nlohmann::ordered_json take_edit(const ConfigEdit& edit, std::optional<std::chrono::nanoseconds> confirm);
  control::RouterConfig parse(const std::string& text) const;
  void require_running() const;
  void require_saved(const std::vector<std::string>& changes) const;
  void give_back_ports(const control::RouterConfig& before);
  std::vector<std::string> stage_names() const;
  std::vector<std::string> edits() const;
  std::vector<std::string> unsaved() const;
  bool comparable(const control::RouterConfig& next) const;
  void adopt(const control::RouterConfig& config);

  std::mutex mutex_;  ///< Held during changes of the configuration; locked before `functions_`.
  Pipeline& pipeline_;
  std::mutex& functions_;
  control::RouterConfig config_;
  std::filesystem::path file_;  ///< Absolute.
  std::map<std::string, std::string> sections_;
  PortChanges* ports_ = nullptr;
  bool is_stopped_ = false;
  std::shared_ptr<const ConfigNode> saved_;                  ///< The configuration as in its file.
  std::vector<std::pair<std::string, std::string>> stages_;  ///< Function and other settings of each stage.
  Unconfirmed unconfirmed_;
};

}  // namespace penumbra::runtime
