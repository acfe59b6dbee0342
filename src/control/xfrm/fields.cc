// SPDX-License-Identifier: Apache-2.0
#include "control/xfrm/fields.h"

#include <arpa/inet.h>

#include <algorithm>
#include <cstring>

namespace penumbra::control::xfrm {

Address to_address(const xfrm_address_t& raw) {
  Address address;
  static_assert(sizeof raw == sizeof address.bytes);
  std::memcpy(address.bytes.data(), &raw, sizeof raw);
  return address;
}

xfrm_address_t raw_address(const Address& address) {
  xfrm_address_t raw;
  std::memcpy(&raw, address.bytes.data(), sizeof raw);
  return raw;
}

Selector to_selector(const xfrm_selector& raw) {
  return {.destination = to_address(raw.daddr),
          .source = to_address(raw.saddr),
          .destination_port = ntohs(raw.dport),
          .destination_port_mask = ntohs(raw.dport_mask),
          .source_port = ntohs(raw.sport),
          .source_port_mask = ntohs(raw.sport_mask),
          .family = raw.family,
          .destination_prefix = raw.prefixlen_d,
          .source_prefix = raw.prefixlen_s,
          .protocol = raw.proto,
          .interface = raw.ifindex,
          .user = raw.user};
}

xfrm_selector raw_selector(const Selector& selector) {
  xfrm_selector raw{};
  raw.daddr = raw_address(selector.destination);
  raw.saddr = raw_address(selector.source);
  raw.dport = htons(selector.destination_port);
  raw.dport_mask = htons(selector.destination_port_mask);
  raw.sport = htons(selector.source_port);
  raw.sport_mask = htons(selector.source_port_mask);
  raw.family = selector.family;
  raw.prefixlen_d = selector.destination_prefix;
  raw.prefixlen_s = selector.source_prefix;
  raw.proto = selector.protocol;
  raw.ifindex = selector.interface;
  raw.user = selector.user;
  return raw;
}

Limits to_limits(const xfrm_lifetime_cfg& raw) {
  return {.soft_bytes = raw.soft_byte_limit,
          .hard_bytes = raw.hard_byte_limit,
          .soft_packets = raw.soft_packet_limit,
          .hard_packets = raw.hard_packet_limit,
          .soft_add_seconds = raw.soft_add_expires_seconds,
          .hard_add_seconds = raw.hard_add_expires_seconds,
          .soft_use_seconds = raw.soft_use_expires_seconds,
          .hard_use_seconds = raw.hard_use_expires_seconds};
}

xfrm_lifetime_cfg raw_limits(const Limits& limits) {
  return {.soft_byte_limit = limits.soft_bytes,
          .hard_byte_limit = limits.hard_bytes,
          .soft_packet_limit = limits.soft_packets,
          .hard_packet_limit = limits.hard_packets,
          .soft_add_expires_seconds = limits.soft_add_seconds,
          .hard_add_expires_seconds = limits.hard_add_seconds,
          .soft_use_expires_seconds = limits.soft_use_seconds,
          .hard_use_expires_seconds = limits.hard_use_seconds};
}

Usage to_usage(const xfrm_lifetime_cur& raw) {
  return {.bytes = raw.bytes, .packets = raw.packets, .add_time = raw.add_time, .use_time = raw.use_time};
}

xfrm_lifetime_cur raw_usage(const Usage& usage) {
  return {.bytes = usage.bytes, .packets = usage.packets, .add_time = usage.add_time, .use_time = usage.use_time};
}

SaId to_id(const xfrm_usersa_id& raw) {
  return {.destination = to_address(raw.daddr), .spi = ntohl(raw.spi), .family = raw.family, .protocol = raw.proto};
}

SaId to_id(const xfrm_usersa_info& raw) {
  return {.destination = to_address(raw.id.daddr),
          .spi = ntohl(raw.id.spi),
          .family = raw.family,
          .protocol = raw.id.proto};
}

xfrm_usersa_id raw_id(const SaId& id) {
  xfrm_usersa_id raw{};
  raw.daddr = raw_address(id.destination);
  raw.spi = htonl(id.spi);
  raw.family = id.family;
  raw.proto = id.protocol;
  return raw;
}

Template to_template(const xfrm_user_tmpl& raw) {
  Template wanted;
  wanted.id = {.destination = to_address(raw.id.daddr), .spi = ntohl(raw.id.spi), .protocol = raw.id.proto};
  wanted.family = raw.family;
  wanted.source = to_address(raw.saddr);
  wanted.request = raw.reqid;
  wanted.mode = static_cast<Mode>(raw.mode);
  wanted.share = raw.share;
  wanted.optional = raw.optional != 0;
  wanted.digests = raw.aalgos;
  wanted.ciphers = raw.ealgos;
  wanted.compressions = raw.calgos;
  return wanted;
}

xfrm_user_tmpl raw_template(const Template& wanted) {
  xfrm_user_tmpl raw{};
  raw.id.daddr = raw_address(wanted.id.destination);
  raw.id.spi = htonl(wanted.id.spi);
  raw.id.proto = wanted.id.protocol;
  raw.family = wanted.family;
  raw.saddr = raw_address(wanted.source);
  raw.reqid = wanted.request;
  raw.mode = static_cast<std::uint8_t>(wanted.mode);
  raw.share = wanted.share;
  raw.optional = wanted.optional ? 1 : 0;
  raw.aalgos = wanted.digests;
  raw.ealgos = wanted.ciphers;
  raw.calgos = wanted.compressions;
  return raw;
}

xfrm_usersa_info raw_sa(const Sa& sa) {
  const SaSettings& settings = sa.settings;
  xfrm_usersa_info raw{};
  raw.sel = raw_selector(settings.selector);
  raw.id.daddr = raw_address(settings.id.destination);
  raw.id.spi = htonl(settings.id.spi);
  raw.id.proto = settings.id.protocol;
  raw.saddr = raw_address(settings.source);
  raw.lft = raw_limits(settings.limits);
  raw.curlft = raw_usage(sa.usage);
  raw.stats = {sa.counters.late, sa.counters.replayed, sa.counters.bad_icv};
  raw.seq = settings.sequence;
  raw.reqid = settings.request;
  raw.family = settings.id.family;
  raw.mode = static_cast<std::uint8_t>(settings.mode);
  constexpr std::uint32_t kMostPlainWindow = 32;
  if (!settings.has_extended_replay) {
    raw.replay_window = static_cast<std::uint8_t>(std::min(settings.replay_window, kMostPlainWindow));
  }
  raw.flags = settings.flags;
  return raw;
}

xfrm_userpolicy_info raw_policy(const Policy& policy) {
  xfrm_userpolicy_info raw{};
  raw.sel = raw_selector(policy.selector);
  raw.lft = raw_limits(policy.limits);
  raw.curlft = raw_usage(policy.usage);
  raw.priority = policy.priority;
  raw.index = policy.index;
  raw.dir = static_cast<std::uint8_t>(policy.direction);
  raw.action = static_cast<std::uint8_t>(policy.action);
  raw.flags = policy.flags;
  raw.share = XFRM_SHARE_ANY;  // Linux takes other kinds of sharing, and reports this one.
  return raw;
}

}  // namespace penumbra::control::xfrm
