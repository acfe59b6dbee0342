// SPDX-License-Identifier: Apache-2.0
#include "functions/flows/show.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <variant>

#include "base/row_limit.h"
#include "penumbra/errors.h"
#include "tables/flows/flow_key.h"

namespace penumbra::flows {
namespace {

struct ProtocolName {
  std::uint8_t number;
  std::string_view name;
};
constexpr std::array<ProtocolName, 5> kProtocols{{{ip_protocol::kIcmp, "icmp"},
                                                  {ip_protocol::kTcp, "tcp"},
                                                  {ip_protocol::kUdp, "udp"},
                                                  {ip_protocol::kIcmpv6, "icmpv6"},
                                                  {ip_protocol::kSctp, "sctp"}}};

std::string protocol_name(std::uint8_t number) {
  const auto* const known = std::ranges::find(kProtocols, number, &ProtocolName::number);
  return known == kProtocols.end() ? std::to_string(number) : std::string(known->name);
}

std::string address_text(const Flow& flow, Ipv6Address address) {
  return flow.is_ipv6 ? to_string(address) : to_string(Ipv4Address{static_cast<std::uint32_t>(address.low)});
}

/// Returns the flags in the notation of tcpdump and nfdump.
std::string flags_text(std::uint8_t flags) {
  constexpr std::string_view kLetters = "CEUAPRSF";
  std::string text;
  for (std::size_t i = 0; i < kLetters.size(); ++i) text += (flags >> (7 - i) & 1) != 0 ? kLetters[i] : '.';
  return text;
}

std::uint16_t number_of(std::string_view word, std::string_view what, std::uint16_t most) {
  std::uint16_t number = 0;
  const auto [rest, failure] = std::from_chars(word.data(), word.data() + word.size(), number);
  if (failure == std::errc{} && rest == word.data() + word.size() && number <= most) return number;
  throw std::invalid_argument(fmt::format("expected {} from 0 to {}, found {}", what, most, quote(word)));
}

/// Holds the conditions for a flow to be shown.
class Filter {
 public:
  /// Adds a condition. Returns false if `word` is not a filter word.
  bool take(const std::string& word, const std::string& value) {
    if (word == "src") {
      source_ = prefix_of(value);
    } else if (word == "dst") {
      destination_ = prefix_of(value);
    } else if (word == "host") {
      host_ = prefix_of(value);
    } else if (word == "port") {
      port_ = number_of(value, "a port", 65'535);
    } else if (word == "sport") {
      source_port_ = number_of(value, "a port", 65'535);
    } else if (word == "dport") {
      destination_port_ = number_of(value, "a port", 65'535);
    } else if (word == "vlan") {
      vlan_ = number_of(value, "a VLAN", 4095);
    } else if (word == "proto") {
      const auto* const known = std::ranges::find(kProtocols, value, &ProtocolName::name);
      protocol_ =
          known != kProtocols.end() ? known->number : number_of(value, "tcp, udp, icmp, icmpv6, sctp or a number", 255);
    } else {
      return false;
    }
    return true;
  }

  bool matches(const Flow& flow) const {
    const auto equal = [](const auto& wanted, auto found) { return !wanted || *wanted == found; };
    if (port_ && *port_ != flow.source_port && *port_ != flow.destination_port) return false;
    if (host_ && !covers(*host_, flow, flow.source) && !covers(*host_, flow, flow.destination)) return false;
    return equal(source_port_, flow.source_port) && equal(destination_port_, flow.destination_port) &&
           equal(protocol_, flow.protocol) && equal(vlan_, flow.vlan) &&
           (!source_ || covers(*source_, flow, flow.source)) &&
           (!destination_ || covers(*destination_, flow, flow.destination));
  }

 private:
  using Prefix = std::variant<Ipv4Prefix, Ipv6Prefix>;

  static Prefix prefix_of(const std::string& text) {
    if (const auto prefix = parse_ipv4_prefix(text)) return *prefix;
    if (const auto prefix = parse_ipv6_prefix(text)) return *prefix;
    throw std::invalid_argument("expected an ADDRESS or a PREFIX, found " + quote(text));
  }
  static bool covers(const Prefix& prefix, const Flow& flow, Ipv6Address address) {
    if (const auto* const six = std::get_if<Ipv6Prefix>(&prefix)) return flow.is_ipv6 && six->contains(address);
    return !flow.is_ipv6 && std::get<Ipv4Prefix>(prefix).contains(Ipv4Address{static_cast<std::uint32_t>(address.low)});
  }

  std::optional<Prefix> source_, destination_, host_;
  std::optional<std::uint16_t> port_, source_port_, destination_port_, vlan_, protocol_;
};

nlohmann::ordered_json to_json(std::uint32_t record, const Flow& flow, const ClosedFlow& state) {
  const auto seconds = [](std::uint64_t ms) {
    return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z", fmt::gmtime(static_cast<std::time_t>(ms / 1000)), ms % 1000);
  };
  nlohmann::ordered_json row{{"source", address_text(flow, flow.source)},
                             {"source_port", flow.source_port},
                             {"destination", address_text(flow, flow.destination)},
                             {"destination_port", flow.destination_port},
                             {"protocol", protocol_name(flow.protocol)}};
  row["vlan"] = flow.vlan;
  row["packets"] = state.counts.packets;
  row["bytes"] = state.counts.bytes;
  row["flags"] = flow.protocol == ip_protocol::kTcp ? flags_text(state.counts.tcp_flags) : "";
  row["first"] = seconds(state.first);
  row["last"] = seconds(state.last);
  row["record"] = record;
  return row;
}

}  // namespace

nlohmann::ordered_json show_flows(const Accounts& accounts, std::span<const std::string> arguments) {
  const RowLimit limit(arguments);
  Filter filter;
  const std::vector<std::string>& words = limit.rest();
  for (std::size_t i = 0; i < words.size(); i += 2) {
    if (i + 1 < words.size() && filter.take(words[i], words[i + 1])) continue;
    throw std::invalid_argument(
        "expected 'all' or --limit N, and of src, dst, host (ADDRESS or PREFIX), sport, dport, port, proto and vlan "
        "some, each with a value; found " +
        quote(words[i]));
  }
  auto rows = nlohmann::ordered_json::array();
  std::size_t found = 0;
  accounts.for_each([&](std::uint32_t record, const ClosedFlow& state) {
    const Flow flow = to_flow(state.key);
    if (!filter.matches(flow)) return true;
    if (found++ < limit.most()) rows.push_back(to_json(record, flow, state));
    return found <= limit.most() || !words.empty();  // without a filter, the total is known
  });
  if (words.empty()) found = std::max(found, accounts.state().flows);
  const std::size_t shown = rows.size();
  return RowLimit::answer("flows", std::move(rows), shown, found);
}

nlohmann::ordered_json show_exporter(const Accounts& accounts) {
  const AccountsState state = accounts.state();
  const auto& exported = state.settings.exported;
  nlohmann::ordered_json answer;
  answer["collector"] = exported ? nlohmann::ordered_json(exported->collector) : nullptr;
  answer["observation_domain"] = exported ? nlohmann::ordered_json(exported->observation_domain) : nullptr;
  answer["flows"] = {
      {"open", state.flows}, {"most", state.most}, {"opened", state.opened}, {"memory_bytes", state.memory_bytes}};
  answer["closed"] = {{"idle", state.closed.idle},
                      {"active", state.closed.active},
                      {"ended", state.closed.ended},
                      {"forced", state.closed.forced}};
  answer["exported"] = {{"flows", state.exported.flows},          {"packets", state.exported.packets},
                        {"bytes", state.exported.bytes},          {"messages", state.exported.messages},
                        {"templates", state.exported.templates},  {"lost_messages", state.exported.lost_messages},
                        {"lost_flows", state.exported.lost_flows}};
  answer["not_accounted"] = {{"not_ip", state.unaccounted.not_ip},       {"malformed", state.unaccounted.malformed},
                             {"ring_full", state.unaccounted.ring_full}, {"table_full", state.unaccounted.table_full},
                             {"no_place", state.unaccounted.no_place},   {"collision", state.unaccounted.collision}};
  return answer;
}

std::vector<FunctionMetric> flow_metrics(const Accounts& accounts) {
  const AccountsState state = accounts.state();
  const ExportCounters& exported = state.exported;
  std::vector<FunctionMetric> metrics{
      {"flows_open", "Open flow records", FunctionMetric::Kind::gauge, state.flows},
      {"flows_most", "Flow records that there can be (max_flows)", FunctionMetric::Kind::gauge, state.most},
      {.name = "flows_opened", .help = "Flow records opened", .value = state.opened},
      {.name = "flows_exported_records", .help = "Flow records in messages sent", .value = exported.flows},
      {.name = "flows_exported_packets", .help = "Packets of these flows", .value = exported.packets},
      {.name = "flows_exported_bytes", .help = "Bytes of these flows' IP packets", .value = exported.bytes},
      {.name = "flows_export_messages", .help = "IPFIX messages sent", .value = exported.messages},
      {.name = "flows_export_templates", .help = "How often templates were sent", .value = exported.templates},
      {.name = "flows_export_failed_messages",
       .help = "IPFIX messages that the host did not take",
       .value = exported.lost_messages},
      {.name = "flows_export_lost_records", .help = "Flow records in these", .value = exported.lost_flows}};
  const auto add = [&metrics](const char* name, const char* help, const char* reason, std::uint64_t value) {
    metrics.push_back({.name = name, .help = help, .value = value, .labels = {{"reason", reason}}});
  };
  const auto closed = [&add](const char* reason, std::uint64_t value) {
    add("flows_closed", "Flow records closed, by reason", reason, value);
  };
  closed("idle", state.closed.idle);
  closed("active", state.closed.active);
  closed("ended", state.closed.ended);
  closed("forced", state.closed.forced);
  const auto left_out = [&add](const char* reason, std::uint64_t value) {
    add("flows_not_accounted_packets", "Packets that are in no flow record, by reason", reason, value);
  };
  left_out("not_ip", state.unaccounted.not_ip);
  left_out("malformed", state.unaccounted.malformed);
  left_out("ring_full", state.unaccounted.ring_full);
  left_out("table_full", state.unaccounted.table_full);
  left_out("no_place", state.unaccounted.no_place);
  left_out("collision", state.unaccounted.collision);
  return metrics;
}

std::string to_text(const flow_key& key) {
  const Flow flow = to_flow(key);
  const auto end = [&flow](Ipv6Address address, std::uint16_t port) {
    const std::string text = address_text(flow, address);
    return fmt::format("{}:{}", flow.is_ipv6 ? "[" + text + "]" : text, port);
  };
  const std::string vlan = flow.vlan == 0 ? "" : fmt::format(" vlan {}", flow.vlan);
  return fmt::format("{} > {} {}{}", end(flow.source, flow.source_port), end(flow.destination, flow.destination_port),
                     protocol_name(flow.protocol), vlan);
}

}  // namespace penumbra::flows
