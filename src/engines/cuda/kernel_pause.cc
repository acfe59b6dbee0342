// SPDX-License-Identifier: Apache-2.0
#include "cuda/kernel_pause.h"

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <vector>

namespace penumbra::cuda {
namespace {

struct Process {
  std::mutex mutex;
  std::condition_variable ended;
  std::atomic<unsigned> pauses{0};
  unsigned running = 0;
  std::vector<Doorbell*> keepers;

  void ring() {
    for (Doorbell* owner : keepers) owner->ring();
  }
};

Process& process() {
  static Process only;
  return only;
}

}  // namespace

KernelPause::KernelPause() {
  Process& all = process();
  std::unique_lock lock(all.mutex);
  all.pauses.fetch_add(1, std::memory_order_release);
  all.ring();
  all.ended.wait(lock, [&all] { return all.running == 0; });
}

KernelPause::~KernelPause() {
  Process& all = process();
  const std::lock_guard lock(all.mutex);
  all.pauses.fetch_sub(1, std::memory_order_release);
  all.ring();
}

ResidentKernel::ResidentKernel(Doorbell& owner) : owner_(owner) {
  const std::lock_guard lock(process().mutex);
  process().keepers.push_back(&owner_);
}

ResidentKernel::~ResidentKernel() {
  end();
  const std::lock_guard lock(process().mutex);
  std::erase(process().keepers, &owner_);
}

bool ResidentKernel::is_allowed() noexcept {
  return process().pauses.load(std::memory_order_acquire) == 0;
}

bool ResidentKernel::begin() noexcept {
  const std::lock_guard lock(process().mutex);
  if (!is_allowed()) return false;
  ++process().running;
  runs_ = true;
  return true;
}

void ResidentKernel::end() noexcept {
  if (!runs_) return;
  const std::lock_guard lock(process().mutex);
  runs_ = false;
  --process().running;
  process().ended.notify_all();
}

}  // namespace penumbra::cuda
