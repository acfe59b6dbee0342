// SPDX-License-Identifier: Apache-2.0
//
// The table of keys that cipher jobs use.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "crypto/ipsec_mb/worker.h"
#include "crypto/jobs/cipher_jobs.shader.h"
#include "crypto/key_material.h"
#include "crypto/secret_memory.h"
#include "penumbra/table.h"

namespace penumbra {

/// Owns the keys. All calls come from one thread. A key never changes while a job can use it: add() takes a place that
/// no job names, and remove() frees a place after a grace period.
class CipherKeys {
 public:
  /// Has room for `most` keys. Throws std::system_error if the operating system refuses so much locked memory.
  CipherKeys(std::size_t most, GracePeriods& readers);

  /// Expands a key and returns its index. Throws std::invalid_argument as check(), and std::length_error if there is no
  /// room; waits for a grace period if only removed keys make room.
  std::uint32_t add(const KeyMaterial& material);
  /// Removes the key that add() gave this index. The caller names it in no further job. The key is erased after a grace
  /// period, at a later call of add(), erase_removed() or the destructor.
  void remove(std::uint32_t index);
  /// Erases the removed keys whose grace period is over; with `wait` all removed keys.
  void erase_removed(bool wait);

  std::size_t size() const { return size_; }
  Table& table() { return table_; }

 private:
  void announce(std::uint32_t index);

  GracePeriods& readers_;
  ipsec_mb::Worker worker_;
  SecretArray<cipher_key> keys_;
  SecretArray<ipsec_mb::Key> library_keys_;
  cipher_jobs_view view_;
  Table table_{"cipher_keys", Table::Content::secret};
  std::vector<std::uint32_t> free_;
  std::vector<std::pair<std::uint32_t, std::uint64_t>> removed_;  ///< Index and grace period.
  std::size_t size_ = 0;
};

}  // namespace penumbra
