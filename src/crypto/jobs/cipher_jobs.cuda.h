// SPDX-License-Identifier: Apache-2.0
//
// cipher_jobs.shader.h for a GPU: a warp a packet. The warp moves a packet through shared memory in tiles of 512 bytes,
// in whole lines. Where the mode allows, a lane has a block of 16 bytes: in CTR, in GCM, when CBC is deciphered, and in
// both polynomial hashes. CBC is enciphered by four lanes, and digests are made by one.
#pragma once

#include <cstdint>

#include "crypto/jobs/cipher_jobs.shader.h"
#include "crypto/jobs/cuda/aes_lanes.cuda.h"
#include "crypto/jobs/cuda/chacha_lanes.cuda.h"
#include "crypto/jobs/cuda/digest_warp.cuda.h"
#include "crypto/jobs/cuda/hash_lanes.cuda.h"
#include "penumbra/cuda_form.h"
#include "penumbra/cuda_tile.h"

namespace penumbra {
namespace cipher_cuda {

using namespace cuda_tile;  // NOLINT(google-build-using-namespace)

inline constexpr std::uint32_t kBlockThreads = 384;

/// Shared memory of a warp.
struct alignas(16) WarpRoom {
  TileRoom in, out;
  cipher_job job;
  AesLanesKey aes;
  union {
    DigestRoom digest;
    std::uint32_t stream[kStreamBlocks * CHACHA20_BLOCK / 4];
  };
  std::uint8_t tag[CIPHER_MOST_TAG];
  std::uint8_t text[2 * kLine + kLine];  ///< Additional data, with zeros after it.
};

struct SharedRoom {
  SharedAesTables tables;
  WarpRoom warps[kBlockThreads / kWarp];
};

/// One packet of a warp. Every lane has the same members.
class PacketWarp {
 public:
  __device__ PacketWarp(const SharedAesTables& tables, WarpRoom& room, LineWriter& writer, const cipher_key& key,
                        const cipher_packet& packet, bool is_open)
      : room_(room), writer_(writer), key_(key), packet_(packet), is_open_(is_open), aes_(tables, room.aes) {}

  /// Processes the packet, and leaves the full tag in the room.
  __device__ void process(const std::uint8_t* prefix, std::uint32_t prefix_bytes) {
    switch (key_.cipher) {
      case CIPHER_AES_GCM:
        return gcm();
      case CIPHER_AES_GMAC:
        return gmac();
      case CIPHER_CHACHA20_POLY1305:
        return chacha20_poly1305();
      default:
        composed(prefix, prefix_bytes);
    }
  }

 private:
  /// Loads the payload bytes from `begin` on, and puts those of the destination where the writer takes them. `change`
  /// gets this lane's block of the source and its index in the tile, and returns that of the destination. Returns where
  /// the tile's source lies in shared memory.
  template <class Change>
  __device__ const std::uint8_t* change_tile(std::uint32_t begin, std::uint32_t bytes, Change change) {
    const std::uint8_t* const in = load_tile(room_.in, packet_.source + begin, bytes);
    const std::uint32_t lane = lane_id();
    const bool has_block = lane * kLine < bytes;
    const Block made = change(has_block ? block_at(in + lane * kLine) : Block{}, lane);
    if (has_block) put_block(writer_.next() + lane * kLine, made);
    __syncwarp();
    return in;
  }
  static __device__ Block block_of(const std::uint8_t* bytes) {
    return {{read_le32(bytes), read_le32(bytes + 4), read_le32(bytes + 8), read_le32(bytes + 12)}};
  }
  static __device__ std::uint32_t swapped(std::uint32_t word) { return __byte_perm(word, 0, 0x0123); }
  /// Returns the counter block `number` after `first`.
  static __device__ Block counter_block(Block first, std::uint32_t number) {
    first.word[3] = swapped(swapped(first.word[3]) + number);
    return first;
  }
  /// Puts the additional data into shared memory, with zeros up to two whole blocks.
  __device__ void load_text() {
    for (std::uint32_t i = lane_id(); i < sizeof room_.text; i += kWarp) {
      room_.text[i] = i < packet_.aad_bytes ? packet_.aad[i] : std::uint8_t{0};
    }
    __syncwarp();
  }

