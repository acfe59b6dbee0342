// SPDX-License-Identifier: Apache-2.0
//
// When a packet was captured, carried in its mbuf in a dynamic field of our own: what drivers write into DPDK's field
// for receive timestamps is of any unit and of any clock.
#pragma once

#include <rte_mbuf.h>
#include <rte_mbuf_dyn.h>

#include <cstdint>

namespace penumbra::io {

/// Nanoseconds since 1970-01-01. Copies are cheap; make one before packets flow.
class MbufTime {
 public:
  /// Throws std::runtime_error if DPDK has no room for the field. The EAL must run.
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
