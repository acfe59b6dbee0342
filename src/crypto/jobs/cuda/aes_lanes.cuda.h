// SPDX-License-Identifier: Apache-2.0
//
// AES by tables in shared memory, one block a lane. Each lane has a copy of the tables in a memory bank of its own. So
// a secret decides which row a lane reads, never which bank, and all rows of a bank take the same time.
#pragma once

#include <array>
#include <cstdint>

#include "crypto/aes/block.h"
#include "penumbra/cuda_tile.h"

namespace penumbra::cipher_cuda {

using namespace cuda_tile;  // NOLINT(google-build-using-namespace)

/// A row of the encryption table has a byte of the S-box times 2, 1, 1 and 3; a row of the decryption table has a byte
/// of the inverse S-box times 14, 9, 13 and 11.
struct AesTables {
  std::array<std::uint32_t, 256> encrypt{}, decrypt{};
};

constexpr std::uint32_t aes_double(std::uint32_t x) {
  return (x << 1 ^ (x >> 7) * 0x11B) & 0xFF;
}

constexpr AesTables make_aes_tables() {
  std::array<std::uint32_t, 256> sbox{};
  std::uint32_t power = 1, inverse = 1;
  do {  // `power` is a power of 3, `inverse` the same power of its inverse.
    power = power ^ aes_double(power);
    for (const int shift : {1, 2, 4}) inverse = (inverse ^ inverse << shift) & 0xFF;
    if ((inverse & 0x80) != 0) inverse ^= 0x09;
    std::uint32_t sum = inverse;
    for (int i = 1; i < 5; ++i) sum ^= (inverse << i | inverse >> (8 - i)) & 0xFF;
    sbox[power] = sum ^ 0x63;
  } while (power != 1);
  sbox[0] = 0x63;
  AesTables tables;
  for (std::uint32_t x = 0; x < 256; ++x) {
    const std::uint32_t s = sbox[x], two = aes_double(s);
    tables.encrypt[x] = two | s << 8 | s << 16 | (two ^ s) << 24;
    const std::uint32_t twice = aes_double(x), four = aes_double(twice), eight = aes_double(four);
    tables.decrypt[s] =
        (eight ^ four ^ twice) | (eight ^ x) << 8 | (eight ^ four ^ x) << 16 | (eight ^ twice ^ x) << 24;
  }
  return tables;
}

__device__ constexpr AesTables kAesTables = make_aes_tables();

/// The tables of all lanes.
struct SharedAesTables {
  std::uint32_t encrypt[256 * kWarp], decrypt[256 * kWarp];
};

/// Fills the tables by all threads of the block. A barrier must follow.
__device__ inline void fill(SharedAesTables& tables) {
  for (std::uint32_t i = threadIdx.x; i < 256 * kWarp; i += blockDim.x) {
    tables.encrypt[i] = kAesTables.encrypt[i / kWarp];
    tables.decrypt[i] = kAesTables.decrypt[i / kWarp];
  }
}

/// Round keys in shared memory, as words of little-endian bytes.
struct AesLanesKey {
  static constexpr std::uint32_t kMostWords = 60;
  std::uint32_t encrypt[kMostWords], decrypt[kMostWords];
  std::uint32_t rounds;
};

class AesLanes {
 public:
  __device__ AesLanes(const SharedAesTables& tables, AesLanesKey& key)
      : encrypt_(tables.encrypt + lane_id()), decrypt_(tables.decrypt + lane_id()), key_(key) {}

  /// Loads the round keys by the whole warp.
  __device__ void load_key(const aes_key& from, bool for_decryption) {
    const std::uint32_t words = 4 * (from.rounds + 1);
    __syncwarp();
    for (std::uint32_t i = lane_id(); i < words; i += kWarp) {
      const std::uint8_t* const bytes = from.round_key + 4 * i;
      const std::uint32_t word = bytes[0] | bytes[1] << 8 | bytes[2] << 16 | static_cast<std::uint32_t>(bytes[3]) << 24;
      key_.encrypt[i] = word;
      // The inverse cipher takes the keys of the inner rounds after the inverse of MixColumns.
      const bool is_inner = i >= 4 && i < words - 4;
      key_.decrypt[i] = for_decryption && is_inner ? unmixed(word) : word;
    }
    if (lane_id() == 0) key_.rounds = from.rounds;
    __syncwarp();
  }

