// SPDX-License-Identifier: Apache-2.0
//
// Evaluates rules on packets, on the streams that they carry, and on the messages of applications.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "functions/ids/applications/parser.h"
#include "functions/ids/applications/recognition.h"
#include "functions/ids/detect/detector.h"
#include "functions/ids/detect/eve.h"
#include "functions/ids/detect/session_facts.h"
#include "functions/ids/detect/session_table.h"
#include "functions/ids/rules/exceptions.h"
#include "functions/ids/streams/stream_settings.h"

namespace penumbra::ids {

/// Where a packet comes from.
struct PacketOrigin {
  std::uint64_t now = 0;                ///< Microseconds since 1970.
  std::uint64_t number = 0;             ///< The packet's place in its capture, from 1; 0: no capture.
  std::uint16_t port = Event::kNoPort;  ///< The port of the router that received the packet.
  PacketSource made_by = PacketSource::wire;
};

/// Holds the findings of a search in a packet's payload. If nothing is set, the detector searches.
struct Prefilter {
  const patterns_found* found = nullptr;  ///< By the shader.
  // NOLINTNEXTLINE(readability-redundant-member-init): initialisers may omit the member
  std::optional<std::span<const std::uint32_t>> patterns = {};  ///< By Hyperscan.
};

/// Tells what became of a packet.
struct Inspection {
  TrackedFlow* flow = nullptr;  ///< Valid until the next packet. Null: the table of flows is full.
  bool to_server = true;
  TrackedFlow::Fate fate = TrackedFlow::Fate::inspect;  ///< The flow's, before the packet.
  const ActiveRule* rule = nullptr;  ///< The first rule that matched and whose action is not `alert`.
  Action action = Action::alert;     ///< The action of that match.
  bool is_about_flow = false;        ///< The rule has matched more than the packet, or tests addresses only.
  ExceptionCauses causes;            ///< Why the packet was not inspected as a whole.
  /// The exception policy of this cause drops the packet, which no rule drops.
  std::optional<ExceptionCause> dropped_for;
  bool is_invalid = false;                ///< The segment was not taken, because its receiver does not take it either.
  std::span<const std::uint8_t> payload;  ///< To be written over the packet's payload, unless it is empty.
};

/// Takes events.
class EventSink {
 public:
  virtual ~EventSink() = default;
  /// Returns false if events of the kind need not be made. Alerts that are not wanted are given without members.
  virtual bool wants(Event::Kind /*kind*/) const { return true; }
  /// `members` are further members of the event's object, as JSON text without braces.
  virtual void on_event(const Event& event, const std::string& members) = 0;
};

/// One worker's sessions. Memory of streams is bounded by StreamOptions, the number of sessions by `most_sessions`.
class StreamInspector : private StreamConsumer, private ApplicationConsumer {
 public:
  struct Limits {
    Detector::Limits detector;
    StreamOptions streams;
    std::size_t most_sessions = std::size_t{1} << 18;
    /// The policies of receivers; the last that has the address counts. Others have StreamPolicy::bsd.
    StreamPolicies policies;
  };
  /// The sink must outlive the inspector.
  StreamInspector(const Limits& limits, EventSink& sink);
  ~StreamInspector() override;

  /// Evaluates `rules` from now on, which must live until others are set. Call before the first packet. If `is_inline`
  /// is set, the caller drops what Inspection says, and bytes are inspected when they arrive. `exceptions` are the
  /// policies of causes that a flow has.
  void use(const CompiledRules& rules, bool is_inline, const ExceptionPolicies& exceptions);
  bool is_inline() const { return is_inline_; }
  /// Inspects a packet. Precondition: it is readable, and `frame` has its bytes.
  Inspection inspect(const PacketView& packet, std::span<const std::uint8_t> frame, const PacketOrigin& origin,
                     const Prefilter& prefilter = {});
  /// Ends sessions that were idle for too long.
  void end_old_sessions(std::uint64_t now);
  /// Ends all sessions: at the end of a capture.
  void finish();

