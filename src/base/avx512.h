// SPDX-License-Identifier: Apache-2.0
//
// The intrinsics of AVX-512, for functions with [[gnu::target("arch=x86-64-v4")]].
#pragma once

// GCC 12 takes the registers that its own header leaves undefined for variables that are used so.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#endif
#include <immintrin.h>
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif
