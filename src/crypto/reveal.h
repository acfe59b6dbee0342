// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#if defined(PENUMBRA_CHECK_SECRETS) && __has_include(<valgrind/memcheck.h>)
#include <valgrind/memcheck.h>
#endif

namespace penumbra {

/// Returns a result that the caller may branch on, because whoever sends packets learns it anyway. The test of constant
/// time (secrets_check.cc) tells valgrind so.
inline bool reveal(std::uint32_t result) {
#ifdef VALGRIND_MAKE_MEM_DEFINED
  VALGRIND_MAKE_MEM_DEFINED(&result, sizeof result);
#endif
  return result != 0;
}

}  // namespace penumbra
