// SPDX-License-Identifier: Apache-2.0
//
// Packets change threads through DPDK's rings and pools. Those synchronise, but stand in archives that ThreadSanitizer
// has not instrumented, so it is told here; in any other build this is nothing.
#pragma once

#include <cstdint>

#if defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#endif

struct rte_mbuf;

namespace penumbra::runtime {

/// Before packets are given to DPDK, to be sent or freed.
inline void hand_over([[maybe_unused]] rte_mbuf* const* packets, [[maybe_unused]] std::uint16_t count) {
#if defined(__SANITIZE_THREAD__)
  for (std::uint16_t i = 0; i < count; ++i) __tsan_release(packets[i]);
#endif
}

/// After packets have come from DPDK.
inline void take_over([[maybe_unused]] rte_mbuf* const* packets, [[maybe_unused]] std::uint16_t count) {
#if defined(__SANITIZE_THREAD__)
  for (std::uint16_t i = 0; i < count; ++i) __tsan_acquire(packets[i]);
#endif
}

}  // namespace penumbra::runtime
