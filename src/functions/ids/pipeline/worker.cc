// SPDX-License-Identifier: Apache-2.0
#include "functions/ids/pipeline/worker.h"

#include <fmt/format.h>
#include <rte_mbuf.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>

#include "packet/mbuf_metadata.h"

namespace penumbra::ids {
namespace {

constexpr std::size_t kMostFrame = std::size_t{1} << 17;
constexpr std::size_t kDryRunFlows = 64, kDryRunThresholds = 64;
/// A clock beyond ten years is that of a capture, which began in 1970, and not that of a machine, which began to run.
constexpr std::uint64_t kLongestRun = 10 * std::uint64_t{365} * 86400 * 1'000'000'000;

std::uint64_t since_1970() noexcept {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
}

}  // namespace

/// Holds the findings in a packet, for trace() and explain().
struct Worker::Result {
  enum class What : std::uint8_t { not_ip, inspected, passed_flow, dropped_flow, no_flow, unreadable };
  What what = What::not_ip;
  bool exceeded_limits = false;
  std::uint16_t alerts = 0;
  std::uint64_t flow = 0;
  const Rule* first_alert = nullptr;
  const Rule* decided = nullptr;
};

namespace {

/// The columns of a chunk.
struct Columns {
  std::array<std::uint32_t, Chunk::kCapacity> before, after, lengths;
  std::array<std::uint64_t, Chunk::kCapacity> positions;
  std::array<patterns_found, Chunk::kCapacity> found;
};

}  // namespace

Worker::Worker(Ids& function, const WorkerContext& context)
    : function_(function), emitter_(context.emitter), index_(context.index), copy_(kMostFrame) {
  alerts_.reserve(Detector::kMostAlerts);
  if (context.index >= context.count) {
    begin_dry_run();
    return;
  }
  counts_ = &function.counts_of(context.index);
  Detector::Limits limits;
  limits.flows = {
      .flows = function.flows_of_a_worker(), .key = function.key(), .first_number = std::uint64_t{context.index} << 40};
  detector_ = std::make_unique<Detector>(limits);
}

/// Each dry run begins without flows and thresholds, so that its answer does not depend on earlier ones.
void Worker::begin_dry_run() {
  Detector::Limits limits;
  limits.flows.flows = kDryRunFlows;
  limits.threshold_entries = kDryRunThresholds;
  detector_ = std::make_unique<Detector>(limits);
}

std::uint64_t Worker::wall_time(std::uint64_t now) noexcept {
  if (now > kLongestRun) return now / 1000;
  if (since_1970_ == 0) since_1970_ = since_1970() - now;
  return (now + since_1970_) / 1000;
}

std::uint64_t Worker::tick(std::uint64_t now) noexcept {
  constexpr std::uint64_t kInterval = 1'000'000'000;  // the wall clock may be adjusted
  if (now <= kLongestRun) since_1970_ = since_1970() - now;
  return now + kInterval;
}

void Worker::process(Chunk& chunk) noexcept {
  auto& columns = *chunk.columns.take<Columns>(1);
  auto* const results = chunk.columns.take<Result>(Chunk::kCapacity);
  std::fill_n(results, chunk.size, Result{});
  chunk.stage_scratch = results;
  const bool is_searched_here = function_.generation().rules->packet_group().hyperscan() != nullptr;
  std::uint32_t items = 0;
  for (std::uint16_t i = 0; i < chunk.size; ++i) {
    if (chunk.verdicts[i].kind != Verdict::Kind::pass) continue;
    rte_mbuf& packet = *chunk.packets[i];
    const PacketHeaders& headers = headers_of(packet);
    if (packet.nb_segs != 1 || is_searched_here) continue;
    const auto* const frame = rte_pktmbuf_mtod(&packet, const std::uint8_t*);
    const std::span<const std::uint8_t> payload = PacketView({frame, packet.data_len}, headers).payload();
    if (payload.size() < Patterns::kLeastBytes) continue;
    columns.before[items] = PATTERNS_BEGIN;
    columns.positions[items] = position_of(payload.data(), chunk.batch.source);
    columns.lengths[items] = static_cast<std::uint32_t>(payload.size());
    chunk.packet_of_item[items++] = static_cast<std::uint8_t>(i);
  }
  chunk.batch.inputs = {columns.before.data(), columns.positions.data(), columns.lengths.data()};
  chunk.batch.outputs = {columns.after.data(), columns.found.data()};
  chunk.batch.items = items;
}

bool Worker::resume(Chunk& chunk) noexcept {
  if (chunk.is_dry_run) begin_dry_run();
  detector_->count_in(counts_ == nullptr ? std::span<RuleCounts>() : std::span(function_.generation().counts[index_]));
  auto* const results = static_cast<Result*>(chunk.stage_scratch);
  const auto* const found = static_cast<const patterns_found*>(chunk.batch.outputs[1]);
  std::uint32_t item = 0;
  for (std::uint16_t i = 0; i < chunk.size; ++i) {
    const bool has_item = item < chunk.batch.items && chunk.packet_of_item[item] == i;
    if (chunk.verdicts[i].kind == Verdict::Kind::pass) {
      inspect(chunk, i, has_item ? &found[item] : nullptr, results[i]);
    }
    if (has_item) ++item;
  }
  note_use();
  return false;
}

/// Returns the frame, or nothing if it is too long to be copied.
std::span<const std::uint8_t> Worker::contiguous(const rte_mbuf& packet) noexcept {
  if (packet.nb_segs == 1) return {rte_pktmbuf_mtod(&packet, const std::uint8_t*), packet.data_len};
  if (packet.pkt_len > copy_.size()) return {};
  const auto* const frame = rte_pktmbuf_read(&packet, 0, packet.pkt_len, copy_.data());
  return {static_cast<const std::uint8_t*>(frame), packet.pkt_len};
}

void Worker::inspect(Chunk& chunk, std::uint16_t index, const patterns_found* found, Result& result) noexcept {
  rte_mbuf& mbuf = *chunk.packets[index];
  const PacketHeaders& headers = headers_of(mbuf);
  if (!headers.is_ip()) return;
  const std::span<const std::uint8_t> frame = contiguous(mbuf);
  const PacketView packet(frame, headers);
  if (frame.empty() || !packet.is_readable()) {
    result.what = Result::What::unreadable;
    except(chunk, index, ExceptionCause::unreadable, nullptr, frame, headers);
    return;
  }
  const std::uint64_t now = wall_time(received_at(mbuf, chunk.now));
  const FlowTracker::Found flow = detector_->track(packet, now);
  if (flow.flow == nullptr) {
    result.what = Result::What::no_flow;
    except(chunk, index, ExceptionCause::flows, nullptr, frame, headers);
    return;
  }
  result.flow = flow.flow->id;
  if (flow.flow->fate == TrackedFlow::Fate::pass) {
    result.what = Result::What::passed_flow;
    count(kBypassed);
    return;
  }
  const Generation& generation = function_.generation();
  if (flow.flow->fate == TrackedFlow::Fate::drop && generation.policies.is_ips) {
    result.what = Result::What::dropped_flow;
    chunk.verdicts[index] = function_.drop(kDroppedFlow);
    return;
  }
  result.what = Result::What::inspected;
  count(kInspected);
  packet.fill(buffers_);
  const Subject subject{.packet = packet, .buffers = buffers_, .flow = flow, .now = now};
  alerts_.clear();
  const Detector::Decision decision = evaluate(generation, subject, found);
  act(chunk, index, packet, frame, *flow.flow, decision, result);
  const bool is_dropped = chunk.verdicts[index].kind == Verdict::Kind::drop;
  for (const Detector::Alert& alert : alerts_) {
    report(chunk, packet, alert, now, Event::Kind::alert, is_dropped && alert.rule->rule->action != Action::alert);
  }
  if (is_dropped && decision.rule != nullptr) {
    report(chunk, packet, {decision.rule, flow.to_server, flow.flow->id}, now, Event::Kind::drop, true);
  }
  result.alerts = static_cast<std::uint16_t>(alerts_.size());
  if (!alerts_.empty()) result.first_alert = alerts_.front().rule->rule;
}

/// Evaluates the rules whose patterns were found. `found` is the shader's answer, or null.
Detector::Decision Worker::evaluate(const Generation& generation, const Subject& subject,
                                    const patterns_found* found) noexcept {
  const CompiledRules& rules = *generation.rules;
  const PatternGroup& group = rules.packet_group();
  const std::span<const std::uint8_t> payload = subject.packet.payload();
  if (payload.size() < Patterns::kLeastBytes) {
    return detector_->inspect(rules, subject, std::span<const std::uint32_t>(), alerts_);
  }
  if (group.hyperscan() != nullptr) {
    HyperscanScratch& scratch = *generation.scratches[std::min<std::size_t>(index_, generation.scratches.size() - 1)];
    if (group.hyperscan()->search(payload, scratch)) {
      return detector_->inspect(rules, subject, scratch.found(), alerts_);
    }
  } else if (found != nullptr && found->generation == group.patterns()->generation() &&
             found->count <= PATTERNS_MOST_FOUND) {
    return detector_->inspect(rules, subject, *found, alerts_);
  }
  count(kSearchedAgain);
  return detector_->inspect(rules, subject, alerts_);
}

/// Carries out the decision about a packet that was inspected.
void Worker::act(Chunk& chunk, std::uint16_t index, const PacketView& packet, std::span<const std::uint8_t> frame,
                 TrackedFlow& flow, const Detector::Decision& decision, Result& result) noexcept {
  const Policies& policies = function_.generation().policies;
  result.exceeded_limits = decision.has_exceeded_limits;
  const bool decides = decision.rule != nullptr && (policies.is_ips || decision.rule->rule->action == Action::pass);
  if (decides) result.decided = decision.rule->rule;
  if (decides && decision.rule->rule->action != Action::pass) {
    const Action action = decision.rule->rule->action;
    if (policies.drops_flows) flow.fate = TrackedFlow::Fate::drop;
    if (action != Action::drop) {
      if (action != Action::reject_destination) {
        reject(chunk, index, frame, packet.headers(), RejectionTo::source);
      }
      if (action == Action::reject_destination || action == Action::reject_both) {
        reject(chunk, index, frame, packet.headers(), RejectionTo::destination);
      }
    }
    chunk.verdicts[index] = function_.drop(action == Action::drop ? kDroppedByRule : kRejectedByRule);
    return;
  }
  if (decision.has_exceeded_limits) {
    except(chunk, index, ExceptionCause::limits, &flow, frame, packet.headers());
  }
}

/// Applies the exception policy of a cause. `flow` is null if the packet has none.
void Worker::except(Chunk& chunk, std::uint16_t index, ExceptionCause cause, TrackedFlow* flow,
                    std::span<const std::uint8_t> frame, const PacketHeaders& headers) noexcept {
  constexpr std::array kCountOf{kNoFlows, kLimitsExceeded, kUnreadables};
  constexpr std::array kReasonOf{kNoFlow, kLimits, kUnreadable};
  const auto number = static_cast<std::size_t>(cause);
  count(kCountOf[number]);
  if (flow == nullptr) count(kNotInspected);
  const ExceptionPolicy policy = function_.generation().policies.of(cause);
  switch (policy) {
    case ExceptionPolicy::ignore:
      return;
    case ExceptionPolicy::bypass:
      if (flow != nullptr) flow->fate = TrackedFlow::Fate::pass;
      return;
    case ExceptionPolicy::drop:
    case ExceptionPolicy::reject:
      break;
  }
  if (flow != nullptr) flow->fate = TrackedFlow::Fate::drop;
  // An ICMP error or a RST needs headers that can be read.
  if (policy == ExceptionPolicy::reject && !headers.is_unparsable() && !frame.empty()) {
    reject(chunk, index, frame, headers, RejectionTo::source);
  }
  chunk.verdicts[index] = function_.drop(kReasonOf[number]);
}

void Worker::reject(const Chunk& chunk, std::uint16_t index, std::span<const std::uint8_t> frame,
                    const PacketHeaders& headers, RejectionTo to) noexcept {
  std::array<std::uint8_t, kMostRejectionBytes> made;
  const std::size_t bytes = write_rejection(frame, headers, to, made);
  if (bytes == 0 || chunk.is_dry_run) return;
  rte_mbuf* const packet = emitter_.room() > 0 ? emitter_.allocate() : nullptr;
  char* const room = packet == nullptr ? nullptr : rte_pktmbuf_append(packet, static_cast<std::uint16_t>(bytes));
  if (room == nullptr) {
    if (packet != nullptr) emitter_.discard(packet);
    count(kRejectionsLost);
    return;
  }
  std::memcpy(room, made.data(), bytes);
  packet->port = chunk.packets[index]->port;
  count(kRejections);
  // The answer leaves where the packet came from. Later functions find the way to the destination.
  emitter_.emit(packet, to == RejectionTo::source ? Verdict::send(chunk.rx_port) : Verdict{});
}

void Worker::report(const Chunk& chunk, const PacketView& packet, const Detector::Alert& alert, std::uint64_t now,
                    Event::Kind kind, bool is_blocked) noexcept {
  if (counts_ == nullptr) return;
  if (kind == Event::Kind::alert) count(kAlerts);
  EveWriter* const writer = function_.writer();
  if (writer == nullptr) return;
  Event event = make_event(alert, packet, *function_.generation().rules, now);
  event.kind = kind;
  event.port = chunk.rx_port;
  if (is_blocked) event.flags = static_cast<std::uint8_t>(event.flags | Event::kBlocked);
  writer->report(index_, event);
}

/// Copies what the detector counts to where the control thread reads it.
void Worker::note_use() noexcept {
  if (counts_ == nullptr) return;
  WorkerCounts& counts = *counts_;
  const VerifyCounters& verify = detector_->verify_counters();
  counts[kAlertsOverLimit].set(detector_->counters().alerts_over_limit);
  counts[kStepsExceeded].set(verify.steps_exceeded);
  counts[kPcreExceeded].set(verify.pcre_exceeded);
  counts[kPacketsExceeded].set(verify.packets_exceeded);
  counts[kThresholdsEvicted].set(detector_->thresholds().evicted());
  const FlowTracker& flows = detector_->flows();
  counts[kFlowsOpen].set(flows.size());
  counts[kFlowsOpened].set(flows.opened());
  counts[kFlowsEvicted].set(flows.evicted());
}

std::string Worker::trace(const Chunk& chunk, std::uint16_t packet) const {
  const Result& result = static_cast<const Result*>(chunk.stage_scratch)[packet];
  switch (result.what) {
    case Result::What::not_ip:
      return "not inspected: no IP packet";
    case Result::What::unreadable:
      return "not inspected: its headers cannot be read";
    case Result::What::no_flow:
      return "not inspected: the table of flows is full";
    case Result::What::passed_flow:
      return fmt::format("flow {} is passed", result.flow);
    case Result::What::dropped_flow:
      return fmt::format("flow {} was dropped", result.flow);
    case Result::What::inspected:
      break;
  }
  std::string text = fmt::format("flow {}, {} alerts", result.flow, result.alerts);
  if (result.first_alert != nullptr) text += fmt::format(", the first by rule {}", result.first_alert->sid);
  if (result.decided != nullptr) text += fmt::format(", decided by rule {}", result.decided->sid);
  if (result.exceeded_limits) text += ", a limit ended a verification";
  return text;
}

nlohmann::ordered_json Worker::explain(const Chunk& chunk, std::uint16_t packet) const {
  const Result& result = static_cast<const Result*>(chunk.stage_scratch)[packet];
  auto explained = nlohmann::ordered_json::object();
  if (result.what != Result::What::inspected) return explained;
  const auto rule_or_null = [](const Rule* rule) {
    return rule == nullptr ? nlohmann::ordered_json()
                           : nlohmann::ordered_json(fmt::format("{}:{} {}", rule->gid, rule->sid, rule->message));
  };
  explained["alerts"] = result.alerts;
  explained["first_alert"] = rule_or_null(result.first_alert);
  explained["decided_by"] = rule_or_null(result.decided);
  return explained;
}

}  // namespace penumbra::ids
