// SPDX-License-Identifier: Apache-2.0
//
// Stores a packet's capture time in a dynamic field of its mbuf. DPDK's own timestamp field is unsuitable, because
// drivers use arbitrary units and clocks.
#pragma once

#include <rte_mbuf.h>
#include <rte_mbuf_dyn.h>

#include <cstdint>

namespace penumbra::io {

/// Nanoseconds since 1970-01-01. Copies are cheap; create one before packets flow.
class MbufTime {
 public:
  /// Throws std::runtime_error if DPDK has no room for the field. The EAL must be running.
  MbufTime();

  void set(rte_mbuf& packet, std::uint64_t nanoseconds) const {
    *RTE_MBUF_DYNFIELD(&packet, offset_, std::uint64_t*) = nanoseconds;
    packet.ol_flags |= flag_;
  }
  bool has(const rte_mbuf& packet) const { return (packet.ol_flags & flag_) != 0; }
  std::uint64_t get(const rte_mbuf& packet) const { return *RTE_MBUF_DYNFIELD(&packet, offset_, const std::uint64_t*); }

 private:
  int offset_;
  std::uint64_t flag_;
};

}  // namespace penumbra::io
