// SPDX-License-Identifier: Apache-2.0
#include "functions/ipsec/show.h"

#include <fmt/format.h>

#include <string>

#include "control/xfrm/address.h"

namespace penumbra::ipsec {
namespace {

namespace xfrm = control::xfrm;

std::string names_of(const xfrm::Algorithms& used) {
  if (used.aead) return fmt::format("{} {}", used.aead->name, used.aead->key_bits);
  const std::string digest = used.digest ? fmt::format("{} {}", used.digest->name, used.digest->tag_bits) : "";
  return used.cipher ? fmt::format("{} {}, {}", used.cipher->name, used.cipher->key_bits, digest) : digest;
}

std::string prefix_text(const xfrm::Address& address, std::uint8_t prefix, std::uint16_t family) {
  return fmt::format("{}/{}", to_string(address, family), prefix);
}

const char* state_of(const DataSa& sa) {
  if (sa.is_expired.load(std::memory_order_relaxed) || sa.is_used_up()) return "expired";
  return sa.sa.dying ? "dying" : "mature";
}

nlohmann::ordered_json row_of(const DataSa& sa, std::uint16_t mtu) {
  const xfrm::SaSettings& settings = sa.sa.settings;
  const std::uint16_t family = settings.id.family;
  const auto load = [](const std::atomic<std::uint64_t>& value) { return value.load(std::memory_order_relaxed); };
  nlohmann::ordered_json row{{"spi", fmt::format("{:#010x}", settings.id.spi)},
                             {"source", to_string(settings.source, family)},
                             {"destination", to_string(settings.id.destination, family)},
                             {"mode", sa.format.is_tunnel ? "tunnel" : "transport"},
                             {"reqid", settings.request},
                             {"algorithms", names_of(settings.algorithms)},
                             {"esn", sa.format.has_esn},
                             {"window", sa.window->packets()},
                             {"state", state_of(sa)},
                             {"packets", load(sa.use->packets)},
                             {"bytes", load(sa.use->bytes)},
                             {"sent", sa.numbers.last()},
                             {"received", sa.window->top()},
                             {"late", load(sa.use->late)},
                             {"replayed", load(sa.use->replayed)},
                             {"bad_icv", load(sa.use->bad_icv)},
                             {"mtu", inner_mtu(sa.format, mtu)}};
  if (settings.interface_id != 0) row["if_id"] = settings.interface_id;
  if (sa.format.has_udp) row["udp"] = fmt::format("{} -> {}", sa.format.source_port, sa.format.destination_port);
  return row;
}

}  // namespace

nlohmann::ordered_json show_sas(const Snapshot& snapshot, std::uint16_t mtu, const RowLimit& limit) {
  auto rows = nlohmann::ordered_json::array();
  for (const auto& sa : snapshot.sas) {
    if (rows.size() == limit.most()) break;
    rows.push_back(row_of(*sa, mtu));
  }
  const std::size_t shown = rows.size();
  return RowLimit::answer("sas", std::move(rows), shown, snapshot.sas.size());
}

nlohmann::ordered_json show_policies(const Snapshot& snapshot, const RowLimit& limit) {
  auto rows = nlohmann::ordered_json::array();
  const auto add = [&](const PolicyEntry& entry, const char* direction) {
    if (rows.size() == limit.most()) return;
    const xfrm::Selector& selector = entry.policy.selector;
    nlohmann::ordered_json row{
        {"direction", direction},
        {"priority", entry.policy.priority},
        {"source", prefix_text(selector.source, selector.source_prefix, selector.family)},
        {"destination", prefix_text(selector.destination, selector.destination_prefix, selector.family)},
        {"protocol", selector.protocol == 0 ? "any" : std::to_string(selector.protocol)}};
    if (entry.policy.interface_id != 0) row["if_id"] = entry.policy.interface_id;
    if (selector.source_port_mask != 0) row["source_port"] = selector.source_port;
    if (selector.destination_port_mask != 0) row["destination_port"] = selector.destination_port;
    const xfrm::Template* const wanted = entry.wanted();
    if (entry.policy.action == xfrm::Action::block) {
      row["action"] = "discard";
    } else if (wanted == nullptr) {
      row["action"] = "bypass";
    } else {
      row["action"] = wanted->optional ? "protect if there is an SA" : "protect";
      row["tunnel"] = wanted->mode == xfrm::Mode::tunnel
                          ? fmt::format("{} -> {}", to_string(wanted->source, wanted->family),
                                        to_string(wanted->id.destination, wanted->family))
                          : "transport";
      row["reqid"] = wanted->request;
      if (entry.policy.direction == xfrm::Direction::out) row["sas"] = entry.sas.size();
    }
    rows.push_back(std::move(row));
  };
  for (const PolicyEntry& each : snapshot.out) add(each, "out");
  for (const PolicyEntry& each : snapshot.forward) add(each, "fwd");
  for (const PolicyEntry& each : snapshot.in) add(each, "in");
  const std::size_t shown = rows.size();
  return RowLimit::answer("policies", std::move(rows), shown,
                          snapshot.out.size() + snapshot.forward.size() + snapshot.in.size());
}

}  // namespace penumbra::ipsec
