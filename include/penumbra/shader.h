/* SPDX-License-Identifier: Apache-2.0
 *
 * What a shader source includes, and all it may include: the common subset of C11, C++20, CUDA C++ and OpenCL C.
 *
 * A shader is one function over a batch:
 *
 *   PENUMBRA_SHADER void NAME(struct VIEW view, const IN *in..., OUT *out..., uint32_t n)
 *
 * The view is a trivially copyable struct taken by value; columns of const elements are inputs, the others outputs,
 * each n elements long; a shader that reads or rewrites payload takes a `struct penumbra_arena` before n. The body is
 * one `foreach (i, n)`, or several over the same items. penumbra/shader_entry.h reads the signature; nothing is written
 * twice.
 */
#ifndef PENUMBRA_SHADER_H
#define PENUMBRA_SHADER_H

#include "gopt.h"

#if defined(__CUDACC__)
#define PENUMBRA_SHADER static inline __host__ __device__
#else
#define PENUMBRA_SHADER static inline
#endif

/* Reads a table element that the table's owner may overwrite meanwhile: the old value or the new one, never a mix. On
 * a GPU a published mirror does not change under a launch, so a plain load serves there. */
#if defined(__CUDA_ARCH__) || defined(__OPENCL_VERSION__)
#define penumbra_load(p) (*(p))
#else
#define penumbra_load(p) __atomic_load_n((p), __ATOMIC_RELAXED)
#endif
/* The same of an element that says whether others hold what the owner wrote before it: what is read after it is at
 * least as new. Also a plain move on x86. */
#if defined(__CUDA_ARCH__) || defined(__OPENCL_VERSION__)
#define penumbra_load_first(p) (*(p))
#else
#define penumbra_load_first(p) __atomic_load_n((p), __ATOMIC_ACQUIRE)
#endif

/* How many bits of a uint32_t are set. */
#if defined(__CUDA_ARCH__)
#define penumbra_popcount(x) ((uint32_t)__popc(x))
#elif defined(__OPENCL_VERSION__)
#define penumbra_popcount(x) popcount(x)
#else
#define penumbra_popcount(x) ((uint32_t)__builtin_popcount(x))
#endif

/* How many zero bits a uint64_t, which is not 0, has below its lowest one that is set. */
#if defined(__CUDA_ARCH__)
#define penumbra_trailing_zeros(x) ((uint32_t)__ffsll((long long)(x)) - 1)
#elif defined(__OPENCL_VERSION__)
#define penumbra_trailing_zeros(x) ((uint32_t)ctz(x))
#else
#define penumbra_trailing_zeros(x) ((uint32_t)__builtin_ctzll(x))
#endif

/* The upper half of the product of two uint64_t. */
#if defined(__CUDA_ARCH__)
#define penumbra_multiply_high(a, b) __umul64hi((a), (b))
#elif defined(__OPENCL_VERSION__)
#define penumbra_multiply_high(a, b) mul_hi((a), (b))
#else
#define penumbra_multiply_high(a, b) ((uint64_t)(((unsigned __int128)(a) * (b)) >> 64))
#endif

/* Payload of a batch: item i owns length[i] bytes at payload + offset[i]. Items do not overlap. */
struct penumbra_arena {
  uint8_t* payload;
  const uint32_t* offset;
  const uint32_t* length;
};

#endif