  Detector& detector() { return detector_; }
  const Detector& detector() const { return detector_; }
  const StreamContext& streams() const { return streams_; }
  std::uint64_t sessions() const { return opened_; }
  std::size_t open_sessions() const { return sessions_.size(); }
  /// Returns how many flows of each protocol were recognized.
  const std::array<std::uint64_t, kApplications>& applications() const { return applications_; }

 private:
  StreamSession& session_of(const FlowTracker::Found& found, const PacketView& packet,
                            std::span<const std::uint8_t> frame);
  StreamPolicy policy_of(const PacketView& packet, const PacketView::Address& address) const;
  void end_session(StreamSession& session, bool by_timeout);
  void give_up(StreamSession& session);
  void account(StreamSession& session);
  void follow(StreamSession& session, const PacketView& packet, std::span<const std::uint8_t> frame, bool to_server,
              const Prefilter& prefilter);
  void follow_segment(StreamSession& session, TcpSession& tcp, const PacketView& packet,
                      std::span<const std::uint8_t> frame, bool to_server, const Prefilter& prefilter);
  bool may_follow(const TcpSession& tcp, const TcpSegment& segment, bool is_followed);
  void apply_exceptions();
  void inspect_packet(StreamSession& session, const PacketView& packet, bool to_server, bool is_alone,
                      const Prefilter& prefilter);
  void read_datagram(StreamSession& session, const PacketView& packet, bool to_server);
  void recognize(StreamSession& session, bool to_server);
  static void give_up_recognition(StreamSession& session);
  void give_up_recognition(StreamSession& session, bool to_server);
  void end_recognition(StreamSession& session, bool to_server);
  void begin_application(StreamSession& session, Application application, bool to_server);
  void inspect_raw(bool to_server);
  void inspect_run(bool to_server, TextRun& run);
  void evaluate(bool to_server, Needs needs, const SessionFacts& facts, const BufferTable& buffers,
                const BufferTable* before, const HttpTransaction* http, const std::uint64_t* transaction);
  void decide(const Detector::Decision& decision, Needs needs);
  void report(const Detector::Alert& alert, const PacketView& packet, const HttpTransaction* http);
  SessionFacts facts_of(const StreamSession& session) const;
  Event event_of(bool to_server) const;
  /// Gives an event with the result of `members`, if anyone wants it.
  template <class Members>
  void log(bool to_server, Event::Kind kind, const Members& members) {
    if (!sink_.wants(kind)) return;
    Event event = event_of(to_server);
    event.kind = kind;
    sink_.on_event(event, members());
  }

  void on_text(bool to_server, const StreamText& text) override;
  void on_gap(bool to_server, std::uint64_t bytes) override;
  void on_end(bool to_server) override;
  void on_event(bool to_server, StreamEvent event) override;
  void on_message(const ApplicationMessage& message) override;
  void on_http_end(bool to_server, const HttpTransaction& transaction) override;
  void on_http(const HttpTransaction& transaction) override;
  void on_dns(bool to_server, const DnsMessage& message) override;
  void on_tls(const TlsSession& tls) override;
  void on_application_event(bool to_server, ApplicationEvent event) override;
  void on_application_error() override;

  const CompiledRules* rules_ = nullptr;
  bool is_inline_ = false;
  ExceptionPolicies exceptions_;
  Limits limits_;
  EventSink& sink_;
  Detector detector_;
  StreamContext streams_;
  SessionTable sessions_;
  std::uint64_t opened_ = 0;
  std::array<std::uint64_t, kApplications> applications_{};
  std::vector<Detector::Alert> alerts_;
  /// Keys of rules that have alerted about the packet and see its stream, too: one alert a packet is enough.
  std::vector<std::uint64_t> alerted_;
  BufferTable buffers_, before_;
  std::vector<std::uint8_t> rewritten_;  ///< A frame with another payload.

  // The packet that is inspected.
  StreamSession* current_ = nullptr;
  TrackedFlow* flow_ = nullptr;
  const HttpTransaction* http_ = nullptr;
  Inspection outcome_;
  PacketOrigin origin_;
  bool is_passed_ = false, is_flow_end_ = false;
};

}  // namespace penumbra::ids
