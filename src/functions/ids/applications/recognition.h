// SPDX-License-Identifier: Apache-2.0
//
// Finds the protocol of an application from the first bytes of a flow.
#pragma once

#include <cstdint>
#include <span>

#include "functions/ids/rules/protocol.h"

namespace penumbra::ids {

/// Bytes of a direction after which a protocol that was not found stays unknown.
inline constexpr std::size_t kMostRecognitionBytes = 512;

struct Recognition {
  Application application = Application::none;
  bool needs_more = false;  ///< More bytes may decide.
};

/// Recognizes the protocol of a TCP connection from the first bytes of one direction. `port` is the server's.
Recognition recognize_stream(bool to_server, std::span<const std::uint8_t> bytes, std::uint16_t port);

/// Recognizes the protocol of a datagram.
Application recognize_datagram(std::span<const std::uint8_t> bytes, std::uint16_t port);

}  // namespace penumbra::ids
