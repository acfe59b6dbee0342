// SPDX-License-Identifier: Apache-2.0
//
// The private operation of RSA for batches on an NVIDIA GPU. It gives the same results as rsa_private().
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "crypto/rsa/rsa.h"

namespace penumbra::rsa {

/// Batches of operations with keys of one size, on the first GPU that serves. One thread at a time may use it. The
/// memory of keys, pairs, inputs and outputs is overwritten before it is freed. After fork() only a parent's objects
/// work, and only in the parent. Constructor and destructor wait until no resident kernel of this process runs.
class CudaBatch {
 public:
  /// `bits` is 2048, 3072 or 4096. Throws cuda::DeviceError if there is no GPU or too little memory.
  CudaBatch(unsigned bits, std::uint32_t most_keys, std::uint32_t most_operations);
  ~CudaBatch();
  CudaBatch(const CudaBatch&) = delete;
  CudaBatch& operator=(const CudaBatch&) = delete;

  /// Copies a key to the GPU. Returns its index. Throws std::length_error if there are `most_keys`.
  std::uint32_t add_key(const rsa_key& key);
  /// Overwrites a key on the GPU. Another key may get its index.
  void remove_key(std::uint32_t key) noexcept;

  std::uint32_t bytes() const;              ///< The size of an input and of an output.
  std::span<std::uint8_t> inputs();         ///< bytes() for each operation, most significant byte first.
  std::span<std::uint32_t> keys();          ///< The index of each operation's key.
  std::span<const std::uint8_t> outputs();  ///< Zeros unless the status is RSA_DONE.
  std::span<const std::uint32_t> statuses();

  /// The numbers of lanes for each prime among which `lanes` chooses.
  std::span<const unsigned> lanes() const;
  /// Selects the number of lanes for each prime; 0: by the number of operations.
  void set_lanes(unsigned lanes);

  /// Runs the first `count` operations, and waits for the results. Throws cuda::DeviceError, or std::system_error if
  /// the operating system gives no random bytes; the outputs and statuses then have no meaning.
  void run(std::uint32_t count);
  /// Runs the operations of the last run() again, or fewer, without copies of inputs and results. For measurements.
  void run_in_place(std::uint32_t count);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace penumbra::rsa