  /// CBC, CTR or no cipher, with HMAC or alone.
  __device__ void composed(const std::uint8_t* prefix, std::uint32_t prefix_bytes) {
    const bool is_cbc = key_.cipher == CIPHER_AES_CBC, is_ctr = key_.cipher == CIPHER_AES_CTR;
    if (is_cbc || is_ctr) aes_.load_key(key_.secret.aes, is_cbc && is_open_);
    Block chain{};
    if (is_cbc) chain = block_of(packet_.nonce);
    if (is_ctr) chain = {{read_le32(packet_.nonce), read_le32(packet_.nonce + 4), read_le32(packet_.nonce + 8), 0}};
    DigestWarp digest(room_.digest, key_.authentication.hmac, key_.digest);
    const bool has_digest = key_.digest != 0;
    if (has_digest) digest.add(prefix, prefix_bytes);
    for (std::uint32_t begin = 0; begin < packet_.bytes; begin += kTile) {
      const std::uint32_t bytes = min(kTile, packet_.bytes - begin);
      const std::uint8_t* in = nullptr;
      if (is_cbc && !is_open_) {
        in = chain_tile(begin, bytes, chain);
      } else {
        in = change_tile(begin, bytes, [&](const Block& block, std::uint32_t lane) {
          if (is_ctr) return block ^ aes_.encrypt(counter_block(chain, 1 + begin / kLine + lane));
          if (!is_cbc) return block;
          Block before = shuffle(block, lane == 0 ? 0 : lane - 1);
          if (lane == 0) before = chain;
          chain = shuffle(block, (bytes - 1) / kLine);
          return before ^ aes_.decrypt(block);
        });
      }
      if (has_digest) digest.add(is_open_ ? in : writer_.next(), bytes);
      writer_.write(bytes);
    }
    if (!has_digest) return;
    digest.add(packet_.trailer, packet_.trailer_bytes);
    digest.end(room_.tag);
  }
  /// Does what change_tile() does, by CBC. Four lanes encipher a block.
  __device__ const std::uint8_t* chain_tile(std::uint32_t begin, std::uint32_t bytes, Block& chain) {
    const std::uint8_t* const in = load_tile(room_.in, packet_.source + begin, bytes);
    const std::uint32_t place = lane_id() % 4;
    std::uint32_t word = place == 0   ? chain.word[0]
                         : place == 1 ? chain.word[1]
                         : place == 2 ? chain.word[2]
                                      : chain.word[3];
    for (std::uint32_t at = 0; at < bytes; at += kLine) {
      word = aes_.encrypt_word(word ^ word_of(in + at + 4 * place));
      std::uint8_t* const to = writer_.next() + at + 4 * place;
      if (lane_id() < 4) {
#pragma unroll
        for (std::uint32_t i = 0; i < 4; ++i) to[i] = static_cast<std::uint8_t>(word >> 8 * i);
      }
    }
    chain = {{__shfl_sync(kAllLanes, word, 0), __shfl_sync(kAllLanes, word, 1), __shfl_sync(kAllLanes, word, 2),
              __shfl_sync(kAllLanes, word, 3)}};
    __syncwarp();
    return in;
  }

