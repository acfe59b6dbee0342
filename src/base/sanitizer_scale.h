// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace penumbra {

#if defined(__has_feature)
#define PENUMBRA_SANITIZED (__has_feature(address_sanitizer) || __has_feature(thread_sanitizer))
#elif defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define PENUMBRA_SANITIZED 1
#else
#define PENUMBRA_SANITIZED 0
#endif

/// The factor by which tests reduce their work under a sanitizer.
#if PENUMBRA_SANITIZED
inline constexpr std::size_t kSanitizerScale = 16;
#else
inline constexpr std::size_t kSanitizerScale = 1;
#endif

}  // namespace penumbra
