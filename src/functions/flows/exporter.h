// SPDX-License-Identifier: Apache-2.0
//
// The exporting process (RFC 7011): sends closed flows to a collector over UDP, from a socket of the host's stack.
#pragma once

#include <chrono>
#include <cstdint>

#include "base/file_descriptor.h"
#include "functions/flows/messages.h"
#include "functions/flows/settings.h"

namespace penumbra::flows {

/// Of all exporters of a run.
struct ExportCounters {
  std::uint64_t flows = 0;          ///< in messages that the host took
  std::uint64_t packets = 0;        ///< of these flows
  std::uint64_t bytes = 0;          ///< likewise
  std::uint64_t messages = 0;       ///< that the host took
  std::uint64_t templates = 0;      ///< how often they were sent
  std::uint64_t lost_messages = 0;  ///< that the host did not take
  std::uint64_t lost_flows = 0;     ///< in these
};

/// Used by one thread at a time.
class Exporter {
 public:
  /// Counts into `counters`, which outlives it. Throws std::system_error if there is no socket to be had.
  Exporter(const ExportSettings& settings, ExportCounters& counters);

  /// The flow is in a message, which is sent when it is full, or with flush(). `now` is of a steady clock.
  void add(const ClosedFlow& flow, milliseconds now);
  void flush();

 private:
  const milliseconds template_interval_;
  ExportCounters& counters_;
  const sockaddr_storage address_;
  const socklen_t address_bytes_;
  FileDescriptor socket_;
  Messages messages_;
  milliseconds templates_due_{0};
  std::uint64_t flows_ = 0, packets_ = 0, bytes_ = 0;  ///< in the message that is being made
};

}  // namespace penumbra::flows
