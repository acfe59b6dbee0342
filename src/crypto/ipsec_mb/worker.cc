// SPDX-License-Identifier: Apache-2.0
#include "crypto/ipsec_mb/worker.h"

#include <cstring>
#include <iterator>

#include "crypto/reveal.h"

namespace penumbra::ipsec_mb {
namespace {

constexpr std::size_t kLine = 64;

void copy(std::uint8_t* to, const std::uint8_t* from, std::size_t bytes) {
  if (bytes != 0) std::memcpy(to, from, bytes);
}
void clear(std::uint8_t* to, std::size_t bytes) {
  if (bytes != 0) std::memset(to, 0, bytes);
}

[[gnu::noinline]] bool is_right_in(const std::uint8_t* tag, const std::uint8_t* received, std::uint32_t bytes) {
  return reveal(equal_bytes(tag, received, bytes));
}

/// Compares a tag with the received one. The usual length takes no loop and no call, which matter for short packets.
bool is_right(const std::uint8_t* tag, const cipher_packet& packet, const Key& key) {
  if (key.tag_bytes == AES_GCM_TAG) return reveal(equal_bytes(tag, packet.received_tag, AES_GCM_TAG));
  return is_right_in(tag, packet.received_tag, key.tag_bytes);
}

std::size_t covered_bytes(const cipher_packet& packet) {
  return std::size_t{packet.aad_bytes} + packet.bytes + packet.trailer_bytes;
}

bool fits(const Key& key, const cipher_packet& packet) {
  return cipher_fits(key.cipher, &packet) != 0 && covered_bytes(packet) <= kMostBytes;
}

/// Packets whose keys are fetched before their turn. The library would wait for the lines of a key one after another if
/// packets take turns of many keys.
constexpr std::size_t kAhead = 4;

void prefetch_lines(const std::byte* first, const std::byte* last) {
  for (const std::byte* line = first; line < last; line += kLine) __builtin_prefetch(line);
  asm volatile("" : : "r"(first));  // GCC 12 may remove calls of a function that only prefetches.
}

/// Fetches the key of a later packet into the first-level cache.
void prefetch_composed_key(std::span<const Key> keys, std::span<const cipher_packet> packets, std::size_t i) {
  if (i + kAhead >= packets.size() || packets[i + kAhead].key == packets[i].key) return;
  const auto* const key = reinterpret_cast<const std::byte*>(&keys[packets[i + kAhead].key]);
  prefetch_lines(key, key + sizeof(ComposedKey));
  __builtin_prefetch(key + sizeof(Key) - kLine);
}

/// Fetches what a later packet uses of its GCM key: the round keys, and as many powers of the hash key as it has
/// blocks. With VAES, the lowest powers are the last bytes of the key.
void prefetch_gcm_key(std::span<const Key> keys, std::span<const cipher_packet> packets, std::size_t i,
                      std::size_t round_keys) {
  if (i + kAhead >= packets.size() || packets[i + kAhead].key == packets[i].key) return;
  const cipher_packet& packet = packets[i + kAhead];
  const auto* const key = reinterpret_cast<const std::byte*>(&keys[packet.key]);
  constexpr std::size_t kEnd = sizeof(Key), kOthers = 4 * std::size_t{AES_BLOCK};  // Lengths and incomplete blocks.
  const std::size_t hashed = packet.bytes + packet.aad_bytes + kOthers;
  prefetch_lines(key, key + round_keys);
  prefetch_lines(key + (hashed < kEnd ? (kEnd - hashed) / kLine * kLine : 0), key + kEnd);
}

IMB_MGR& initialise(std::byte* memory) {
  IMB_MGR* const manager = imb_set_pointers_mb_mgr(memory, 0, 1);
  init_mb_mgr_auto(manager, nullptr);
  return *manager;
}

/// Writes the digest of a key without any message, which the library does not make.
void hmac_of_nothing(const Key& key, std::uint8_t* tag) {
  hmac_key states{};
  if (digest_is_wide(key.digest) != 0) {
    std::memcpy(states.inner.word, key.composed.inner, kStateBytes);
    std::memcpy(states.outer.word, key.composed.outer, kStateBytes);
  } else {
    for (std::size_t i = 0; i < SHA256_WORDS; ++i) {
      std::uint32_t inner = 0, outer = 0;
      std::memcpy(&inner, key.composed.inner + 4 * i, sizeof inner);
      std::memcpy(&outer, key.composed.outer + 4 * i, sizeof outer);
      states.inner.word[i] = inner;
      states.outer.word[i] = outer;
    }
  }
  hmac(&states, key.digest, nullptr, 0, nullptr, 0, nullptr, 0, tag);
  erase_bytes(&states, sizeof states);
}

}  // namespace

Worker::Worker()
    : manager_memory_(imb_get_mb_mgr_size()),
      manager_(initialise(manager_memory_.data())),
      context_(1),
      tags_(kMostJobs * CIPHER_MOST_TAG),
      copies_(std::make_unique_for_overwrite<std::uint8_t[]>(kMostJobs * (kMostBytes + kLine))) {}

Worker::~Worker() = default;

std::string Worker::description() const {
  static constexpr const char* kNames[] = {"none", "no AES-NI", "SSE", "AVX", "AVX2", "AVX512"};
  const std::uint32_t arch = manager_.used_arch;
  return std::string(imb_get_version_str()) + ", " + (arch < std::size(kNames) ? kNames[arch] : "unknown");
}

void Worker::seal(std::span<const Key> keys, std::span<const cipher_packet> packets, std::uint8_t* are_done) {
  process<Direction::seal>(keys, packets, are_done);
}

void Worker::open(std::span<const Key> keys, std::span<const cipher_packet> packets, std::uint8_t* are_right) {
  process<Direction::open>(keys, packets, are_right);
}

template <Worker::Direction kDirection>
void Worker::process(std::span<const Key> keys, std::span<const cipher_packet> packets, std::uint8_t* results) {
  for (std::size_t i = 0; i < packets.size(); ++i) {
    const cipher_packet& packet = packets[i];
    const Key& key = keys[packet.key];
    if (!fits(key, packet)) {
      if (kDirection == Direction::open) clear(packet.destination, packet.bytes);
      results[i] = 0;
    } else if (key.cipher == CIPHER_AES_GCM && packet.nonce_bytes == AES_CTR_NONCE) {
      i += gcm<kDirection>(keys, packets.subspan(i), results + i) - 1;
    } else if (key.cipher == CIPHER_AES_GCM) {
      results[i] = gcm_with_any_nonce<kDirection>(key, packet) ? 1 : 0;
    } else if (key.cipher == CIPHER_AES_GMAC) {
      results[i] = gmac<kDirection>(key, packet) ? 1 : 0;
    } else {
      prefetch_composed_key(keys, packets, i);
      add_job<kDirection>(key, packet);
      if (jobs_ == kMostJobs) run_jobs<kDirection>(packets.data(), results);
    }
  }
  if (jobs_ != 0) run_jobs<kDirection>(packets.data(), results);
}

/// Processes packets with nonces of 12 bytes from the first one, as long as their keys have its length. Returns their
/// number. The loop has no choices of functions, which matter for short packets.
template <Worker::Direction kDirection>
std::size_t Worker::gcm(std::span<const Key> keys, std::span<const cipher_packet> packets, std::uint8_t* results) {
  const std::uint8_t secret_bytes = keys[packets[0].key].secret_bytes;
  const bool is_short = secret_bytes == 16;
  const aes_gcm_enc_dec_t whole = kDirection == Direction::seal
                                      ? (is_short ? manager_.gcm128_enc : manager_.gcm256_enc)
                                      : (is_short ? manager_.gcm128_dec : manager_.gcm256_dec);
  gcm_context_data* const context = &context_[0];
  alignas(16) std::uint8_t computed[AES_GCM_TAG];
  for (std::size_t i = 0; i < packets.size(); ++i) {
    const cipher_packet& packet = packets[i];
    const Key& key = keys[packet.key];
    prefetch_gcm_key(keys, packets, i, is_short ? 11 * AES_BLOCK : 15 * AES_BLOCK);
    const bool is_alike = key.cipher == CIPHER_AES_GCM && key.secret_bytes == secret_bytes;
    if (!is_alike || packet.nonce_bytes != AES_CTR_NONCE || !fits(key, packet)) return i;
    std::uint8_t* const tag = kDirection == Direction::seal ? packet.tag : computed;
    whole(&key.gcm, context, packet.destination, packet.source, packet.bytes, packet.nonce, packet.aad,
          packet.aad_bytes, tag, key.tag_bytes);
    const bool is_good = kDirection == Direction::seal || is_right(computed, packet, key);
    if (!is_good) clear(packet.destination, packet.bytes);
    results[i] = is_good ? 1 : 0;
  }
  return packets.size();
}

template <Worker::Direction kDirection>
bool Worker::gcm_with_any_nonce(const Key& key, const cipher_packet& packet) {
  const bool is_short = key.secret_bytes == 16;
  gcm_context_data& context = context_[0];
  alignas(16) std::uint8_t computed[AES_GCM_TAG];
  std::uint8_t* const tag = kDirection == Direction::seal ? packet.tag : computed;
  (is_short ? manager_.gcm128_init_var_iv : manager_.gcm256_init_var_iv)(
      &key.gcm, &context, packet.nonce, packet.nonce_bytes, packet.aad, packet.aad_bytes);
  const aes_gcm_enc_dec_update_t update = kDirection == Direction::seal
                                              ? (is_short ? manager_.gcm128_enc_update : manager_.gcm256_enc_update)
                                              : (is_short ? manager_.gcm128_dec_update : manager_.gcm256_dec_update);
  update(&key.gcm, &context, packet.destination, packet.source, packet.bytes);
  (is_short ? manager_.gcm128_enc_finalize : manager_.gcm256_enc_finalize)(&key.gcm, &context, tag, key.tag_bytes);
  if (kDirection == Direction::seal || is_right(computed, packet, key)) return true;
  clear(packet.destination, packet.bytes);
  return false;
}

template <Worker::Direction kDirection>
bool Worker::gmac(const Key& key, const cipher_packet& packet) {
  const bool is_short = key.secret_bytes == 16;
  gcm_context_data& context = context_[0];
  alignas(16) std::uint8_t computed[AES_GCM_TAG];
  std::uint8_t* const tag = kDirection == Direction::seal ? packet.tag : computed;
  const aes_gmac_update_t update = is_short ? manager_.gmac128_update : manager_.gmac256_update;
  (is_short ? manager_.gmac128_init : manager_.gmac256_init)(&key.gcm, &context, packet.nonce, packet.nonce_bytes);
  update(&key.gcm, &context, packet.aad, packet.aad_bytes);
  update(&key.gcm, &context, packet.source, packet.bytes);
  (is_short ? manager_.gmac128_finalize : manager_.gmac256_finalize)(&key.gcm, &context, tag, key.tag_bytes);
  if (kDirection == Direction::seal || is_right(computed, packet, key)) {
    copy(packet.destination, packet.source, packet.bytes);
    return true;
  }
  clear(packet.destination, packet.bytes);
  return false;
}

/// Returns where the bytes that the digest covers are adjacent: a copy of the packet, or null if they are so already.
template <Worker::Direction kDirection>
std::uint8_t* Worker::copy_if_scattered(const Key& key, const cipher_packet& packet) {
  const std::uint8_t* const payload = kDirection == Direction::seal ? packet.destination : packet.source;
  const std::uint8_t* const end = payload + packet.bytes;
  const bool follows_aad = packet.aad_bytes == 0 || packet.aad + packet.aad_bytes == payload;
  if (follows_aad && (packet.trailer_bytes == 0 || packet.trailer == end)) return nullptr;
  const bool has_tag_after = kDirection == Direction::seal && packet.tag == end;
  if (follows_aad && has_tag_after && key.tag_bytes >= packet.trailer_bytes) {
    copy(packet.tag, packet.trailer, packet.trailer_bytes);
    return nullptr;
  }
  std::uint8_t* const place = copies_.get() + copied_;
  copied_ += covered_bytes(packet) / kLine * kLine + kLine;
  copy(place, packet.aad, packet.aad_bytes);
  if (kDirection == Direction::open) copy(place + packet.aad_bytes, packet.source, packet.bytes);
  copy(place + packet.aad_bytes + packet.bytes, packet.trailer, packet.trailer_bytes);
  return place;
}

/// Fills the next job of the burst.
template <Worker::Direction kDirection>
void Worker::add_job(const Key& key, const cipher_packet& packet) {
  constexpr bool kSeals = kDirection == Direction::seal;
  if (jobs_ == 0) manager_.get_next_burst(&manager_, kMostJobs, burst_);  // All are free between bursts.
  std::uint8_t* const tag = &tags_[std::size_t{jobs_} * CIPHER_MOST_TAG];
  IMB_JOB& job = *burst_[jobs_++];
  std::uint8_t* const copied = key.digest == 0 ? nullptr : copy_if_scattered<kDirection>(key, packet);
  job.user_data = const_cast<cipher_packet*>(&packet);
  job.user_data2 = const_cast<Key*>(&key);
  job.cipher_mode = static_cast<IMB_CIPHER_MODE>(key.job_cipher);
  job.hash_alg = static_cast<IMB_HASH_ALG>(key.job_hash);
  job.cipher_direction = kSeals ? IMB_DIR_ENCRYPT : IMB_DIR_DECRYPT;
  job.chain_order = kSeals ? IMB_ORDER_CIPHER_HASH : IMB_ORDER_HASH_CIPHER;
  job.key_len_in_bytes = key.secret_bytes;
  job.src = packet.source;
  job.dst = kSeals && copied != nullptr ? copied + packet.aad_bytes : packet.destination;
  job.cipher_start_src_offset_in_bytes = 0;
  job.msg_len_to_cipher_in_bytes = packet.bytes;
  job.iv = packet.nonce;
  job.iv_len_in_bytes = packet.nonce_bytes;
  job.auth_tag_output = kSeals && key.job_tag_bytes == key.tag_bytes ? packet.tag : tag;
  job.auth_tag_output_len_in_bytes = key.job_tag_bytes;
  if (key.cipher == CIPHER_CHACHA20_POLY1305) {
    job.enc_keys = key.chacha20;
    job.dec_keys = key.chacha20;
    job.hash_start_src_offset_in_bytes = 0;
    job.msg_len_to_hash_in_bytes = packet.bytes;
    job.u.CHACHA20_POLY1305.aad = packet.aad;
    job.u.CHACHA20_POLY1305.aad_len_in_bytes = packet.aad_bytes;
  } else {
    const std::uint8_t* digested = packet.aad_bytes != 0 ? packet.aad : (kSeals ? job.dst : packet.source);
    if (copied != nullptr) digested = copied;
    job.enc_keys = key.composed.encrypt;
    job.dec_keys = key.composed.decrypt;
    // The library adds the offset to `src`, modulo 2^64. So a digest can cover the destination of the cipher.
    job.hash_start_src_offset_in_bytes =
        reinterpret_cast<std::uintptr_t>(digested) - reinterpret_cast<std::uintptr_t>(packet.source);
    job.msg_len_to_hash_in_bytes = covered_bytes(packet);
    job.u.HMAC._hashed_auth_key_xor_ipad = key.composed.inner;
    job.u.HMAC._hashed_auth_key_xor_opad = key.composed.outer;
    if (packet.bytes == 0) job.cipher_mode = IMB_CIPHER_NULL;  // The library takes no empty payload.
    if (kSeals && key.cipher == CIPHER_NONE) copy(job.dst, packet.source, packet.bytes);
    if (job.msg_len_to_hash_in_bytes == 0 && key.digest != 0) {
      hmac_of_nothing(key, tag);
      job.hash_alg = IMB_AUTH_NULL;
      job.auth_tag_output = tag;
    }
  }
}

/// Runs the burst to its end. `packets` and `results` are those of the whole call.
template <Worker::Direction kDirection>
void Worker::run_jobs(const cipher_packet* packets, std::uint8_t* results) {
  std::uint32_t ended = manager_.submit_burst_nocheck(&manager_, jobs_, burst_);
  while (true) {
    for (std::uint32_t i = 0; i < ended; ++i) {
      const IMB_JOB& job = *burst_[i];
      const auto* const packet = static_cast<const cipher_packet*>(job.user_data);
      results[packet - packets] = finish<kDirection>(job, *packet) ? 1 : 0;
    }
    jobs_ -= ended;
    if (jobs_ == 0) break;
    ended = manager_.flush_burst(&manager_, jobs_, burst_);
  }
  copied_ = 0;
}

/// Moves results from where the job has them to where the packet wants them. Returns true if the packet is right.
template <Worker::Direction kDirection>
bool Worker::finish(const IMB_JOB& job, const cipher_packet& packet) {
  const Key& key = *static_cast<const Key*>(job.user_data2);
  if (kDirection == Direction::seal) {
    if (job.dst != packet.destination) copy(packet.destination, job.dst, packet.bytes);
    if (job.auth_tag_output != packet.tag) copy(packet.tag, job.auth_tag_output, key.tag_bytes);
    return job.status == IMB_STATUS_COMPLETED;
  }
  if (job.status != IMB_STATUS_COMPLETED || !is_right(job.auth_tag_output, packet, key)) {
    clear(packet.destination, packet.bytes);
    return false;
  }
  if (key.cipher == CIPHER_NONE) copy(packet.destination, packet.source, packet.bytes);
  return true;
}

}  // namespace penumbra::ipsec_mb