  __device__ Block encrypt(const Block& in) const {
    Block s = with_key(in, key_.encrypt);
    const std::uint32_t* key = key_.encrypt + 4;
    for (std::uint32_t round = 1; round < key_.rounds; ++round, key += 4) {
      Block next;
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        next.word[i] = row(encrypt_, s.word[i], 0) ^ rotated<8>(row(encrypt_, s.word[(i + 1) % 4], 1)) ^
                       rotated<16>(row(encrypt_, s.word[(i + 2) % 4], 2)) ^
                       rotated<24>(row(encrypt_, s.word[(i + 3) % 4], 3)) ^ key[i];
      }
      s = next;
    }
    Block out;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      out.word[i] = (substituted(s.word[i], 0) | substituted(s.word[(i + 1) % 4], 1) << 8 |
                     substituted(s.word[(i + 2) % 4], 2) << 16 | substituted(s.word[(i + 3) % 4], 3) << 24) ^
                    key[i];
    }
    return out;
  }

  /// Enciphers one block by groups of four lanes, each of which has the word of its place in the group. All groups do
  /// the same.
  __device__ std::uint32_t encrypt_word(std::uint32_t word) const {
    const auto place = static_cast<int>(lane_id() % 4);
    const std::uint32_t* key = key_.encrypt + place;
    const auto from = [&](std::uint32_t x, int after) { return __shfl_sync(kAllLanes, x, (place + after) % 4, 4); };
    std::uint32_t s = word ^ key[0];
    for (std::uint32_t round = 1; round < key_.rounds; ++round) {
      key += 4;
      s = row(encrypt_, s, 0) ^ rotated<8>(row(encrypt_, from(s, 1), 1)) ^ rotated<16>(row(encrypt_, from(s, 2), 2)) ^
          rotated<24>(row(encrypt_, from(s, 3), 3)) ^ *key;
    }
    return (substituted(s, 0) | substituted(from(s, 1), 1) << 8 | substituted(from(s, 2), 2) << 16 |
            substituted(from(s, 3), 3) << 24) ^
           key[4];
  }

  __device__ Block decrypt(const Block& in) const {
    const std::uint32_t* key = key_.decrypt + 4 * key_.rounds;
    Block s = with_key(in, key);
    for (std::uint32_t round = 1; round < key_.rounds; ++round) {
      key -= 4;
      Block next;
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        next.word[i] = row(decrypt_, s.word[i], 0) ^ rotated<8>(row(decrypt_, s.word[(i + 3) % 4], 1)) ^
                       rotated<16>(row(decrypt_, s.word[(i + 2) % 4], 2)) ^
                       rotated<24>(row(decrypt_, s.word[(i + 1) % 4], 3)) ^ key[i];
      }
      s = next;
    }
    key -= 4;
    Block out;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      out.word[i] = (restored(s.word[i], 0) | restored(s.word[(i + 3) % 4], 1) << 8 |
                     restored(s.word[(i + 2) % 4], 2) << 16 | restored(s.word[(i + 1) % 4], 3) << 24) ^
                    key[i];
    }
    return out;
  }

 private:
  template <int kBits>
  static __device__ std::uint32_t rotated(std::uint32_t x) {
    return __funnelshift_l(x, x, kBits);
  }
  /// Returns the row of byte `index` of the word.
  static __device__ std::uint32_t row(const std::uint32_t* table, std::uint32_t word, std::uint32_t index) {
    return table[(word >> 8 * index & 0xFF) * kWarp];
  }
  /// Return the byte of the S-box or its inverse, which a row has: as its second byte, or as the sum of its bytes.
  __device__ std::uint32_t substituted(std::uint32_t word, std::uint32_t index) const {
    return row(encrypt_, word, index) >> 8 & 0xFF;
  }
  __device__ std::uint32_t restored(std::uint32_t word, std::uint32_t index) const {
    const std::uint32_t found = row(decrypt_, word, index);
    const std::uint32_t half = found ^ found >> 16;
    return (half ^ half >> 8) & 0xFF;
  }
  /// Applies the inverse of MixColumns to a column.
  __device__ std::uint32_t unmixed(std::uint32_t word) const {
    return row(decrypt_, substituted(word, 0), 0) ^ rotated<8>(row(decrypt_, substituted(word, 1), 0)) ^
           rotated<16>(row(decrypt_, substituted(word, 2), 0)) ^ rotated<24>(row(decrypt_, substituted(word, 3), 0));
  }
  static __device__ Block with_key(const Block& block, const std::uint32_t* key) {
    return block ^ Block {
      {
        key[0], key[1], key[2], key[3]
      }
    };
  }

  const std::uint32_t* encrypt_;
  const std::uint32_t* decrypt_;
  AesLanesKey& key_;
};

}  // namespace penumbra::cipher_cuda