  /// Returns the block before the first counter, and sets `key` to the hash key (NIST SP 800-38D, section 7.1).
  __device__ Block begin_gcm(GhashField::Element& key) {
    aes_.load_key(key_.secret.aes, false);
    key = GhashField::element(block_of(key_.authentication.gcm));
    const std::uint32_t bytes = packet_.nonce_bytes;
    const Block nonce = first_bytes(block_of(packet_.nonce), bytes);  // A job has room for 16 bytes.
    if (bytes == AES_CTR_NONCE) return {{nonce.word[0], nonce.word[1], nonce.word[2], swapped(1)}};
    GhashField::Element hash = GhashField::multiply(GhashField::element(nonce), key);
    hash = GhashField::multiply(GhashField::add(hash, {0, std::uint64_t{bytes} * 8}), key);
    return GhashField::block(hash);
  }
  __device__ static Block lengths_of_gcm(std::uint32_t aad, std::uint32_t bytes) {
    return GhashField::block({std::uint64_t{aad} * 8, std::uint64_t{bytes} * 8});
  }
  __device__ void put_tag(const Block& tag) {
    __syncwarp();
    if (lane_id() == 0) put_block(room_.tag, tag);
    __syncwarp();
  }

  /// Enciphers or deciphers, and hashes additional data, ciphertext and lengths. All lanes call `stream` for every
  /// tile. It gets the payload block of the tile's first lane, the number of the tile's blocks, and this lane's block,
  /// which may be none of them. It returns the key stream of this lane's block.
  template <class Field, class Stream>
  __device__ typename Field::Element hash_all(const typename Field::Element& key, const Block& lengths,
                                              const Stream& stream) {
    const std::uint32_t texts = (packet_.aad_bytes + kLine - 1) / kLine;
    const std::uint32_t payloads = (packet_.bytes + kLine - 1) / kLine;
    load_text();
    LanesHash<Field> hash(key, texts + payloads + 1);
    for (std::uint32_t row = 0; row < hash.rows(); ++row) {
      const std::int32_t first = hash.first_of(row);
      const std::int32_t block = first + static_cast<std::int32_t>(lane_id());
      const std::int32_t payload = block - static_cast<std::int32_t>(texts);
      const auto begin = static_cast<std::uint32_t>(max(first - static_cast<std::int32_t>(texts), 0));
      const std::int32_t end = min(first + static_cast<std::int32_t>(kWarp) - static_cast<std::int32_t>(texts),
                                   static_cast<std::int32_t>(payloads));
      Block hashed{};
      const bool has_block = block >= 0;
      if (end > static_cast<std::int32_t>(begin)) {
        const std::uint32_t bytes = min(packet_.bytes, static_cast<std::uint32_t>(end) * kLine) - begin * kLine;
        const std::uint8_t* const in = load_tile(room_.in, packet_.source + begin * kLine, bytes);
        const Block key_stream = stream(begin, static_cast<std::uint32_t>(end) - begin, payload);
        if (payload >= 0 && payload < end) {
          const std::uint32_t at = static_cast<std::uint32_t>(payload) - begin;
          const std::uint32_t length = min(kLine, bytes - at * kLine);
          const Block source = first_bytes(block_at(in + at * kLine), length);
          const Block made = first_bytes(source ^ key_stream, length);
          put_block(writer_.next() + at * kLine, made);
          hashed = is_open_ ? source : made;
        }
        writer_.write(bytes);
      }
      if (has_block && payload < 0) hashed = block_at(room_.text + block * kLine);
      if (payload == static_cast<std::int32_t>(payloads)) hashed = lengths;
      hash.add(has_block ? Field::element(hashed) : typename Field::Element{});
    }
    return hash.value();
  }

  __device__ void gcm() {
    GhashField::Element key;
    const Block first = begin_gcm(key);
    const auto stream = [&](std::uint32_t, std::uint32_t, std::int32_t payload) {
      return aes_.encrypt(counter_block(first, static_cast<std::uint32_t>(payload + 1)));
    };
    const GhashField::Element hash =
        hash_all<GhashField>(key, lengths_of_gcm(packet_.aad_bytes, packet_.bytes), stream);
    put_tag(GhashField::block(hash) ^ aes_.encrypt(first));
  }

