// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "functions/ids/applications/tls_parser.h"
#include "functions/ids/detect/flow_tracker.h"
#include "functions/ids/streams/tcp_session.h"

namespace penumbra::ids {

/// The packets of a flow, by direction: to the client, to the server.
struct FlowRecord {
  std::array<std::uint64_t, 2> packets{}, bytes{};
  std::array<std::uint8_t, 2> tcp_flags{};
  std::uint64_t first = 0, last = 0;  ///< Microseconds since 1970.
  bool alerted = false, has_timed_out = false;
};

/// Bytes of a stream without a gap.
struct TextRun {
  std::string bytes;
  std::size_t inspected = 0;  ///< The bytes before were inspected.
  std::uint64_t place = 0;    ///< The place of the first byte in the stream.

  bool has_new() const { return inspected < bytes.size(); }
};

/// Holds the state of a flow in addition to TrackedFlow.
struct StreamSession {
  /// The text of one direction.
  struct Side {
    std::vector<std::uint8_t> frame;   ///< The headers of the first packet, which stand for those of the stream.
    std::string early;                 ///< The first bytes, until the application is recognized.
    TextRun raw;                       ///< The last bytes.
    std::vector<TextRun> before_gaps;  ///< Runs that precede `raw` and have bytes that were not inspected.
    bool is_unrecognizable = false;
  };

  TrackedFlow* flow = nullptr;              ///< In the table of flows, or in `removed_flow`.
  std::optional<TrackedFlow> removed_flow;  ///< The last state of a flow that the table of flows has removed.
  std::optional<TcpSession> tcp;
  std::array<Side, 2> sides;  ///< To the client, to the server.
  Application application = Application::none;
  std::unique_ptr<ApplicationParser> parser;
  const TlsParser* tls = nullptr;  ///< `parser`, if it reads TLS.
  /// Alerts of messages: transaction and key of the rule. A message is evaluated again when more of it is known.
  std::vector<std::pair<std::uint64_t, std::uint64_t>> alerted;
  FlowRecord record;
  std::size_t charged = 0;  ///< Bytes that StreamMemory counts for texts and the parser.
  std::uint16_t server_port = 0;
  std::uint16_t port = 0;  ///< The port of the router that received the first packet.
  std::uint8_t protocol = 0;
  // The session's place in the SessionTable.
  std::size_t list = 0;
  std::list<StreamSession>::iterator place;

  /// Keeps the flow, which the table of flows is about to remove.
  void keep_flow() { flow = &removed_flow.emplace(*flow); }
  Side& side(bool to_server) { return sides[to_server ? 1 : 0]; }
  /// Returns about how many bytes the texts and the parser hold.
  std::size_t text_memory() const {
    std::size_t bytes = parser == nullptr ? 0 : parser->memory();
    for (const Side& each : sides) {
      bytes += each.frame.capacity() + each.early.capacity() + each.raw.bytes.capacity();
      for (const TextRun& run : each.before_gaps) bytes += sizeof run + run.bytes.capacity();
    }
    return bytes;
  }
};

}  // namespace penumbra::ids
