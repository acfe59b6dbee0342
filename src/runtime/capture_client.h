// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <vector>

#include "runtime/control_client.h"

namespace penumbra::runtime {

/// A capture of a running router as its client sees it: capture_session.h says what comes.
class CaptureClient {
 public:
  /// Asks for a capture (capture_request.h has the words). Throws as RouterConnection does.
  CaptureClient(const std::filesystem::path& socket, std::string_view what, std::span<const std::string> arguments);

  /// The next whole records, as they stand in a capture file; none when the capture has ended. Waits for them. When the
  /// descriptor `interrupted` becomes readable the router is told to end. Throws std::runtime_error if it hangs up.
  std::span<const std::uint8_t> next(int interrupted);
  /// {"captured": N, "lost": N, "reasons": {...}}. After next() has returned none.
  nlohmann::ordered_json report();

 private:
  RouterConnection connection_;
  std::vector<std::uint8_t> frame_;
};

}  // namespace penumbra::runtime
