// SPDX-License-Identifier: Apache-2.0
#include "functions/ids/detect/detector.h"

#include <rte_cycles.h>

#include <algorithm>
#include <array>

namespace penumbra::ids {
namespace {

bool matches_flow(const FlowTest& test, const FlowTracker::Found& found, bool is_fragment) {
  if (test.direction == FlowTest::Direction::to_server && !found.to_server) return false;
  if (test.direction == FlowTest::Direction::to_client && found.to_server) return false;
  if (test.state == FlowTest::State::established && !found.flow->established) return false;
  if (test.state == FlowTest::State::not_established && found.flow->established) return false;
  if (test.fragments == FlowTest::Fragments::no_fragment && is_fragment) return false;
  return test.fragments != FlowTest::Fragments::only_fragment || is_fragment;
}

/// Returns true if the subject is what the rule inspects: a packet, a stream or a message. `needs` are those of the
/// subject.
bool is_inspected_by(const ActiveRule& active, const Subject& subject, Needs needs) {
  const Rule& rule = *active.rule;
  const SessionFacts* const session = subject.session;
  if (needs == Needs::packet) {
    if (active.needs == Needs::packet) return true;
    if (!subject.packet.is_tcp()) return false;
    return is_same(rule.application, session == nullptr ? Application::none : session->application);
  }
  if (subject.packet.is_tcp()) {
    if (active.packet_use == PacketUse::only) return false;
    // The packet is part of no stream, and was seen as a packet.
    const bool is_stream = session != nullptr && session->is_stream;
    if (active.packet_use == PacketUse::also && needs == Needs::stream && !is_stream) return false;
  }
  if (needs == Needs::stream) {
    const bool wants_stream =
        rule.protocol.view == TcpView::stream || (rule.flow && rule.flow->view == FlowTest::View::only_stream);
    return !wants_stream || (session != nullptr && session->is_stream);
  }
  if (session == nullptr) return true;
  if (active.is_about_recognition || session->is_recognition) {
    return active.is_about_recognition && session->is_recognition;
  }
  if (!is_same(rule.application, session->application)) return false;
  if (session->is_message) return active.reads_application || !active.reads_payload;
  // Protocols whose messages are not read have their rules evaluated on the text.
  return !active.reads_application && (active.reads_payload || !session->has_parser);
}

bool is_inspected_by(const ActiveRule& active, const Subject& subject) {
  if (is_inspected_by(active, subject, subject.needs)) return true;
  return subject.is_alone && active.needs == Needs::stream && is_inspected_by(active, subject, Needs::stream);
}

/// Returns true if rules about addresses alone see packets of the protocol once a flow. Suricata has no flows of
/// others.
bool has_flows(std::uint8_t protocol) {
  constexpr std::array kProtocols{ip_protocol::kTcp,    ip_protocol::kUdp,  ip_protocol::kIcmp,
                                  ip_protocol::kIcmpv6, ip_protocol::kSctp, ip_protocol::kEsp};
  return std::ranges::find(kProtocols, protocol) != kProtocols.end();
}

/// Returns the buffers of a subject with the new part of its payload only.
BufferTable without_old_bytes(const Subject& subject) {
  BufferTable buffers = subject.buffers;
  const auto all = buffers.get(Buffer::payload), old = subject.before->get(Buffer::payload);
  if (!all || !old) return buffers;
  buffers.set(Buffer::payload, all->subspan(old->size()));
  buffers.set_payload_place(buffers.place_of(Buffer::payload) + old->size());
  return buffers;
}

bool matches_header(const Rule& rule, const PacketView& packet) {
  const Transport transport = rule.protocol.transport;
  if (!can_carry(transport, packet.protocol())) return false;
  if (transport == Transport::ipv4 && packet.is_ipv6()) return false;
  if (transport == Transport::ipv6 && !packet.is_ipv6()) return false;
  const PacketHeaders& headers = packet.headers();
  const bool has_ports = headers.has(PacketHeaders::kPorts);
  const auto port_is_in = [&](const PortSet& set, std::uint16_t port) {
    return set.is_all() || (has_ports && set.contains(port));
  };
  const auto matches_one_way = [&](const PacketView::Address& source, const PacketView::Address& destination,
                                   std::uint16_t source_port, std::uint16_t destination_port) {
    return port_is_in(*rule.source_ports, source_port) && port_is_in(*rule.destination_ports, destination_port) &&
           packet.is_in(*rule.sources, source) && packet.is_in(*rule.destinations, destination);
  };
  if (matches_one_way(packet.source(), packet.destination(), headers.source_port, headers.destination_port))
    return true;
  return rule.bidirectional &&
         matches_one_way(packet.destination(), packet.source(), headers.destination_port, headers.source_port);
}

bool is_suppressed(const ActiveRule& active, const PacketView& packet) {
  using Who = ThresholdEntry::Who;
  return std::ranges::any_of(active.suppressions, [&packet](const ThresholdEntry* entry) {
    if (entry->who == Who::none) return true;
    const bool source = entry->who != Who::destination && packet.is_in(*entry->addresses, packet.source());
    const bool destination = entry->who != Who::source && packet.is_in(*entry->addresses, packet.destination());
    return source || destination;
  });
}

/// Returns the key of a match of a rule whose matches are counted by `track`.
ThresholdKey key_of(const ActiveRule& active, Track track, const Subject& subject) {
  ThresholdKey key{.rule = active.key};
  const bool is_v6 = subject.packet.is_ipv6();
  if (track == Track::source || track == Track::both) key.source = subject.packet.source().words(is_v6);
  if (track == Track::destination || track == Track::both) {
    key.destination = subject.packet.destination().words(is_v6);
  }
  if (track == Track::flow) key.flow = subject.flow.flow->id;
  return key;
}

PacketEnds ends_of(const PacketView& packet) {
  const bool is_v6 = packet.is_ipv6();
  return {packet.source().words(is_v6), packet.destination().words(is_v6), is_v6};
}

}  // namespace

Detector::Detector(const Limits& limits)
    : flows_(limits.flows),
      thresholds_(limits.threshold_entries, limits.flows.key.low),
      address_bits_(limits.address_bits, limits.flows.key.high),
      verifier_(limits.verify) {}

/// Empties the list of candidates. Allocates only when the number of rules has grown, which is after a reload.
void Detector::begin(const CompiledRules& rules) {
  const std::size_t count = rules.rules().size();
  if (round_of_.size() < count) {
    round_of_.resize(count, 0);
    candidates_.reserve(count);
  }
  candidates_.clear();
  if (++round_ == 0) {
    std::ranges::fill(round_of_, 0);
    round_ = 1;
  }
}

void Detector::add_candidate(std::uint32_t rule) {
  if (round_of_[rule] == round_) return;
  round_of_[rule] = round_;
  candidates_.push_back(rule);
}

/// Adds the rules with these needs whose patterns occur in the subject.
void Detector::search(const CompiledRules& rules, const Subject& subject, Needs needs) {
  for (const auto& [key, group] : rules.groups()) {
    if (group.needs() != needs) continue;
    const auto text = subject.buffers.get(group.buffer());
    if (!text) continue;
    group.patterns()->search(
        *text, [&](std::uint32_t set) { group.rules_of(set, [this](std::uint32_t rule) { add_candidate(rule); }); });
  }
}

Detector::Decision Detector::inspect(const CompiledRules& rules, const Subject& subject, std::vector<Alert>& alerts) {
  begin(rules);
  search(rules, subject, subject.needs);
  return evaluate(rules, subject, alerts);
}

Detector::Decision Detector::inspect(const CompiledRules& rules, const Subject& subject, const patterns_found& found,
                                     std::vector<Alert>& alerts) {
  const PatternGroup& group = rules.packet_group();
  if (found.generation != group.patterns()->generation() || found.count > PATTERNS_MOST_FOUND) {
    return inspect(rules, subject, alerts);
  }
  begin(rules);
  for (std::uint32_t i = 0; i < found.count; ++i) {
    group.rules_of(found.set[i], [this](std::uint32_t rule) { add_candidate(rule); });
  }
  return evaluate(rules, subject, alerts);
}

Detector::Decision Detector::inspect(const CompiledRules& rules, const Subject& subject,
                                     std::span<const std::uint32_t> patterns, std::vector<Alert>& alerts) {
  begin(rules);
  for (const std::uint32_t pattern : patterns) {
    for (const std::uint32_t rule : rules.packet_group().rules_of_pattern(pattern)) add_candidate(rule);
  }
  return evaluate(rules, subject, alerts);
}

Detector::Decision Detector::inspect(const CompiledRules& rules, const PacketView& packet, std::uint64_t now,
                                     std::vector<Alert>& alerts) {
  const FlowTracker::Found found = track(packet, now);
  if (found.flow == nullptr || found.flow->fate == TrackedFlow::Fate::pass) return {};
  packet.fill(buffers_);
  return inspect(rules, {.packet = packet, .buffers = buffers_, .flow = found, .now = now}, alerts);
}

bool Detector::matches(const ActiveRule& active, std::uint32_t number, const Subject& subject, bool wants_ip_only) {
  const Rule& rule = *active.rule;
  if (active.is_ip_only && !wants_ip_only) return false;
  if (!is_inspected_by(active, subject) || !matches_header(rule, subject.packet)) return false;
  const bool is_fragment = subject.packet.headers().has(PacketHeaders::kFragment);
  if (rule.flow && !matches_flow(*rule.flow, subject.flow, is_fragment)) return false;
  for (const PreparedBits& command : active.bits) {
    if (!command.is_test()) continue;
    const bool holds = command.scope == BitCommand::Scope::flow
                           ? subject.flow.flow->bits.test(command)
                           : address_bits_.test(command, ends_of(subject.packet), subject.now);
    if (!holds) return false;
  }
  for (const PacketTest& test : rule.packet_tests) {
    const bool holds =
        subject.packet.matches(test) || (subject.session != nullptr && subject.session->matches(test, subject.buffers));
    if (!holds) return false;
  }
  ++counters_.candidates;
  bool matched = false;
  if (rule_counts_.empty()) {
    matched = verifier_.matches(active.prepared, subject.buffers);
  } else {
    RuleCounts& counts = rule_counts_[number];
    const std::uint64_t before = rte_rdtsc();
    matched = verifier_.matches(active.prepared, subject.buffers);
    counts.cycles.add(rte_rdtsc() - before);
    counts.checks.add(1);
    if (matched) counts.matches.add(1);
  }
  if (matched && subject.before != nullptr && verifier_.matches(active.prepared, *subject.before)) {
    // The rule has matched before. It matches again if the new bytes suffice.
    matched = verifier_.matches(active.prepared, without_old_bytes(subject));
  }
  if (matched) ++counters_.verified;
  return matched;
}

/// Returns the action of a match, which a rate filter may change.
Action Detector::action_of(const ActiveRule& active, const Subject& subject) {
  const ThresholdEntry* const filter = active.rate_filter;
  if (filter == nullptr) return active.rule->action;
  ThresholdKey key = key_of(active, filter->threshold.track, subject);
  key.is_rate = true;
  const bool is_active = thresholds_.exceeds_rate(filter->threshold, filter->timeout, key, subject.now);
  return is_active ? filter->new_action : active.rule->action;
}

ThresholdOutcome Detector::count_for_threshold(const ActiveRule& active, const Subject& subject) {
  const Threshold* const threshold = active.threshold;
  if (threshold == nullptr) return ThresholdOutcome::alert;
  return thresholds_.count(*threshold, key_of(active, threshold->track, subject), subject.now);
}

/// Evaluates the candidates and the rules without a pattern, both in the rules' order.
Detector::Decision Detector::evaluate(const CompiledRules& rules, const Subject& subject, std::vector<Alert>& alerts) {
  Decision decision;
  TrackedFlow& flow = *subject.flow.flow;
  bool& seen = subject.flow.to_server ? flow.ip_only_to_server : flow.ip_only_to_client;
  const bool wants_ip_only = subject.needs == Needs::packet && (!seen || !has_flows(subject.packet.protocol()));
  if (subject.needs == Needs::packet) seen = true;
  verifier_.begin();
  const std::uint64_t exceeded = verifier_.counters().all();
  const std::size_t first_alert = alerts.size();
  if (subject.is_alone) {
    search(rules, subject, Needs::stream);
    for (const std::uint32_t rule : rules.always(Needs::stream, subject.packet.protocol())) add_candidate(rule);
  }
  std::ranges::sort(candidates_);
  const std::vector<std::uint32_t>& always = rules.always(subject.needs, subject.packet.protocol());
  auto candidate = candidates_.begin();
  auto other = always.begin();
  while (candidate != candidates_.end() || other != always.end()) {
    const bool takes_candidate = other == always.end() || (candidate != candidates_.end() && *candidate <= *other);
    const std::uint32_t number = takes_candidate ? *candidate++ : *other++;
    // A rule may be a candidate for streams, and one that packets always have.
    if (takes_candidate && other != always.end() && number == *other) ++other;
    const ActiveRule& active = rules.rules()[number];
    if (!matches(active, number, subject, wants_ip_only)) continue;
    ++counters_.matches;
    for (const PreparedBits& command : active.bits) {
      if (command.is_test()) continue;
      if (command.scope == BitCommand::Scope::flow) {
        flow.bits.change(command);
      } else {
        address_bits_.change(command, ends_of(subject.packet), subject.now);
      }
    }
    const Action action = action_of(active, subject);
    if (action == Action::pass) {
      if (active.is_ip_only) flow.fate = TrackedFlow::Fate::pass;
      decision.note(active, action);
      break;
    }
    const ThresholdOutcome outcome = count_for_threshold(active, subject);
    if (outcome == ThresholdOutcome::too_few) continue;
    if (action != Action::alert) decision.note(active, action);
    if (outcome != ThresholdOutcome::alert || active.rule->noalert || is_suppressed(active, subject.packet)) continue;
    if (alerts.size() - first_alert >= kMostAlerts) {
      ++counters_.alerts_over_limit;
      continue;
    }
    ++counters_.alerts;
    alerts.push_back({&active, subject.flow.to_server, flow.id, action});
  }
  decision.has_exceeded_limits = verifier_.counters().all() != exceeded;
  return decision;
}

}  // namespace penumbra::ids
