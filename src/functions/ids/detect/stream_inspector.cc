// SPDX-License-Identifier: Apache-2.0
#include "functions/ids/detect/stream_inspector.h"

#include <algorithm>

#include "functions/ids/detect/eve_application.h"
#include "functions/ids/detect/stream_session.h"
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

StreamInspector::StreamInspector(const CompiledRules& rules, const Limits& limits, EventSink& sink)
    : rules_(rules), limits_(limits), sink_(sink), detector_(limits.detector), streams_(limits.streams) {}

StreamInspector::~StreamInspector() {
  for (Session& session : sessions_) {
    if (session.tcp) session.tcp->release(streams_);
  }
}

StreamPolicy StreamInspector::policy_of(const PacketView& packet, const PacketView::Address& address) const {
  StreamPolicy policy = StreamPolicy::bsd;
  for (const auto& [addresses, wanted] : limits_.policies) {
    if (packet.is_in(*addresses, address)) policy = wanted;
  }
  return policy;
}

StreamInspector::Session& StreamInspector::session_of(const FlowTracker::Found& found, const PacketView& packet,
                                                      std::span<const std::uint8_t> frame, std::uint64_t now) {
  auto place = by_flow_.find(found.flow->id);
  if (place == by_flow_.end()) {
    while (sessions_.size() >= limits_.most_sessions) end_session(sessions_.front(), true);
    Session& made = sessions_.emplace_back();
    place = by_flow_.emplace(found.flow->id, std::prev(sessions_.end())).first;
    ++opened_;
    made.flow = *found.flow;
    made.record.first = now;
    const PacketHeaders& headers = packet.headers();
    made.server_port = found.to_server ? headers.destination_port : headers.source_port;
    if (packet.is_tcp()) {
      const StreamPolicy source = policy_of(packet, packet.source()),
                         destination = policy_of(packet, packet.destination());
      made.tcp.emplace(found.to_server ? std::array{source, destination} : std::array{destination, source});
    }
  }
  sessions_.splice(sessions_.end(), sessions_, place->second);
  Session& session = *place->second;
  Session::Side& side = session.side(found.to_server);
  if (side.frame.empty()) {
    const std::size_t size = std::min<std::size_t>(frame.size(), packet.headers().payload);
    side.frame.assign(frame.begin(), frame.begin() + static_cast<std::ptrdiff_t>(size));
  }
  session.record.last = std::max(session.record.last, now);
  const std::size_t direction = found.to_server ? 1 : 0;
  ++session.record.packets[direction];
  session.record.bytes[direction] += frame.size();
  session.record.tcp_flags[direction] |= packet.headers().tcp_flags;
  return session;
}

void StreamInspector::end_old_sessions(std::uint64_t now) {
  constexpr std::uint64_t kLongest = 600000000;
  while (!sessions_.empty() && now > sessions_.front().record.last + kLongest) end_session(sessions_.front(), true);
}

void StreamInspector::end_session(Session& session, bool by_timeout) {
  Session* const interrupted = current_;
  TrackedFlow* const interrupted_flow = flow_;
  current_ = &session;
  flow_ = &session.flow;
  is_flow_end_ = true;
  is_passed_ = session.flow.fate == TrackedFlow::Fate::pass;
  session.record.has_timed_out = by_timeout;
  if (session.tcp) session.tcp->finish(streams_, *this);
  if (session.parser != nullptr) {
    for (const bool to_server : {true, false}) session.parser->end(to_server, *this);
  }
  for (const bool to_server : {true, false}) inspect_raw(to_server);
  log(true, "flow", flow_members(session.record, session.application, session.tcp ? &*session.tcp : nullptr));
  const auto place = by_flow_.find(session.flow.id);
  sessions_.erase(place->second);
  by_flow_.erase(place);
  is_flow_end_ = is_passed_ = false;
  current_ = interrupted;
  flow_ = interrupted_flow;
}

void StreamInspector::finish() {
  while (!sessions_.empty()) end_session(sessions_.front(), false);
}

SessionFacts StreamInspector::facts_of(const Session& session) const {
  SessionFacts facts{.application = session.application, .has_parser = session.parser != nullptr};
  if (session.tcp) facts.sent = {session.tcp->sent(false), session.tcp->sent(true)};
  if (session.tls != nullptr) {
    facts.tls_states = session.tls->session().states;
    facts.tls_version = session.tls->session().version_bit();
  }
  return facts;
}

bool StreamInspector::inspect(std::span<const std::uint8_t> frame, std::uint64_t now, std::uint64_t number) {
  const PacketView packet(frame, parse_headers(frame.data(), frame.size(), frame.size()));
  if (!packet.is_readable()) return false;
  now_ = now;
  number_ = number;
  end_old_sessions(now);
  const FlowTracker::Found found = detector_.track(packet, now);
  if (found.flow == nullptr) return true;
  Session& session = session_of(found, packet, frame, now);
  current_ = &session;
  flow_ = found.flow;
  is_passed_ = flow_->fate == TrackedFlow::Fate::pass;
  if (session.tcp && session.tcp->is_midstream()) flow_->established = true;
  if (!is_passed_) inspect_packet(session, packet, found.to_server);
  const PacketHeaders& headers = packet.headers();
  const bool has_transport = !headers.has(PacketHeaders::kLaterFragment) && !headers.has(PacketHeaders::kFragment);
  if (session.tcp && has_transport && headers.payload >= headers.transport + 20U) {
    const auto header = frame.subspan(headers.transport, headers.payload - headers.transport);
    session.tcp->add(read_tcp_segment(header, packet.payload()), found.to_server, streams_, *this);
  } else if (!session.tcp && has_transport) {
    read_datagram(session, packet, found.to_server);
  }
  session.flow = *flow_;
  current_ = nullptr;
  flow_ = nullptr;
  return true;
}

