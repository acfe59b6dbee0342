// SPDX-License-Identifier: Apache-2.0
/// Annotates order between threads that ThreadSanitizer cannot see, because code is not instrumented or not understood.
/// In other builds the functions do nothing.
#pragma once

#ifdef __SANITIZE_THREAD__
#include <sanitizer/tsan_interface.h>
#endif

namespace penumbra {

#if defined(__has_feature)
#define PENUMBRA_THREAD_SANITIZED __has_feature(thread_sanitizer)
#elif defined(__SANITIZE_THREAD__)
#define PENUMBRA_THREAD_SANITIZED 1
#else
#define PENUMBRA_THREAD_SANITIZED 0
#endif
/// True in builds with ThreadSanitizer.
inline constexpr bool kThreadSanitizer = PENUMBRA_THREAD_SANITIZED;

/// Marks that this thread's writes are handed over through `object`.
inline void tell_handed_over([[maybe_unused]] void* object) {
#ifdef __SANITIZE_THREAD__
  __tsan_release(object);
#endif
}

/// Marks that this thread takes over the writes that were handed over through `object`.
inline void tell_taken_over([[maybe_unused]] void* object) {
#ifdef __SANITIZE_THREAD__
  __tsan_acquire(object);
#endif
}

}  // namespace penumbra
