// SPDX-License-Identifier: Apache-2.0
#include "functions/ids/detect/stream_inspector.h"

#include <algorithm>

#include "functions/ids/detect/eve_application.h"
#include "packet/parse.h"

namespace penumbra::ids {
namespace {

/// Rules are evaluated on a stream when so many bytes are new, when a message has ended, and at the stream's end.
constexpr std::size_t kChunk = 2560;
/// Bytes that were inspected before and that new bytes are inspected with.
constexpr std::size_t kContext = 4096;
/// Bytes of a direction that are kept until the other direction tells the protocol.
constexpr std::size_t kMostEarly = 4096;
constexpr std::size_t kMostAlerted = 256;

std::span<const std::uint8_t> bytes_of(const std::string& text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

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

void StreamInspector::use(const CompiledRules& rules, bool is_inline) {
  rules_ = &rules;
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
  StreamSession* known = sessions_.find(found.flow->id);
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

/// Gives an event with the result of `members`, if anyone wants it.
template <class Members>
void StreamInspector::log(bool to_server, Event::Kind kind, const Members& members) {
  if (!sink_.wants(kind)) return;
  Event event = event_of(to_server);
  event.kind = kind;
  sink_.on_event(event, members());
}

void StreamInspector::end_old_sessions(std::uint64_t now) {
  origin_.now = std::max(origin_.now, now);
  while (StreamSession* const session = sessions_.find_expired(now)) end_session(*session, true);
}

void StreamInspector::end_session(StreamSession& session, bool by_timeout) {
  StreamSession* const interrupted = current_;
  TrackedFlow* const interrupted_flow = flow_;
  current_ = &session;
  flow_ = &session.flow;
  is_flow_end_ = true;
  is_passed_ = session.flow.fate != TrackedFlow::Fate::inspect;
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
    side.inspected = 0;
  }
}

void StreamInspector::account(StreamSession& session) {
  const std::size_t now = session.text_memory();
  streams_.memory.charge(session.charged, now);
  session.charged = now;
}

SessionFacts StreamInspector::facts_of(const StreamSession& session) const {
  SessionFacts facts{.application = session.application, .has_parser = session.parser != nullptr};
  if (session.tcp) facts.sent = {session.tcp->sent(false), session.tcp->sent(true)};
  if (session.tls != nullptr) {
    facts.tls_states = session.tls->session().states;
    facts.tls_version = session.tls->session().version_bit();
  }
  return facts;
}

Inspection StreamInspector::inspect(const PacketView& packet, std::span<const std::uint8_t> frame,
                                    const PacketOrigin& origin, const Prefilter& prefilter) {
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
  }
  session.flow = *flow_;
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
    const auto header = frame.subspan(headers.transport, headers.payload - headers.transport);
    TcpSegment segment = read_tcp_segment(header, packet.payload());
    if (is_inline_ && session.tcp->is_repetition(segment, to_server)) {
      rewritten_.assign(frame.begin(), frame.end());
      const std::span payload = std::span(rewritten_).subspan(headers.payload, segment.payload.size());
      if (session.tcp->impose(segment, payload, to_server, streams_, *this)) {
        outcome_.payload = segment.payload = payload;
        const PacketView changed(rewritten_, headers);
        inspect_packet(session, changed, to_server, Needs::packet, {});
        return follow_segment(session, *session.tcp, changed, segment, to_server);
      }
    }
    inspect_packet(session, packet, to_server, Needs::packet, prefilter);
    return follow_segment(session, *session.tcp, packet, segment, to_server);
  }
  inspect_packet(session, packet, to_server, Needs::packet, prefilter);
  if (session.tcp && session.tcp->state() != TcpSession::State::none) return;
  inspect_packet(session, packet, to_server, Needs::stream, {});
  if (has_transport) read_datagram(session, packet, to_server);
}

/// Hands a segment to its connection. Rules for streams are evaluated on the packet if it is part of no connection.
void StreamInspector::follow_segment(StreamSession& session, TcpSession& tcp, const PacketView& packet,
                                     const TcpSegment& segment, bool to_server) {
  // A packet that is dropped does not reach its receiver.
  if (is_inline_ && outcome_.rule != nullptr && outcome_.action != Action::pass) return;
  const bool is_followed = tcp.add(segment, to_server, streams_, *this);
  // An inline system decides now, and cannot wait for more bytes.
  if (is_inline_) inspect_raw(to_server);
  if (is_followed || segment.payload.empty()) return;
  outcome_.is_midstream = true;
  inspect_packet(session, packet, to_server, Needs::stream, {});
}

/// Evaluates the rules with these needs on a packet.
void StreamInspector::inspect_packet(StreamSession& session, const PacketView& packet, bool to_server, Needs needs,
                                     const Prefilter& prefilter) {
  if (is_passed_ || (needs == Needs::stream && packet.payload().empty())) return;
  packet.fill(buffers_);
  const SessionFacts facts = facts_of(session);
  const Subject subject{.packet = packet,
                        .buffers = buffers_,
                        .flow = {flow_, to_server},
                        .now = origin_.now,
                        .needs = needs,
                        .session = &facts};
  alerts_.clear();
  const Detector::Decision decision = [&] {
    if (prefilter.patterns) return detector_.inspect(*rules_, subject, *prefilter.patterns, alerts_);
    if (prefilter.found != nullptr) return detector_.inspect(*rules_, subject, *prefilter.found, alerts_);
    return detector_.inspect(*rules_, subject, alerts_);
  }();
  decide(decision, Needs::packet);
  for (const Detector::Alert& alert : alerts_) report(alert, packet, nullptr);
  if (decision.rule == nullptr || decision.action != Action::pass) return;
  if (is_about_ends(*decision.rule->rule)) flow_->fate = TrackedFlow::Fate::pass;
  is_passed_ = true;
}

/// Adds a decision to those about the packet. The first one counts. At the end of a flow nothing is left to decide.
void StreamInspector::decide(const Detector::Decision& decision, Needs needs) {
  if (is_flow_end_) return;
  outcome_.has_exceeded_limits |= decision.has_exceeded_limits;
  if (decision.rule == nullptr || outcome_.rule != nullptr) return;
  outcome_.rule = decision.rule;
  outcome_.action = decision.action;
  outcome_.is_about_flow = needs != Needs::packet;
}

void StreamInspector::read_datagram(StreamSession& session, const PacketView& packet, bool to_server) {
  if (packet.payload().empty() || packet.protocol() != ip_protocol::kUdp) return;
  if (session.application == Application::none && session.record.packets[0] + session.record.packets[1] <= 4) {
    const Application found = recognize_datagram(packet.payload(), session.server_port);
    if (found != Application::none) begin_application(session, found);
  }
  if (session.application == Application::none) return;
  SessionFacts facts = facts_of(session);
  packet.fill(buffers_);
  evaluate(to_server, Needs::application, facts, buffers_, nullptr, nullptr, nullptr);
  if (session.parser != nullptr) session.parser->read(to_server, packet.payload(), *this);
}

void StreamInspector::begin_application(StreamSession& session, Application application) {
  session.application = application;
  ++applications_[static_cast<std::size_t>(application)];
  session.parser = make_parser(application, session.tcp.has_value());
  if (application == Application::tls) session.tls = static_cast<const TlsParser*>(session.parser.get());
  for (const bool to_server : {true, false}) {
    std::string& early = session.side(to_server).early;
    if (session.parser != nullptr && !early.empty()) session.parser->read(to_server, bytes_of(early), *this);
    early = {};
  }
}

void StreamInspector::recognize(StreamSession& session, bool to_server) {
  StreamSession::Side& side = session.side(to_server);
  const Recognition found = recognize_stream(to_server, bytes_of(side.early), session.server_port);
  if (found.application != Application::none) return begin_application(session, found.application);
  side.is_unrecognizable = !found.needs_more;
  if (session.side(!to_server).is_unrecognizable && side.is_unrecognizable) give_up_recognition(session);
}

void StreamInspector::give_up_recognition(StreamSession& session) {
  for (StreamSession::Side& side : session.sides) {
    side.is_unrecognizable = true;
    side.early = {};
  }
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
  Event event = make_event({.to_server = to_server, .flow = current_->flow.id}, view_of(frame.empty() ? other : frame),
                           *rules_, origin_.now);
  if (frame.empty()) {
    std::swap(event.source, event.destination);
    std::swap(event.source_port, event.destination_port);
  }
  event.number = origin_.number;
  event.port = current_->port;
  if (is_flow_end_) event.flags |= Event::kFlowEnd;
  return event;
}

/// Evaluates rules on the bytes of a direction that were not inspected.
void StreamInspector::inspect_raw(bool to_server) {
  StreamSession::Side& side = current_->side(to_server);
  if (side.inspected == side.raw.size()) return;
  SessionFacts facts = facts_of(*current_);
  facts.is_stream = true;
  buffers_.clear();
  buffers_.set(Buffer::payload, bytes_of(side.raw));
  buffers_.set_payload_place(side.raw_place);
  before_ = buffers_;
  before_.set(Buffer::payload, bytes_of(side.raw).first(side.inspected));
  const BufferTable* const before = side.inspected == 0 ? nullptr : &before_;
  evaluate(to_server, Needs::stream, facts, buffers_, before, http_, nullptr);
  if (facts.application != Application::none) {
    evaluate(to_server, Needs::application, facts, buffers_, before, http_, nullptr);
  }
  side.inspected = side.raw.size();
  if (side.inspected > kContext) {
    const std::size_t dropped = side.inspected - kContext;
    side.raw.erase(0, dropped);
    side.raw_place += dropped;
    side.inspected = kContext;
  }
}

void StreamInspector::on_text(bool to_server, const StreamText& text) {
  StreamSession& session = *current_;
  StreamSession::Side& side = session.side(to_server);
  if (session.tcp && session.tcp->was_established()) flow_->established = true;
  std::span<const std::uint8_t> rest = text.fresh_bytes();
  while (!rest.empty()) {
    const std::size_t room = kChunk - std::min(kChunk - 1, side.raw.size() - side.inspected);
    const auto part = rest.first(std::min(room, rest.size()));
    rest = rest.subspan(part.size());
    side.raw.append(reinterpret_cast<const char*>(part.data()), part.size());
    if (session.application == Application::none && !side.is_unrecognizable) {
      side.early.append(reinterpret_cast<const char*>(part.data()), part.size());
      recognize(session, to_server);
    } else if (session.parser != nullptr) {
      session.parser->read(to_server, part, *this);
    } else if (session.application == Application::none && !session.side(!to_server).is_unrecognizable) {
      // The other direction may still tell the protocol. Its parser then needs all bytes of this one.
      side.early.append(reinterpret_cast<const char*>(part.data()), part.size());
      if (side.early.size() > kMostEarly) give_up_recognition(session);
    }
    if (side.raw.size() - side.inspected >= kChunk) inspect_raw(to_server);
  }
}

void StreamInspector::on_gap(bool to_server, std::uint64_t bytes) {
  StreamSession& session = *current_;
  StreamSession::Side& side = session.side(to_server);
  inspect_raw(to_server);
  side.raw_place += side.raw.size() + bytes;
  side.raw.clear();
  side.inspected = 0;
  side.is_unrecognizable = true;
  if (session.parser != nullptr) session.parser->lose(to_server, bytes, *this);
}

void StreamInspector::on_end(bool to_server) {
  if (current_->parser != nullptr) current_->parser->end(to_server, *this);
  if (is_flow_end_) inspect_raw(to_server);
}

void StreamInspector::on_event(bool to_server, StreamEvent event) {
  switch (event) {
    case StreamEvent::flow_limit:
    case StreamEvent::memory_limit:
    case StreamEvent::too_many_segments:
      outcome_.lacks_memory = !is_flow_end_;
      break;
    case StreamEvent::out_of_window:
    case StreamEvent::data_after_fin:
      outcome_.is_invalid = !is_flow_end_;
      break;
    default:
      break;
  }
  if (event == StreamEvent::midstream || event == StreamEvent::depth_reached) return;
  log(to_server, Event::Kind::anomaly, [&] { return anomaly_members("stream", to_string(event), Application::none); });
}

void StreamInspector::on_message(const ApplicationMessage& message) {
  SessionFacts facts = facts_of(*current_);
  facts.is_message = true;
  BufferTable buffers = message.buffers;
  buffers.set(Buffer::payload, bytes_of(current_->side(message.to_server).raw));
  evaluate(message.to_server, Needs::application, facts, buffers, nullptr, message.http, &message.transaction);
  if (message.application != Application::http) inspect_raw(message.to_server);
}

void StreamInspector::on_http_end(bool to_server, const HttpTransaction& transaction) {
  http_ = &transaction;
  inspect_raw(to_server);
  http_ = nullptr;
}

void StreamInspector::on_http(const HttpTransaction& transaction) {
  log(true, Event::Kind::http, [&] { return http_members(transaction); });
}

void StreamInspector::on_dns(bool to_server, const DnsMessage& message) {
  log(to_server, Event::Kind::dns, [&] { return dns_members(message); });
}

void StreamInspector::on_tls(const TlsSession& tls) {
  log(true, Event::Kind::tls, [&] { return tls_members(tls); });
}

void StreamInspector::on_application_event(bool to_server, ApplicationEvent event) {
  log(to_server, Event::Kind::anomaly, [&] {
    return anomaly_members("applayer", kApplicationEventNames[static_cast<std::size_t>(event)], current_->application);
  });
}

}  // namespace penumbra::ids