  /// The payload is copied, and hashed as the continuation of the additional data.
  __device__ void gmac() {
    GhashField::Element key;
    const Block first = begin_gcm(key);
    const std::uint32_t all = packet_.aad_bytes + packet_.bytes, blocks = (all + kLine - 1) / kLine;
    load_text();
    LanesHash<GhashField> hash(key, blocks + 1);
    for (std::uint32_t row = 0; row < hash.rows(); ++row) {
      const std::int32_t first_block = hash.first_of(row), block = first_block + static_cast<std::int32_t>(lane_id());
      const auto before = static_cast<std::int32_t>(packet_.aad_bytes);
      const auto begin = static_cast<std::uint32_t>(max(first_block * static_cast<std::int32_t>(kLine) - before, 0));
      const std::int32_t end =
          min((first_block + static_cast<std::int32_t>(kWarp)) * static_cast<std::int32_t>(kLine) - before,
              static_cast<std::int32_t>(packet_.bytes));
      const std::uint32_t bytes = end > static_cast<std::int32_t>(begin) ? static_cast<std::uint32_t>(end) - begin : 0;
      const std::uint8_t* in = room_.in.bytes();
      if (bytes > 0) {
        in = change_tile(begin, bytes, [](const Block& source, std::uint32_t) { return source; });
        writer_.write(bytes);
      }
      Block hashed{};
      if (block >= 0 && block < static_cast<std::int32_t>(blocks)) {
        for (std::uint32_t i = 0; i < kLine; ++i) {
          const std::uint32_t at = static_cast<std::uint32_t>(block) * kLine + i;
          std::uint32_t byte = 0;
          if (at < packet_.aad_bytes) {
            byte = room_.text[at];
          } else if (at < all) {
            byte = in[at - packet_.aad_bytes - begin];
          }
          hashed.word[i / 4] |= byte << 8 * (i % 4);
        }
      }
      if (block == static_cast<std::int32_t>(blocks)) hashed = lengths_of_gcm(all, 0);
      hash.add(GhashField::element(hashed));
    }
    put_tag(GhashField::block(hash.value()) ^ aes_.encrypt(first));
  }

  __device__ void chacha20_poly1305() {
    const ChachaLanes chacha(key_.secret.chacha20, packet_.nonce);
    chacha.make(0, 1, room_.stream);
    std::uint8_t clamped[2 * kLine];  // The key of the authenticator, and what is added at the end.
#pragma unroll
    for (std::uint32_t i = 0; i < sizeof clamped; ++i) clamped[i] = reinterpret_cast<std::uint8_t*>(room_.stream)[i];
    __syncwarp();
    poly1305 mac;
    poly1305_begin(&mac, clamped);
    PolyField::Element key;
#pragma unroll
    for (int i = 0; i < POLY1305_DIGITS; ++i) key.digit[i] = mac.r[i];
    const auto stream = [&](std::uint32_t begin, std::uint32_t count, std::int32_t payload) {
      constexpr std::uint32_t kParts = CHACHA20_BLOCK / kLine;
      const std::uint32_t first = begin / kParts;
      __syncwarp();
      chacha.make(1 + first, (begin + count - 1) / kParts - first + 1, room_.stream);
      if (payload < static_cast<std::int32_t>(begin) || payload >= static_cast<std::int32_t>(begin + count)) {
        return Block{};
      }
      const std::uint32_t* const words = room_.stream + (static_cast<std::uint32_t>(payload) - first * kParts) * 4;
      return Block{{words[0], words[1], words[2], words[3]}};
    };
    const Block lengths{{packet_.aad_bytes, 0, packet_.bytes, 0}};
    const PolyField::Element hash = hash_all<PolyField>(key, lengths, stream);
#pragma unroll
    for (int i = 0; i < POLY1305_DIGITS; ++i) mac.sum[i] = hash.digit[i];
    if (lane_id() == 0) poly1305_end(&mac, room_.tag);
    __syncwarp();
  }

