/* SPDX-License-Identifier: Apache-2.0
 *
 * gopt.h: two words that annotate a batched lookup in C11, C++20, CUDA C++ or OpenCL C.
 *
 *   foreach (i, n) { ... }      loops over n independent items; an item may write only its own outputs
 *   g_expensive(p);             marks that the following access to *p will probably miss the cache
 *   g_expensive(p, bytes);      the same for an object of that many bytes
 *
 * A plain compiler sees an ordinary loop and no hint on a CPU: that is the baseline. On a GPU the loop becomes a
 * strided loop over the threads that share the batch. The gopt compiler (docs/gopt.md) reads the same text and hides
 * the misses (G-Opt, NSDI 2015, section 3.2). The header needs only the language.
 */
#ifndef GOPT_H
#define GOPT_H

#if !defined(__OPENCL_VERSION__)
#include <stdint.h>
#endif

#if defined(__GOPT__)
/* Declares the names that the gopt compiler looks for in the syntax tree. */
#ifdef __cplusplus
extern "C" {
#endif
extern const uint32_t __gopt_first_item;
void __gopt_expensive(const volatile void* p, ...);
#ifdef __cplusplus
}
#endif

#define foreach(i, n) for (uint32_t i = __gopt_first_item; i < (n); ++i)
#define g_expensive(...) __gopt_expensive(__VA_ARGS__)

#else
/* The first item of this thread and the distance to its next item. An engine whose threads share a batch in another
 * way, such as a resident warp, defines both macros before it includes a shader. */
#ifndef GOPT_FIRST_ITEM
#if defined(__CUDA_ARCH__)
#define GOPT_FIRST_ITEM (blockIdx.x * blockDim.x + threadIdx.x)
#define GOPT_ITEM_STRIDE (gridDim.x * blockDim.x)
#elif defined(__OPENCL_VERSION__)
#define GOPT_FIRST_ITEM ((uint32_t)get_global_id(0))
#define GOPT_ITEM_STRIDE ((uint32_t)get_global_size(0))
#else
#define GOPT_FIRST_ITEM 0U
#define GOPT_ITEM_STRIDE 1U
#endif
#endif

#define foreach(i, n) for (uint32_t i = GOPT_FIRST_ITEM; i < (n); i += GOPT_ITEM_STRIDE)

#define g_expensive(...) ((void)0)
#endif

#endif
