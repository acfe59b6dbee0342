// SPDX-License-Identifier: Apache-2.0
#include "functions/ids/detect/stream_inspector.h"

#include <algorithm>
#include <utility>

#include "functions/ids/detect/eve_application.h"
#include "packet/parse.h"

namespace penumbra::ids {
namespace {

constexpr std::size_t kMostAlerted = 256;

/// Returns true if the rule tests addresses and ports of TCP only, so that it matches all packets of a direction.
bool is_about_ends(const Rule& rule) {
  return rule.protocol.transport == Transport::tcp && rule.buffers.empty() && rule.packet_tests.empty() && !rule.flow &&
         rule.bits.empty();
}

PacketView view_of(const std::vector<std::uint8_t>& frame) {
  return {frame, parse_headers(frame.data(), frame.size(), frame.size())};
}

}  // namespace

StreamInspector::StreamInspector(const Limits& limits, EventSink& sink)
    : limits_(limits), sink_(sink), detector_(limits.detector), streams_(limits.streams) {}

StreamInspector::~StreamInspector() {
  sessions_.visit([this](StreamSession& session) {
    if (session.tcp) session.tcp->release(streams_);
  });
}

void StreamInspector::use(const CompiledRules& rules, bool is_inline, const ExceptionPolicies& exceptions) {
  rules_ = &rules;
  exceptions_ = exceptions;
  is_inline_ = streams_.options.immediate = is_inline;
}

StreamPolicy StreamInspector::policy_of(const PacketView& packet, const PacketView::Address& address) const {
  StreamPolicy policy = StreamPolicy::bsd;
  for (const auto& [addresses, wanted] : limits_.policies) {
    if (packet.is_in(*addresses, address)) policy = wanted;
  }
  return policy;
}

StreamSession& StreamInspector::session_of(const FlowTracker::Found& found, const PacketView& packet,
                                           std::span<const std::uint8_t> frame) {
  StreamSession* known = found.flow->session;
  if (known == nullptr) {
    while (sessions_.size() >= limits_.most_sessions) end_session(*sessions_.find_oldest(), true);
    known = &sessions_.add(*found.flow, packet.protocol());
    ++opened_;
    known->record.first = origin_.now;
    known->port = origin_.port;
    const PacketHeaders& headers = packet.headers();
    known->server_port = found.to_server ? headers.destination_port : headers.source_port;
    if (packet.is_tcp()) {
      const StreamPolicy source = policy_of(packet, packet.source()),
                         destination = policy_of(packet, packet.destination());
      known->tcp.emplace(found.to_server ? std::array{source, destination} : std::array{destination, source});
    }
  }
  StreamSession::Side& side = known->side(found.to_server);
  if (side.frame.empty()) {
    const std::size_t size = std::min<std::size_t>(frame.size(), packet.headers().payload);
    side.frame.assign(frame.begin(), frame.begin() + static_cast<std::ptrdiff_t>(size));
  }
  const std::size_t direction = found.to_server ? 1 : 0;
  ++known->record.packets[direction];
  known->record.bytes[direction] += frame.size();
  known->record.tcp_flags[direction] |= packet.headers().tcp_flags;
  return *known;
}

void StreamInspector::end_old_sessions(std::uint64_t now) {
  origin_.now = std::max(origin_.now, now);
  while (StreamSession* const session = sessions_.find_expired(now)) end_session(*session, true);
}

void StreamInspector::end_session(StreamSession& session, bool by_timeout) {
  StreamSession* const interrupted = current_;
  TrackedFlow* const interrupted_flow = flow_;
  current_ = &session;
  flow_ = session.flow;
  is_flow_end_ = true;
  is_passed_ = session.flow->fate != TrackedFlow::Fate::inspect;
  session.record.has_timed_out = by_timeout;
  if (session.tcp) session.tcp->finish(streams_, *this);
  if (session.parser != nullptr) {
    for (const bool to_server : {true, false}) session.parser->end(to_server, *this);
  }
  for (const bool to_server : {true, false}) inspect_raw(to_server);
  log(true, Event::Kind::flow, [&] { return flow_members(session); });
  streams_.memory.charge(session.charged, 0);
  sessions_.remove(session);
  is_flow_end_ = is_passed_ = false;
  current_ = interrupted;
  flow_ = interrupted_flow;
}

void StreamInspector::finish() {
  while (StreamSession* const session = sessions_.find_oldest()) end_session(*session, false);
}

/// Frees the memory of a session whose packets are not inspected any more.
void StreamInspector::give_up(StreamSession& session) {
  if (session.tcp) session.tcp->release(streams_);
  session.parser = nullptr;
  session.tls = nullptr;
  give_up_recognition(session);
  for (StreamSession::Side& side : session.sides) {
    side.raw = {};
    side.before_gaps = {};
  }
}

void StreamInspector::account(StreamSession& session) {
  const std::size_t now = session.text_memory();
  streams_.memory.charge(session.charged, now);
  session.charged = now;
}

SessionFacts StreamInspector::facts_of(const StreamSession& session) const {
  SessionFacts facts{.application = session.application, .has_parser = session.parser != nullptr};
  facts.is_unknown = session.application == Application::none && session.sides[0].is_unrecognizable &&
                     session.sides[1].is_unrecognizable;
  if (session.tcp) facts.sent = {session.tcp->sent(false), session.tcp->sent(true)};
  if (session.tls != nullptr) {
    facts.tls_states = session.tls->session().states;
    facts.tls_version = session.tls->session().version_bit();
  }
  return facts;
}

Inspection StreamInspector::inspect(const PacketView& packet, std::span<const std::uint8_t> frame,
                                    const PacketOrigin& origin, const Prefilter& prefilter) {
  alerted_.clear();
  end_old_sessions(origin.now);
  origin_ = origin;
  outcome_ = {};
  const FlowTracker::Found found = detector_.track(packet, origin.now);
  if (found.flow == nullptr) return outcome_;
  StreamSession& session = session_of(found, packet, frame);
  current_ = &session;
  flow_ = found.flow;
  outcome_.flow = found.flow;
  outcome_.to_server = found.to_server;
  outcome_.fate = found.flow->fate;
  is_passed_ = outcome_.fate == TrackedFlow::Fate::pass;
  if (outcome_.fate == TrackedFlow::Fate::bypass || (is_inline_ && outcome_.fate == TrackedFlow::Fate::drop)) {
    give_up(session);
  } else {
    follow(session, packet, frame, found.to_server, prefilter);
    apply_exceptions();
  }
  sessions_.touch(session, origin.now);
  account(session);
  current_ = nullptr;
  flow_ = nullptr;
  return outcome_;
}

void StreamInspector::follow(StreamSession& session, const PacketView& packet, std::span<const std::uint8_t> frame,
                             bool to_server, const Prefilter& prefilter) {
  const PacketHeaders& headers = packet.headers();
  const bool has_transport = !headers.has(PacketHeaders::kLaterFragment) && !headers.has(PacketHeaders::kFragment);
  if (session.tcp && session.tcp->is_midstream()) flow_->established = true;
  if (session.tcp && has_transport && headers.payload >= headers.transport + 20U) {
    return follow_segment(session, *session.tcp, packet, frame, to_server, prefilter);
  }
  const bool is_alone = !session.tcp || session.tcp->state() == TcpSession::State::none;
  inspect_packet(session, packet, to_server, is_alone, prefilter);
  if (is_alone && has_transport) read_datagram(session, packet, to_server);
}

/// Inspects a segment and hands it to its connection.
void StreamInspector::follow_segment(StreamSession& session, TcpSession& tcp, const PacketView& packet,
                                     std::span<const std::uint8_t> frame, bool to_server, const Prefilter& prefilter) {
  const PacketHeaders& headers = packet.headers();
  TcpSegment segment =
      read_tcp_segment(frame.subspan(headers.transport, headers.payload - headers.transport), packet.payload());
  const bool is_followed = tcp.follows(segment, to_server, streams_.options);
  if (!may_follow(tcp, segment, is_followed)) return;
  // An inline system cannot wait for the receiver to take the data of a SYN.
  const bool is_alone = !is_followed || (is_inline_ && segment.has(TcpSegment::kSyn));
  if (is_inline_ && tcp.is_repetition(segment, to_server)) {
    rewritten_.assign(frame.begin(), frame.end());
    const std::span payload = std::span(rewritten_).subspan(headers.payload, segment.payload.size());
    if (tcp.impose(segment, payload, to_server, streams_, *this)) outcome_.payload = segment.payload = payload;
  }
  if (outcome_.payload.empty()) {
    inspect_packet(session, packet, to_server, is_alone, prefilter);
  } else {
    // The stream has these bytes already. Rules for streams see them in this packet again.
    inspect_packet(session, PacketView(rewritten_, headers), to_server, true, {});
  }
  // A packet that is dropped does not reach its receiver.
  if (is_inline_ && outcome_.rule != nullptr && outcome_.action != Action::pass) return;
  tcp.add(segment, to_server, streams_, *this);
  // An inline system decides now, and cannot wait for more bytes.
  if (is_inline_) inspect_raw(to_server);
}

/// Notes that the beginning of a segment's connection was not seen. Returns false if the exception policy does not let
/// the segment be inspected.
bool StreamInspector::may_follow(const TcpSession& tcp, const TcpSegment& segment, bool is_followed) {
  const bool begins_later = tcp.state() == TcpSession::State::none && !segment.has(TcpSegment::kReset) &&
                            (!segment.has(TcpSegment::kSyn) || segment.has(TcpSegment::kAck));
  if (is_followed ? !begins_later : segment.has(TcpSegment::kReset)) return true;
  const ExceptionPolicy policy = exceptions_.of(ExceptionCause::midstream);
  outcome_.causes.add(ExceptionCause::midstream);
  if (policy != ExceptionPolicy::ignore) is_passed_ = true;
  return policy < ExceptionPolicy::bypass;
}

/// Applies the exception policies of what befell the packet, unless a rule drops it or passes its flow.
void StreamInspector::apply_exceptions() {
  if (outcome_.fate == TrackedFlow::Fate::pass) return;
  if (is_inline_ && outcome_.rule != nullptr && outcome_.action != Action::pass) return;
  for (const ExceptionCause cause :
       {ExceptionCause::limits, ExceptionCause::memory, ExceptionCause::midstream, ExceptionCause::application}) {
    if (!outcome_.causes.has(cause)) continue;
    const ExceptionPolicy policy = exceptions_.of(cause);
    if (policy == ExceptionPolicy::pass) flow_->fate = TrackedFlow::Fate::pass;
    if (policy == ExceptionPolicy::bypass) flow_->fate = TrackedFlow::Fate::bypass;
    if (!drops(policy)) continue;
    if (policy != ExceptionPolicy::drop_packet) flow_->fate = TrackedFlow::Fate::drop;
    outcome_.dropped_for = cause;
    return;
  }
}

/// Evaluates the rules for packets on a packet, and those for streams, too, if the packet is part of no stream.
void StreamInspector::inspect_packet(StreamSession& session, const PacketView& packet, bool to_server, bool is_alone,
                                     const Prefilter& prefilter) {
  if (is_passed_) return;
  packet.fill(buffers_);
  const SessionFacts facts = facts_of(session);
  const Subject subject{.packet = packet,
                        .buffers = buffers_,
                        .flow = {flow_, to_server},
                        .now = origin_.now,
                        .is_alone = is_alone && !packet.payload().empty(),
                        .session = &facts};
  alerts_.clear();
  const Detector::Decision decision = [&] {
    if (prefilter.patterns) return detector_.inspect(*rules_, subject, *prefilter.patterns, alerts_);
    if (prefilter.found != nullptr) return detector_.inspect(*rules_, subject, *prefilter.found, alerts_);
    return detector_.inspect(*rules_, subject, alerts_);
  }();
  decide(decision, Needs::packet);
  for (const Detector::Alert& alert : alerts_) {
    if (is_alone || alert.rule->packet_use == PacketUse::also) alerted_.push_back(alert.rule->key);
    report(alert, packet, nullptr);
  }
  if (decision.rule == nullptr || decision.action != Action::pass) return;
  if (is_about_ends(*decision.rule->rule)) flow_->fate = TrackedFlow::Fate::pass;
  is_passed_ = true;
}

/// Adds a decision to those about the packet. The first one counts. At the end of a flow nothing is left to decide.
void StreamInspector::decide(const Detector::Decision& decision, Needs needs) {
  if (is_flow_end_) return;
  if (decision.has_exceeded_limits) outcome_.causes.add(ExceptionCause::limits);
  if (decision.rule == nullptr || outcome_.rule != nullptr) return;
  outcome_.rule = decision.rule;
  outcome_.action = decision.action;
  outcome_.is_about_flow = needs != Needs::packet || decision.rule->is_ip_only;
}

void StreamInspector::evaluate(bool to_server, Needs needs, const SessionFacts& facts, const BufferTable& buffers,
                               const BufferTable* before, const HttpTransaction* http,
                               const std::uint64_t* transaction) {
  const std::vector<std::uint8_t>& frame = current_->side(to_server).frame;
  if (is_passed_ || frame.empty()) return;
  const PacketView packet = view_of(frame);
  Subject subject{.packet = packet, .buffers = buffers, .flow = {flow_, to_server}, .now = origin_.now, .needs = needs};
  subject.session = &facts;
  subject.before = before;
  alerts_.clear();
  const Detector::Decision decision = detector_.inspect(*rules_, subject, alerts_);
  decide(decision, needs);
  for (const Detector::Alert& alert : alerts_) {
    if (!is_flow_end_ && std::ranges::find(alerted_, alert.rule->key) != alerted_.end()) continue;
    if (transaction != nullptr) {
      const std::pair key(*transaction, alert.rule->key);
      if (std::ranges::find(current_->alerted, key) != current_->alerted.end()) continue;
      if (current_->alerted.size() == kMostAlerted) current_->alerted.erase(current_->alerted.begin());
      current_->alerted.push_back(key);
    }
    report(alert, packet, http);
  }
  // A pass rule about a stream passes the rest of the flow.
  if (decision.rule != nullptr && decision.action == Action::pass) {
    flow_->fate = TrackedFlow::Fate::pass;
    is_passed_ = true;
  }
}

void StreamInspector::report(const Detector::Alert& alert, const PacketView& packet, const HttpTransaction* http) {
  Event event = make_event(alert, packet, *rules_, origin_.now);
  event.number = origin_.number;
  event.made_by = origin_.made_by;
  event.port = current_->port;
  if (is_flow_end_) event.flags |= Event::kFlowEnd;
  const Action action = alert.action;
  if (is_inline_ && !is_flow_end_ && action != Action::alert && action != Action::pass) event.flags |= Event::kBlocked;
  current_->record.alerted = true;
  const bool has_reader = sink_.wants(Event::Kind::alert);
  sink_.on_event(event, has_reader ? alert_members(current_->application, http) : std::string());
}

Event StreamInspector::event_of(bool to_server) const {
  const std::vector<std::uint8_t>& frame = current_->side(to_server).frame;
  const std::vector<std::uint8_t>& other = current_->side(!to_server).frame;
  Event event = make_event({.to_server = to_server, .flow = current_->flow->id}, view_of(frame.empty() ? other : frame),
                           *rules_, origin_.now);
  if (frame.empty()) {
    std::swap(event.source, event.destination);
    std::swap(event.source_port, event.destination_port);
  }
  event.number = origin_.number;
  event.made_by = origin_.made_by;
  event.port = current_->port;
  if (is_flow_end_) event.flags |= Event::kFlowEnd;
  return event;
}

}  // namespace penumbra::ids
