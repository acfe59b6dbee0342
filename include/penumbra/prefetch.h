// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace penumbra {

/// Prefetches a cache line of a table into the second-level cache, as gopt does at a hint. A miss of the first-level
/// cache occupies a miss buffer until the line arrives (24 on a Zen 4). A line for the second level only occupies none.
/// Reading the line later costs a few more cycles, which the core overlaps.
///
/// GCC 12 assumes that a function that only prefetches has no effect, and removes calls of such functions from each
/// other. The empty instruction counts as an effect.
inline void prefetch_line(const void* p) {
  __builtin_prefetch(p, 0, 2);
  asm volatile("" : : "r"(p));
}

/// Prefetches a cache line for writing, exclusively to this core. x86-64-v3 has no built-in for that, so GCC would
/// prefetch for reading. Cores without the instruction ignore it.
inline void prefetch_to_write(const void* p) {
  asm volatile("prefetchw %0" : : "m"(*static_cast<const char*>(p)));
}

}  // namespace penumbra
