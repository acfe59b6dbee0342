// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/packet_filter.h"
#include "runtime/pipeline.h"

namespace penumbra::runtime {

/// Selects the packets of a capture, and the number of bytes to copy.
struct CaptureRequest {
  static constexpr std::uint32_t kMostBytes = 65535;  ///< Bytes of a packet.

  std::uint16_t port = 0;  ///< Port of received and sent packets.
  bool received = false, sent = false;
  bool dropped = false, punted = false;
  std::optional<std::uint16_t> reason;   ///< If set, only dropped and punted packets with this reason.
  std::unique_ptr<PacketFilter> filter;  ///< Null: all packets match.
  std::uint32_t bytes = kMostBytes;
  std::uint64_t packets = 0;  ///< 0: no limit.
};

/// Parses `port NAME [--direction rx|tx|both]` or `drops [--punts yes] [--reason REASON]`, each with [--filter
/// EXPRESSION] [--count N] [--snaplen BYTES]. Throws std::invalid_argument with the fault; for the filter with
/// libpcap's message.
CaptureRequest parse_capture_request(std::string_view what, std::span<const std::string> arguments,
                                     const Pipeline& pipeline, const std::vector<std::string>& ports);

}  // namespace penumbra::runtime
