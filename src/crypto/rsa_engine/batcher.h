// SPDX-License-Identifier: Apache-2.0
//
// Collects the requests of all clients, and computes them in batches.
#pragma once

#include <array>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "crypto/rsa_engine/counters.h"
#include "crypto/rsa_engine/form.h"

namespace penumbra::rsa_engine {

class Client;

/// A request.
struct Job : Task {
  std::shared_ptr<Client> client;
  std::uint32_t tag = 0;
};

/// Who receives the answers.
class Client : public std::enable_shared_from_this<Client> {
 public:
  Client() = default;
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;
  virtual ~Client() = default;
  virtual bool is_gone() const = 0;
  /// Any thread calls it.
  virtual void answer(const Job& job, Verdict verdict) = 0;

 private:
  friend class Batcher;
  std::array<std::deque<std::unique_ptr<Job>>, kSizes> waiting_;  ///< The batcher's.
};

/// A form with a thread of its own.
struct FormOnThread {
  std::unique_ptr<BatchForm> form;
  bool is_gpu = false;
  std::array<std::size_t, kSizes>
      least{};  ///< It takes no fewer pending jobs of a size. For one form at least, it is 1.
};

class Batcher {
 public:
  /// Starts a thread for each form.
  Batcher(std::vector<FormOnThread> forms, Counters& counters);
  /// Answers what is queued with a failure.
  ~Batcher();
  Batcher(const Batcher&) = delete;
  Batcher& operator=(const Batcher&) = delete;

  /// Takes a job whose input has the bytes of its key. The client receives one answer. Throws std::bad_alloc; the job
  /// is not taken then.
  void submit(std::unique_ptr<Job> job);
  /// Makes room for a key. When its last owner releases it, which must be before the batcher ends, every form erases
  /// its expansions. Throws std::system_error if the operating system refuses the locked memory.
  std::shared_ptr<StoredKey> make_key();
  /// Returns false if every form is lost.
  bool has_forms();

 private:
  using Jobs = std::vector<std::unique_ptr<Job>>;
  struct Worker {
    FormOnThread with;
    bool is_idle = false, is_lost = false;
    unsigned seen_removals = 0;
    std::size_t next_size = 0;  ///< The sizes take turns.
  };
  struct Choice {
    std::size_t size = 0, count = 0;
  };

  void serve(Worker& worker);
  std::size_t least_for(const Worker& worker, std::size_t size) const;
  bool choose(Worker& worker, Choice& choice);
  Jobs take(const Choice& choice);
  bool run(Worker& worker, Jobs& jobs);
  void finish(Job& job, Verdict verdict);
  void fail_all();
  void forget_keys();

  Counters& counters_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_ending_ = false;
  unsigned removals_ = 0;
  std::array<std::size_t, kSizes> pending_{};
  /// Clients with waiting jobs of a size. They take turns, so that no client delays another by many jobs.
  std::array<std::deque<std::shared_ptr<Client>>, kSizes> clients_;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::vector<std::jthread> threads_;
};

}  // namespace penumbra::rsa_engine
