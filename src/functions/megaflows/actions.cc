// SPDX-License-Identifier: Apache-2.0
#include "functions/megaflows/actions.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <functional>
#include <limits>
#include <stdexcept>

#include "penumbra/errors.h"
#include "penumbra/packet.h"

namespace penumbra::megaflows {
namespace {

using packet_fields::find_field;

using Kind = Action::Kind;

std::string action_text(const Action& action) {
  switch (action.kind) {
    case Kind::output:
      return fmt::format("output:{}", action.port);
    case Kind::push_vlan:
      return fmt::format("push_vlan:{:#06x}:{:#06x}", action.tpid, action.tci);
    case Kind::pop_vlan:
      return "pop_vlan";
    case Kind::meter:
      return fmt::format("meter:{}", action.meter);
    case Kind::set_field:
      break;
  }
  return fmt::format("set:{}={}", place_of(action.field).name, field_text(action.field, action.value, action.mask));
}

template <class Word = std::uint16_t>
Word parse_word(std::string_view text, std::string_view all) {
  const bool is_hexadecimal = text.starts_with("0x");
  const std::string_view digits = text.substr(is_hexadecimal ? 2 : 0);
  Word number = 0;
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), number, is_hexadecimal ? 16 : 10);
  if (error == std::errc{} && end == digits.data() + digits.size()) return number;
  throw std::invalid_argument(
      fmt::format("expected a number up to {} in the action {}", std::numeric_limits<Word>::max(), quote(all)));
}

Action parse_action(std::string_view text) {
  constexpr std::string_view kOutput = "output:", kPush = "push_vlan:", kSet = "set:", kMeter = "meter:";
  Action action;
  if (text == "pop_vlan") {
    action.kind = Kind::pop_vlan;
  } else if (text.starts_with(kOutput)) {
    action.port = parse_word(text.substr(kOutput.size()), text);
  } else if (text.starts_with(kMeter)) {
    action.kind = Kind::meter;
    action.meter = parse_word<std::uint32_t>(text.substr(kMeter.size()), text);
  } else if (text.starts_with(kPush)) {
    const std::string_view words = text.substr(kPush.size());
    const std::size_t colon = std::min(words.find(':'), words.size());
    action.kind = Kind::push_vlan;
    action.tpid = parse_word(words.substr(0, colon), text);
    action.tci = parse_word(words.substr(std::min(colon + 1, words.size())), text);
    if (!ethertype::is_tag(action.tpid)) {
      throw std::invalid_argument("the ethertype of a tag is 0x8100 or 0x88a8, in the action " + quote(text));
    }
  } else if (text.starts_with(kSet)) {
    const std::string_view words = text.substr(kSet.size());
    const std::size_t equals = std::min(words.find('='), words.size());
    const auto field = find_field(words.substr(0, equals));
    if (!field || !place_of(*field).can_be_set) {
      throw std::invalid_argument("no field of this name can be set, in the action " + quote(text));
    }
    const auto number = parse_field(*field, words.substr(std::min(equals + 1, words.size())));
    if (!number) throw std::invalid_argument("the field cannot have this value, in the action " + quote(text));
    action.kind = Kind::set_field;
    action.field = *field;
    action.value = number->value;
    action.mask = number->mask;
  } else {
    throw std::invalid_argument("unknown action " + quote(text) +
                                "; there are: drop, output:PORT, set:FIELD=VALUE, push_vlan:TPID:TCI, pop_vlan, "
                                "meter:NUMBER");
  }
  return action;
}

}  // namespace

std::string actions_text(std::span<const Action> actions) {
  std::string text;
  for (const Action& action : actions) text += (text.empty() ? "" : ",") + action_text(action);
  return text.empty() ? "drop" : text;
}

std::vector<Action> parse_actions(std::string_view text) {
  std::vector<Action> actions;
  if (text == "drop") return actions;
  for (;;) {
    const std::size_t comma = text.find(',');
    actions.push_back(parse_action(text.substr(0, comma)));
    if (comma == std::string_view::npos) return actions;
    text.remove_prefix(comma + 1);
  }
}

CompiledActions::Outputs CompiledActions::outputs(std::size_t variant, std::uint32_t payload_bytes,
                                                  std::span<const PortInfo> ports) const noexcept {
  const std::span<const std::uint16_t> all = variants[variant].ports;
  std::size_t fitting = all.size();
  while (fitting > 0 && ports[all[fitting - 1]].mtu < payload_bytes) --fitting;
  return {.ports = all.first(fitting), .too_short = static_cast<std::uint16_t>(all.size() - fitting)};
}

void CompiledActions::sort(std::span<const PortInfo> ports) {
  for (HeaderVariant& variant : variants) {
    std::ranges::stable_sort(variant.ports, std::ranges::greater{},
                             [ports](std::uint16_t port) { return ports[port].mtu; });
  }
}

CompiledActions compile_actions(std::span<const Action> actions, std::uint16_t in_port, std::span<const PortInfo> ports,
                                const DownPorts& down) {
  CompiledActions compiled;
  compiled.actions.assign(actions.begin(), actions.end());
  std::vector<Action> sets;
  std::vector<std::uint16_t> used;
  std::size_t variant = 0;
  const bool is_in_port_down = in_port != 0 && is_down(down, in_port - 1U);
  for (const Action& action : actions) {
    if (action.kind == Kind::meter) {
      if (!used.empty()) throw std::invalid_argument("a meter after an output");
      continue;
    }
    if (action.kind != Kind::output) {
      sets.push_back(action);
      continue;
    }
    if (action.port == 0 || action.port > ports.size() || ports[action.port - 1U].removed) {
      throw std::invalid_argument(
          fmt::format("there is no port {}: the router's are 1 to {}", action.port, ports.size()));
    }
    if (std::ranges::find(used, action.port) != used.end()) {
      throw std::invalid_argument(fmt::format("two outputs to port {}", action.port));
    }
    used.push_back(action.port);
    if (is_in_port_down || is_down(down, action.port - 1U)) {
      ++compiled.down;
      continue;
    }
    if (!sets.empty() && !compiled.variants[0].ports.empty() && ++variant == compiled.variants.size()) {
      throw std::invalid_argument("more than two different headers");
    }
    auto& into = compiled.variants[variant];
    into.sets.insert(into.sets.end(), sets.begin(), sets.end());
    sets.clear();
    into.ports.push_back(static_cast<std::uint16_t>(action.port - 1));
  }
  const bool has_in_port = in_port == 0 || std::ranges::find(used, in_port) != used.end();
  if (has_in_port && used.size() > 1) {
    throw std::invalid_argument(in_port == 0 ? "several outputs without a match of in_port"
                                             : "an output to the receive port together with others");
  }
  compiled.sort(ports);
  return compiled;
}

}  // namespace penumbra::megaflows
