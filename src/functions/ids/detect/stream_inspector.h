// SPDX-License-Identifier: Apache-2.0
//
// Evaluates rules on packets, on the streams that they carry, and on the messages of applications.
#pragma once

#include <array>
#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "functions/ids/applications/parser.h"
#include "functions/ids/applications/recognition.h"
#include "functions/ids/detect/detector.h"
#include "functions/ids/detect/eve.h"
#include "functions/ids/detect/session_facts.h"
#include "functions/ids/streams/tcp_session.h"

namespace penumbra::ids {

/// The packets of a flow, by direction: to the client, to the server.
struct FlowRecord {
  std::array<std::uint64_t, 2> packets{}, bytes{};
  std::array<std::uint8_t, 2> tcp_flags{};
  std::uint64_t first = 0, last = 0;  ///< Microseconds since 1970.
  bool alerted = false, has_timed_out = false;
};

/// Takes events. `members` are further members of the event's object, as JSON text without braces.
class EventSink {
 public:
  virtual ~EventSink() = default;
  virtual void on_alert(const Event& event, const std::string& members) = 0;
  virtual void on_log(const Event& event, std::string_view type, const std::string& members) = 0;
};

/// One worker's sessions. Memory of streams is bounded by StreamOptions, the number of sessions by `most_sessions`.
class StreamInspector : private StreamConsumer, private ApplicationConsumer {
 public:
  struct Limits {
    Detector::Limits detector;
    StreamOptions streams;
    std::size_t most_sessions = std::size_t{1} << 18;
    /// The policies of receivers; the last that has the address counts. Others have StreamPolicy::bsd.
    std::vector<std::pair<std::shared_ptr<const AddressSet>, StreamPolicy>> policies;
  };
  /// The rules and the sink must outlive the inspector.
  StreamInspector(const CompiledRules& rules, const Limits& limits, EventSink& sink);
  ~StreamInspector() override;

  /// Inspects an Ethernet frame at `now`, in microseconds. `number` counts packets. Returns false if its headers cannot
  /// be read.
  bool inspect(std::span<const std::uint8_t> frame, std::uint64_t now, std::uint64_t number);
  /// Ends all sessions: at the end of a capture.
  void finish();

  const Detector& detector() const { return detector_; }
  const StreamContext& streams() const { return streams_; }
  std::uint64_t sessions() const { return opened_; }

 private:
  struct Session;

  Session& session_of(const FlowTracker::Found& found, const PacketView& packet, std::span<const std::uint8_t> frame,
                      std::uint64_t now);
  StreamPolicy policy_of(const PacketView& packet, const PacketView::Address& address) const;
  void end_session(Session& session, bool by_timeout);
  void end_old_sessions(std::uint64_t now);
  void inspect_packet(Session& session, const PacketView& packet, bool to_server);
  void read_datagram(Session& session, const PacketView& packet, bool to_server);
  void recognize(Session& session, bool to_server);
  static void give_up_recognition(Session& session);
  void begin_application(Session& session, Application application);
  void inspect_raw(bool to_server);
  void evaluate(bool to_server, Needs needs, const SessionFacts& facts, const BufferTable& buffers,
                const BufferTable* before, const HttpTransaction* http, const std::uint64_t* transaction);
  void report(const Detector::Alert& alert, const PacketView& packet, const HttpTransaction* http);
  SessionFacts facts_of(const Session& session) const;
  Event event_of(bool to_server) const;
  void log(bool to_server, std::string_view type, const std::string& members);

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

  const CompiledRules& rules_;
  Limits limits_;
  EventSink& sink_;
  Detector detector_;
  StreamContext streams_;
  std::list<Session> sessions_;  ///< The session that was idle the longest comes first.
  std::unordered_map<std::uint64_t, std::list<Session>::iterator> by_flow_;
  std::uint64_t opened_ = 0;
  std::vector<Detector::Alert> alerts_;
  BufferTable buffers_, before_;

  // The packet that is inspected.
  Session* current_ = nullptr;
  TrackedFlow* flow_ = nullptr;
  const HttpTransaction* http_ = nullptr;
  std::uint64_t now_ = 0, number_ = 0;
  bool is_passed_ = false, is_flow_end_ = false;
};

}  // namespace penumbra::ids
