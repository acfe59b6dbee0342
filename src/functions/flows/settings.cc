// SPDX-License-Identifier: Apache-2.0
#include "functions/flows/settings.h"

#include <arpa/inet.h>
#include <fmt/chrono.h>
#include <fmt/format.h>

#include <charconv>
#include <cstring>
#include <string_view>

#include "control/duration.h"
#include "penumbra/errors.h"
#include "shaders/flows/flow_table.h"

namespace penumbra::flows {
namespace {

/// `node` is the key's, which may be missing.
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

/// From 1 to 65535, in network order; 0 for anything else.
in_port_t parse_udp_port(std::string_view text) {
  std::uint16_t port = 0;
  const auto [rest, failure] = std::from_chars(text.data(), text.data() + text.size(), port);
  return failure == std::errc{} && rest == text.data() + text.size() ? htons(port) : in_port_t{0};
}

/// A.B.C.D:PORT or [X:X::X]:PORT.
bool parse_collector(const std::string& text, ExportSettings& settings) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string::npos) return false;
  const in_port_t port = parse_udp_port(std::string_view(text).substr(colon + 1));
  if (port == 0) return false;
  std::string host = text.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) {
    sockaddr_in6 address{};
    address.sin6_family = AF_INET6;
    address.sin6_port = port;
    host = host.substr(1, host.size() - 2);
    if (::inet_pton(AF_INET6, host.c_str(), &address.sin6_addr) != 1) return false;
    settings.address_bytes = sizeof address;
    std::memcpy(&settings.address, &address, sizeof address);
    return true;
  }
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = port;
  if (::inet_pton(AF_INET, host.c_str(), &address.sin_addr) != 1) return false;
  settings.address_bytes = sizeof address;
  std::memcpy(&settings.address, &address, sizeof address);
  return true;
}

ExportSettings read_export(const ConfigNode& node) {
  node.require_map({"collector", "observation_domain", "template_interval"});
  ExportSettings settings;
  const ConfigNode collector = node.at("collector");
  settings.collector = collector.text();
  if (!parse_collector(settings.collector, settings)) {
    throw collector.error("expected a collector's address and UDP port (A.B.C.D:PORT or [X:X::X]:PORT), found " +
                          quote(settings.collector));
  }
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
