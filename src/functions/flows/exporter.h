// SPDX-License-Identifier: Apache-2.0
//
// Sends closed flows to a collector over UDP, from a socket of the host's stack. The exporter is an exporting process
// (RFC 7011).
#pragma once

#include <chrono>
#include <cstdint>

#include "base/file_descriptor.h"
#include "functions/flows/messages.h"
#include "functions/flows/settings.h"

namespace penumbra::flows {

/// Holds the counters of all exporters of a run.
struct ExportCounters {
  std::uint64_t flows = 0;          ///< flows in messages that the host accepted
  std::uint64_t packets = 0;        ///< packets of the exported flows
  std::uint64_t bytes = 0;          ///< bytes of the exported flows
  std::uint64_t messages = 0;       ///< messages that the host accepted
  std::uint64_t templates = 0;      ///< number of times the templates were sent
  std::uint64_t lost_messages = 0;  ///< messages that the host refused
  std::uint64_t lost_flows = 0;     ///< flows in the lost messages
};

/// Only one thread at a time may use this class.
class Exporter {
 public:
  /// Counts into `counters`, which must outlive the exporter. Throws std::system_error if no socket can be created.
  Exporter(const ExportSettings& settings, ExportCounters& counters);

  /// Adds a flow to the current message. The message is sent when it is full, or by flush(). `now` is the time of a
  /// steady clock.
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
  std::uint64_t flows_ = 0, packets_ = 0, bytes_ = 0;  ///< in the current message
};

}  // namespace penumbra::flows
