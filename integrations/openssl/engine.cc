// SPDX-License-Identifier: Apache-2.0
#include "engine.h"

#include <openssl/crypto.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <exception>
#include <new>
#include <utility>

namespace penumbra::tls {
namespace {

/// Queued operations for each thread, beyond which the caller runs OpenSSL's own code.
constexpr std::size_t kMostQueued = std::size_t{8} * rsa::kMostTogether;
constexpr std::chrono::seconds kWritingInterval{1};

/// Blocks all signals while threads start, so that they are delivered to threads of the application only.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_;
};

}  // namespace

Engine::Engine(OSSL_LIB_CTX* library, const Settings& settings, Counters& counters)
    : library_(library), settings_(settings), counters_(counters) {
  for (unsigned i = 0; i < settings.threads; ++i) workers_.push_back(std::make_unique<rsa::IfmaWorker>());
  const SignalsBlocked blocked;
  try {
    for (unsigned i = 0; i < settings.threads; ++i) threads_.emplace_back([this, i] { serve(i); });
    if (settings.engine_socket.empty()) return;
    remote_ = std::make_unique<RemoteEngine>(
        library, settings.engine_socket, settings.engine_user, counters,
        RemoteEngine::Receivers{.answered = [this](Request& request) { note_answer(request); },
                                .lost = [this](std::shared_ptr<Request> request) { take_back(std::move(request)); }});
  } catch (...) {
    end();
    throw;
  }
}

Engine::~Engine() {
  end();
  write_counters();
}

/// Finishes what is queued, and ends the threads.
void Engine::end() {
  remote_.reset();
  {
    const std::scoped_lock lock(mutex_);
    is_ending_ = true;
  }
  changed_.notify_all();
  threads_.clear();
}

bool Engine::submit(const std::shared_ptr<Request>& request) {
  if (request->key.is_reference()) return remote_ != nullptr && remote_->submit(request);
  if (remote_ != nullptr && counters_.in_flight != 0 && remote_->submit(request)) return true;
  {
    const std::scoped_lock lock(mutex_);
    if (is_ending_ || queue_.size() >= kMostQueued * settings_.threads) return false;
    queue_.push_back(request);
    count(counters_.taken);
    count(counters_.in_flight);
  }
  changed_.notify_one();
  return true;
}

/// Queues a request for which `penumbra tls-engine` has no result. Without memory, the job takes OpenSSL's own code. A
/// request of a key reference fails.
void Engine::take_back(std::shared_ptr<Request> request) {
  if (request->key.is_reference()) {
    finish(*request, false);
    const std::scoped_lock lock(mutex_);
    return let_counters_be_written();
  }
  try {
    const std::scoped_lock lock(mutex_);
    queue_.push_back(request);
  } catch (const std::bad_alloc&) {
    return finish(*request, false);
  }
  changed_.notify_one();
}

void Engine::note_answer(Request& request) {
  finish(request, true);
  const std::scoped_lock lock(mutex_);
  let_counters_be_written();
}

/// The caller holds the lock. The thread that writes counters may wait for requests.
void Engine::let_counters_be_written() {
  if (!std::exchange(are_counters_new_, true)) changed_.notify_all();
}

/// Takes the oldest request and those of its size, or the oldest alone if they are few.
Engine::Requests Engine::take() {
  Requests taken;
  const std::size_t bytes = queue_.front()->key.bytes();
  const auto is_of_size = [bytes](const auto& request) { return request->key.bytes() == bytes; };
  const auto alike = static_cast<std::size_t>(std::ranges::count_if(queue_, is_of_size));
  const std::size_t most = alike < settings_.least_batch || !has_batches_ ? 1 : rsa::kMostTogether;
  for (auto each = queue_.begin(); each != queue_.end() && taken.size() < most;) {
    if (is_of_size(*each)) {
      taken.push_back(std::move(*each));
      each = queue_.erase(each);
    } else {
      ++each;
    }
  }
  return taken;
}

