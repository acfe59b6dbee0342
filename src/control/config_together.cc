// SPDX-License-Identifier: Apache-2.0
#include "control/config_together.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "control/pipeline_order.h"
#include "penumbra/errors.h"
#include "penumbra/function.h"

namespace penumbra::control {
namespace {

/// Returns the scalar elements of a stage's `follow:` (FeedRequest::follow). The function itself checks the rest.
std::vector<ConfigNode> followed(const StageConfig& stage) {
  const ConfigNode follow = stage.config.is_map() ? stage.config.get("follow") : stage.config;
  std::vector<ConfigNode> words = follow.is_list() ? follow.list() : std::vector<ConfigNode>();
  std::erase_if(words, [](const ConfigNode& each) { return !each.is_scalar(); });
  return words;
}

std::string warning(const SourceLocation& place, const std::string& what) {
  return InputError(place, what).what();
}

/// Returns true if a port has a twin or may get one later. A configuration without ports gets its ports from commands.
bool may_have_twin(const RouterConfig& config) {
  return config.ports.empty() ||
         std::ranges::any_of(config.ports, [](const PortConfig& port) { return !port.twin.empty(); });
}

/// Adds warnings about followed routes. The host knows a port only by its twin. Without twins, no followed route
/// therefore leads out of a port.
void check_follow(RouterConfig& config, const ConfigNode& fpm) {
  constexpr const char* kMend = "give the ports twins ('twin: true'), or take routes from a file ('routes: FILE')";
  const bool twin = may_have_twin(config);
  bool follows_fpm = false;
  for (const StageConfig& stage : config.pipeline) {
    for (const ConfigNode& source : followed(stage)) {
      follows_fpm |= source.text() == "fpm";
      if (twin) continue;
      if (source.text() != "kernel" && source.text() != "fpm") continue;
      const std::string what = fmt::format("no port has a twin, so no route of {} leads to one; {}",
                                           source.text() == "kernel" ? "the host's kernel" : "FRR's", kMend);
      config.warnings.push_back(warning(source.location(), what));
    }
  }
  if (!fpm.present() || follows_fpm) return;
  config.warnings.push_back(
      warning(fpm.location(),
              "no function follows FPM, so 'fpm' does nothing; add 'follow: [fpm]' to a function, or leave it out"));
}

bool uses(const StageConfig& stage, UsedAddresses family) {
  const UsedAddresses used = find_function(stage.function)->addresses;
  return used == family || used == UsedAddresses::both;
}

/// Adds warnings about unused addresses. Only the port's twin and functions that read addresses use them.
void check_addresses(RouterConfig& config) {
  const auto is_used = [&config](UsedAddresses family) {
    return std::ranges::any_of(config.pipeline, [family](const StageConfig& stage) { return uses(stage, family); });
  };
  const bool ipv4 = is_used(UsedAddresses::ipv4), ipv6 = is_used(UsedAddresses::ipv6);
  for (const PortConfig& port : config.ports) {
    const bool unused_ipv4 = !ipv4 && !port.info.addresses.empty();
    const bool unused_ipv6 = !ipv6 && !port.info.ipv6_addresses.empty();
    if (!port.twin.empty() || (!unused_ipv4 && !unused_ipv6)) continue;
    const std::string family = !unused_ipv6 ? "IPv4 " : !unused_ipv4 ? "IPv6 " : "";
    config.warnings.push_back(
        warning(port.addresses_location,
                fmt::format("port {}: nothing uses its {}addresses: it has no twin, and no function of the pipeline "
                            "reads them; give it a twin ('twin: true'), add {}, or leave the addresses out",
                            quote(port.info.name), family,
                            !unused_ipv6   ? "'ipv4'"
                            : !unused_ipv4 ? "'ipv6'"
                                           : "'ipv4' and 'ipv6'")));
  }
}

/// Adds warnings about settings that are legal but seldom intended.
void add_warnings(RouterConfig& config, const ConfigNode& punts) {
  if (punts.present() && !may_have_twin(config)) {
    config.warnings.push_back(
        warning(punts.location(),
                "no port has a twin, so the host is given nothing and 'punts' limits nothing; give "
                "the ports twins ('twin: true'), or leave it out"));
  }
  std::map<std::uint64_t, const PortConfig*> first;
  for (const PortConfig& port : config.ports) {
    if (port.info.mac.value == 0) continue;
    const auto [earlier, added] = first.emplace(port.info.mac.value, &port);
    if (added) continue;
    config.warnings.push_back(
        warning(port.location,
                fmt::format("port {} has the MAC address {} of port {}; give it another one unless that "
                            "is meant",
                            quote(port.info.name), to_string(port.info.mac), quote(earlier->second->info.name))));
  }
}

}  // namespace

void check_together(RouterConfig& config, const ConfigNode& root) {
  const ConfigNode fpm = root.get("fpm");
  if (fpm.present() && config.metrics.wanted() && config.metrics.listen.same_as(config.fpm.listen)) {
    throw InputError(config.metrics.listen.location,
                     fmt::format("'metrics' and 'fpm' both listen on {}", config.metrics.listen.text));
  }
  config.warnings = check_order(config.pipeline);
  check_follow(config, fpm);
  check_addresses(config);
  add_warnings(config, root.get("punts"));
}

}  // namespace penumbra::control
