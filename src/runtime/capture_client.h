// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <vector>

#include "runtime/control_client.h"

namespace penumbra::runtime {

/// Receives a capture of a running router. See capture_session.h for the format.
class CaptureClient {
 public:
  /// Requests a capture (see capture_request.h for the words). Throws like RouterConnection.
  CaptureClient(const std::filesystem::path& socket, std::string_view what, std::span<const std::string> arguments);

  /// Waits for the next whole records and returns them in the format of a capture file. Returns nothing after the end
  /// of the capture. When the descriptor `interrupted` becomes readable, asks the router to end the capture. Throws
  /// std::runtime_error if the router hangs up.
  std::span<const std::uint8_t> next(int interrupted);
  /// Returns {"captured": N, "lost": N, "reasons": {...}}. Call after next() has returned nothing.
  nlohmann::ordered_json report();

 private:
  RouterConnection connection_;
  std::vector<std::uint8_t> frame_;
};

}  // namespace penumbra::runtime
