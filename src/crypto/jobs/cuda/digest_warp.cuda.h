// SPDX-License-Identifier: Apache-2.0
//
// HMAC over bytes that come tile by tile. A digest is a chain of blocks, so that one lane makes it while the warp moves
// the bytes.
#pragma once

#include <cstdint>

#include "crypto/hmac/hmac.h"
#include "crypto/jobs/cuda/sha_lane.cuda.h"
#include "penumbra/cuda_tile.h"

namespace penumbra::cipher_cuda {

using namespace cuda_tile;  // NOLINT(google-build-using-namespace)

/// Shared memory of a digest.
struct alignas(16) DigestRoom {
  std::uint8_t bytes[MESSAGE_MOST_BLOCK + kTile];  ///< That no block was made of yet.
  digest_state state;
};

class DigestWarp {
 public:
  __device__ DigestWarp(DigestRoom& room, const hmac_key& key, std::uint32_t digest)
      : room_(room), key_(key), digest_(digest), block_(digest_block(digest)), before_(block_) {
    if (lane_id() < 8) room_.state.word[lane_id()] = key.inner.word[lane_id()];
    __syncwarp();
  }
  /// Adds bytes of shared memory, at most kTile.
  __device__ void add(const std::uint8_t* bytes, std::uint32_t count) {
    copy_few(room_.bytes + count_, bytes, count);
    count_ += count;
    const std::uint32_t blocks = count_ / block_, whole = blocks * block_;
    if (blocks == 0) return;
    if (lane_id() == 0) add_blocks(blocks);
    before_ += whole;
    count_ -= whole;
    __syncwarp();
    std::uint8_t rest[MESSAGE_MOST_BLOCK / kWarp];
#pragma unroll
    for (std::uint32_t i = 0; i < sizeof rest; ++i) {
      const std::uint32_t at = lane_id() + i * kWarp;
      rest[i] = at < count_ ? room_.bytes[whole + at] : std::uint8_t{0};
    }
    __syncwarp();
#pragma unroll
    for (std::uint32_t i = 0; i < sizeof rest; ++i) {
      if (lane_id() + i * kWarp < count_) room_.bytes[lane_id() + i * kWarp] = rest[i];
    }
    __syncwarp();
  }
  /// Writes the full tag to shared memory.
  __device__ void end(std::uint8_t* tag) {
    if (lane_id() == 0) {
      message last = {{room_.bytes, room_.bytes, room_.bytes}, {count_, 0, 0}, before_, block_};
      std::uint8_t inner[HMAC_MOST_TAG];
      digest_end(digest_, &room_.state, &last, inner);
      const message outer = {{inner, inner, inner}, {hmac_tag_bytes(digest_), 0, 0}, block_, block_};
      digest_state state = key_.outer;
      digest_end(digest_, &state, &outer, tag);
    }
    __syncwarp();
  }

 private:
  __device__ void add_blocks(std::uint32_t blocks) {
    if (digest_ == HMAC_SHA1) return sha1_blocks(room_.state.word, room_.bytes, blocks);
    if (digest_ == HMAC_SHA256) return sha256_blocks(room_.state.word, room_.bytes, blocks);
    const message whole = {{room_.bytes, room_.bytes, room_.bytes}, {blocks * block_, 0, 0}, before_, block_};
    digest_add(digest_, &room_.state, &whole, blocks);
  }

  DigestRoom& room_;
  const hmac_key& key_;
  const std::uint32_t digest_, block_;
  std::uint32_t before_, count_ = 0;
};

}  // namespace penumbra::cipher_cuda
