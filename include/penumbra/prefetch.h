// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace penumbra {

/// Asks for a cache line of a table, as gopt does at a hint: into the second-level cache. A line that is on its way to
/// the first-level cache takes one of that cache's few places for misses until it is there (24 on a Zen 4), one that
/// is to go no further than the second does not. Reading it then costs a few cycles more, which the core overlaps.
///
/// GCC 12 takes a function that only prefetches for one without an effect, and leaves calls of it out, also where it is
/// called by another such function. The empty instruction is an effect.
inline void prefetch_line(const void* p) {
  __builtin_prefetch(p, 0, 2);
  asm volatile("" : : "r"(p));
}

/// Asks for a cache line that will be written, for this core alone. x86-64-v3 has no name for that, so GCC would ask
/// for a line to be read; what is no prefetch to a core is nothing to it.
inline void prefetch_to_write(const void* p) {
  asm volatile("prefetchw %0" : : "m"(*static_cast<const char*>(p)));
}

}  // namespace penumbra
