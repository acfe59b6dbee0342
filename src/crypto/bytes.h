/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads, writes and comparisons of bytes that the ciphers and digests of this folder share. Every header of this folder
 * is in the common subset of C11, C++20, CUDA C++ and OpenCL C, as every shader is. No function here branches on the
 * bytes or uses them as an address, so its time depends on lengths only. */
#ifndef PENUMBRA_CRYPTO_BYTES_H
#define PENUMBRA_CRYPTO_BYTES_H

#include "penumbra/shader.h"

PENUMBRA_SHADER uint32_t read_le32(const uint8_t* bytes) {
  return (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;
}

PENUMBRA_SHADER void write_le32(uint8_t* bytes, uint32_t value) {
  for (uint32_t i = 0; i < 4; ++i) bytes[i] = (uint8_t)(value >> (8 * i));
}

PENUMBRA_SHADER void write_le64(uint8_t* bytes, uint64_t value) {
  for (uint32_t i = 0; i < 8; ++i) bytes[i] = (uint8_t)(value >> (8 * i));
}

PENUMBRA_SHADER uint32_t read_be32(const uint8_t* bytes) {
  return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | (uint32_t)bytes[3];
}

PENUMBRA_SHADER void write_be32(uint8_t* bytes, uint32_t value) {
  for (uint32_t i = 0; i < 4; ++i) bytes[i] = (uint8_t)(value >> (24 - 8 * i));
}

PENUMBRA_SHADER uint64_t read_be64(const uint8_t* bytes) {
  return (uint64_t)read_be32(bytes) << 32 | read_be32(bytes + 4);
}

PENUMBRA_SHADER void write_be64(uint8_t* bytes, uint64_t value) {
  write_be32(bytes, (uint32_t)(value >> 32));
  write_be32(bytes + 4, (uint32_t)value);
}

/* Read and write `count` words. */
PENUMBRA_SHADER void read_le32_words(uint32_t* words, const uint8_t* bytes, uint32_t count) {
  for (uint32_t i = 0; i < count; ++i, bytes += 4) words[i] = read_le32(bytes);
}
PENUMBRA_SHADER void write_le32_words(uint8_t* bytes, const uint32_t* words, uint32_t count) {
  for (uint32_t i = 0; i < count; ++i, bytes += 4) write_le32(bytes, words[i]);
}
PENUMBRA_SHADER void read_be32_words(uint32_t* words, const uint8_t* bytes, uint32_t count) {
  for (uint32_t i = 0; i < count; ++i, bytes += 4) words[i] = read_be32(bytes);
}
PENUMBRA_SHADER void read_be64_words(uint64_t* words, const uint8_t* bytes, uint32_t count) {
  for (uint32_t i = 0; i < count; ++i, bytes += 8) words[i] = read_be64(bytes);
}

PENUMBRA_SHADER void copy_bytes(uint8_t* to, const uint8_t* from, uint32_t bytes) {
  for (uint32_t i = 0; i < bytes; ++i) to[i] = from[i];
}

/* Returns 1 if the bytes are equal, otherwise 0. */
PENUMBRA_SHADER uint32_t equal_bytes(const uint8_t* a, const uint8_t* b, uint32_t bytes) {
  uint32_t difference = 0, at = 0;
  for (; at + 4 <= bytes; at += 4) difference |= read_le32(a + at) ^ read_le32(b + at);
  for (; at < bytes; ++at) difference |= (uint32_t)(a[at] ^ b[at]);
  return (difference | (0U - difference)) >> 31 ^ 1;
}

/* Returns a byte of ones for 1 and a byte of zeros for 0. */
PENUMBRA_SHADER uint8_t byte_mask(uint32_t is_wanted) {
  return (uint8_t)(0U - is_wanted);
}

/* Writes `bytes` bytes of `from`, or zeros if `mask` is 0 (byte_mask()). */
PENUMBRA_SHADER void copy_masked(uint8_t* to, const uint8_t* from, uint32_t bytes, uint8_t mask) {
  for (uint32_t i = 0; i < bytes; ++i) to[i] = (uint8_t)(from[i] & mask);
}

#endif
