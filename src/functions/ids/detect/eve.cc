// SPDX-License-Identifier: Apache-2.0
#include "functions/ids/detect/eve.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <ctime>
#include <nlohmann/json.hpp>

#include "functions/ids/detect/community_id.h"
#include "functions/ids/rules/words.h"

namespace penumbra::ids {
namespace {

using Json = nlohmann::ordered_json;

/// The words of DropReason. Suricata has all but "limits".
constexpr std::array<std::string_view, 8> kDropReasons{"rules",          "flow memcap",   "limits",
                                                       "decode error",   "stream memcap", "stream midstream",
                                                       "applayer error", "defrag memcap"};

std::string timestamp_of(std::uint64_t now) {
  const auto seconds = static_cast<std::time_t>(now / 1000000);
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:06}+0000", fmt::gmtime(seconds), now % 1000000);
}

/// IPv6 addresses have all their digits, as Suricata prints them.
std::string text_of(const std::array<std::uint64_t, 2>& address, bool is_v6) {
  if (!is_v6) return to_string(Ipv4Address{static_cast<std::uint32_t>(address[1])});
  std::string text;
  for (const std::uint64_t half : address) {
    for (int shift = 48; shift >= 0; shift -= 16)
      text += fmt::format("{}{:04x}", text.empty() ? "" : ":", half >> shift & 0xFFFF);
  }
  return text;
}

std::string protocol_of(std::uint8_t number) {
  switch (number) {
    case ip_protocol::kTcp:
      return "TCP";
    case ip_protocol::kUdp:
      return "UDP";
    case ip_protocol::kIcmp:
      return "ICMP";
    case ip_protocol::kIcmpv6:
      return "IPv6-ICMP";
    case ip_protocol::kSctp:
      return "SCTP";
    case ip_protocol::kEsp:
      return "ESP";
    case 2:
      return "IGMP";
    case 4:
      return "IP-in-IP";
    case 41:
      return "IPv6";
    case 47:
      return "GRE";
    default:
      return fmt::format("{:03}", number);
  }
}

Json rule_of(const Rule& rule, const RuleSet& set, bool is_blocked) {
  const auto known = set.classifications().find(lower(rule.class_type));
  Json json{{"action", is_blocked ? "blocked" : "allowed"},
            {"gid", rule.gid},
            {"signature_id", rule.sid},
            {"rev", rule.rev},
            {"signature", rule.message},
            {"category", known == set.classifications().end() ? "" : known->second.description},
            {"severity", set.priority_of(rule)}};
  for (const std::string& entry : rule.metadata) {
    const auto [name, value] = split_name(entry);
    if (!value.empty()) json["metadata"][std::string(name)].push_back(std::string(value));
  }
  return json;
}

CommunityTuple community_tuple(const Event& event) {
  return {.source = event.source,
          .destination = event.destination,
          .is_ipv6 = event.has(Event::kIpv6),
          .protocol = event.protocol,
          .has_ports = event.has(Event::kPorts),
          .source_port = event.source_port,
          .destination_port = event.destination_port,
          .icmp_type = event.icmp_type,
          .icmp_code = event.icmp_code};
}

}  // namespace

Event make_event(const Detector::Alert& alert, const PacketView& packet, const CompiledRules& rules,
                 std::uint64_t now) {
  const PacketHeaders& headers = packet.headers();
  const bool is_v6 = packet.is_ipv6();
  Event event{.rules = &rules,
              .rule = alert.rule,
              .time = now,
              .flow = alert.flow,
              .source = packet.source().words(is_v6),
              .destination = packet.destination().words(is_v6),
              .length = headers.end - headers.network,
              .source_port = headers.source_port,
              .destination_port = headers.destination_port,
              .protocol = packet.protocol(),
              .icmp_type = headers.icmp_type,
              .icmp_code = headers.icmp_code,
              .ttl = packet.ttl()};
  const auto set = [&event](bool is_set, Event::Flag flag) {
    if (is_set) event.flags = static_cast<std::uint8_t>(event.flags | flag);
  };
  set(is_v6, Event::kIpv6);
  set(headers.has(PacketHeaders::kPorts), Event::kPorts);
  set(headers.has(PacketHeaders::kIcmp), Event::kIcmp);
  set(alert.to_server, Event::kToServer);
  return event;
}

Event make_drop(const Detector::Alert& alert, DropReason reason, const PacketView& packet, const CompiledRules& rules,
                std::uint64_t now) {
  Event event = make_event(alert, packet, rules, now);
  event.drop_reason = reason;
  event.kind = Event::Kind::drop;
  event.flags = static_cast<std::uint8_t>(event.flags | Event::kBlocked);
  return event;
}

namespace {

/// Returns what all events have in common.
Json head_of(const Event& event, std::string_view type, const EveFormat& format) {
  const bool is_v6 = event.has(Event::kIpv6);
  Json json{{"timestamp", timestamp_of(event.time)}, {"flow_id", event.flow}};
  if (event.port < format.ports.size()) json["in_iface"] = format.ports[event.port];
  if (event.number != 0 && !event.has(Event::kFlowEnd)) json["pcap_cnt"] = event.number;
  json["event_type"] = std::string(type);
  json["src_ip"] = text_of(event.source, is_v6);
  if (event.has(Event::kPorts)) json["src_port"] = event.source_port;
  json["dest_ip"] = text_of(event.destination, is_v6);
  if (event.has(Event::kPorts)) json["dest_port"] = event.destination_port;
  json["proto"] = protocol_of(event.protocol);
  json["ip_v"] = is_v6 ? 6 : 4;
  if (event.has(Event::kIcmp)) {
    json["icmp_type"] = event.icmp_type;
    json["icmp_code"] = event.icmp_code;
  }
  json["pkt_src"] = event.has(Event::kFlowEnd) ? "stream (flow timeout)" : std::string(to_string(event.made_by));
  if (format.community_id) json["community_id"] = community_id(community_tuple(event), format.community_seed);
  return json;
}

/// Returns the line of an object with further members.
std::string line_of(const Json& json, std::string_view members) {
  std::string line = json.dump(-1, ' ', false, Json::error_handler_t::replace);
  if (!members.empty()) line.insert(line.size() - 1, "," + std::string(members));
  return line;
}

}  // namespace

std::string to_json(const Event& event, std::string_view members, const EveFormat& format) {
  Json json = head_of(event, kEventTypes[static_cast<std::size_t>(event.kind)], format);
  if (event.kind == Event::Kind::drop) {
    const char* const limit = event.has(Event::kIpv6) ? "hoplimit" : "ttl";
    json["drop"] = {{"len", event.length},
                    {limit, event.ttl},
                    {"reason", std::string(kDropReasons[static_cast<std::size_t>(event.drop_reason)])}};
  }
  if (event.rule != nullptr) {
    json["alert"] = rule_of(*event.rule->rule, event.rules->set(), event.has(Event::kBlocked));
    json["direction"] = event.has(Event::kToServer) ? "to_server" : "to_client";
  }
  return line_of(json, members);
}

std::string to_json(std::string_view type, std::uint64_t now, std::string_view members) {
  return line_of({{"timestamp", timestamp_of(now)}, {"event_type", std::string(type)}}, members);
}

}  // namespace penumbra::ids
