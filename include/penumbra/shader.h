/* SPDX-License-Identifier: Apache-2.0
 *
 * The only header that a shader source may include: the common subset of C11, C++20, CUDA C++ and OpenCL C.
 *
 * A shader is one function over a batch:
 *
 *   PENUMBRA_SHADER void NAME(struct VIEW view, const IN *in..., OUT *out..., uint32_t n)
 *
 * The view is a trivially copyable struct taken by value. Columns of const elements are inputs, the others outputs;
 * each has n elements. A shader that reads payload takes a `struct penumbra_source` among them, and a shader that
 * writes payload a `struct penumbra_destination`, each at most once. The body is one `foreach (i, n)`, or several over
 * the same items. penumbra/shader_entry.h reads the signature from the source.
 */
#ifndef PENUMBRA_SHADER_H
#define PENUMBRA_SHADER_H

#include "gopt.h"

#if defined(__CUDACC__)
#define PENUMBRA_SHADER static inline __host__ __device__
#else
#define PENUMBRA_SHADER static inline
#endif

/* Reads a table element that the table's owner may overwrite concurrently: the old value or the new value, never a
 * mix. On a GPU a published mirror does not change during a launch, so a plain load is enough. */
#if defined(__CUDA_ARCH__) || defined(__OPENCL_VERSION__)
#define penumbra_load(p) (*(p))
#else
#define penumbra_load(p) __atomic_load_n((p), __ATOMIC_RELAXED)
#endif
/* Reads an element that guards memory which the owner wrote earlier. Later reads return values that are at least as
 * new. Also a plain move on x86. */
#if defined(__CUDA_ARCH__) || defined(__OPENCL_VERSION__)
#define penumbra_load_first(p) (*(p))
#else
#define penumbra_load_first(p) __atomic_load_n((p), __ATOMIC_ACQUIRE)
#endif

/* Returns the number of set bits of a uint32_t. */
#if defined(__CUDA_ARCH__)
#define penumbra_popcount(x) ((uint32_t)__popc(x))
#elif defined(__OPENCL_VERSION__)
#define penumbra_popcount(x) popcount(x)
#else
#define penumbra_popcount(x) ((uint32_t)__builtin_popcount(x))
#endif

/* Returns the number of trailing zero bits of a uint64_t, which must not be 0. */
#if defined(__CUDA_ARCH__)
#define penumbra_trailing_zeros(x) ((uint32_t)__ffsll((long long)(x)) - 1)
#elif defined(__OPENCL_VERSION__)
#define penumbra_trailing_zeros(x) ((uint32_t)ctz(x))
#else
#define penumbra_trailing_zeros(x) ((uint32_t)__builtin_ctzll(x))
#endif

/* Returns the upper half of the product of two uint64_t. */
#if defined(__CUDA_ARCH__)
#define penumbra_multiply_high(a, b) __umul64hi((a), (b))
#elif defined(__OPENCL_VERSION__)
#define penumbra_multiply_high(a, b) mul_hi((a), (b))
#else
#define penumbra_multiply_high(a, b) ((uint64_t)(((unsigned __int128)(a) * (b)) >> 64))
#endif

/* Payload that a shader reads: item i has length[i] bytes at bytes + position[i]. Items may overlap. The bytes do not
 * change before the batch is back, so that another processor can repeat it. */
struct penumbra_source {
  const uint8_t* bytes;
  const uint64_t* position;
  const uint32_t* length;
};

/* Payload that a shader writes: item i has room for room[i] bytes at bytes + position[i]. The shader sets length[i], at
 * most room[i], and may write any byte of the room. No item overlaps another one or the source. */
struct penumbra_destination {
  uint8_t* bytes;
  const uint64_t* position;
  const uint32_t* room;
  uint32_t* length;
};

#endif
