// SPDX-License-Identifier: Apache-2.0
//
// The polynomial hashes of GCM and of Poly1305, with a block a lane. The hash of blocks X0 to Xn-1 is
// (X0 K^(n-1) + ... + Xn-1) K in a field. The last block is always in the last lane, so that missing blocks are zeros
// in front and change nothing. A lane adds its blocks of all rows by K^32; then the lanes are added pair by pair.
#pragma once

#include <cstdint>

#include "crypto/aes/ghash.h"
#include "crypto/chacha20_poly1305/poly1305.h"
#include "penumbra/cuda_tile.h"

namespace penumbra::cipher_cuda {

using namespace cuda_tile;  // NOLINT(google-build-using-namespace)

/// GF(2^128) with GCM's order of bits.
struct GhashField {
  struct Element {
    std::uint64_t high, low;
  };
  static __device__ std::uint64_t big_endian(std::uint32_t first, std::uint32_t second) {
    return static_cast<std::uint64_t>(__byte_perm(first, 0, 0x0123)) << 32 | __byte_perm(second, 0, 0x0123);
  }
  static __device__ Element element(const Block& block) {
    return {big_endian(block.word[0], block.word[1]), big_endian(block.word[2], block.word[3])};
  }
  static __device__ Block block(const Element& x) {
    const auto low_word = [](std::uint64_t value) { return __byte_perm(static_cast<std::uint32_t>(value), 0, 0x0123); };
    return {{low_word(x.high >> 32), low_word(x.high), low_word(x.low >> 32), low_word(x.low)}};
  }
  static __device__ Element add(const Element& a, const Element& b) { return {a.high ^ b.high, a.low ^ b.low}; }
  static __device__ __noinline__ Element multiply(Element a, Element b) {
    ghash hash;
    ghash_operand_set(&hash.key, b.high, b.low);
    hash.high = a.high;
    hash.low = a.low;
    ghash_add_words(&hash, 0, 0);
    return {hash.high, hash.low};
  }
  static __device__ Element from_lane(const Element& x, std::uint32_t lane) {
    return {__shfl_sync(kAllLanes, x.high, static_cast<int>(lane)),
            __shfl_sync(kAllLanes, x.low, static_cast<int>(lane))};
  }
};

/// Integers modulo 2^130 - 5, as five digits of 26 bits and little more.
struct PolyField {
  struct Element {
    std::uint32_t digit[POLY1305_DIGITS];
  };
  /// Returns the element of a whole block, with its bit at 2^128.
  static __device__ Element element(const Block& block) {
    const std::uint32_t* const w = block.word;
    return {{w[0] & 0x3FFFFFF, __funnelshift_r(w[0], w[1], 26) & 0x3FFFFFF, __funnelshift_r(w[1], w[2], 20) & 0x3FFFFFF,
             __funnelshift_r(w[2], w[3], 14) & 0x3FFFFFF, w[3] >> 8 | 1U << 24}};
  }
  static __device__ Element add(const Element& a, const Element& b) {
    Element sum;
#pragma unroll
    for (int i = 0; i < POLY1305_DIGITS; ++i) sum.digit[i] = a.digit[i] + b.digit[i];
    return sum;
  }
  static __device__ __noinline__ Element multiply(Element a, Element b) {
    std::uint64_t product[POLY1305_DIGITS] = {0};
#pragma unroll
    for (int i = 0; i < POLY1305_DIGITS; ++i) {
#pragma unroll
      for (int k = 0; k < POLY1305_DIGITS; ++k) {
        const std::uint32_t factor = i + k < POLY1305_DIGITS ? b.digit[k] : 5 * b.digit[k];
        product[(i + k) % POLY1305_DIGITS] += static_cast<std::uint64_t>(a.digit[i]) * factor;
      }
    }
    Element x;
#pragma unroll
    for (int i = 0; i + 1 < POLY1305_DIGITS; ++i) {
      product[i + 1] += product[i] >> 26;
      x.digit[i] = static_cast<std::uint32_t>(product[i]) & 0x3FFFFFF;
    }
    x.digit[4] = static_cast<std::uint32_t>(product[4]) & 0x3FFFFFF;
    const std::uint64_t lowest = x.digit[0] + 5 * (product[4] >> 26);
    x.digit[0] = static_cast<std::uint32_t>(lowest) & 0x3FFFFFF;
    x.digit[1] += static_cast<std::uint32_t>(lowest >> 26);
    return x;
  }
  static __device__ Element from_lane(const Element& x, std::uint32_t lane) {
    Element got;
#pragma unroll
    for (int i = 0; i < POLY1305_DIGITS; ++i) got.digit[i] = __shfl_sync(kAllLanes, x.digit[i], static_cast<int>(lane));
    return got;
  }
};

/// The hash of `blocks` blocks, added row by row.
template <class Field>
class LanesHash {
 public:
  using Element = typename Field::Element;

  /// All lanes pass the same key.
  __device__ LanesHash(const Element& key, std::uint32_t blocks)
      : key_(key), blocks_(blocks), rows_((blocks + kWarp - 1) / kWarp) {
    if (rows_ < 2) return;
    row_key_ = key;
    for (int i = 0; i < 5; ++i) row_key_ = Field::multiply(row_key_, row_key_);
  }
  __device__ std::uint32_t rows() const { return rows_; }
  /// Returns the index of the first lane's block in a row; negative if it does not exist.
  __device__ std::int32_t first_of(std::uint32_t row) const {
    return static_cast<std::int32_t>(kWarp * row + blocks_) - static_cast<std::int32_t>(kWarp * rows_);
  }
  /// Adds the row's block of this lane, zero if it has none.
  __device__ void add(const Element& block) {
    sum_ = has_row_ ? Field::add(Field::multiply(sum_, row_key_), block) : block;
    has_row_ = true;
  }
  /// Returns the hash, in all lanes.
  __device__ Element value() {
    Element key = key_;
    std::uint32_t span = 1;
    for (; span < kWarp && (rows_ > 1 || span < blocks_); span *= 2) {
      const Element next = Field::from_lane(sum_, lane_id() + span < kWarp ? lane_id() + span : lane_id());
      sum_ = Field::add(Field::multiply(sum_, key), next);
      key = Field::multiply(key, key);
    }
    return Field::multiply(Field::from_lane(sum_, kWarp - span), key_);
  }

 private:
  Element key_, row_key_{}, sum_{};
  std::uint32_t blocks_, rows_;
  bool has_row_ = false;
};

}  // namespace penumbra::cipher_cuda
