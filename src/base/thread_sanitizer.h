// SPDX-License-Identifier: Apache-2.0
/// What ThreadSanitizer cannot see by itself: order that code it does not instrument, or does not follow, makes between
/// threads. Elsewhere both are nothing.
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
/// Whether it watches.
inline constexpr bool kThreadSanitizer = PENUMBRA_THREAD_SANITIZED;

/// What this thread has written is handed over by way of `object`.
inline void tell_handed_over([[maybe_unused]] void* object) {
#ifdef __SANITIZE_THREAD__
  __tsan_release(object);
#endif
}

/// What others handed over by way of `object` is this thread's now.
inline void tell_taken_over([[maybe_unused]] void* object) {
#ifdef __SANITIZE_THREAD__
  __tsan_acquire(object);
#endif
}

}  // namespace penumbra
