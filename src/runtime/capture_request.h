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

/// Which packets a capture wants, and how much of each.
struct CaptureRequest {
  static constexpr std::uint32_t kMostBytes = 65535;  ///< of a packet

  std::uint16_t port = 0;  ///< of received and sent ones
  bool received = false, sent = false;
  bool dropped = false, punted = false;
  std::optional<std::uint16_t> reason;   ///< of dropped and punted ones: only this
  std::unique_ptr<PacketFilter> filter;  ///< null: all
  std::uint32_t bytes = kMostBytes;
  std::uint64_t packets = 0;  ///< 0: without end
};

/// Reads `port NAME [--direction rx|tx|both]` or `drops [--punts yes] [--reason REASON]`, each with
/// [--filter EXPRESSION] [--count N] [--snaplen BYTES]. Throws std::invalid_argument with what is wrong, for the filter
/// in libpcap's words.
CaptureRequest parse_capture_request(std::string_view what, std::span<const std::string> arguments,
                                     const Pipeline& pipeline, const std::vector<std::string>& ports);

}  // namespace penumbra::runtime
