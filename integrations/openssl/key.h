// SPDX-License-Identifier: Apache-2.0
//
// An RSA key of the provider: OpenSSL's own key in the provider's library context, and its expansions for the engine.
#pragma once

#include <sys/types.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>

#include "crypto/rsa/ifma.h"
#include "crypto/rsa/key.h"
#include "handles.h"

namespace penumbra::tls {

inline constexpr unsigned kMostThreads = 16;

/// Counts its owners: the application, and each request in flight.
class Key {
 public:
  /// The caller is the owner.
  explicit Key(Pkey pkey);
  Key(const Key&) = delete;
  Key& operator=(const Key&) = delete;

  void refer() { references_.fetch_add(1, std::memory_order_relaxed); }
  void release() {
    if (references_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }

  EVP_PKEY* pkey() const { return pkey_.get(); }
  std::size_t bytes() const { return static_cast<std::size_t>(EVP_PKEY_get_size(pkey_.get())); }
  bool has_private() const;
  /// Returns whether only `penumbra tls-engine` has the secret (`penumbra tls reference`).
  bool is_reference() const { return is_reference_; }
  /// Returns whether batches take operations of this key. The first call checks the key.
  bool is_taken();
  /// Returns the expansion for a thread of the engine, and null if the operating system refuses the locked memory. Only
  /// that thread may call it. A child process makes its own expansion, since it inherits neither locks of memory nor
  /// the right to the same blinding.
  rsa::IfmaKey* for_thread(unsigned thread);
  /// The raw private operation by OpenSSL's own code. Returns false if that fails.
  bool run_alone(OSSL_LIB_CTX* library, const unsigned char* input, unsigned char* output) const;
  /// Returns whether `output` is the result of the private operation, by OpenSSL's public operation.
  bool is_result(OSSL_LIB_CTX* library, const unsigned char* input, const unsigned char* output) const;
  /// Writes the key for a message to `penumbra tls-engine`, and of a reference the public part. Returns its size; 0 if
  /// `room` is too small.
  std::size_t write(std::span<std::uint8_t> room) const;
  /// Returns whether the caller holds the only reference.
  bool has_one_owner() const { return references_.load(std::memory_order_acquire) == 1; }

 private:
  ~Key() = default;
  bool expand(rsa_key& expanded) const;
  bool pass_parts(const std::function<void(const rsa::KeyParts&)>& receiver) const;

  struct Expansion {
    pid_t process = 0;
    std::unique_ptr<rsa::IfmaKey> key;
  };

  std::atomic<int> references_{1};
  Pkey pkey_;
  const bool is_reference_;
  std::once_flag checked_;
  bool is_taken_ = false;
  std::array<Expansion, kMostThreads> expansions_;
};

}  // namespace penumbra::tls