  WarpRoom& room_;
  LineWriter& writer_;
  const cipher_key& key_;
  const cipher_packet& packet_;
  const bool is_open_;
  AesLanes aes_;
};

/// Processes a job whose parts were found. Returns its status.
__device__ inline std::uint32_t run_job(const SharedAesTables& tables, WarpRoom& room, const cipher_key& key,
                                        const cipher_job& job, const cipher_packet& packet, const std::uint8_t* from,
                                        std::uint8_t* to) {
  const bool is_open = job.direction == CIPHER_OPEN;
  LineWriter writer(room.out, to);
  if (!is_open) {
    copy_few(writer.next(), job.prefix, job.prefix_bytes);
    writer.write(job.prefix_bytes);
  }
  PacketWarp(tables, room, writer, key, packet, is_open).process(is_open ? from : job.prefix, job.prefix_bytes);
  if (!is_open) {
    copy_few(writer.next(), room.tag, key.tag_bytes);
    writer.write(key.tag_bytes);
  }
  writer.finish();
  if (!is_open) return CIPHER_DONE;
  std::uint32_t difference = 0;
  for (std::uint32_t i = lane_id(); i < key.tag_bytes; i += kWarp) difference |= room.tag[i] ^ packet.received_tag[i];
  if (__any_sync(kAllLanes, difference != 0) == 0) return CIPHER_DONE;
  for (std::uint32_t i = lane_id(); i < packet.bytes; i += kWarp) packet.destination[i] = 0;
  return CIPHER_WRONG_TAG;
}

}  // namespace cipher_cuda

__device__ inline void cipher_jobs_by_warps(cipher_jobs_view view, const cipher_job* job, penumbra_source source,
                                            penumbra_destination destination, std::uint8_t* status, std::uint32_t n) {
  using namespace cipher_cuda;
  extern __shared__ uint4 shared_bytes[];
  auto& room = *reinterpret_cast<SharedRoom*>(shared_bytes);
  fill(room.tables);
  __syncthreads();
  WarpRoom& own = room.warps[threadIdx.x / kWarp];
  const std::uint32_t warps = gridDim.x * (kBlockThreads / kWarp);
  for (std::uint32_t i = blockIdx.x * (kBlockThreads / kWarp) + threadIdx.x / kWarp; i < n; i += warps) {
    // Columns may lie on the other side of the bus, so that each word is read once.
    constexpr std::uint32_t kWords = sizeof(cipher_job) / 4;
    static_assert(kWords <= kWarp && sizeof(cipher_job) % 4 == 0);
    if (lane_id() < kWords) {
      reinterpret_cast<std::uint32_t*>(&own.job)[lane_id()] =
          reinterpret_cast<const std::uint32_t*>(job + i)[lane_id()];
    }
    __syncwarp();
    const cipher_job& its = own.job;
    const std::uint8_t* const from = source.bytes + source.position[i];
    std::uint8_t* const to = destination.bytes + destination.position[i];
    cipher_packet packet;
    std::uint32_t found = cipher_job_packet(&view, &its, from, source.length[i], to, destination.room[i], &packet);
    if (found == CIPHER_DONE) found = run_job(room.tables, own, view.key[its.key], its, packet, from, to);
    if (lane_id() == 0) {
      destination.length[i] = found == CIPHER_DONE ? cipher_job_length(view.key + its.key, &its, &packet, found) : 0;
      status[i] = static_cast<std::uint8_t>(found);
    }
    __syncwarp();
  }
  // No key stays in shared memory for the next kernel.
  for (std::uint32_t i = lane_id(); i < sizeof own / 4; i += kWarp) reinterpret_cast<std::uint32_t*>(&own)[i] = 0;
}

template <>
inline constexpr CudaShape kCudaShape<&cipher_jobs_by_warps>{.threads_per_item = 32,
                                                             .items_per_team = 3,
                                                             .block_threads = cipher_cuda::kBlockThreads,
                                                             .shared_bytes = sizeof(cipher_cuda::SharedRoom)};

}  // namespace penumbra
