// SPDX-License-Identifier: Apache-2.0
#include "functions/flows/settings.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "control/duration.h"
#include "control/endpoint.h"
#include "penumbra/errors.h"
#include "tables/flows/flow_table.h"

namespace penumbra::flows {
namespace {

/// Reads a time. `node` may be missing.
milliseconds read_time(const ConfigNode& node, milliseconds otherwise, milliseconds least) {
  constexpr std::chrono::hours kMost(24);
  if (!node.present()) return otherwise;
  const std::string text = node.text();
  const auto time = control::parse_duration(text);
  if (!time || *time < least || *time > kMost) {
    throw node.error(fmt::format("expected a time from {} to 1440m (a day), found {}", least, quote(text)));
  }
  return std::chrono::duration_cast<milliseconds>(*time);
}

ExportSettings read_export(const ConfigNode& node) {
  node.require_map({"collector", "observation_domain", "template_interval"});
  ExportSettings settings;
  const ConfigNode collector = node.at("collector");
  settings.collector = collector.text();
  const auto endpoint = control::parse_endpoint(settings.collector);
  if (!endpoint) {
    throw collector.error("expected a collector's address and UDP port (A.B.C.D:PORT or [X:X::X]:PORT), found " +
                          quote(settings.collector));
  }
  const bool broadcast = endpoint->family() == AF_INET && settings.collector.starts_with("255.255.255.255:");
  if (endpoint->is_any() || endpoint->is_link_local() || broadcast) {
    throw collector.error(quote(settings.collector) + " is no address that the host can send to: " +
                          (endpoint->is_any()          ? "it is no station's"
                           : endpoint->is_link_local() ? "it is link-local and does not say on which link"
                                                       : "it is a broadcast"));
  }
  settings.address = endpoint->address;
  settings.address_bytes = endpoint->bytes;
  if (const ConfigNode domain = node.get("observation_domain"); domain.present()) {
    settings.observation_domain = static_cast<std::uint32_t>(domain.integer(0, ~std::uint32_t{0}));
  }
  settings.template_interval =
      read_time(node.get("template_interval"), settings.template_interval, std::chrono::seconds(1));
  return settings;
}

std::string describe(const std::optional<ExportSettings>& settings) {
  if (!settings) return "none";
  return fmt::format("{}, observation domain {}, templates every {}", settings->collector, settings->observation_domain,
                     settings->template_interval);
}

}  // namespace

Settings read_settings(const ConfigNode& config) {
  Settings settings;
  if (config.is_null()) return settings;
  config.require_map({"max_flows", "idle_timeout", "active_timeout", "export", "engine"});
  if (const ConfigNode node = config.get("max_flows"); node.present()) {
    settings.max_flows = node.integer(1, FlowTable::kMost);
  }
  settings.idle_timeout = read_time(config.get("idle_timeout"), settings.idle_timeout, milliseconds(100));
  settings.active_timeout = read_time(config.get("active_timeout"), settings.active_timeout, milliseconds(100));
  if (const ConfigNode node = config.get("export"); node.present()) settings.exported = read_export(node);
  return settings;
}

std::vector<std::string> differences(const Settings& before, const Settings& after) {
  std::vector<std::string> lines;
  const auto compare = [&lines](const char* what, milliseconds old_time, milliseconds new_time) {
    if (old_time != new_time) lines.push_back(fmt::format("{}: {}, was {}", what, new_time, old_time));
  };
  compare("idle timeout", before.idle_timeout, after.idle_timeout);
  compare("active timeout", before.active_timeout, after.active_timeout);
  if (before.exported != after.exported) {
    lines.push_back(fmt::format("export: {}, was {}", describe(after.exported), describe(before.exported)));
  }
  return lines;
}

}  // namespace penumbra::flows
