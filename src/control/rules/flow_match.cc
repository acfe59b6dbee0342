// SPDX-License-Identifier: Apache-2.0
#include "control/rules/flow_match.h"

#include <fmt/format.h>

#include <algorithm>

#include "control/rules/flow_action.h"
#include "control/rules/number.h"
#include "penumbra/ip.h"

namespace penumbra::control::rules {
namespace {

constexpr std::string_view kFlowBlanks = ", \t\r\n";

}  // namespace

FlowWord take_flow_word(std::string_view& text) {
  text.remove_prefix(std::min(text.find_first_not_of(kFlowBlanks), text.size()));
  FlowWord word;
  word.whole = text.substr(0, text.find_first_of(kFlowBlanks));
  const std::size_t equals = word.whole.find('=');
  word.has_value = equals != std::string_view::npos;
  word.key = word.whole.substr(0, equals);
  word.value = word.has_value ? word.whole.substr(equals + 1) : std::string_view{};
  text.remove_prefix(word.whole.size());
  return word;
}

std::string_view require_value(const Line& line, const FlowWord& word) {
  if (word.has_value && !word.value.empty()) return word.value;
  throw line.error(word.whole, fmt::format("'{}' has no value; write {}=VALUE", word.key, word.key));
}

bool FlowMatchReader::take(const FlowWord& word) {
  if (!word.has_value) {
    if (is_ipv6_protocol(word.key)) {
      throw line_.error(word.key,
                        fmt::format("'{}': OpenFlow 1.0 has no fields of IPv6 but its ethertype, 'ipv6'", word.key));
    }
    if (const ProtocolName* const protocol = find_protocol_name(word.key); protocol != nullptr) {
      set(openflow::kEthertype, protocol->ethertype, openflow::kEthertype.ones(), word.whole);
      if (protocol->protocol) set(protocol_place(RuleFields::openflow), *protocol->protocol, 0xFF, word.whole);
      return true;
    }
  }
  if (word.key == "dl_vlan") {
    take_vlan(word.whole, require_value(line_, word));
  } else if (word.key == "dl_vlan_pcp" || word.key == "vlan_pcp") {
    take_vlan_priority(word.whole, require_value(line_, word));
  } else if (word.key == "vlan_tci") {
    take_vlan_tci(word.whole, require_value(line_, word));
  } else {
    const FlowField* const field = find_flow_field(word.key);
    if (field == nullptr) return false;
    take_field(*field, word.whole, require_value(line_, word));
  }
  return true;
}

RuleMatch FlowMatchReader::finish() {
  finish_vlan();
  check_layers();
  if (what_ == What::rule) return normalised(match_, RuleFields::openflow);
  if (openflow::kVlan.get(match_.mask) == 0) openflow::kVlan.set(match_.value, openflow::kNoVlan);
  return match_;
}

FlowMatchReader::Operand FlowMatchReader::split(std::string_view text, bool maskable) const {
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) return {.value = text, .mask = std::nullopt};
  if (what_ == What::header)
    throw line_.error(text, fmt::format("a header has values without masks, found {}", quote(text)));
  if (!maskable) throw line_.error(text, fmt::format("this field takes no mask, found {}", quote(text)));
  return {.value = text.substr(0, slash), .mask = text.substr(slash + 1)};
}

/// Returns true for `*`, which matches any value.
bool FlowMatchReader::says_nothing(std::string_view text) const {
  return text == "*" && what_ == What::rule;
}

std::uint64_t FlowMatchReader::number(std::string_view word, std::uint64_t most, std::string_view what) const {
  if (const auto value = parse_number(word, most)) return *value;
  throw line_.error(word, fmt::format("expected {} from 0 to {}, found {}", what, most, quote(word)));
}

std::uint64_t FlowMatchReader::operand(const FlowField& field, std::string_view word) const {
  switch (field.form) {
    case FlowForm::number:
      return number(word, field.most, "a number");
    case FlowForm::port:
      if (const auto port = parse_flow_port(word)) return *port;
      throw line_.error(word,
                        fmt::format("expected the number of a port, 0 to 65535, or LOCAL, found {}", quote(word)));
    case FlowForm::mac:
      if (const auto mac = parse_mac_address(word)) return mac->value;
      throw line_.error(word, fmt::format("expected a MAC address (aa:bb:cc:dd:ee:ff), found {}", quote(word)));
    case FlowForm::address:
      if (const auto address = parse_ipv4_address(word)) return address->value;
      throw line_.error(word, fmt::format("expected an IPv4 address (A.B.C.D), found {}", quote(word)));
    case FlowForm::tos:
      if (const auto tos = parse_number(word, field.most); tos && *tos % 4 == 0) return *tos;
      throw line_.error(word, fmt::format("expected a ToS from 0 to 252, a multiple of 4, found {}", quote(word)));
    case FlowForm::dscp:
      return number(word, field.most, "a DSCP") << 2;
  }
  return 0;
}

std::uint64_t FlowMatchReader::mask_of(const FlowField& field, std::string_view word) const {
  if (field.form == FlowForm::address) {
    if (const auto length = parse_number(word, Ipv4::kBits)) {
      return Ipv4Prefix{.address = {}, .length = static_cast<std::uint8_t>(*length)}.mask();
    }
  }
  return operand(field, word);
}

