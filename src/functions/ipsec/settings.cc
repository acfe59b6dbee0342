// SPDX-License-Identifier: Apache-2.0
#include "functions/ipsec/settings.h"

#include <algorithm>
#include <array>
#include <ctime>
#include <limits>
#include <set>

#include "control/xfrm/text.h"

namespace penumbra::ipsec {
namespace {

namespace xfrm = control::xfrm;

constexpr const char* kDefaultSocket = "/run/penumbra/xfrm.sock";
constexpr const char* kDefaultMarks = "/var/lib/penumbra/ipsec.marks";

std::map<std::string, std::uint32_t> read_interfaces(const ConfigNode& config) {
  std::map<std::string, std::uint32_t> interfaces;
  if (!config.present()) return interfaces;
  std::set<std::uint32_t> ids;
  for (const std::string& name : config.keys()) {
    const ConfigNode node = config.get(name);
    const auto id = static_cast<std::uint32_t>(node.integer(1, std::numeric_limits<std::uint32_t>::max()));
    if (!ids.insert(id).second) throw node.error("another interface has this if_id");
    interfaces.emplace(name, id);
  }
  return interfaces;
}

}  // namespace

Settings read_settings(const ConfigNode& config) {
  config.require_map({"states", "policies", "follow", "socket", "marks", "accept_lost_marks", "sas", "mtu", "fragment",
                      "interfaces", "engine"});
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
  settings.interfaces = read_interfaces(config.get("interfaces"));
  return settings;
}

void check_interfaces(const Settings& settings, const ConfigNode& config, std::span<const PortInfo> ports) {
  std::vector<std::string> names;
  for (const PortInfo& port : ports) names.push_back(port.name);
  for (const auto& [name, id] : settings.interfaces) {
    if (std::ranges::find(names, name) == names.end()) {
      throw config.get(name).error("there is no port " + quote(name) + ": " + did_you_mean_or_list(name, names));
    }
  }
}

std::shared_ptr<const Files> read_files(const Settings& settings) {
  auto files = std::make_shared<Files>();
  if (settings.follows()) return files;
  const auto now = static_cast<std::uint64_t>(time(nullptr));
  files->states = xfrm::read_states(settings.states, files->store, now);
  files->policies = xfrm::read_policies(settings.policies, now);
  check_together(*files, settings);
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

}  // namespace penumbra::ipsec
