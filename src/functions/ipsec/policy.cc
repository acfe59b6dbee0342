// SPDX-License-Identifier: Apache-2.0
#include "functions/ipsec/policy.h"

#include <sys/socket.h>

#include <algorithm>
#include <cstring>

#include "control/xfrm/spd.h"
#include "functions/ipsec/ip_fields.h"

namespace penumbra::ipsec {

namespace xfrm = control::xfrm;

Flow flow_of(const std::uint8_t* frame, const PacketHeaders& headers) {
  Flow flow;
  const bool is_ipv6 = headers.has(PacketHeaders::kIpv6);
  flow.family = is_ipv6 ? AF_INET6 : AF_INET;
  const std::size_t bytes = is_ipv6 ? 16 : 4;
  std::memcpy(flow.source.bytes.data(), source_at(frame, headers), bytes);
  std::memcpy(flow.destination.bytes.data(), destination_at(frame, headers), bytes);
  flow.protocol = headers.protocol;
  if (headers.has(PacketHeaders::kPorts)) {
    flow.source_port = headers.source_port;
    flow.destination_port = headers.destination_port;
  } else if (headers.has(PacketHeaders::kIcmp)) {
    flow.source_port = headers.icmp_type;
    flow.destination_port = headers.icmp_code;
  }
  flow.has_ports = !headers.has(PacketHeaders::kLaterFragment);
  return flow;
}

Match match(const xfrm::Selector& selector, const Flow& flow) {
  if (selector.family != 0 && selector.family != flow.family) return Match::no;
  if (selector.protocol != 0 && selector.protocol != flow.protocol) return Match::no;
  if (!has_prefix(flow.destination, selector.destination, selector.destination_prefix) ||
      !has_prefix(flow.source, selector.source, selector.source_prefix)) {
    return Match::no;
  }
  if (selector.source_port_mask == 0 && selector.destination_port_mask == 0) return Match::yes;
  if (!flow.has_ports) return Match::unknown;
  const bool fits = ((flow.source_port ^ selector.source_port) & selector.source_port_mask) == 0 &&
                    ((flow.destination_port ^ selector.destination_port) & selector.destination_port_mask) == 0;
  return fits ? Match::yes : Match::no;
}

Found find_policy(std::span<const PolicyEntry> policies, const Flow& flow) {
  Found found;
  for (const PolicyEntry& each : policies) {
    if (each.policy.interface_id != flow.interface_id) continue;
    const Match matched = match(each.policy.selector, flow);
    if (matched == Match::unknown) found.is_unknown = true;
    if (matched != Match::yes) continue;
    found.policy = &each;
    break;
  }
  return found;
}

DataSa* choose_sa(const PolicyEntry& policy, const Flow& flow) {
  DataSa* last = nullptr;
  for (DataSa* const sa : policy.sas) {
    if (sa->is_expired.load(std::memory_order_relaxed)) continue;
    const xfrm::SaSettings& settings = sa->sa.settings;
    if (settings.selector.family != 0 && match(settings.selector, flow) != Match::yes) continue;
    if (settings.mode == xfrm::Mode::transport &&
        (settings.id.family != flow.family || settings.id.destination != flow.destination ||
         settings.source != flow.source)) {
      continue;
    }
    if (sa->numbers.left() > 0) return sa;
    if (last == nullptr) last = sa;
  }
  return last;
}

Inbound check_inbound(const PolicyEntry* policy, const DataSa* sa, const Flow& flow) {
  const bool was_tunnelled = sa != nullptr && sa->sa.settings.mode == xfrm::Mode::tunnel;
  if (sa != nullptr && sa->sa.settings.selector.family != 0 && match(sa->sa.settings.selector, flow) == Match::no) {
    return Inbound::mismatch;
  }
  if (policy == nullptr) return was_tunnelled ? Inbound::mismatch : Inbound::allowed;
  if (policy->policy.action == xfrm::Action::block) return Inbound::discarded;
  const auto& templates = policy->policy.templates;
  if (sa == nullptr) {
    return std::ranges::all_of(templates, &xfrm::Template::optional) ? Inbound::allowed : Inbound::mismatch;
  }
  if (templates.empty()) return was_tunnelled ? Inbound::mismatch : Inbound::allowed;
  const bool fit = templates.size() == 1 && fits(templates.front(), sa->sa.settings);
  return fit ? Inbound::allowed : Inbound::mismatch;
}

}  // namespace penumbra::ipsec
