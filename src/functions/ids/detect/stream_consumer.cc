// SPDX-License-Identifier: Apache-2.0
//
// Implements what StreamInspector does with texts of streams, datagrams and messages of applications.
#include <algorithm>
#include <utility>

#include "functions/ids/detect/eve_application.h"
#include "functions/ids/detect/stream_inspector.h"

namespace penumbra::ids {
namespace {

/// Rules are evaluated on a stream when so many bytes are new, when a message has ended, and at the stream's end.
constexpr std::size_t kChunk = 2560;
/// Bytes that were inspected before and that new bytes are inspected with.
constexpr std::size_t kContext = 4096;
/// Bytes of a direction that are kept until the other direction tells the protocol.
constexpr std::size_t kMostEarly = 4096;
/// Datagrams of a flow in which its protocol is searched.
constexpr std::size_t kMostRecognitionPackets = 4;
constexpr std::size_t kMostBeforeGaps = 8;

std::span<const std::uint8_t> bytes_of(const std::string& text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

}  // namespace

void StreamInspector::read_datagram(StreamSession& session, const PacketView& packet, bool to_server) {
  if (packet.payload().empty() || packet.protocol() != ip_protocol::kUdp) return;
  const bool is_unknown = session.sides[0].is_unrecognizable && session.sides[1].is_unrecognizable;
  if (session.application == Application::none && !is_unknown &&
      session.record.packets[0] + session.record.packets[1] <= kMostRecognitionPackets) {
    const Application found = recognize_datagram(packet.payload(), session.server_port);
    if (found == Application::none) {
      give_up_recognition(session, to_server);
    } else {
      begin_application(session, found, to_server);
    }
  }
  if (session.application == Application::none) return;
  SessionFacts facts = facts_of(session);
  packet.fill(buffers_);
  evaluate(to_server, Needs::application, facts, buffers_, nullptr, nullptr, nullptr);
  if (session.parser != nullptr) session.parser->read(to_server, packet.payload(), *this);
}

/// Evaluates the rules about the protocol of a flow, when it was recognized or cannot be. `to_server` is the direction
/// whose bytes have told.
void StreamInspector::end_recognition(StreamSession& session, bool to_server) {
  SessionFacts facts = facts_of(session);
  facts.is_recognition = true;
  evaluate(to_server, Needs::application, facts, {}, nullptr, nullptr, nullptr);
}

void StreamInspector::begin_application(StreamSession& session, Application application, bool to_server) {
  session.application = application;
  ++applications_[static_cast<std::size_t>(application)];
  end_recognition(session, to_server);
  session.parser = make_parser(application, session.tcp.has_value());
  if (application == Application::tls) session.tls = static_cast<const TlsParser*>(session.parser.get());
  for (const bool direction : {true, false}) {
    std::string& early = session.side(direction).early;
    if (session.parser != nullptr && !early.empty()) session.parser->read(direction, bytes_of(early), *this);
    early = {};
  }
}

void StreamInspector::recognize(StreamSession& session, bool to_server) {
  StreamSession::Side& side = session.side(to_server);
  const Recognition found = recognize_stream(to_server, bytes_of(side.early), session.server_port);
  if (found.application != Application::none) return begin_application(session, found.application, to_server);
  if (!found.needs_more) give_up_recognition(session, to_server);
}

/// Gives up a direction. When both directions are given up, the protocol is unknown.
void StreamInspector::give_up_recognition(StreamSession& session, bool to_server) {
  StreamSession::Side& side = session.side(to_server);
  if (session.application != Application::none || side.is_unrecognizable) return;
  side.is_unrecognizable = true;
  if (!session.side(!to_server).is_unrecognizable) return;
  give_up_recognition(session);
  end_recognition(session, to_server);
}

void StreamInspector::give_up_recognition(StreamSession& session) {
  for (StreamSession::Side& side : session.sides) {
    side.is_unrecognizable = true;
    side.early = {};
  }
}

/// Evaluates rules on the bytes of a direction that were not inspected.
void StreamInspector::inspect_raw(bool to_server) {
  StreamSession::Side& side = current_->side(to_server);
  for (TextRun& run : std::exchange(side.before_gaps, {})) inspect_run(to_server, run);
  inspect_run(to_server, side.raw);
}

void StreamInspector::inspect_run(bool to_server, TextRun& run) {
  if (!run.has_new()) return;
  SessionFacts facts = facts_of(*current_);
  facts.is_stream = true;
  buffers_.clear();
  buffers_.set(Buffer::payload, bytes_of(run.bytes));
  buffers_.set_payload_place(run.place);
  before_ = buffers_;
  before_.set(Buffer::payload, bytes_of(run.bytes).first(run.inspected));
  const BufferTable* const before = run.inspected == 0 ? nullptr : &before_;
  evaluate(to_server, Needs::stream, facts, buffers_, before, http_, nullptr);
  if (facts.application != Application::none) {
    evaluate(to_server, Needs::application, facts, buffers_, before, http_, nullptr);
  }
  run.inspected = run.bytes.size();
  if (run.inspected > kContext) {
    const std::size_t dropped = run.inspected - kContext;
    run.bytes.erase(0, dropped);
    run.place += dropped;
    run.inspected = kContext;
  }
}

void StreamInspector::on_text(bool to_server, const StreamText& text) {
  StreamSession& session = *current_;
  StreamSession::Side& side = session.side(to_server);
  if (session.tcp && session.tcp->was_established()) flow_->established = true;
  std::span<const std::uint8_t> rest = text.fresh_bytes();
  while (!rest.empty()) {
    const std::size_t room = kChunk - std::min(kChunk - 1, side.raw.bytes.size() - side.raw.inspected);
    const auto part = rest.first(std::min(room, rest.size()));
    rest = rest.subspan(part.size());
    side.raw.bytes.append(reinterpret_cast<const char*>(part.data()), part.size());
    if (session.application == Application::none && !side.is_unrecognizable) {
      side.early.append(reinterpret_cast<const char*>(part.data()), part.size());
      recognize(session, to_server);
    } else if (session.parser != nullptr) {
      session.parser->read(to_server, part, *this);
    } else if (session.application == Application::none && !session.side(!to_server).is_unrecognizable) {
      // The other direction may still tell the protocol. Its parser then needs all bytes of this one.
      side.early.append(reinterpret_cast<const char*>(part.data()), part.size());
      if (side.early.size() > kMostEarly) {
        give_up_recognition(session);
        end_recognition(session, to_server);
      }
    }
    if (side.raw.bytes.size() - side.raw.inspected >= kChunk) inspect_raw(to_server);
  }
}

void StreamInspector::on_gap(bool to_server, std::uint64_t bytes) {
  StreamSession& session = *current_;
  StreamSession::Side& side = session.side(to_server);
  const std::uint64_t next = side.raw.place + side.raw.bytes.size() + bytes;
  if (side.before_gaps.size() == kMostBeforeGaps) inspect_raw(to_server);
  if (side.raw.has_new()) side.before_gaps.push_back(std::move(side.raw));
  side.raw = {.bytes = {}, .place = next};
  give_up_recognition(session, to_server);
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
      if (!is_flow_end_) outcome_.causes.add(ExceptionCause::memory);
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
  buffers.set(Buffer::payload, bytes_of(current_->side(message.to_server).raw.bytes));
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

void StreamInspector::on_application_error() {
  if (!is_flow_end_) outcome_.causes.add(ExceptionCause::application);
}

}  // namespace penumbra::ids
