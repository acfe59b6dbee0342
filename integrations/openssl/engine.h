// SPDX-License-Identifier: Apache-2.0
//
// Threads that run private operations in batches of keys of one size.
#pragma once

#include <openssl/types.h>
#include <sys/types.h>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "counters.h"
#include "crypto/rsa/ifma.h"
#include "remote_engine.h"
#include "request.h"

namespace penumbra::tls {

struct Settings {
  unsigned threads = 1;                   ///< Threads of the engine.
  unsigned least_batch = 3;               ///< Fewer pending operations run one by one by OpenSSL's own code.
  std::string counters_file = {};         ///< Receives the counters every second; empty: none.
  std::string engine_socket = {};         ///< Of `penumbra tls-engine`; empty: this process computes all.
  std::optional<uid_t> engine_user = {};  ///< Gets keys, if this user listens, as do root and the own user.
};

/// Belongs to the process that made it. Passes operations to `penumbra tls-engine`, if the settings name its socket and
/// it is there, but never a lone one: OpenSSL's code in this process is the fastest for one. Operations of key
/// references are passed always, and never run here.
class Engine {
 public:
  /// Starts the threads. Throws std::system_error if the operating system refuses threads, descriptors or locked
  /// memory.
  Engine(OSSL_LIB_CTX* library, const Settings& settings, Counters& counters);
  /// Finishes what is queued.
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  /// Returns false if the queue is full, or no `penumbra tls-engine` is set for a key reference. The caller then keeps
  /// the request.
  bool submit(const std::shared_ptr<Request>& request);

 private:
  using Requests = std::vector<std::shared_ptr<Request>>;

  using Clock = std::chrono::steady_clock;

  void end();
  void serve(unsigned thread);
  bool has_paused_jobs() const;
  bool wait_for_requests(std::unique_lock<std::mutex>& lock, bool writes_counters);
  Requests take();
  void run_batch(Requests& requests, unsigned thread);
  void run_alone(Request& request);
  void finish(Request& request, bool is_right);
  void take_back(std::shared_ptr<Request> request);
  void note_answer(Request& request);
  void let_counters_be_written();
  void write_counters();

  OSSL_LIB_CTX* const library_;
  const Settings settings_;
  const bool has_batches_ = rsa::has_ifma();
  Counters& counters_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::shared_ptr<Request>> queue_;
  bool is_ending_ = false;
  bool are_counters_new_ = false;
  Clock::time_point written_;
  std::vector<std::unique_ptr<rsa::IfmaWorker>> workers_;
  std::vector<std::jthread> threads_;
  std::unique_ptr<RemoteEngine> remote_;  ///< Null without its socket.
};

}  // namespace penumbra::tls
