// SPDX-License-Identifier: Apache-2.0
#include "control/netlink/links.h"

#include <algorithm>
#include <utility>

namespace penumbra::control::netlink {

void Links::set_twins(std::vector<std::string> twins) {
  twins_ = std::move(twins);
  for (auto& [index, link] : by_index_) link.port = port_of(link.name);
}

/// Returns the port that the interface called `name` represents, or nothing.
std::optional<std::uint16_t> Links::port_of(const std::string& name) const {
  const auto twin = std::ranges::find(twins_, name);
  if (name.empty() || twin == twins_.end()) return std::nullopt;
  return static_cast<std::uint16_t>(twin - twins_.begin());
}

bool Links::update(const LinkMessage& message) {
  if (message.removed) return by_index_.erase(message.index) == 1;
  Link link{.name = message.name,
            .up = message.up,
            .carrier = message.carrier,
            .vrf_table = message.vrf_table,
            .port = port_of(message.name)};
  const auto [at, fresh] = by_index_.try_emplace(message.index, link);
  if (fresh) return link.vrf_table.has_value();
  const Link before = std::exchange(at->second, std::move(link));
  const Link& now = at->second;
  return before.up != now.up || before.carrier != now.carrier || before.name != now.name ||
         before.vrf_table != now.vrf_table;
}

void Links::begin_sync() {
  for (auto& [index, link] : by_index_) link.reported_again = false;
}

void Links::end_sync(bool complete) {
  if (!complete) return;
  std::erase_if(by_index_, [](const auto& each) { return !each.second.reported_again; });
}

const Link* Links::find(std::uint32_t index) const {
  const auto found = by_index_.find(index);
  return found == by_index_.end() ? nullptr : &found->second;
}

std::optional<std::uint32_t> Links::vrf_table(const std::string& name) const {
  for (const auto& [index, link] : by_index_) {
    if (link.name == name) return link.vrf_table;
  }
  return std::nullopt;
}

}  // namespace penumbra::control::netlink
