// SPDX-License-Identifier: Apache-2.0
//
// A private operation that a job waits for.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>

#include "key.h"

namespace penumbra::tls {

inline constexpr std::size_t kMostBytes = 512;  ///< Of a modulus that the engine takes.

/// The eventfd of a wait context of OpenSSL. The application knows one descriptor of it, which is closed with the wait
/// context. The engine writes to a duplicate, so that it never writes to a number that the application uses again.
class Wakeup {
 public:
  /// Returns null if there are no more descriptors.
  static std::shared_ptr<Wakeup> make();
  ~Wakeup();
  Wakeup(const Wakeup&) = delete;
  Wakeup& operator=(const Wakeup&) = delete;

  int descriptor() const { return descriptor_; }
  void close_descriptor();
  void signal() const;
  /// Makes the descriptor unreadable until the next signal.
  void clear() const;

 private:
  Wakeup(int descriptor, int duplicate) : descriptor_(descriptor), duplicate_(duplicate) {}

  int descriptor_, duplicate_;
};

/// Why `penumbra tls-engine` gave no result.
enum class Loss { absent, ended, refused, full, wrong };

/// A private operation of a job. Job and engine own it together, because either may end first.
struct Request {
  Request(Key& key_to_use, std::shared_ptr<Wakeup> wakeup_to_signal);
  ~Request();
  Request(const Request&) = delete;
  Request& operator=(const Request&) = delete;

  /// Waits until the request is done. Returns false if it is not done in `longest`. The thread does nothing else
  /// meanwhile.
  bool wait(std::chrono::milliseconds longest) const;

  Key& key;
  const std::shared_ptr<Wakeup> wakeup;
  const std::chrono::steady_clock::time_point since = std::chrono::steady_clock::now();
  std::array<std::uint8_t, kMostBytes> input, output;
  bool is_right = false;              ///< Valid when `is_done`.
  Loss loss = Loss::absent;           ///< Valid when `is_done`, and not `is_right`, of a key reference.
  std::atomic<bool> is_done = false;  ///< Set by the engine.
  std::atomic<bool> is_abandoned = false;
};

}  // namespace penumbra::tls
