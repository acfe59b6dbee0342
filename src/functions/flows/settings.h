// SPDX-License-Identifier: Apache-2.0
//
// Reads the configuration of `flows`.
#pragma once

#include <netinet/in.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "penumbra/config_node.h"

namespace penumbra::flows {

using std::chrono::milliseconds;

/// Holds the settings of the export.
struct ExportSettings {
  std::string collector;  ///< as written in the configuration
  sockaddr_storage address{};
  socklen_t address_bytes = 0;
  std::uint32_t observation_domain = 0;
  milliseconds template_interval{60'000};

  bool operator==(const ExportSettings& other) const {
    return collector == other.collector && observation_domain == other.observation_domain &&
           template_interval == other.template_interval;
  }
};

struct Settings {
  std::size_t max_flows = 1'000'000;
  milliseconds idle_timeout{15'000};
  milliseconds active_timeout{1'800'000};
  std::optional<ExportSettings> exported;  ///< std::nullopt: no export

  bool operator==(const Settings&) const = default;
};

/// Reads the configuration. Throws InputError.
Settings read_settings(const ConfigNode& config);

/// Returns one line for each setting that differs in `after`.
std::vector<std::string> differences(const Settings& before, const Settings& after);

}  // namespace penumbra::flows
