// SPDX-License-Identifier: Apache-2.0
#include "functions/ids/pipeline/worker.h"

#include <fmt/format.h>
#include <rte_mbuf.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <utility>

#include "packet/checksum.h"
#include "packet/mbuf_metadata.h"

namespace penumbra::ids {
namespace {

constexpr std::size_t kMostFrame = std::size_t{1} << 17;
constexpr std::size_t kDryRunFlows = 64, kDryRunThresholds = 64;
/// In the order of ExceptionCause.
constexpr std::array kCountOfCause{kNoFlows,        kLimitsExceeded, kUnreadables,
                                   kMemoryExceeded, kMidstreams,     kMalformedMessages};
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
  if (context.index >= context.count) {
    begin_dry_run();
    return;
  }
  counts_ = &function.counts_of(context.index);
  StreamSettings streams = function.streams_of_a_worker();
  StreamInspector::Limits limits;
  limits.detector.flows = {
      .flows = function.flows_of_a_worker(), .key = function.key(), .first_number = std::uint64_t{context.index} << 40};
  limits.streams = streams.options;
  limits.most_sessions = limits.detector.flows.flows;
  limits.policies = std::move(streams.policies);
  inspector_ = std::make_unique<StreamInspector>(limits, *this);
}

/// Each dry run begins without flows and thresholds, so that its answer does not depend on earlier ones.
void Worker::begin_dry_run() {
  StreamInspector::Limits limits;
  limits.detector.flows.flows = limits.most_sessions = kDryRunFlows;
  limits.detector.threshold_entries = limits.detector.address_bits = kDryRunThresholds;
  inspector_ = std::make_unique<StreamInspector>(limits, *this);
}

std::uint64_t Worker::wall_time(std::uint64_t now) noexcept {
  if (now > kLongestRun) return now / 1000;
  if (since_1970_ == 0) since_1970_ = since_1970() - now;
  return (now + since_1970_) / 1000;
}

std::uint64_t Worker::tick(std::uint64_t now) noexcept {
  constexpr std::uint64_t kInterval = 1'000'000'000;  // the wall clock may be adjusted
  if (now <= kLongestRun) since_1970_ = since_1970() - now;
  use_rules();
  // The clock of packets is that of their port, which may be a capture's. It goes on as the clock of ticks does.
  if (std::exchange(has_new_packets_, false)) tick_of_packet_ = now;
  inspector_->end_old_sessions(last_packet_ + (now - tick_of_packet_) / 1000);
  note_use();
  return now + kInterval;
}

/// Ends all sessions, whose last bytes were not inspected yet.
bool Worker::finish() noexcept {
  use_rules();
  inspector_->finish();
  note_use();
  return true;
}

/// Takes the current rules. Those that the last packets were inspected with may be gone.
void Worker::use_rules() noexcept {
  generation_ = &function_.generation();
  inspector_->use(*generation_->rules, generation_->policies.is_ips, generation_->policies.exceptions);
  inspector_->detector().count_in(counts_ == nullptr ? std::span<RuleCounts>() : generation_->counts[index_]);
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
  use_rules();
  auto* const results = static_cast<Result*>(chunk.stage_scratch);
  const auto* const found = static_cast<const patterns_found*>(chunk.batch.outputs[1]);
  std::uint32_t item = 0;
  for (std::uint16_t i = 0; i < chunk.size; ++i) {
    const bool has_item = item < chunk.batch.items && chunk.packet_of_item[item] == i;
    if (chunk.verdicts[i].kind == Verdict::Kind::pass) {
      inspect(chunk, i, has_item ? &found[item] : nullptr, results[i]);
      if (chunk.verdicts[i].kind == Verdict::Kind::drop) count(kDropped);
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
  count_packet(mbuf, headers);
  const std::span<const std::uint8_t> frame = contiguous(mbuf);
  const PacketView packet(frame, headers);
  if (frame.empty() || !packet.is_readable()) {
    result.what = Result::What::unreadable;
    except(chunk, index, ExceptionCause::unreadable, frame, headers);
    return;
  }
  const std::uint64_t now = wall_time(received_at(mbuf, chunk.now));
  last_packet_ = std::max(last_packet_, now);
  has_new_packets_ = true;
  result_ = &result;
  const Inspection inspected =
      inspector_->inspect(packet, frame, {.now = now, .port = chunk.rx_port}, prefilter_of(packet, found));
  result_ = nullptr;
  if (inspected.flow == nullptr) {
    result.what = Result::What::no_flow;
    except(chunk, index, ExceptionCause::flows, frame, headers);
    return;
  }
  result.flow = inspected.flow->id;
  if (inspected.fate == TrackedFlow::Fate::pass || inspected.fate == TrackedFlow::Fate::bypass) {
    result.what = Result::What::passed_flow;
    count(kBypassed);
    return;
  }
  const Policies& policies = generation_->policies;
  if (inspected.fate == TrackedFlow::Fate::drop && policies.is_ips) {
    result.what = Result::What::dropped_flow;
    chunk.verdicts[index] = function_.drop(kDroppedFlow);
    return;
  }
  result.what = Result::What::inspected;
  count(kInspected);
  result.exceeded_limits = inspected.causes.has(ExceptionCause::limits);
  const ActiveRule* const rule = inspected.rule;
  if (rule != nullptr && (policies.is_ips || inspected.action == Action::pass)) result.decided = rule->rule;
  act(chunk, index, packet, frame, inspected);
  const bool is_dropped_by_rule = result.decided != nullptr && inspected.action != Action::pass;
  if (is_dropped_by_rule || inspected.dropped_for) report_drop(chunk, packet, inspected, now);
}

/// Returns what is known of the patterns in a packet. `found` is the shader's answer, or null.
Prefilter Worker::prefilter_of(const PacketView& packet, const patterns_found* found) noexcept {
  const Generation& generation = *generation_;
  const PatternGroup& group = generation.rules->packet_group();
  const std::span<const std::uint8_t> payload = packet.payload();
  if (payload.size() < Patterns::kLeastBytes) return {.patterns = std::span<const std::uint32_t>()};
  if (group.hyperscan() != nullptr) {
    HyperscanScratch& scratch = *generation.scratches[std::min<std::size_t>(index_, generation.scratches.size() - 1)];
    if (group.hyperscan()->search(payload, scratch)) return {.patterns = scratch.found()};
  } else if (found != nullptr && found->generation == group.patterns()->generation() &&
             found->count <= PATTERNS_MOST_FOUND) {
    return {.found = found};
  }
  count(kSearchedAgain);
  return {};
}

/// Carries out what was decided about a packet that was inspected.
void Worker::act(Chunk& chunk, std::uint16_t index, const PacketView& packet, std::span<const std::uint8_t> frame,
                 const Inspection& found) noexcept {
  const Policies& policies = generation_->policies;
  const PacketHeaders& headers = packet.headers();
  if (policies.is_ips && found.rule != nullptr && found.action != Action::pass) {
    const Action action = found.action;
    // The sender would send the rest of a stream again, which was inspected already.
    if (policies.drops_flows || found.is_about_flow) found.flow->fate = TrackedFlow::Fate::drop;
    if (action != Action::drop) {
      if (action != Action::reject_destination) reject(chunk, index, frame, headers, RejectionTo::source);
      if (action == Action::reject_destination || action == Action::reject_both) {
        reject(chunk, index, frame, headers, RejectionTo::destination);
      }
    }
    chunk.verdicts[index] = function_.drop(action == Action::drop ? kDroppedByRule : kRejectedByRule);
    return;
  }
  for (std::size_t i = 0; i < kExceptionCauses.size(); ++i) {
    if (found.causes.has(static_cast<ExceptionCause>(i))) count(kCountOfCause[i]);
  }
  if (found.dropped_for) return drop_for(chunk, index, *found.dropped_for, frame, headers);
  if (found.is_invalid) {
    count(kInvalidSegments);
    if (policies.is_ips) chunk.verdicts[index] = function_.drop(kInvalidSegment);
    return;
  }
  if (found.payload.empty()) return;
  if (rewrite(*chunk.packets[index], headers, found.payload)) {
    count(kRewritten);
  } else {
    chunk.verdicts[index] = function_.drop(kNotWritable);
  }
}

/// Writes another payload of the same length into a packet of TCP. Returns false if the packet cannot be written.
bool Worker::rewrite(rte_mbuf& packet, const PacketHeaders& headers, std::span<const std::uint8_t> payload) noexcept {
  if (packet.nb_segs != 1 || rte_mbuf_refcnt_read(&packet) > 1 || !RTE_MBUF_DIRECT(&packet)) return false;
  auto* const frame = rte_pktmbuf_mtod(&packet, std::uint8_t*);
  std::uint8_t* const field = frame + headers.transport + 16;
  std::uint8_t* const before = frame + headers.payload;
  // RFC 1624, equation 3, with the sums of both payloads.
  const auto complement = [](std::uint16_t word) { return std::uint64_t{static_cast<std::uint16_t>(~word)}; };
  const std::uint64_t sum = complement(load<std::uint16_t>(field)) +
                            complement(folded(ones_sum(before, payload.size()))) +
                            ones_sum(payload.data(), payload.size());
  store(field, checksum_of(sum));
  std::memcpy(before, payload.data(), payload.size());
  return true;
}

/// Applies the exception policy of a cause to a packet that has no flow.
void Worker::except(Chunk& chunk, std::uint16_t index, ExceptionCause cause, std::span<const std::uint8_t> frame,
                    const PacketHeaders& headers) noexcept {
  count(kCountOfCause[static_cast<std::size_t>(cause)]);
  count(kNotInspected);
  if (drops(generation_->policies.exceptions.of(cause))) drop_for(chunk, index, cause, frame, headers);
}

/// Drops a packet as the exception policy of a cause says, and answers it if the policy is to reject.
void Worker::drop_for(Chunk& chunk, std::uint16_t index, ExceptionCause cause, std::span<const std::uint8_t> frame,
                      const PacketHeaders& headers) noexcept {
  constexpr std::array kReasonOf{kNoFlow, kLimits, kUnreadable, kNoMemory, kMidstream, kMalformedMessage};
  // An ICMP error or a RST needs headers that can be read.
  const bool is_answered = generation_->policies.exceptions.of(cause) == ExceptionPolicy::reject;
  if (is_answered && !headers.is_unparsable() && !frame.empty()) {
    reject(chunk, index, frame, headers, RejectionTo::source);
  }
  chunk.verdicts[index] = function_.drop(kReasonOf[static_cast<std::size_t>(cause)]);
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

void Worker::report_drop(const Chunk& chunk, const PacketView& packet, const Inspection& found,
                         std::uint64_t now) noexcept {
  if (!wants(Event::Kind::drop)) return;
  const Detector::Alert alert{found.dropped_for ? nullptr : found.rule, found.to_server, found.flow->id, found.action};
  const DropReason reason = found.dropped_for ? drop_reason_of(*found.dropped_for) : DropReason::rules;
  Event event = make_drop(alert, reason, packet, *generation_->rules, now);
  event.port = chunk.rx_port;
  function_.writer()->report(index_, event, "");
}

bool Worker::wants(Event::Kind kind) const {
  return counts_ != nullptr && function_.writer() != nullptr && function_.writer()->wants(kind);
}

void Worker::on_event(const Event& event, const std::string& members) {
  if (event.kind == Event::Kind::alert) {
    if (result_ != nullptr && result_->alerts++ == 0) result_->first_alert = event.rule->rule;
    count(kAlerts);
  }
  if (wants(event.kind)) function_.writer()->report(index_, event, members);
}

void Worker::count_packet(const rte_mbuf& packet, const PacketHeaders& headers) noexcept {
  count(kPackets);
  count(kBytes, packet.pkt_len);
  count(headers.has(PacketHeaders::kIpv6) ? kIpv6 : kIpv4);
  if (headers.is_unparsable()) return;
  switch (headers.protocol) {
    case ip_protocol::kTcp:
      return count(kTcp);
    case ip_protocol::kUdp:
      return count(kUdp);
    case ip_protocol::kIcmp:
      return count(kIcmpv4);
    case ip_protocol::kIcmpv6:
      return count(kIcmpv6);
    default:
      return;
  }
}

/// Copies what the inspector counts to where the control thread reads it.
void Worker::note_use() noexcept {
  if (counts_ == nullptr) return;
  WorkerCounts& counts = *counts_;
  Detector& detector = inspector_->detector();
  const VerifyCounters& verify = detector.verify_counters();
  counts[kAlertsOverLimit].set(detector.counters().alerts_over_limit);
  counts[kStepsExceeded].set(verify.steps_exceeded);
  counts[kPcreExceeded].set(verify.pcre_exceeded);
  counts[kPacketsExceeded].set(verify.packets_exceeded);
  counts[kThresholdsEvicted].set(detector.thresholds().evicted());
  counts[kBitsEvicted].set(detector.address_bits().evicted());
  const FlowTracker& flows = detector.flows();
  counts[kFlowsOpen].set(flows.size());
  counts[kFlowsOpened].set(flows.opened());
  counts[kFlowsEvicted].set(flows.evicted());
  const StreamContext& streams = inspector_->streams();
  counts[kSessions].set(inspector_->open_sessions());
  counts[kStreamMemory].set(streams.memory.used());
  counts[kStreamBytes].set(streams.counters.bytes);
  counts[kStreamLost].set(streams.counters.lost);
  for (std::size_t i = 0; i < kStreamEvents; ++i) counts[kFirstStreamEvent + i].set(streams.counters.events[i]);
  for (std::size_t i = 0; i < kApplications; ++i) counts[kFirstApplication + i].set(inspector_->applications()[i]);
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
