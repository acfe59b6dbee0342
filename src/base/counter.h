// SPDX-License-Identifier: Apache-2.0
//
// Counters that several threads increase.
#pragma once

#include <atomic>
#include <cstdint>

namespace penumbra {

/// A member of a structure of counters, with the name that users see.
template <class Counters>
struct NamedCounter {
  const char* name;
  std::atomic<std::uint64_t> Counters::* counter;
};

inline void count(std::atomic<std::uint64_t>& counter, std::uint64_t more = 1) {
  counter.fetch_add(more, std::memory_order_relaxed);
}
inline void discount(std::atomic<std::uint64_t>& counter, std::uint64_t fewer = 1) {
  counter.fetch_sub(fewer, std::memory_order_relaxed);
}

}  // namespace penumbra
