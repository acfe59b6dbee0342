// SPDX-License-Identifier: Apache-2.0
#include "control/rules/flow_match.h"

#include <fmt/format.h>

#include <algorithm>

#include "control/rules/flow_action.h"
#include "control/rules/number.h"
#include "control/rules/openflow10.h"
#include "penumbra/ip.h"

namespace penumbra::control::rules {
namespace {

using packet_fields::all_bits;
using packet_fields::Field;
using packet_fields::kTagPresent;
using packet_fields::MaskedNumber;
using packet_fields::Number;

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
    if (const ProtocolName* const protocol = find_protocol_name(word.key); protocol != nullptr) {
      set(Field::eth_type, {{0, protocol->ethertype}, all_bits(16)}, 0, word.whole);
      if (protocol->protocol) set(Field::nw_proto, {{0, *protocol->protocol}, all_bits(8)}, 0, word.whole);
      return true;
    }
  }
  constexpr std::uint64_t kVidBits = kTagPresent | kVlanBits;
  if (word.key == "dl_vlan") {
    take_vlan(word.whole, require_value(line_, word));
  } else if (word.key == "dl_vlan_pcp" || word.key == "vlan_pcp") {
    take_vlan_priority(word.whole, require_value(line_, word));
  } else if (word.key == "vlan_tci" || word.key == "vlan_vid") {
    take_tag(word.whole, require_value(line_, word), word.key == "vlan_tci" ? kWholeTci : kVidBits);
  } else {
    const FlowField* const field = find_flow_field(word.key);
    if (field == nullptr) return false;
    take_field(*field, word.whole, require_value(line_, word));
  }
  return true;
}

