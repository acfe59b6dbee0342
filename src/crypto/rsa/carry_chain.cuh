// SPDX-License-Identifier: Apache-2.0
//
// Arithmetic with the carry flag of a GPU thread. `_set` writes the flag, `_through` reads and writes it, and `_end`
// reads it. Outside CUDA the same functions work with an emulated flag, so that tests can run on a CPU.
#pragma once

#include <cstdint>

#ifdef __CUDACC__
#define PENUMBRA_LANE __device__ __forceinline__
#define PENUMBRA_UNROLL _Pragma("unroll")
#define PENUMBRA_ROLL _Pragma("unroll 1")
#else
#define PENUMBRA_LANE inline
#define PENUMBRA_UNROLL
#define PENUMBRA_ROLL
#endif

namespace penumbra::rsa::gpu {

#ifdef __CUDACC__

PENUMBRA_LANE std::uint32_t add_set(std::uint32_t a, std::uint32_t b) {
  std::uint32_t result;
  asm volatile("add.cc.u32 %0, %1, %2;" : "=r"(result) : "r"(a), "r"(b));
  return result;
}
PENUMBRA_LANE std::uint32_t add_through(std::uint32_t a, std::uint32_t b) {
  std::uint32_t result;
  asm volatile("addc.cc.u32 %0, %1, %2;" : "=r"(result) : "r"(a), "r"(b));
  return result;
}
PENUMBRA_LANE std::uint32_t add_end(std::uint32_t a, std::uint32_t b) {
  std::uint32_t result;
  asm volatile("addc.u32 %0, %1, %2;" : "=r"(result) : "r"(a), "r"(b));
  return result;
}
PENUMBRA_LANE std::uint32_t subtract_set(std::uint32_t a, std::uint32_t b) {
  std::uint32_t result;
  asm volatile("sub.cc.u32 %0, %1, %2;" : "=r"(result) : "r"(a), "r"(b));
  return result;
}
PENUMBRA_LANE std::uint32_t subtract_through(std::uint32_t a, std::uint32_t b) {
  std::uint32_t result;
  asm volatile("subc.cc.u32 %0, %1, %2;" : "=r"(result) : "r"(a), "r"(b));
  return result;
}
PENUMBRA_LANE std::uint32_t subtract_end(std::uint32_t a, std::uint32_t b) {
  std::uint32_t result;
  asm volatile("subc.u32 %0, %1, %2;" : "=r"(result) : "r"(a), "r"(b));
  return result;
}
/// Returns the lower half of a * b, plus c.
PENUMBRA_LANE std::uint32_t low_set(std::uint32_t a, std::uint32_t b, std::uint32_t c) {
  std::uint32_t result;
  asm volatile("mad.lo.cc.u32 %0, %1, %2, %3;" : "=r"(result) : "r"(a), "r"(b), "r"(c));
  return result;
}
PENUMBRA_LANE std::uint32_t low_through(std::uint32_t a, std::uint32_t b, std::uint32_t c) {
  std::uint32_t result;
  asm volatile("madc.lo.cc.u32 %0, %1, %2, %3;" : "=r"(result) : "r"(a), "r"(b), "r"(c));
  return result;
}
/// Returns the upper half of a * b, plus c.
PENUMBRA_LANE std::uint32_t high_through(std::uint32_t a, std::uint32_t b, std::uint32_t c) {
  std::uint32_t result;
  asm volatile("madc.hi.cc.u32 %0, %1, %2, %3;" : "=r"(result) : "r"(a), "r"(b), "r"(c));
  return result;
}

#else

inline thread_local std::uint32_t carry_flag = 0;

inline std::uint32_t with_carry(std::uint64_t sum) {
  carry_flag = static_cast<std::uint32_t>(sum >> 32) & 1;
  return static_cast<std::uint32_t>(sum);
}
PENUMBRA_LANE std::uint32_t add_set(std::uint32_t a, std::uint32_t b) {
  return with_carry(std::uint64_t{a} + b);
}
PENUMBRA_LANE std::uint32_t add_through(std::uint32_t a, std::uint32_t b) {
  return with_carry(std::uint64_t{a} + b + carry_flag);
}
PENUMBRA_LANE std::uint32_t add_end(std::uint32_t a, std::uint32_t b) {
  return a + b + carry_flag;
}
PENUMBRA_LANE std::uint32_t subtract_set(std::uint32_t a, std::uint32_t b) {
  return with_carry(std::uint64_t{a} - b);
}
PENUMBRA_LANE std::uint32_t subtract_through(std::uint32_t a, std::uint32_t b) {
  return with_carry(std::uint64_t{a} - b - carry_flag);
}
PENUMBRA_LANE std::uint32_t subtract_end(std::uint32_t a, std::uint32_t b) {
  return a - b - carry_flag;
}
/// Returns the lower half of a * b, plus c.
PENUMBRA_LANE std::uint32_t low_set(std::uint32_t a, std::uint32_t b, std::uint32_t c) {
  return with_carry(std::uint64_t{a * b} + c);
}
PENUMBRA_LANE std::uint32_t low_through(std::uint32_t a, std::uint32_t b, std::uint32_t c) {
  return with_carry(std::uint64_t{a * b} + c + carry_flag);
}
/// Returns the upper half of a * b, plus c.
PENUMBRA_LANE std::uint32_t high_through(std::uint32_t a, std::uint32_t b, std::uint32_t c) {
  return with_carry((std::uint64_t{a} * b >> 32) + c + carry_flag);
}

#endif

}  // namespace penumbra::rsa::gpu
