// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "functions/ids/applications/tls_parser.h"
#include "functions/ids/detect/stream_inspector.h"

namespace penumbra::ids {

/// What is known of a flow in addition to TrackedFlow.
struct StreamInspector::Session {
  /// The text of one direction.
  struct Side {
    std::vector<std::uint8_t> frame;  ///< The headers of the first packet, which stand for those of the stream.
    std::string early;                ///< The first bytes, until the application is recognized.
    std::string raw;                  ///< The last bytes, of which those before `inspected` were inspected.
    std::size_t inspected = 0;
    std::uint64_t raw_place = 0;  ///< The place of the first byte of `raw` in the stream.
    bool is_unrecognizable = false;
  };

  TrackedFlow flow;  ///< As the last packet left it.
  std::optional<TcpSession> tcp;
  std::array<Side, 2> sides;  ///< To the client, to the server.
  Application application = Application::none;
  std::unique_ptr<ApplicationParser> parser;
  const TlsParser* tls = nullptr;  ///< `parser`, if it reads TLS.
  /// Alerts of messages: transaction and rule. A message is evaluated again when more of it is known.
  std::vector<std::pair<std::uint64_t, const ActiveRule*>> alerted;
  FlowRecord record;
  std::uint16_t server_port = 0;

  Side& side(bool to_server) { return sides[to_server ? 1 : 0]; }
};

}  // namespace penumbra::ids