SparseMatch FlowMatchReader::finish() {
  finish_vlan();
  check_layers();
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

Number FlowMatchReader::operand(const FlowField& field, std::string_view word) const {
  switch (field.form) {
    case FlowForm::number:
      return {0, number(word, field.most, "a number")};
    case FlowForm::port:
      if (const auto port = parse_flow_port(word)) return {0, *port};
      throw line_.error(word,
                        fmt::format("expected the number of a port, 0 to 65535, or LOCAL, found {}", quote(word)));
    case FlowForm::mac:
      if (const auto mac = parse_mac_address(word)) return {0, mac->value};
      throw line_.error(word, fmt::format("expected a MAC address (aa:bb:cc:dd:ee:ff), found {}", quote(word)));
    case FlowForm::address:
      if (const auto address = parse_ipv4_address(word)) return {0, address->value};
      throw line_.error(word, fmt::format("expected an IPv4 address (A.B.C.D), found {}", quote(word)));
    case FlowForm::ipv6_address:
      if (const auto address = parse_ipv6_address(word)) return {address->high, address->low};
      throw line_.error(word, fmt::format("expected an IPv6 address (X:X::X), found {}", quote(word)));
    case FlowForm::tos:
      if (const auto tos = parse_number(word, field.most); tos && *tos % 4 == 0) return {0, *tos};
      throw line_.error(word, fmt::format("expected a ToS from 0 to 252, a multiple of 4, found {}", quote(word)));
    case FlowForm::dscp:
      return {0, number(word, field.most, "a DSCP") << 2};
    case FlowForm::tcp_flags:
    case FlowForm::fragment:
      break;
  }
  return {};
}

Number FlowMatchReader::mask_of(const FlowField& field, std::string_view word) const {
  const unsigned bits = place_of(field.field).bits;
  if (field.form == FlowForm::address || field.form == FlowForm::ipv6_address) {
    if (const auto length = parse_number(word, bits)) {
      return packet_fields::prefix_mask(static_cast<unsigned>(*length), bits);
    }
  }
  return operand(field, word);
}

MaskedNumber FlowMatchReader::masked_operand(const FlowField& field, std::string_view text) const {
  if (field.form == FlowForm::fragment || field.form == FlowForm::tcp_flags) {
    const bool is_fragment = field.form == FlowForm::fragment;
    if (const auto bits = is_fragment ? parse_fragment(text) : parse_tcp_flags(text)) {
      return {{0, bits->value}, {0, bits->mask}};
    }
    throw line_.error(text, fmt::format("expected {}, found {}",
                                        is_fragment ? "no, yes, first, later or not_later"
                                                    : "flags of TCP such as +syn-ack, or VALUE/MASK",
                                        quote(text)));
  }
  const Operand given = split(text, field.maskable);
  Number mask = field.part != 0 ? Number{0, field.part} : all_bits(place_of(field.field).bits);
  const Number value = operand(field, given.value);
  if (given.mask) mask = mask_of(field, *given.mask);
  return {{value.high & mask.high, value.low & mask.low}, mask};
}

void FlowMatchReader::take_field(const FlowField& field, std::string_view whole, std::string_view text) {
  if (says_nothing(text)) return;
  const MaskedNumber number = masked_operand(field, text);
  if (number.mask == Number{}) return;
  set(field.field, number, field.part, whole);
  if (field.layer != FlowLayer::any) needs_.push_back({whole, field.layer});
}

/// Sets a field, or a part of it. The same value may be given twice, as in `tcp,nw_proto=6`.
void FlowMatchReader::set(Field field, MaskedNumber number, std::uint64_t part, std::string_view word) {
  Number value = get(match_.value, field), mask = get(match_.mask, field);
  const Number of_part = part != 0 ? Number{0, part} : all_bits(place_of(field).bits);
  const Number known{mask.high & of_part.high, mask.low & of_part.low};
  const Number same{value.high & of_part.high, value.low & of_part.low};
  if (known != Number{} && (known != number.mask || same != number.value)) {
    throw line_.error(word, fmt::format("{} contradicts an earlier word", quote(word)));
  }
  packet_fields::set(match_.value, field, {value.high | number.value.high, value.low | number.value.low});
  packet_fields::set(match_.mask, field, {mask.high | number.mask.high, mask.low | number.mask.low});
}

/// Adds bits of the tag.
void FlowMatchReader::set_tag(std::uint64_t value, std::uint64_t mask) {
  packet_fields::set(match_.value, Field::vlan_tci, {0, get(match_.value, Field::vlan_tci).low | value});
  packet_fields::set(match_.mask, Field::vlan_tci, {0, get(match_.mask, Field::vlan_tci).low | mask});
}

void FlowMatchReader::take_vlan(std::string_view whole, std::string_view text) {
  if (says_nothing(text)) return;
  if (!vlan_word_.empty())
    throw line_.error(whole, fmt::format("{} cannot be combined with {}", quote(whole), quote(vlan_word_)));
  vlan_word_ = whole;
  const auto vlan = parse_number(split(text, false).value, openflow::kNoVlan);
  if (!vlan || (*vlan > kVlanBits && *vlan != openflow::kNoVlan)) {
    throw line_.error(text, fmt::format("expected a VLAN from 0 to 4095, or 0xffff for none, found {}", quote(text)));
  }
  has_no_tag_ = *vlan == openflow::kNoVlan;
  if (!has_no_tag_) set_tag(kTagPresent | *vlan, kTagPresent | kVlanBits);
}

void FlowMatchReader::take_vlan_priority(std::string_view whole, std::string_view text) {
  if (says_nothing(text)) return;
  if (!priority_word_.empty()) {
    throw line_.error(whole, fmt::format("{} cannot be combined with {}", quote(whole), quote(priority_word_)));
  }
  priority_word_ = whole;
  const std::uint64_t priority = number(split(text, false).value, openflow::kVlanPriorityMask, "a priority");
  set_tag(priority << kTciPriorityShift, openflow::kVlanPriorityMask << kTciPriorityShift);
}

/// Reads `bits` of the tag's 16 bits: priority, a bit that is set if there is a tag, VLAN. Without a tag all bits are
/// 0.
void FlowMatchReader::take_tag(std::string_view whole, std::string_view text, std::uint64_t bits) {
  if (says_nothing(text)) return;
  const bool has_priority = bits == kWholeTci;
  for (const std::string_view other : {vlan_word_, has_priority ? priority_word_ : std::string_view{}}) {
    if (!other.empty())
      throw line_.error(whole, fmt::format("{} cannot be combined with {}", quote(whole), quote(other)));
  }
  const Operand given = split(text, true);
  const std::uint64_t mask = given.mask ? number(*given.mask, bits, "a mask") : bits;
  const std::uint64_t value = number(given.value, bits, "a number") & mask;
  if (mask == 0) return;
  vlan_word_ = whole;
  if (has_priority) priority_word_ = whole;
  has_no_tag_ = (mask & kTagPresent) != 0 && (value & kTagPresent) == 0;
  if (has_no_tag_ && value != 0) {
    throw line_.error(text,
                      fmt::format("{} matches nothing: where there is no tag (0x1000), all bits are 0", quote(text)));
  }
  if (has_no_tag_) return;
  const std::uint64_t tag = value != 0 ? kTagPresent : 0;  // With a value of 0 the packet may have no tag.
  set_tag(value | tag, mask | tag);
}

/// Requires a tag for a match with a priority.
void FlowMatchReader::finish_vlan() {
  const bool names_priority = !priority_word_.empty() && priority_word_ != vlan_word_;
  if (has_no_tag_) {
    if (names_priority) throw line_.error(priority_word_, "a packet without a tag (dl_vlan=0xffff) has no priority");
    packet_fields::set(match_.mask, Field::vlan_tci, {0, kWholeTci});
    return;
  }
  if (!names_priority) return;
  if (what_ == What::header && vlan_word_.empty())
    throw line_.error(priority_word_, "a header with a priority has a VLAN: 'dl_vlan' is missing");
  set_tag(kTagPresent, kTagPresent);
}

void FlowMatchReader::check_layers() const {
  const PacketKind kind = kind_of(match_);
  for (const auto& [word, layer] : needs_) {
    if (has_layer(kind, layer)) continue;
    PacketKind whole = kind;
    whole.is_later_fragment = false;
    if (has_layer(whole, layer)) throw line_.error(word, fmt::format("later fragments have no {}", quote(word)));
    throw line_.error(word, fmt::format("{} needs {} in the same flow", quote(word), words_for(layer)));
  }
}

}  // namespace penumbra::control::rules
