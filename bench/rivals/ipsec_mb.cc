// SPDX-License-Identifier: Apache-2.0
#include "rivals/ipsec_mb.h"

#include <array>
#include <cstring>
#include <stdexcept>

namespace penumbra::bench {
namespace {

IMB_HASH_ALG hash_of(std::uint32_t digest) {
  constexpr IMB_HASH_ALG kAll[] = {IMB_AUTH_NULL, IMB_AUTH_HMAC_SHA_1, IMB_AUTH_HMAC_SHA_256, IMB_AUTH_HMAC_SHA_384,
                                   IMB_AUTH_HMAC_SHA_512};
  return kAll[digest];
}

IMB_CIPHER_MODE mode_of(std::uint32_t cipher) {
  if (cipher == CIPHER_AES_CBC) return IMB_CIPHER_CBC;
  return cipher == CIPHER_AES_CTR ? IMB_CIPHER_CNTR : IMB_CIPHER_NULL;
}

}  // namespace

BareIpsecMb::BareIpsecMb(std::span<const KeyMaterial> materials) : manager_(alloc_mb_mgr(0)), keys_(materials.size()) {
  if (manager_ == nullptr) throw std::runtime_error("libipsec-mb has no memory");
  init_mb_mgr_auto(manager_, nullptr);
  for (std::size_t i = 0; i < materials.size(); ++i) ipsec_mb::expand(*manager_, materials[i], keys_[i]);
}

BareIpsecMb::~BareIpsecMb() {
  free_mb_mgr(manager_);
}

std::size_t BareIpsecMb::seal(std::span<const cipher_packet> packets) {
  if (keys_[0].cipher == CIPHER_AES_GCM) return run_gcm(packets, true);
  return keys_[0].cipher == CIPHER_AES_GMAC ? run_gmac(packets, true) : run_jobs(packets, true);
}

std::size_t BareIpsecMb::open(std::span<const cipher_packet> packets) {
  if (keys_[0].cipher == CIPHER_AES_GCM) return run_gcm(packets, false);
  return keys_[0].cipher == CIPHER_AES_GMAC ? run_gmac(packets, false) : run_jobs(packets, false);
}

std::size_t BareIpsecMb::run_gcm(std::span<const cipher_packet> packets, bool is_sealed) {
  const bool is_short = keys_[0].secret_bytes == 16;
  const aes_gcm_enc_dec_t run = is_sealed ? (is_short ? manager_->gcm128_enc : manager_->gcm256_enc)
                                          : (is_short ? manager_->gcm128_dec : manager_->gcm256_dec);
  gcm_context_data context;
  std::size_t right = 0;
  for (const cipher_packet& packet : packets) {
    run(&keys_[packet.key].gcm, &context, packet.destination, packet.source, packet.bytes, packet.nonce, packet.aad,
        packet.aad_bytes, is_sealed ? packet.tag : tag_[0], 16);
    right += is_sealed || std::memcmp(tag_[0], packet.received_tag, 16) == 0 ? 1 : 0;
  }
  return right;
}

std::size_t BareIpsecMb::run_gmac(std::span<const cipher_packet> packets, bool is_sealed) {
  const bool is_short = keys_[0].secret_bytes == 16;
  const aes_gmac_init_t init = is_short ? manager_->gmac128_init : manager_->gmac256_init;
  const aes_gmac_update_t update = is_short ? manager_->gmac128_update : manager_->gmac256_update;
  const aes_gmac_finalize_t finalize = is_short ? manager_->gmac128_finalize : manager_->gmac256_finalize;
  gcm_context_data context;
  std::size_t right = 0;
  for (const cipher_packet& packet : packets) {
    const gcm_key_data* const key = &keys_[packet.key].gcm;
    init(key, &context, packet.nonce, packet.nonce_bytes);
    update(key, &context, packet.aad, packet.aad_bytes);
    update(key, &context, packet.source, packet.bytes);
    finalize(key, &context, is_sealed ? packet.tag : tag_[0], 16);
    std::memcpy(packet.destination, packet.source, packet.bytes);
    right += is_sealed || std::memcmp(tag_[0], packet.received_tag, 16) == 0 ? 1 : 0;
  }
  return right;
}

std::size_t BareIpsecMb::run_jobs(std::span<const cipher_packet> packets, bool is_sealed) {
  const bool is_chacha20 = keys_[0].cipher == CIPHER_CHACHA20_POLY1305, has_cipher = keys_[0].cipher != CIPHER_NONE;
  const auto count = static_cast<std::uint32_t>(packets.size());
  std::array<IMB_JOB*, IMB_MAX_BURST_SIZE> jobs;
  if (manager_->get_next_burst(manager_, count, jobs.data()) != count) return 0;
  for (std::uint32_t i = 0; i < count; ++i) {
    const cipher_packet& packet = packets[i];
    const ipsec_mb::Key& key = keys_[packet.key];
    IMB_JOB* const job = jobs[i];
    job->src = packet.source;
    job->dst = packet.destination;
    job->cipher_start_src_offset_in_bytes = 0;
    job->msg_len_to_cipher_in_bytes = packet.bytes;
    job->iv = packet.nonce;
    job->iv_len_in_bytes = packet.nonce_bytes;
    job->key_len_in_bytes = key.secret_bytes;
    job->auth_tag_output = is_sealed ? packet.tag : tag_[i];
    job->auth_tag_output_len_in_bytes = key.tag_bytes;
    job->cipher_direction = is_sealed ? IMB_DIR_ENCRYPT : IMB_DIR_DECRYPT;
    job->chain_order = is_sealed ? IMB_ORDER_CIPHER_HASH : IMB_ORDER_HASH_CIPHER;
    job->user_data = const_cast<cipher_packet*>(&packet);
    if (is_chacha20) {
      job->cipher_mode = IMB_CIPHER_CHACHA20_POLY1305;
      job->hash_alg = IMB_AUTH_CHACHA20_POLY1305;
      job->enc_keys = key.chacha20;
      job->dec_keys = key.chacha20;
      job->hash_start_src_offset_in_bytes = 0;
      job->msg_len_to_hash_in_bytes = packet.bytes;
      job->u.CHACHA20_POLY1305.aad = packet.aad;
      job->u.CHACHA20_POLY1305.aad_len_in_bytes = packet.aad_bytes;
    } else {
      job->cipher_mode = mode_of(key.cipher);
      job->hash_alg = hash_of(key.digest);
      job->enc_keys = key.composed.encrypt;
      job->dec_keys = key.composed.decrypt;
      job->hash_start_src_offset_in_bytes =
          reinterpret_cast<std::uintptr_t>(packet.aad) - reinterpret_cast<std::uintptr_t>(packet.source);
      job->msg_len_to_hash_in_bytes = std::uint64_t{packet.aad_bytes} + packet.bytes;
      job->u.HMAC._hashed_auth_key_xor_ipad = key.composed.inner;
      job->u.HMAC._hashed_auth_key_xor_opad = key.composed.outer;
    }
    if (!has_cipher) std::memcpy(packet.destination, packet.source, packet.bytes);
  }
  std::size_t right = 0;
  std::uint32_t ended = manager_->submit_burst_nocheck(manager_, count, jobs.data());
  for (std::uint32_t left = count; true; ended = manager_->flush_burst(manager_, left, jobs.data())) {
    for (std::uint32_t i = 0; i < ended; ++i) right += finish(jobs[i], is_sealed);
    left -= ended;
    if (left == 0) return right;
  }
}

std::size_t BareIpsecMb::finish(const IMB_JOB* job, bool is_sealed) const {
  const cipher_packet& packet = *static_cast<const cipher_packet*>(job->user_data);
  if (job->status != IMB_STATUS_COMPLETED) return 0;
  return is_sealed || std::memcmp(job->auth_tag_output, packet.received_tag, keys_[0].tag_bytes) == 0 ? 1 : 0;
}

}  // namespace penumbra::bench
