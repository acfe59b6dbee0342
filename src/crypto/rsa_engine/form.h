// SPDX-License-Identifier: Apache-2.0
//
// The forms by which the engine computes private operations.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "crypto/rsa/rsa.h"
#include "crypto/rsa_engine/ring.h"
#include "crypto/secret_memory.h"

namespace penumbra::rsa_engine {

/// The sizes of keys: 2048, 3072 and 4096 bits.
inline constexpr std::size_t kSizes = 3;
constexpr std::size_t bytes_of_size(std::size_t size) {
  return 256 + 128 * size;
}
constexpr std::size_t size_of_bytes(std::size_t bytes) {
  return bytes / 128 - 2;
}

/// A key of a client. Its memory is erased when the last task with the key has ended.
class StoredKey {
 public:
  /// Throws std::system_error if the operating system refuses the locked memory.
  StoredKey() : key_(1) {}
  rsa_key& key() { return key_[0]; }
  const rsa_key& key() const { return key_[0]; }
  std::size_t bytes() const { return std::size_t{4} * key().words; }

 private:
  SecretArray<rsa_key> key_;
};

struct Task {
  std::shared_ptr<const StoredKey> key;
  std::array<std::uint8_t, kMostBytes> input, output;
  rsa_status status = RSA_WRONG;
};

/// A form with its own expansions of keys. One thread at a time uses it.
class BatchForm {
 public:
  BatchForm() = default;
  BatchForm(const BatchForm&) = delete;
  BatchForm& operator=(const BatchForm&) = delete;
  virtual ~BatchForm() = default;

  virtual const char* name() const = 0;
  virtual std::size_t most() const = 0;  ///< Tasks of a batch.
  /// Runs tasks with keys of one size, and sets their outputs and statuses. A task whose key cannot be expanded fails.
  /// Throws std::exception if the form is lost.
  virtual void run(std::span<Task* const> tasks) = 0;
  /// Erases the expansions of keys that nobody owns any more.
  virtual void forget_keys() = 0;
};

std::unique_ptr<BatchForm> make_plain_form();
/// The CPU has AVX512-IFMA. Throws std::system_error if the operating system refuses the locked memory.
std::unique_ptr<BatchForm> make_ifma_form();
/// Throws std::runtime_error if there is no GPU that serves, or too little memory.
std::unique_ptr<BatchForm> make_cuda_form();

}  // namespace penumbra::rsa_engine
