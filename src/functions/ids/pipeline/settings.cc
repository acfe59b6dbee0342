// SPDX-License-Identifier: Apache-2.0
#include "functions/ids/pipeline/settings.h"

#include <fmt/format.h>

#include <algorithm>

#include "functions/ids/rules/suricata_yaml.h"
#include "penumbra/errors.h"

namespace penumbra::ids {
namespace {

constexpr std::size_t kLeastMemory = std::size_t{1} << 20, kMostMemory = std::size_t{1} << 40;
constexpr std::uint64_t kMostStatsSeconds = 86400;
constexpr std::uint64_t kMostDepth = std::uint64_t{1} << 40;
constexpr std::size_t kLeastFlows = 16, kMostFlows = std::size_t{1} << 24;
constexpr std::string_view kUnix = "unix:";

void read_exceptions(const ConfigNode& node, Policies& policies) {
  if (!node.present()) return;
  node.require_map(std::vector<std::string>(kExceptionCauses.begin(), kExceptionCauses.end()));
  for (std::size_t cause = 0; cause < kExceptionCauses.size(); ++cause) {
    const ConfigNode entry = node.get(std::string(kExceptionCauses[cause]));
    if (!entry.present()) continue;
    const auto number =
        std::ranges::find(kExceptionPolicies, entry.one_of(kExceptionPolicies)) - kExceptionPolicies.begin();
    const auto policy = static_cast<ExceptionPolicy>(number);
    if (!policies.is_ips && drops(policy)) throw entry.error("only mode ips drops packets");
    policies.exceptions.set(static_cast<ExceptionCause>(cause), policy);
  }
}

void read_streams(const ConfigNode& node, StreamOptions& options) {
  if (!node.present()) return;
  node.require_map({"memory", "depth", "midstream", "one_sided"});
  if (const ConfigNode memory = node.get("memory"); memory.present()) {
    options.memory = memory.integer(kLeastMemory, kMostMemory);
  }
  if (const ConfigNode depth = node.get("depth"); depth.present()) options.depth.fill(depth.integer(0, kMostDepth));
  if (const ConfigNode flag = node.get("midstream"); flag.present()) options.midstream = flag.boolean();
  if (const ConfigNode flag = node.get("one_sided"); flag.present()) options.one_sided = flag.boolean();
}

std::string read_target(const ConfigNode& node) {
  if (!node.present()) return "";
  const std::string text = node.text();
  if (!text.starts_with(kUnix)) return node.path().string();
  const std::string path = node.path(text.substr(kUnix.size())).string();
  constexpr std::size_t kMostPath = 107;  // unix(7)
  if (path.size() > kMostPath) throw node.error(fmt::format("the path of a socket has at most {} bytes", kMostPath));
  return std::string(kUnix) + path;
}

EveSettings read_eve(const ConfigNode& config) {
  EveSettings eve{.target = read_target(config.get("eve"))};
  if (const ConfigNode node = config.get("events"); node.present()) {
    eve.kinds = 0;
    for (const ConfigNode& each : node.list()) {
      const auto kind = std::ranges::find(kEventTypes, each.one_of(kEventTypes)) - kEventTypes.begin();
      eve.kinds = static_cast<std::uint8_t>(eve.kinds | 1U << kind);
    }
  }
  if (const ConfigNode node = config.get("stats"); node.present()) {
    eve.stats = std::chrono::seconds(node.integer(0, kMostStatsSeconds));
  }
  return eve;
}

}  // namespace

std::string Policies::text() const {
  std::string text = is_ips ? "ips" : "ids";
  if (matcher == MatcherKind::hyperscan) text += ", searches with hyperscan";
  if (is_ips) text += drops_flows ? ", drops flows" : ", drops packets";
  for (std::size_t cause = 0; cause < kExceptionCauses.size(); ++cause) {
    const ExceptionPolicy policy = exceptions.of(static_cast<ExceptionCause>(cause));
    text += fmt::format(", {}: {}", kExceptionCauses[cause], kExceptionPolicies[static_cast<std::size_t>(policy)]);
  }
  return text;
}

Settings read_settings(const ConfigNode& config) {
  constexpr std::array<std::string_view, 2> kModes{"ids", "ips"}, kScopes{"flow", "packet"}, kRefused{"stop", "skip"},
      kMatchers{"patterns", "hyperscan"};
  config.require_map({"rules", "config", "mode", "scope", "eve", "events", "stats", "community_id", "community_seed",
                      "flows", "refused", "matcher", "exceptions", "streams", "engine"});
  Settings settings;
  ExceptionSettings exceptions;
  if (const ConfigNode node = config.get("config"); node.present()) {
    SuricataYaml yaml = node.read_file(read_suricata_yaml);
    settings.files = std::move(yaml.options);
    if (!yaml.warning.empty()) settings.warnings.push_back(std::move(yaml.warning));
    settings.streams = std::move(yaml.streams);
    exceptions = yaml.exceptions;
    if (exceptions.names_fragments()) {
      settings.warnings.push_back(node.text() +
                                  ": 'defrag.memcap-policy' has no effect here: `reassembly` drops such fragments");
    }
    if (yaml.tunnels) {
      settings.warnings.push_back(node.text() + ": 'decoder' has no effect here: packets in tunnels are not inspected");
    }
  }
  if (const ConfigNode node = config.get("rules"); node.present()) {
    settings.files.rules.clear();
    for (const ConfigNode& file : node.list()) settings.files.rules.push_back(file.path());
  }
  if (settings.files.rules.empty()) {
    throw config.error("no rules: `rules` names files or folders, or `config` a suricata.yaml with rule-files");
  }
  settings.policies.is_ips = config.get("mode").one_of(kModes) == kModes[1];
  settings.policies.drops_flows = config.get("scope").one_of(kScopes) == kScopes[0];
  read_streams(config.get("streams"), settings.streams.options);
  settings.policies.exceptions = ExceptionPolicies::defaults(settings.policies.is_ips);
  exceptions.apply(settings.policies.is_ips, settings.streams.options.midstream, settings.policies.exceptions);
  read_exceptions(config.get("exceptions"), settings.policies);
  if (const ConfigNode node = config.get("matcher"); node.one_of(kMatchers) == kMatchers[1]) {
    if (const std::string lack = Hyperscan::why_unavailable(); !lack.empty()) throw node.error(lack);
    settings.policies.matcher = MatcherKind::hyperscan;
  }
  settings.eve = read_eve(config);
  if (const ConfigNode node = config.get("community_id"); node.present()) settings.community_id = node.boolean();
  if (const ConfigNode node = config.get("community_seed"); node.present()) {
    settings.community_seed = static_cast<std::uint16_t>(node.integer(0, 65535));
  }
  if (const ConfigNode node = config.get("flows"); node.present()) {
    settings.flows = static_cast<std::size_t>(node.integer(kLeastFlows, kMostFlows));
  }
  settings.stops_at_refused = config.get("refused").one_of(kRefused) == kRefused[0];
  return settings;
}

RuleSet load_rules(Settings& settings, const ConfigNode& config) {
  const ConfigNode rules = config.get("rules");
  const ConfigNode& place = rules.present() ? rules : config;
  RuleSet set = [&] {
    try {
      return RuleSet::load(settings.files);
    } catch (const InputError& error) {
      if (error.location().line > 0) throw;
      throw place.error(error.what());
    }
  }();
  if (settings.stops_at_refused && !set.refused().empty()) {
    throw place.error(fmt::format("{} rules are refused; mend them, or set `refused: skip`. The first: {}",
                                  set.refused().size(), set.refused().front().text()));
  }
  for (const RefusedRule& refused : set.refused()) settings.warnings.push_back("rule skipped: " + refused.text());
  settings.warnings.insert(settings.warnings.end(), set.warnings().begin(), set.warnings().end());
  return set;
}

}  // namespace penumbra::ids
