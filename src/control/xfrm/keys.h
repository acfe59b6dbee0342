// SPDX-License-Identifier: Apache-2.0
//
// Keys of security associations, in locked memory.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "crypto/secret_memory.h"

namespace penumbra::control::xfrm {

inline constexpr std::size_t kMostCipherKey = 64;   ///< Bytes, with the salt.
inline constexpr std::size_t kMostDigestKey = 128;  ///< Bytes: the largest block of a digest (SHA-512).

/// Holds the keys of one SA as the key exchange gave them.
struct KeyBytes {
  std::uint8_t cipher[kMostCipherKey];
  std::uint8_t digest[kMostDigestKey];
};

class KeyStore;

/// Owns an entry of a KeyStore. The destructor overwrites the entry with zeros. The store must outlive its handles.
class KeyHandle {
 public:
  KeyHandle() = default;
  KeyHandle(KeyHandle&& other) noexcept
      : store_(std::exchange(other.store_, nullptr)), bytes_(std::exchange(other.bytes_, nullptr)) {}
  KeyHandle& operator=(KeyHandle&& other) noexcept {
    std::swap(store_, other.store_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~KeyHandle();

  explicit operator bool() const { return bytes_ != nullptr; }
  KeyBytes& operator*() const { return *bytes_; }
  KeyBytes* operator->() const { return bytes_; }

 private:
  friend class KeyStore;
  KeyHandle(KeyStore& store, KeyBytes& bytes) : store_(&store), bytes_(&bytes) {}

  KeyStore* store_ = nullptr;
  KeyBytes* bytes_ = nullptr;
};

/// Allocates keys in blocks of locked pages, so that an SA needs less than a page. One thread uses it.
class KeyStore {
 public:
  KeyStore() = default;
  KeyStore(const KeyStore&) = delete;
  KeyStore& operator=(const KeyStore&) = delete;
  ~KeyStore() = default;

  /// Returns an entry of zeros. Throws std::system_error if no memory can be locked.
  KeyHandle allocate();
  /// Returns the number of entries in use.
  std::size_t used() const { return blocks_.size() * kBlockKeys - free_.size(); }

 private:
  friend class KeyHandle;
  static constexpr std::size_t kBlockKeys = 256;

  void release(KeyBytes& bytes) noexcept;

  std::vector<SecretArray<KeyBytes>> blocks_;
  std::vector<KeyBytes*> free_;
};

}  // namespace penumbra::control::xfrm
