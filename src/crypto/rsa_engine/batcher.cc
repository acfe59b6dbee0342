// SPDX-License-Identifier: Apache-2.0
#include "crypto/rsa_engine/batcher.h"

#include <algorithm>
#include <exception>
#include <new>
#include <string>
#include <utility>

#include "base/log.h"

namespace penumbra::rsa_engine {

Batcher::Batcher(std::vector<FormOnThread> forms, Counters& counters) : counters_(counters) {
  for (FormOnThread& each : forms) workers_.push_back(std::make_unique<Worker>(Worker{.with = std::move(each)}));
  for (const auto& worker : workers_) threads_.emplace_back([this, &worker] { serve(*worker); });
}

Batcher::~Batcher() {
  {
    const std::scoped_lock lock(mutex_);
    is_ending_ = true;
  }
  changed_.notify_all();
  threads_.clear();
  fail_all();
}

void Batcher::submit(std::unique_ptr<Job> job) {
  std::unique_lock lock(mutex_);
  if (std::ranges::all_of(workers_, [](const auto& each) { return each->is_lost; })) {
    lock.unlock();
    count(counters_.taken);
    count(counters_.in_flight);
    finish(*job, Verdict::failed);
    return;
  }
  const std::size_t size = size_of_bytes(job->key->bytes());
  auto& waiting = job->client->waiting_[size];
  const bool is_first = waiting.empty();
  if (is_first) clients_[size].push_back(job->client);
  try {
    waiting.push_back(std::move(job));
  } catch (const std::bad_alloc&) {
    if (is_first) clients_[size].pop_back();
    throw;
  }
  ++pending_[size];
  count(counters_.taken);
  count(counters_.in_flight);
  lock.unlock();
  changed_.notify_all();
}

std::shared_ptr<StoredKey> Batcher::make_key() {
  return {new StoredKey(), [this](const StoredKey* key) {
            delete key;
            forget_keys();
          }};
}

/// Lets every form erase the expansions of keys that nobody owns any more.
void Batcher::forget_keys() {
  {
    const std::scoped_lock lock(mutex_);
    ++removals_;
  }
  changed_.notify_all();
}

bool Batcher::has_forms() {
  const std::scoped_lock lock(mutex_);
  return std::ranges::any_of(workers_, [](const auto& each) { return !each->is_lost; });
}

/// Returns the least number of a size that a worker takes. When the forms for fewer are lost, others take any number.
std::size_t Batcher::least_for(const Worker& worker, std::size_t size) const {
  const bool others_take_fewer = std::ranges::any_of(workers_, [&](const auto& other) {
    return !other->is_lost && other->with.least[size] < worker.with.least[size];
  });
  return others_take_fewer ? worker.with.least[size] : 1;
}

/// Chooses the jobs of a worker's next batch. A worker never waits for more: jobs that come during a batch make the
/// next one. A form that takes only many jobs is the fastest for so many, so that others leave them to it while it is
/// idle.
bool Batcher::choose(Worker& worker, Choice& choice) {
  for (std::size_t i = 0; i < kSizes; ++i) {
    const std::size_t size = (worker.next_size + i) % kSizes, pending = pending_[size], own = worker.with.least[size];
    if (pending == 0 || pending < least_for(worker, size)) continue;
    const bool is_left = std::ranges::any_of(workers_, [&](const auto& other) {
      return !other->is_lost && other->is_idle && other->with.least[size] > own && pending >= other->with.least[size];
    });
    if (is_left) continue;
    choice = {.size = size, .count = std::min(pending, worker.with.form->most())};
    worker.next_size = (size + 1) % kSizes;
    return true;
  }
  return false;
}

/// Takes jobs from the clients in turn.
Batcher::Jobs Batcher::take(const Choice& choice) {
  Jobs jobs;
  auto& clients = clients_[choice.size];
  while (jobs.size() < choice.count) {
    std::shared_ptr<Client> client = std::move(clients.front());
    clients.pop_front();
    auto& waiting = client->waiting_[choice.size];
    jobs.push_back(std::move(waiting.front()));
    waiting.pop_front();
    if (!waiting.empty()) clients.push_back(std::move(client));
  }
  pending_[choice.size] -= choice.count;
  return jobs;
}

void Batcher::serve(Worker& worker) {
  std::unique_lock lock(mutex_);
  while (true) {
    Choice choice;
    bool has_jobs = false;
    worker.is_idle = true;
    changed_.wait(lock, [&] {
      if (is_ending_ || worker.seen_removals != removals_) return true;
      return has_jobs = choose(worker, choice);
    });
    worker.is_idle = false;
    if (is_ending_) return;
    const bool has_removals = std::exchange(worker.seen_removals, removals_) != removals_;
    Jobs jobs = has_jobs ? take(choice) : Jobs{};
    lock.unlock();
    // Other workers may have left jobs to this one.
    if (has_jobs) changed_.notify_all();
    if (has_removals) worker.with.form->forget_keys();
    std::erase_if(jobs, [this](const auto& job) {
      const bool is_gone = job->client->is_gone();
      if (is_gone) finish(*job, Verdict::failed);
      return is_gone;
    });
    const bool is_lost = !jobs.empty() && !run(worker, jobs);
    jobs.clear();
    lock.lock();
    worker.is_lost = is_lost;
    if (is_lost) break;
  }
  lock.unlock();
  changed_.notify_all();
  if (!has_forms()) fail_all();
  worker.with.form.reset();  // erases its expansions of keys
}

/// Returns false if the form is lost.
bool Batcher::run(Worker& worker, Jobs& jobs) {
  std::vector<Task*> tasks;
  tasks.reserve(jobs.size());
  for (const auto& job : jobs) tasks.push_back(job.get());
  bool is_lost = false;
  try {
    worker.with.form->run(tasks);
  } catch (const std::exception& error) {
    log_error(std::string("tls-engine: the form ") + worker.with.form->name() + " is lost: " + error.what());
    for (const auto& job : jobs) job->status = RSA_WRONG;
    is_lost = true;
  }
  count(counters_.batches);
  count(counters_.batched, jobs.size());
  if (worker.with.is_gpu) count(counters_.batched_on_gpu, jobs.size());
  for (const auto& job : jobs) finish(*job, job->status == RSA_DONE ? Verdict::done : Verdict::failed);
  return !is_lost;
}

void Batcher::finish(Job& job, Verdict verdict) {
  if (job.client->is_gone()) {
    count(counters_.abandoned);
  } else {
    count(verdict == Verdict::done ? counters_.answered : counters_.failed);
    job.client->answer(job, verdict);
  }
  discount(counters_.in_flight);
}

/// Answers what is queued when no form is left.
void Batcher::fail_all() {
  for (std::size_t size = 0; size < kSizes; ++size) {
    std::unique_lock lock(mutex_);
    const Jobs jobs = take({.size = size, .count = pending_[size]});
    lock.unlock();
    for (const auto& job : jobs) finish(*job, Verdict::failed);
  }
}

}  // namespace penumbra::rsa_engine