/// Evaluates the rules for packets, and those for streams on packets that are part of no stream.
void StreamInspector::inspect_packet(Session& session, const PacketView& packet, bool to_server) {
  packet.fill(buffers_);
  Subject subject{.packet = packet, .buffers = buffers_, .flow = {flow_, to_server}, .now = now_};
  SessionFacts facts = facts_of(session);
  subject.session = &facts;
  const auto run = [&] {
    alerts_.clear();
    const Detector::Decision decision = detector_.inspect(rules_, subject, alerts_);
    for (const Detector::Alert& alert : alerts_) report(alert, packet, nullptr);
    if (decision.rule == nullptr || decision.rule->rule->action != Action::pass) return false;
    if (is_about_ends(*decision.rule->rule)) flow_->fate = TrackedFlow::Fate::pass;
    return true;
  };
  is_passed_ = run();
  const bool is_followed =
      session.tcp && (session.tcp->state() != TcpSession::State::none ||
                      (packet.headers().tcp_flags & TcpSegment::kSyn) != 0 || streams_.options.midstream);
  if (is_passed_ || is_followed || packet.payload().empty()) return;
  subject.needs = Needs::stream;
  is_passed_ = run();
}

void StreamInspector::read_datagram(Session& session, const PacketView& packet, bool to_server) {
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

void StreamInspector::begin_application(Session& session, Application application) {
  session.application = application;
  session.parser = make_parser(application, session.tcp.has_value());
  if (application == Application::tls) session.tls = static_cast<const TlsParser*>(session.parser.get());
  for (const bool to_server : {true, false}) {
    std::string& early = session.side(to_server).early;
    if (session.parser != nullptr && !early.empty()) session.parser->read(to_server, bytes_of(early), *this);
    early = {};
  }
}

void StreamInspector::recognize(Session& session, bool to_server) {
  Session::Side& side = session.side(to_server);
  const Recognition found = recognize_stream(to_server, bytes_of(side.early), session.server_port);
  if (found.application != Application::none) return begin_application(session, found.application);
  side.is_unrecognizable = !found.needs_more;
  if (session.side(!to_server).is_unrecognizable && side.is_unrecognizable) give_up_recognition(session);
}

void StreamInspector::give_up_recognition(Session& session) {
  for (Session::Side& side : session.sides) {
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
  Subject subject{.packet = packet, .buffers = buffers, .flow = {flow_, to_server}, .now = now_, .needs = needs};
  subject.session = &facts;
  subject.before = before;
  alerts_.clear();
  const Detector::Decision decision = detector_.inspect(rules_, subject, alerts_);
  for (const Detector::Alert& alert : alerts_) {
    if (transaction != nullptr) {
      const std::pair key(*transaction, alert.rule);
      if (std::ranges::find(current_->alerted, key) != current_->alerted.end()) continue;
      if (current_->alerted.size() == kMostAlerted) current_->alerted.erase(current_->alerted.begin());
      current_->alerted.push_back(key);
    }
    report(alert, packet, http);
  }
  // A pass rule about a stream passes the rest of the flow.
  if (decision.rule != nullptr && decision.rule->rule->action == Action::pass) {
    flow_->fate = TrackedFlow::Fate::pass;
    is_passed_ = true;
  }
}

void StreamInspector::report(const Detector::Alert& alert, const PacketView& packet, const HttpTransaction* http) {
  Event event = make_event(alert, packet, rules_, now_);
  event.number = number_;
  if (is_flow_end_) event.flags |= Event::kFlowEnd;
  current_->record.alerted = true;
  sink_.on_alert(event, alert_members(current_->application, http));
}

Event StreamInspector::event_of(bool to_server) const {
  const std::vector<std::uint8_t>& frame = current_->side(to_server).frame;
  const std::vector<std::uint8_t>& other = current_->side(!to_server).frame;
  Event event = make_event({.to_server = to_server, .flow = current_->flow.id}, view_of(frame.empty() ? other : frame),
                           rules_, now_);
  if (frame.empty()) {
    std::swap(event.source, event.destination);
    std::swap(event.source_port, event.destination_port);
  }
  event.number = number_;
  if (is_flow_end_) event.flags |= Event::kFlowEnd;
  return event;
}

void StreamInspector::log(bool to_server, std::string_view type, const std::string& members) {
  sink_.on_log(event_of(to_server), type, members);
}

/// Evaluates rules on the bytes of a direction that were not inspected.
void StreamInspector::inspect_raw(bool to_server) {
  Session::Side& side = current_->side(to_server);
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
  Session& session = *current_;
  Session::Side& side = session.side(to_server);
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
  Session& session = *current_;
  Session::Side& side = session.side(to_server);
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
  if (event == StreamEvent::midstream || event == StreamEvent::depth_reached) return;
  log(to_server, "anomaly", anomaly_members("stream", to_string(event), Application::none));
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
  log(true, "http", http_members(transaction));
}

void StreamInspector::on_dns(bool to_server, const DnsMessage& message) {
  log(to_server, "dns", dns_members(message));
}

void StreamInspector::on_tls(const TlsSession& tls) {
  log(true, "tls", tls_members(tls));
}

void StreamInspector::on_application_event(bool to_server, ApplicationEvent event) {
  log(to_server, "anomaly",
      anomaly_members("applayer", kApplicationEventNames[static_cast<std::size_t>(event)], current_->application));
}

}  // namespace penumbra::ids
