// SPDX-License-Identifier: Apache-2.0
//
// Threads that run private operations in batches of keys of one size.
#pragma once

#include <openssl/types.h>

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "counters.h"
#include "crypto/rsa/ifma.h"
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

/// A private operation of a job. Job and engine own it together, because either may end first.
struct Request {
  Request(Key& key_to_use, std::shared_ptr<Wakeup> wakeup_to_signal);
  ~Request();
  Request(const Request&) = delete;
  Request& operator=(const Request&) = delete;

  Key& key;
  const std::shared_ptr<Wakeup> wakeup;
  std::array<std::uint8_t, kMostBytes> input, output;
  bool is_right = false;              ///< Valid when `is_done`.
  std::atomic<bool> is_done = false;  ///< Set by the engine.
  std::atomic<bool> is_abandoned = false;
};

struct Settings {
  unsigned threads = 1;            ///< Threads of the engine.
  unsigned least_batch = 3;        ///< Fewer pending operations run one by one by OpenSSL's own code.
  std::string counters_file = {};  ///< Receives the counters every second; empty: none.
};

/// Belongs to the process that made it.
class Engine {
 public:
  /// Starts the threads. Throws std::system_error if the operating system refuses threads or locked memory.
  Engine(OSSL_LIB_CTX* library, const Settings& settings, Counters& counters);
  /// Finishes what is queued.
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  /// Returns false if the queue is full. The caller then keeps the request.
  bool submit(const std::shared_ptr<Request>& request);

 private:
  using Requests = std::vector<std::shared_ptr<Request>>;

  using Clock = std::chrono::steady_clock;

  void serve(unsigned thread);
  bool wait_for_requests(std::unique_lock<std::mutex>& lock, bool writes_counters);
  Requests take();
  void run_batch(Requests& requests, unsigned thread);
  void run_alone(Request& request);
  void finish(Request& request, bool is_right);
  void write_counters();

  OSSL_LIB_CTX* const library_;
  const Settings settings_;
  Counters& counters_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::shared_ptr<Request>> queue_;
  bool is_ending_ = false;
  bool are_counters_new_ = false;
  Clock::time_point written_;
  std::vector<std::unique_ptr<rsa::IfmaWorker>> workers_;
  std::vector<std::jthread> threads_;
};

}  // namespace penumbra::tls
