// SPDX-License-Identifier: Apache-2.0
#include "functions/ipsec/settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <ctime>

#include "control/xfrm/address.h"
#include "control/xfrm/text.h"
#include "functions/ipsec/policy.h"

namespace penumbra::ipsec {
namespace {

namespace xfrm = control::xfrm;

constexpr const char* kDefaultSocket = "/run/penumbra/xfrm.sock";
constexpr const char* kDefaultMarks = "/var/lib/penumbra/ipsec.marks";

/// Returns what RFC 8221 calls legacy in an SA, or nothing.
std::string legacy_of(const xfrm::Algorithms& used) {
  std::string names;
  if (used.cipher && used.cipher->name == "cbc(aes)") names = "CBC";
  if (used.digest && used.digest->name == "hmac(sha1)") names += names.empty() ? "SHA1" : " and SHA1";
  return names;
}

}  // namespace

Settings read_settings(const ConfigNode& config) {
  config.require_map(
      {"states", "policies", "follow", "socket", "marks", "accept_lost_marks", "sas", "mtu", "fragment", "engine"});
  Settings settings;
  const ConfigNode follow = config.get("follow"), states = config.get("states"), policies = config.get("policies");
  const ConfigNode socket = config.get("socket"), marks = config.get("marks");
  if (follow.present()) {
    constexpr std::array kSources{"xfrm"};
    const auto sources = follow.list();
    if (sources.empty()) throw follow.error("expected a source: [xfrm]");
    for (const ConfigNode& source : sources) source.one_of(kSources);
    for (const ConfigNode& other : {states, policies, marks}) {
      if (other.present()) throw other.error("with `follow` SAs and policies are the keeper's; leave this out");
    }
    settings.socket = socket.present() ? socket.path() : std::filesystem::path(kDefaultSocket);
    constexpr std::size_t kMostPath = 107;
    if (settings.socket.native().size() > kMostPath) throw socket.error("the path of a socket has 1 to 107 bytes");
  } else {
    if (socket.present()) throw socket.error("`socket` is the keeper's and needs `follow: [xfrm]`");
    if (!states.present() || !policies.present()) {
      throw config.error("expected `follow: [xfrm]`, or the files `states` and `policies`");
    }
    settings.states = states.path();
    settings.policies = policies.path();
    settings.marks = marks.present() ? marks.path() : std::filesystem::path(kDefaultMarks);
  }
  if (const ConfigNode node = config.get("accept_lost_marks"); node.present()) {
    settings.accepts_lost_marks = node.boolean();
  }
  if (const ConfigNode node = config.get("sas"); node.present()) {
    settings.sas = static_cast<std::size_t>(node.integer(1, Settings::kMostSas));
  }
  if (const ConfigNode node = config.get("mtu"); node.present()) {
    settings.mtu = static_cast<std::uint16_t>(node.integer(Settings::kLeastMtu, 65535));
  }
  if (const ConfigNode node = config.get("fragment"); node.present()) {
    constexpr std::array kTimes{"before", "after"};
    settings.fragments_first = node.one_of(kTimes) == "before";
  }
  return settings;
}

std::shared_ptr<const Files> read_files(const Settings& settings) {
  auto files = std::make_shared<Files>();
  if (settings.follows()) return files;
  const auto now = static_cast<std::uint64_t>(time(nullptr));
  files->states = xfrm::read_states(settings.states, files->store, now);
  files->policies = xfrm::read_policies(settings.policies, now);
  return files;
}

xfrm::Sa copy_of(const xfrm::Sa& sa, xfrm::KeyStore& store) {
  xfrm::Sa copy;
  copy.settings = sa.settings;
  copy.replay = sa.replay;
  copy.usage = sa.usage;
  copy.keys = store.allocate();
  *copy.keys = *sa.keys;
  return copy;
}

std::vector<std::string> warnings_of(const Files& files, const Settings& settings) {
  std::vector<std::string> warnings;
  for (const xfrm::Sa& sa : files.states) {
    const std::string legacy = legacy_of(sa.settings.algorithms);
    if (legacy.empty()) continue;
    warnings.push_back(fmt::format("{}: the SA {:#x} to {} uses {}, which is legacy; take rfc4106(gcm(aes))",
                                   settings.states.string(), sa.settings.id.spi,
                                   to_string(sa.settings.id.destination, sa.settings.id.family), legacy));
  }
  for (const xfrm::Sa& sa : files.states) {
    const bool is_inbound = std::ranges::any_of(files.policies, [&](const xfrm::Policy& policy) {
      return policy.direction != xfrm::Direction::out && !policy.templates.empty() &&
             fits(policy.templates[0], sa.settings);
    });
    if (!is_inbound || sa.settings.replay_window != 0) continue;
    warnings.push_back(fmt::format("{}: the SA {:#x} to {} accepts replayed packets; add `replay-window 64`",
                                   settings.states.string(), sa.settings.id.spi,
                                   to_string(sa.settings.id.destination, sa.settings.id.family)));
  }
  for (const xfrm::Policy& policy : files.policies) {
    if (policy.templates.empty() || policy.action == xfrm::Action::block) continue;
    const bool has_sa =
        std::ranges::any_of(files.states, [&](const xfrm::Sa& sa) { return fits(policy.templates[0], sa.settings); });
    if (has_sa) continue;
    const xfrm::Selector& selector = policy.selector;
    warnings.push_back(fmt::format("{}: the policy {}/{} -> {}/{} has no SA, so that its packets are dropped",
                                   settings.policies.string(), to_string(selector.source, selector.family),
                                   selector.source_prefix, to_string(selector.destination, selector.family),
                                   selector.destination_prefix));
  }
  return warnings;
}

}  // namespace penumbra::ipsec
