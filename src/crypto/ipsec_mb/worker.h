// SPDX-License-Identifier: Apache-2.0
//
// The library form of the ciphers: Debian's libipsec-mb, called directly. GCM and GMAC take its direct calls. All other
// algorithms are jobs, which the library collects from several packets, and which end before a call returns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "crypto/cipher.h"
#include "crypto/ipsec_mb/keys.h"
#include "crypto/secret_memory.h"

namespace penumbra::ipsec_mb {

/// The most bytes of a packet that the library authenticates. Longer packets are refused as if they did not fit.
inline constexpr std::uint32_t kMostBytes = 65'000;

/// A manager of the library with what its jobs need. One thread uses a worker at a time. Different workers may use the
/// same keys.
class Worker {
 public:
  /// Throws std::system_error as SecretMemory does.
  Worker();
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  /// Expands a key for all workers of this machine. Throws std::invalid_argument as check() does.
  void expand(const KeyMaterial& material, Key& key) { ipsec_mb::expand(manager_, material, key); }

  /// Do what plain_seal() and plain_open() do. With a digest, these calls copy the packet if the bytes that the digest
  /// covers are not adjacent: `aad`, the destination of seal() or the source of open(), and `trailer`. The trailer of
  /// seal() may lie elsewhere if `tag` directly follows the destination.
  void seal(std::span<const Key> keys, std::span<const cipher_packet> packets, std::uint8_t* are_done);
  void open(std::span<const Key> keys, std::span<const cipher_packet> packets, std::uint8_t* are_right);

  /// Returns the version of the library and the instructions that it uses: "1.3.0, AVX512".
  std::string description() const;

 private:
  enum class Direction : bool { seal, open };
  static constexpr std::size_t kMostJobs = IMB_MAX_BURST_SIZE;

  template <Direction kDirection>
  void process(std::span<const Key> keys, std::span<const cipher_packet> packets, std::uint8_t* results);
  template <Direction kDirection>
  std::size_t gcm(std::span<const Key> keys, std::span<const cipher_packet> packets, std::uint8_t* results);
  template <Direction kDirection>
  bool gcm_with_any_nonce(const Key& key, const cipher_packet& packet);
  template <Direction kDirection>
  bool gmac(const Key& key, const cipher_packet& packet);
  template <Direction kDirection>
  std::uint8_t* copy_if_scattered(const Key& key, const cipher_packet& packet);
  template <Direction kDirection>
  void add_job(const Key& key, const cipher_packet& packet);
  template <Direction kDirection>
  static bool finish(const IMB_JOB& job, const cipher_packet& packet);
  template <Direction kDirection>
  void run_jobs(const cipher_packet* packets, std::uint8_t* results);

  SecretMemory manager_memory_;
  IMB_MGR& manager_;
  SecretArray<gcm_context_data> context_;
  SecretArray<std::uint8_t> tags_;  ///< Of jobs of open(), and of those that make another length.
  std::unique_ptr<std::uint8_t[]> copies_;
  std::size_t copied_ = 0;  ///< Bytes of copies_ that the burst uses.
  std::uint32_t jobs_ = 0;  ///< Jobs of the burst.
  IMB_JOB* burst_[kMostJobs];
};

}  // namespace penumbra::ipsec_mb
