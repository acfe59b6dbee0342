// SPDX-License-Identifier: Apache-2.0
#include "functions/ids/detect/compiled_rules.h"

#include <algorithm>
#include <stdexcept>
#include <tuple>

#include "functions/ids/verify/fast_pattern.h"
#include "penumbra/packet.h"

namespace penumbra::ids {
namespace {

/// Protocols with rules of their own. All others share a class.
constexpr std::array kClasses{ip_protocol::kTcp, ip_protocol::kUdp, ip_protocol::kIcmp, ip_protocol::kIcmpv6,
                              ip_protocol::kSctp};
constexpr std::uint8_t kUnassigned = 253;  // RFC 3692: a protocol without rules of its own

/// Rules are evaluated by the order of their actions; rules that set flowbits before rules that test them; then by
/// priority.
auto order_of(const Rule& rule, std::uint32_t priority, const ActionOrder& order) {
  const auto action = std::ranges::find(order, kind_of(rule.action)) - order.begin();
  bool tests = false, changes = false;
  for (const BitCommand& command : rule.bits) (command.is_test() ? tests : changes) = true;
  const int bits = !tests && !changes ? 3 : !tests ? 0 : changes ? 1 : 2;
  return std::tuple(action, bits, priority);
}

std::string reason_to_skip(const Rule& rule, Needs most) {
  const Needs needs = rule.needs();
  if (needs > most) return needs == Needs::stream ? "needs streams" : "needs the protocol of an application";
  return "";
}

/// Returns true if the rule tests addresses and the version of IP at most.
bool is_ip_only(const Rule& rule) {
  const bool is_ip = rule.protocol.transport == Transport::ip || rule.protocol.transport == Transport::ipv4 ||
                     rule.protocol.transport == Transport::ipv6;
  return is_ip && rule.application == Application::none && rule.source_ports->is_all() &&
         rule.destination_ports->is_all() && !rule.flow && rule.packet_tests.empty() && rule.buffers.empty() &&
         rule.bits.empty();
}

bool is_for(const ThresholdEntry& entry, const Rule& rule) {
  return (entry.gid == 0 || entry.gid == rule.gid) && (entry.sid == 0 || entry.sid == rule.sid);
}

}  // namespace

CompiledRules::CompiledRules(RuleSet set, Needs most, MatcherKind matcher) : set_(std::move(set)), most_(most) {
  class_of_.fill(kClasses.size());
  for (std::size_t i = 0; i < kClasses.size(); ++i) class_of_[kClasses[i]] = static_cast<std::uint8_t>(i);
  for (auto& classes : always_) classes.resize(kClasses.size() + 1);
  groups_.try_emplace({Needs::packet, Buffer::payload}, Needs::packet, Buffer::payload);
  std::vector<const Rule*> sorted;
  for (const Rule& rule : set_.rules()) sorted.push_back(&rule);
  // The place in the set decides between equal rules.
  std::ranges::sort(sorted, {}, [&](const Rule* rule) {
    return std::pair(order_of(*rule, set_.priority_of(*rule), set_.action_order()), rule - set_.rules().data());
  });
  for (const Rule* const rule : sorted) add(*rule);
  for (auto& [key, group] : groups_) group.compile(matcher);
  BitNames names;
  number_bits(names);
}

const Threshold* CompiledRules::threshold_of(const Rule& rule) const {
  for (const ThresholdEntry& entry : set_.thresholds()) {
    if (entry.kind == ThresholdEntry::Kind::threshold && is_for(entry, rule)) return &entry.threshold;
  }
  if (rule.threshold) return &*rule.threshold;
  return rule.detection_filter ? &*rule.detection_filter : nullptr;
}

void CompiledRules::add(const Rule& rule) {
  std::string reason = reason_to_skip(rule, most_);
  if (!reason.empty()) {
    not_evaluated_.push_back({&rule, std::move(reason)});
    return;
  }
  PreparedRule prepared(rule);
  if (!prepared.is_complete()) {
    not_evaluated_.push_back({&rule, "asn1 and DCE/RPC are not evaluated"});
    return;
  }
  const auto number = static_cast<std::uint32_t>(rules_.size());
  ActiveRule active{.rule = &rule,
                    .key = rule.key(),
                    .prepared = std::move(prepared),
                    .bits = {},
                    .threshold = threshold_of(rule),
                    .suppressions = {},
                    .rate_filter = nullptr,
                    .needs = rule.needs(),
                    .packet_use = rule.packet_use(),
                    .is_ip_only = is_ip_only(rule),
                    .is_about_recognition = rule.is_about_recognition()};
  for (const ThresholdEntry& entry : set_.thresholds()) {
    if (!is_for(entry, rule)) continue;
    if (entry.kind == ThresholdEntry::Kind::suppress) active.suppressions.push_back(&entry);
    if (entry.kind == ThresholdEntry::Kind::rate_filter && active.rate_filter == nullptr) active.rate_filter = &entry;
  }
  for (const BufferTests& tests : rule.buffers) {
    const BufferOrigin origin = info_of(tests.buffer).origin;
    active.reads_application |= origin == BufferOrigin::application;
    active.reads_payload |= origin == BufferOrigin::payload;
  }
  choose_by(active, number, active.needs);
  if (active.needs != Needs::packet && active.packet_use != PacketUse::never) choose_by(active, number, Needs::packet);
  rules_.push_back(std::move(active));
}

/// Lets subjects with these needs choose the rule: by its pattern, or always.
void CompiledRules::choose_by(const ActiveRule& active, std::uint32_t number, Needs needs) {
  const auto pattern = choose_fast_pattern(*active.rule);
  // Patterns of one or two bytes are nearly everywhere. The header is quicker to compare.
  const bool is_sought = pattern && pattern->bytes.size() >= Patterns::kLeastBytes &&
                         (needs != Needs::packet || pattern->buffer == Buffer::payload);
  if (is_sought) {
    groups_.try_emplace({needs, pattern->buffer}, needs, pattern->buffer).first->second.add(pattern->bytes, number);
    return;
  }
  auto& classes = always_[static_cast<std::size_t>(needs)];
  for (std::size_t i = 0; i <= kClasses.size(); ++i) {
    const std::uint8_t protocol = i < kClasses.size() ? kClasses[i] : kUnassigned;
    if (can_carry(active.rule->protocol.transport, protocol)) classes[i].push_back(number);
  }
}

const PatternGroup* CompiledRules::group(Needs needs, Buffer buffer) const {
  const auto found = groups_.find({needs, buffer});
  return found == groups_.end() ? nullptr : &found->second;
}

const std::vector<std::uint32_t>& CompiledRules::always(Needs needs, std::uint8_t protocol) const {
  return always_[static_cast<std::size_t>(needs)][class_of_[protocol]];
}

void CompiledRules::number_bits(BitNames& names) {
  BitNames after = names;
  for (const ActiveRule& active : rules_) {
    for (const BitCommand& command : active.rule->bits) {
      for (const std::string& name : command.names) after.number_of(command.scope, name);
    }
  }
  if (after.flow_bits() > FlowBits::kMost) {
    throw std::length_error("the rules name more than " + std::to_string(FlowBits::kMost) +
                            " flowbits, with those of earlier rules");
  }
  names = std::move(after);
  for (ActiveRule& active : rules_) {
    active.bits.clear();
    for (const BitCommand& command : active.rule->bits) active.bits.emplace_back(command, names);
  }
}

}  // namespace penumbra::ids
