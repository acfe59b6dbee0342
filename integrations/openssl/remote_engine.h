// SPDX-License-Identifier: Apache-2.0
//
// The client of `penumbra tls-engine`, a process that computes for many.
#pragma once

#include <sys/types.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <unordered_map>
#include <vector>

#include "base/file_descriptor.h"
#include "counters.h"
#include "crypto/rsa_engine/message.h"
#include "crypto/rsa_engine/region.h"
#include "request.h"

namespace penumbra::tls {

/// Connects again every second while there is no engine. Keys and requests are passed to an engine that is there, and a
/// thread receives the results. The engine is not trusted with them: each is verified. Requests of key references wait
/// for the engine.
class RemoteEngine {
 public:
  struct Receivers {
    std::function<void(Request&)> answered;  ///< The output is right.
    /// The engine gives no result, or is gone. It must not throw.
    std::function<void(std::shared_ptr<Request>)> lost;
  };

  /// Starts the thread. An engine of root, of this process's user or of `user` gets keys. Throws std::system_error. The
  /// receivers are called by that thread, and by the destructor.
  RemoteEngine(OSSL_LIB_CTX* library, std::filesystem::path socket, std::optional<uid_t> user, Counters& counters,
               Receivers receivers);
  /// Gives back what is in flight.
  ~RemoteEngine();
  RemoteEngine(const RemoteEngine&) = delete;
  RemoteEngine& operator=(const RemoteEngine&) = delete;

  /// Takes a request of a key reference always. Returns false for another if the engine is absent or full, does not
  /// have the key yet, or has references to serve first. The caller then keeps the request.
  bool submit(const std::shared_ptr<Request>& request);

 private:
  using Clock = std::chrono::steady_clock;
  struct Pending {
    std::shared_ptr<Request> request;
    std::uint32_t tag = 0;
    Clock::time_point since;
  };
  enum class KeyState { unknown, asked, added, refused };
  /// The engine's copy of a key, of which this object holds a reference.
  struct RemoteKey {
    std::uint32_t number;
    KeyState state = KeyState::unknown;
  };

  void serve();
  bool serve_once();
  void connect();
  bool may_have_keys(int socket) const;
  void disconnect();
  void wait();
  bool receive_messages();
  bool handle(const rsa_engine::Message& message, const FileDescriptor& passed);
  bool receive_answers();
  bool accept_answer(const rsa_engine::Entry& entry);
  bool is_late();
  bool send(const std::shared_ptr<Request>& request);
  bool has_failed(Request& request);
  void send_waiting();
  bool remove_keys();
  void add_key(Key& key);
  bool send_keys();
  void wake() const;

  OSSL_LIB_CTX* const library_;
  const std::filesystem::path path_;
  const std::optional<uid_t> user_;
  Counters& counters_;
  const Receivers receivers_;
  FileDescriptor own_wakeup_;  ///< An eventfd that only this process has.
  std::atomic<bool> is_ending_ = false;
  // Only the thread uses the following.
  Clock::time_point last_attempt_{}, next_sweep_{};
  SecretMemory room_;  ///< For one message, which may have a key.
  std::unique_ptr<rsa_engine::RingReader> answers_;

  std::mutex mutex_;  ///< Of all that follows.
  FileDescriptor socket_;
  std::unique_ptr<rsa_engine::MappedRegion> region_;  ///< Null: there is no engine.
  std::unique_ptr<rsa_engine::RingWriter> requests_;
  std::array<Pending, rsa_engine::kSlots> pending_;
  std::vector<std::uint32_t> free_slots_;
  std::deque<std::shared_ptr<Request>> waiting_;  ///< Of key references.
  std::uint32_t next_tag_ = 0;
  std::unordered_map<Key*, RemoteKey> keys_;
  std::vector<Key*> by_number_;  ///< Null: the number is free.
  bool are_keys_new_ = false;
  std::jthread thread_;
};

}  // namespace penumbra::tls
