// SPDX-License-Identifier: Apache-2.0
#include "control/rules/flow_action.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "control/rules/number.h"
#include "penumbra/ip.h"

namespace penumbra::control::rules {
namespace {

using Kind = FlowAction::Kind;

struct PortName {
  std::string_view name;
  std::uint16_t number;
};
/// Lists ovs-ofctl's names. NONE is OpenFlow 1.0's name of ANY.
constexpr std::array<PortName, 9> kPortNames{{{"IN_PORT", kInPort},
                                              {"TABLE", kTablePort},
                                              {"NORMAL", kNormalPort},
                                              {"FLOOD", kFloodPort},
                                              {"ALL", kAllPorts},
                                              {"CONTROLLER", kControllerPort},
                                              {"LOCAL", kLocalPort},
                                              {"ANY", kNoPort},
                                              {"NONE", kNoPort}}};

constexpr std::uint32_t kWholePacket = 0xFFFF;  // The controller gets the whole packet.

/// Distinguishes the types of an action's value.
enum class Value : std::uint8_t { none, number, tos, mac, address };
struct Form {
  std::string_view name;
  Kind kind;
  Value value;
  std::uint64_t most;
};
constexpr std::array<Form, 11> kForms{{{"mod_vlan_vid", Kind::set_vlan, Value::number, 4095},
                                       {"mod_vlan_pcp", Kind::set_vlan_priority, Value::number, 7},
                                       {"strip_vlan", Kind::strip_vlan, Value::none, 0},
                                       {"pop_vlan", Kind::strip_vlan, Value::none, 0},
                                       {"mod_dl_src", Kind::set_source_mac, Value::mac, 0},
                                       {"mod_dl_dst", Kind::set_destination_mac, Value::mac, 0},
                                       {"mod_nw_src", Kind::set_source, Value::address, 0},
                                       {"mod_nw_dst", Kind::set_destination, Value::address, 0},
                                       {"mod_nw_tos", Kind::set_tos, Value::tos, 0xFF},
                                       {"mod_tp_src", Kind::set_source_port, Value::number, 0xFFFF},
                                       {"mod_tp_dst", Kind::set_destination_port, Value::number, 0xFFFF}}};

std::string in_capitals(std::string_view word) {
  std::string text(word);
  std::ranges::transform(text, text.begin(),
                         [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c; });
  return text;
}

/// Holds `NAME`, `NAME:ARGUMENT` or `NAME(ARGUMENT)`.
struct ActionWord {
  std::string_view whole, name, argument;
};

constexpr std::string_view kActionEnds = ", \t\r\n";

/// Takes the next action off the front of `text` and returns it, or an empty one at the end.
ActionWord take_action(const Line& line, std::string_view& text) {
  const std::size_t begin = std::min(text.find_first_not_of(kActionEnds), text.size());
  text.remove_prefix(begin);
  const std::size_t name_end = std::min(text.find_first_of(", \t\r\n:("), text.size());
  ActionWord word{
      .whole = text.substr(0, name_end), .name = text.substr(0, name_end), .argument = text.substr(name_end, 0)};
  std::size_t end = name_end;
  if (name_end < text.size() && text[name_end] == '(') {
    end = text.find(')', name_end);
    if (end == std::string_view::npos) throw line.error(text.substr(name_end), "'(' without its ')'");
    word.argument = text.substr(name_end + 1, end - name_end - 1);
    ++end;
  } else if (name_end < text.size() && text[name_end] == ':') {
    end = std::min(text.find_first_of(kActionEnds, name_end), text.size());
    word.argument = text.substr(name_end + 1, end - name_end - 1);
  }
  word.whole = text.substr(0, end);
  text.remove_prefix(end);
  return word;
}

std::uint64_t parse_value(const Line& line, const Form& form, std::string_view word) {
  switch (form.value) {
    case Value::none:
      if (word.empty()) return 0;
      throw line.error(word, fmt::format("'{}' takes no value, found {}", form.name, quote(word)));
    case Value::number:
      if (const auto number = parse_number(word, form.most)) return *number;
      throw line.error(word, fmt::format("expected a number from 0 to {}, found {}", form.most, quote(word)));
    case Value::tos:
      if (const auto number = parse_number(word, form.most); number && *number % 4 == 0) return *number;
      throw line.error(word, fmt::format("expected a ToS from 0 to 252, a multiple of 4, found {}", quote(word)));
    case Value::mac:
      if (const auto mac = parse_mac_address(word)) return mac->value;
      throw line.error(word, fmt::format("expected a MAC address (aa:bb:cc:dd:ee:ff), found {}", quote(word)));
    case Value::address:
      if (const auto address = parse_ipv4_address(word)) return address->value;
      throw line.error(word, fmt::format("expected an IPv4 address (A.B.C.D), found {}", quote(word)));
  }
  return 0;
}

FlowAction output_to(const Line& line, std::string_view word) {
  const auto port = parse_flow_port(word);
  const bool is_destination = port && (*port < kFirstReservedPort || (*port >= kInPort && *port != kNoPort));
  if (!is_destination || *port == kTablePort) {
    throw line.error(word, fmt::format("expected a port from 0 to {}, or one of IN_PORT, NORMAL, FLOOD, ALL, "
                                       "CONTROLLER, LOCAL, found {}",
                                       kFirstReservedPort - 1, quote(word)));
  }
  return {.kind = Kind::output, .value = *port, .more = *port == kControllerPort ? kWholePacket : 0};
}

/// Parses `controller`, `controller:LENGTH` or `controller(max_len=LENGTH)`.
FlowAction output_to_controller(const Line& line, std::string_view argument) {
  constexpr std::string_view kLength = "max_len=";
  FlowAction action{.kind = Kind::output, .value = kControllerPort, .more = kWholePacket};
  if (argument.starts_with(kLength)) argument.remove_prefix(kLength.size());
  if (argument.empty()) return action;
  const auto length = parse_number(argument, kWholePacket);
  if (!length) {
    throw line.error(argument, fmt::format("expected the most bytes that the controller gets, 0 to {}, found {}",
                                           kWholePacket, quote(argument)));
  }
  action.more = static_cast<std::uint32_t>(*length);
  return action;
}

/// Parses `enqueue:PORT:QUEUE` or `enqueue(PORT,QUEUE)`.
FlowAction enqueue_at(const Line& line, std::string_view argument) {
  const std::size_t middle = argument.find_first_of(":,");
  const auto port = parse_flow_port(argument.substr(0, middle));
  const auto queue =
      middle == std::string_view::npos ? std::nullopt : parse_number(argument.substr(middle + 1), 0xFFFFFFFF);
  const bool has_queues = port && (*port < kFirstReservedPort || *port == kInPort || *port == kLocalPort);
  if (!has_queues || !queue) {
    throw line.error(argument, fmt::format("expected PORT:QUEUE, the port from 0 to {}, IN_PORT or LOCAL, found {}",
                                           kFirstReservedPort - 1, quote(argument)));
  }
  return {.kind = Kind::enqueue, .value = *port, .more = static_cast<std::uint32_t>(*queue)};
}

std::vector<std::string> action_names() {
  std::vector<std::string> names{"output", "drop", "enqueue"};
  for (const auto& form : kForms) names.emplace_back(form.name);
  for (const char* port : {"in_port", "normal", "flood", "all", "controller", "local"}) names.emplace_back(port);
  return names;
}

FlowAction parse_action(const Line& line, const ActionWord& word) {
  const auto form = std::ranges::find(kForms, word.name, &Form::name);
  if (form != kForms.end()) return {.kind = form->kind, .value = parse_value(line, *form, word.argument)};
  if (word.name == "enqueue") return enqueue_at(line, word.argument);
  if (in_capitals(word.name) == "CONTROLLER") return output_to_controller(line, word.argument);
  if (in_capitals(word.name) == "OUTPUT") return output_to(line, word.argument);
  if (!parse_flow_port(word.name)) throw line.unexpected(word.name, "an action of OpenFlow 1.0", action_names());
  if (!word.argument.empty()) {
    throw line.error(word.argument, fmt::format("{} takes no value", quote(word.name)));
  }
  return output_to(line, word.name);
}

std::string text_of(const FlowAction& action) {
  const auto form = std::ranges::find(kForms, action.kind, &Form::kind);
  if (form == kForms.end()) {
    const auto port = static_cast<std::uint16_t>(action.value);
    const std::string name = flow_port_text(port);
    if (action.kind == Kind::enqueue) return fmt::format("enqueue:{}:{}", name, action.more);
    if (port == kControllerPort) return fmt::format("{}:{}", name, action.more);
    return (port < kFirstReservedPort ? "output:" : "") + name;
  }
  switch (form->value) {
    case Value::none:
      return std::string(form->name);
    case Value::mac:
      return fmt::format("{}:{}", form->name, to_string(MacAddress{action.value}));
    case Value::address:
      return fmt::format("{}:{}", form->name, to_string(Ipv4Address{static_cast<std::uint32_t>(action.value)}));
    default:
      return fmt::format("{}:{}", form->name, action.value);
  }
}

}  // namespace

std::optional<std::uint16_t> parse_flow_port(std::string_view word) {
  if (const auto number = parse_number(word, 0xFFFF)) return static_cast<std::uint16_t>(*number);
  const auto named = std::ranges::find(kPortNames, in_capitals(word), &PortName::name);
  return named == kPortNames.end() ? std::nullopt : std::optional(named->number);
}

std::string flow_port_text(std::uint16_t port) {
  const auto named = std::ranges::find(kPortNames, port, &PortName::number);
  return named == kPortNames.end() ? std::to_string(port) : std::string(named->name);
}

FlowActions parse_flow_actions(const Line& line, std::string_view text) {
  FlowActions actions;
  std::string_view drop;
  for (ActionWord word = take_action(line, text); !word.whole.empty(); word = take_action(line, text)) {
    if (in_capitals(word.whole) == "DROP") {
      drop = word.whole;
    } else {
      actions.push_back(parse_action(line, word));
    }
    if (!drop.empty() && !actions.empty()) throw line.error(drop, "'drop' must be alone, without other actions");
  }
  return actions;
}

std::string to_string(const FlowActions& actions) {
  if (actions.empty()) return "drop";
  std::string text;
  for (const auto& action : actions) text += (text.empty() ? "" : ",") + text_of(action);
  return text;
}

}  // namespace penumbra::control::rules
