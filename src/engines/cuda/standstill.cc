// SPDX-License-Identifier: Apache-2.0
#include "cuda/standstill.h"

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <vector>

namespace penumbra::cuda {
namespace {

struct Process {
  std::mutex mutex;
  std::condition_variable ended;
  std::atomic<unsigned> standstills{0};
  unsigned running = 0;
  std::vector<Doorbell*> keepers;

  void ring() {
    for (Doorbell* keeper : keepers) keeper->ring();
  }
};

Process& process() {
  static Process only;
  return only;
}

}  // namespace

Standstill::Standstill() {
  Process& all = process();
  std::unique_lock lock(all.mutex);
  all.standstills.fetch_add(1, std::memory_order_release);
  all.ring();
  all.ended.wait(lock, [&all] { return all.running == 0; });
}

Standstill::~Standstill() {
  Process& all = process();
  const std::lock_guard lock(all.mutex);
  all.standstills.fetch_sub(1, std::memory_order_release);
  all.ring();
}

Residence::Residence(Doorbell& keeper) : keeper_(keeper) {
  const std::lock_guard lock(process().mutex);
  process().keepers.push_back(&keeper_);
}

Residence::~Residence() {
  end();
  const std::lock_guard lock(process().mutex);
  std::erase(process().keepers, &keeper_);
}

bool Residence::is_allowed() noexcept {
  return process().standstills.load(std::memory_order_acquire) == 0;
}

bool Residence::begin() noexcept {
  const std::lock_guard lock(process().mutex);
  if (!is_allowed()) return false;
  ++process().running;
  runs_ = true;
  return true;
}

void Residence::end() noexcept {
  if (!runs_) return;
  const std::lock_guard lock(process().mutex);
  runs_ = false;
  --process().running;
  process().ended.notify_all();
}

}  // namespace penumbra::cuda