void FlowMatchReader::take_field(const FlowField& field, std::string_view whole, std::string_view text) {
  if (says_nothing(text)) return;
  const Operand given = split(text, field.maskable);
  const std::uint64_t value = operand(field, given.value);
  std::uint64_t mask = field.place.ones();
  if (given.mask) mask = mask_of(field, *given.mask);
  if (field.place == kTosPlace) mask = openflow::kTosMask;
  if (mask == 0) return;
  set(field.place, value & mask, mask, whole);
  if (field.layer != FlowLayer::any) needs_.push_back({whole, field.layer});
}

/// Sets a field. The same value may be given twice, as in `tcp,nw_proto=6`.
void FlowMatchReader::set(Place place, std::uint64_t value, std::uint64_t mask, std::string_view word) {
  const std::uint64_t known = place.get(match_.mask);
  if (known != 0 && (known != mask || place.get(match_.value) != value)) {
    throw line_.error(word, fmt::format("{} contradicts an earlier word", quote(word)));
  }
  place.set(match_.value, value);
  place.set(match_.mask, mask);
}

void FlowMatchReader::take_vlan(std::string_view whole, std::string_view text) {
  if (says_nothing(text)) return;
  if (!vlan_word_.empty())
    throw line_.error(whole, fmt::format("{} cannot be combined with {}", quote(whole), quote(vlan_word_)));
  vlan_word_ = whole;
  const auto vlan = parse_number(split(text, false).value, openflow::kNoVlan);
  if (!vlan || (*vlan > 4095 && *vlan != openflow::kNoVlan)) {
    throw line_.error(text, fmt::format("expected a VLAN from 0 to 4095, or 0xffff for none, found {}", quote(text)));
  }
  openflow::kVlan.set(match_.value, *vlan);
  openflow::kVlan.set(match_.mask, openflow::kVlan.ones());
}

void FlowMatchReader::take_vlan_priority(std::string_view whole, std::string_view text) {
  if (says_nothing(text)) return;
  if (!priority_word_.empty()) {
    throw line_.error(whole, fmt::format("{} cannot be combined with {}", quote(whole), quote(priority_word_)));
  }
  priority_word_ = whole;
  openflow::kVlanPriority.set(match_.value,
                              number(split(text, false).value, openflow::kVlanPriorityMask, "a priority"));
  openflow::kVlanPriority.set(match_.mask, openflow::kVlanPriorityMask);
}

/// Reads the tag's 16 bits: priority, a bit that is set if there is a tag, VLAN. Without a tag all bits are 0.
void FlowMatchReader::take_vlan_tci(std::string_view whole, std::string_view text) {
  constexpr std::uint64_t kTag = 0x1000, kVlanBits = 0x0FFF;
  constexpr unsigned kPriorityShift = 13;
  if (says_nothing(text)) return;
  for (const std::string_view other : {vlan_word_, priority_word_}) {
    if (!other.empty())
      throw line_.error(whole, fmt::format("{} cannot be combined with {}", quote(whole), quote(other)));
  }
  const Operand given = split(text, true);
  const std::uint64_t mask = given.mask ? number(*given.mask, 0xFFFF, "a mask") : 0xFFFF;
  const std::uint64_t value = number(given.value, 0xFFFF, "a number") & mask;
  if (mask == 0) return;
  vlan_word_ = priority_word_ = whole;
  const bool asks_for_none = (mask & kTag) != 0 && (value & kTag) == 0;
  if (asks_for_none && value != 0) {
    throw line_.error(text,
                      fmt::format("{} matches nothing: where there is no tag (0x1000), all bits are 0", quote(text)));
  }
  if (!asks_for_none && value == 0) {
    throw line_.error(text, fmt::format("{} matches packets with and without a tag, which no mask of VLAN and priority "
                                        "can say; add 0x1000 to the mask",
                                        quote(text)));
  }
  openflow::kVlan.set(match_.value, asks_for_none ? openflow::kNoVlan : value & kVlanBits);
  openflow::kVlan.set(match_.mask, asks_for_none ? openflow::kVlan.ones() : openflow::kTaggedMask | (mask & kVlanBits));
  if (asks_for_none) return;
  openflow::kVlanPriority.set(match_.value, value >> kPriorityShift);
  openflow::kVlanPriority.set(match_.mask, mask >> kPriorityShift);
}

/// Requires a tag for a match with a priority.
void FlowMatchReader::finish_vlan() {
  if (openflow::kVlanPriority.get(match_.mask) == 0) return;
  if (openflow::kVlan.get(match_.mask) != 0) {
    if (openflow::kVlan.get(match_.value) != openflow::kNoVlan) return;
    throw line_.error(priority_word_, "a packet without a tag (dl_vlan=0xffff) has no priority");
  }
  if (what_ == What::header)
    throw line_.error(priority_word_, "a header with a priority has a VLAN: 'dl_vlan' is missing");
  openflow::kVlan.set(match_.mask, openflow::kTaggedMask);
}

void FlowMatchReader::check_layers() const {
  for (const auto& [word, layer] : needs_) {
    if (has_layer(match_, layer)) continue;
    throw line_.error(word, fmt::format("{} needs {} in the same flow", quote(word), words_for(layer)));
  }
}

}  // namespace penumbra::control::rules
