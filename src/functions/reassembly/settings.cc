// SPDX-License-Identifier: Apache-2.0
#include "functions/reassembly/settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <utility>

#include "control/duration.h"
#include "penumbra/errors.h"

namespace penumbra::reassembly {
namespace {

constexpr std::uint64_t kMebibyte = std::uint64_t{1} << 20;
constexpr std::uint64_t kDefaultMemory = 8, kMostMemory = 65536;  // MiB
constexpr std::uint64_t kMostDatagrams = std::uint64_t{1} << 20, kMostFragments = 8192, kMostPayload = 1280;

OverlapPolicy read_policy(const ConfigNode& node) {
  const std::string name = node.text();
  const auto policy = parse_overlap_policy(name);
  if (!policy) throw node.error(fmt::format("found {}: {}", quote(name), did_you_mean_or_list(name, kOverlapPolicies)));
  return *policy;
}

std::vector<Policies::Hosts> read_hosts(const ConfigNode& node) {
  std::vector<Policies::Hosts> hosts;
  if (!node.present()) return hosts;
  for (const ConfigNode& entry : node.list()) {
    entry.require_map({"prefix", "policy"});
    const ConfigNode prefix = entry.at("prefix");
    const auto parsed = parse_ipv4_prefix(prefix.text());
    if (!parsed) throw prefix.error("expected an IPv4 prefix (A.B.C.D/N), found " + quote(prefix.text()));
    const auto is_known = [&](const Policies::Hosts& each) { return each.prefix == *parsed; };
    if (std::ranges::any_of(hosts, is_known)) throw prefix.error(quote(prefix.text()) + " has a policy already");
    hosts.push_back({*parsed, read_policy(entry.at("policy"))});
  }
  if (hosts.size() > Policies::kMostHosts) {
    throw node.error(fmt::format("{} prefixes, but only {} can have a policy", hosts.size(), Policies::kMostHosts));
  }
  return hosts;
}

Destinations read_destinations(const ConfigNode& node) {
  Destinations to;
  if (!node.present()) return to;
  const std::vector<ConfigNode> prefixes = node.list();
  if (prefixes.empty()) throw node.error("expected at least one prefix");
  if (prefixes.size() > Destinations::kMost) {
    throw node.error(fmt::format("{} prefixes, at most {} are possible", prefixes.size(), Destinations::kMost));
  }
  for (const ConfigNode& prefix : prefixes) {
    const std::string text = prefix.text();
    if (const auto ipv4 = parse_ipv4_prefix(text)) {
      to.ipv4.push_back(*ipv4);
    } else if (const auto ipv6 = parse_ipv6_prefix(text)) {
      to.ipv6.push_back(*ipv6);
    } else {
      throw prefix.error("expected a prefix (ADDRESS/LENGTH), found " + quote(text));
    }
  }
  return to;
}

std::uint64_t read_timeout(const ConfigNode& node, std::uint64_t otherwise) {
  constexpr std::chrono::minutes kMost(10);
  if (!node.present()) return otherwise;
  const std::string text = node.text();
  const auto time = control::parse_duration(text);
  if (!time || *time < std::chrono::milliseconds(1) || *time > kMost) {
    throw node.error("expected a time from 1ms to 10m, found " + quote(text));
  }
  return static_cast<std::uint64_t>(std::chrono::nanoseconds(*time).count());
}

template <class Number>
void read_number(const ConfigNode& node, std::uint64_t most, Number& number) {
  if (node.present()) number = static_cast<Number>(node.integer(1, most));
}

}  // namespace

bool Destinations::contains(Ipv4Address destination) const {
  return std::ranges::any_of(ipv4, [destination](const Ipv4Prefix& each) { return each.contains(destination); });
}

bool Destinations::contains(Ipv6Address destination) const {
  return std::ranges::any_of(ipv6, [destination](const Ipv6Prefix& each) { return each.contains(destination); });
}

Policies::Policies(OverlapPolicy otherwise, std::vector<Hosts> hosts)
    : otherwise_(otherwise), hosts_(std::move(hosts)) {
  std::ranges::stable_sort(hosts_, std::ranges::greater(), [](const Hosts& each) { return each.prefix.length; });
}

OverlapPolicy Policies::of(Ipv4Address destination) const {
  const auto found =
      std::ranges::find_if(hosts_, [destination](const Hosts& each) { return each.prefix.contains(destination); });
  return found == hosts_.end() ? otherwise_ : found->policy;
}

std::string Policies::text() const {
  std::string text(to_string(otherwise_));
  for (const auto& [prefix, policy] : hosts_) text += fmt::format(", {} {}", to_string(prefix), to_string(policy));
  return text;
}

Settings read_settings(const ConfigNode& config, std::uint16_t workers) {
  Settings settings;
  settings.memory = kDefaultMemory * kMebibyte * workers;
  settings.limits.datagrams = 1024;
  if (!config.is_null()) {
    config.require_map(
        {"memory", "datagrams", "fragments", "least_payload", "timeout", "policy", "hosts", "to", "engine"});
    if (const ConfigNode memory = config.get("memory"); memory.present()) {
      settings.memory = memory.integer(1, kMostMemory) * kMebibyte;
    }
    read_number(config.get("datagrams"), kMostDatagrams, settings.limits.datagrams);
    read_number(config.get("fragments"), kMostFragments, settings.limits.fragments);
    read_number(config.get("least_payload"), kMostPayload, settings.limits.least_payload);
    settings.limits.timeout = read_timeout(config.get("timeout"), settings.limits.timeout);
    settings.to = read_destinations(config.get("to"));
    const ConfigNode policy = config.get("policy");
    settings.policies =
        Policies(policy.present() ? read_policy(policy) : OverlapPolicy::drop, read_hosts(config.get("hosts")));
  }
  settings.limits.memory = settings.memory / workers;
  try {
    Reassembly::check(settings.limits);
  } catch (const std::invalid_argument& error) {
    const ConfigNode memory = config.is_null() ? config : config.get("memory");
    throw(memory.present() ? memory : config).error(fmt::format("{} for each of {} workers", error.what(), workers));
  }
  return settings;
}

}  // namespace penumbra::reassembly
