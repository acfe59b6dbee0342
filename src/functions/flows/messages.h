// SPDX-License-Identifier: Apache-2.0
//
// IPFIX messages (RFC 7011) of flow records, by libfixbuf, which makes messages, templates and sequence numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "tables/flows/flow_table.h"

namespace penumbra::flows {

/// flowEndReason (RFC 5102, 5.11.3).
enum class EndReason : std::uint8_t { idle = 1, active = 2, ended = 3, forced = 4 };

/// A flow whose account is closed.
struct ClosedFlow {
  flow_key key{};
  FlowCounts counts;
  std::uint64_t first = 0;  ///< ms since 1970
  std::uint64_t last = 0;   ///< likewise
  EndReason reason = EndReason::idle;
};

/// One exporting process's messages for one observation domain. There are four templates: for IPv4 and IPv6, with ports
/// and, of ICMP, with type and code.
class Messages {
 public:
  /// With the headers of IPv6 and UDP in the least packet that every link carries, but for tunnels on the way.
  static constexpr std::size_t kMostBytes = 1400;

  /// Throws std::bad_alloc.
  explicit Messages(std::uint32_t observation_domain);
  ~Messages();
  Messages(const Messages&) = delete;
  Messages& operator=(const Messages&) = delete;

  /// Adds a record to the message that is being made. False if it has no room: then take() comes first.
  bool add(const ClosedFlow& flow);
  /// Makes a message of the templates. To be called after take(), and before it.
  void add_templates();
  /// Ends the message. Valid until the next call; empty if nothing was added.
  std::span<const std::uint8_t> take();

 private:
  struct Fixbuf;
  std::unique_ptr<Fixbuf> fixbuf_;
};

}  // namespace penumbra::flows
