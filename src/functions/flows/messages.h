// SPDX-License-Identifier: Apache-2.0
//
// Encodes flow records as IPFIX messages (RFC 7011). libfixbuf builds messages, templates and sequence numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "tables/flows/flow_table.h"

namespace penumbra::flows {

/// Lists the values of flowEndReason (RFC 5102, 5.11.3).
enum class EndReason : std::uint8_t { idle = 1, active = 2, ended = 3, forced = 4 };

/// Represents a flow whose account is closed.
struct ClosedFlow {
  flow_key key{};
  FlowCounts counts;
  std::uint64_t first = 0;  ///< ms since 1970
  std::uint64_t last = 0;   ///< ms since 1970
  EndReason reason = EndReason::idle;
};

/// Encodes the messages of one exporting process for one observation domain. There are four templates: for IPv4 and
/// IPv6, each with ports or with ICMP type and code.
class Messages {
 public:
  /// With the headers of IPv6 and UDP, a message fits into the 1,500 bytes of ordinary links. Tunnels on the path may
  /// have a smaller MTU.
  static constexpr std::size_t kMostBytes = 1400;

  /// Throws std::bad_alloc.
  explicit Messages(std::uint32_t observation_domain);
  ~Messages();
  Messages(const Messages&) = delete;
  Messages& operator=(const Messages&) = delete;

  /// Adds a record to the current message. Returns false if the message is full; the caller must then call take()
  /// first.
  bool add(const ClosedFlow& flow);
  /// Fills a message with the templates. Must be called directly after take() and followed by take().
  void add_templates();
  /// Ends the current message and returns it, or an empty span if nothing was added. The result is valid until the next
  /// call.
  std::span<const std::uint8_t> take();

 private:
  struct Fixbuf;
  std::unique_ptr<Fixbuf> fixbuf_;
};

}  // namespace penumbra::flows