void Engine::serve(unsigned thread) {
  std::unique_lock lock(mutex_);
  while (wait_for_requests(lock, thread == 0)) {
    Requests requests = take();
    lock.unlock();
    // Nobody waits for the result of an abandoned request.
    std::erase_if(requests, [this](const auto& request) {
      const bool is_abandoned = request->is_abandoned.load(std::memory_order_acquire);
      if (is_abandoned) finish(*request, false);
      return is_abandoned;
    });
    if (has_batches_ && requests.size() >= settings_.least_batch) {
      run_batch(requests, thread);
    } else {
      for (const auto& request : requests) run_alone(*request);
    }
    requests.clear();
    lock.lock();
    let_counters_be_written();
  }
  lock.unlock();
  OPENSSL_thread_stop();
}

/// A job that is paused without work may end at any time: its connection is served late, or ends.
bool Engine::has_paused_jobs() const {
  return counters_.taken != counters_.answered + counters_.abandoned + counters_.fell_back + counters_.failed;
}

/// Waits for requests. Returns false if the engine ends and the queue is empty. One thread writes the counters every
/// second while there is work or a job is paused, and once more a second after it.
bool Engine::wait_for_requests(std::unique_lock<std::mutex>& lock, bool writes_counters) {
  const auto has_news = [this] { return is_ending_ || !queue_.empty(); };
  if (!writes_counters) {
    changed_.wait(lock, has_news);
    return !queue_.empty();
  }
  const auto has_news_or_counters = [&] { return has_news() || are_counters_new_; };
  while (true) {
    const bool is_idle = are_counters_new_ ? !changed_.wait_until(lock, written_ + kWritingInterval, has_news)
                                           : (changed_.wait(lock, has_news_or_counters), false);
    if (are_counters_new_ && Clock::now() >= written_ + kWritingInterval) {
      written_ = Clock::now();
      are_counters_new_ = !is_idle || has_paused_jobs();
      lock.unlock();
      write_counters();
      lock.lock();
    }
    if (has_news()) return !queue_.empty();
  }
}

void Engine::run_batch(Requests& requests, unsigned thread) {
  std::array<rsa::Operation, rsa::kMostTogether> operations;
  std::array<Request*, rsa::kMostTogether> of_operation;
  std::size_t operation_count = 0;
  for (const auto& request : requests) {
    rsa::IfmaKey* const key = request->key.for_thread(thread);
    if (key == nullptr) {
      run_alone(*request);
      continue;
    }
    of_operation[operation_count] = request.get();
    operations[operation_count++] = {.key = key, .input = request->input.data(), .output = request->output.data()};
  }
  try {
    workers_[thread]->run(std::span(operations).first(operation_count));
    // NOLINTNEXTLINE(bugprone-empty-catch): the statuses say that no result is right
  } catch (const std::exception&) {
  }
  if (operation_count != 0) count(counters_.batches);
  count(counters_.batched, operation_count);
  for (std::size_t i = 0; i < operation_count; ++i) finish(*of_operation[i], operations[i].status == RSA_DONE);
}

void Engine::run_alone(Request& request) {
  count(counters_.alone);
  finish(request, request.key.run_alone(library_, request.input.data(), request.output.data()));
}

void Engine::finish(Request& request, bool is_right) {
  request.is_right = is_right;
  discount(counters_.in_flight);
  request.is_done.store(true, std::memory_order_release);
  request.wakeup->signal();
}

void Engine::write_counters() {
  if (settings_.counters_file.empty()) return;
  const std::string name = settings_.counters_file + "." + std::to_string(getpid()), part = name + ".part";
  std::FILE* const file = std::fopen(part.c_str(), "we");
  if (file == nullptr) return;
  for (const auto& each : kCounters) {
    std::fprintf(file, "%s %llu\n", each.name,
                 static_cast<unsigned long long>((counters_.*each.counter).load(std::memory_order_relaxed)));
  }
  const bool is_written = std::fclose(file) == 0;
  if (is_written) std::rename(part.c_str(), name.c_str());
}

}  // namespace penumbra::tls
