// SPDX-License-Identifier: Apache-2.0
//
// Opens the launch thread's device, and handles its failure.
#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "cuda/abandoned.h"
#include "cuda/kernel_pause.h"
#include "cuda/launch_thread.h"

namespace penumbra::cuda {
void LaunchThread::open() {
  try {
    device_ = open_(copy_stream() + 1);
    memory_ = std::make_unique<QuietMemory>(*device_, [this] { wait_for_the_end(); });
    for (const auto& memory : memories_) reach(*memory);
    for (TableCopies* table : tables_) table->begin(*memory_, copy_stream(), options_.patience);
    const std::lock_guard lock(words_mutex_);
    name_ = device_->name();
    failure_.clear();
    accepts_.store(true, std::memory_order_relaxed);
  } catch (const DeviceError& error) {
    lose(error);
  }
}

void LaunchThread::reach(SharedMemory& memory) {
  try {
    memory.mapped = memory_->share(memory.host->data(), memory.host->bytes());
    memory.device = memory_->allocate(memory.host->bytes());
  } catch (const DeviceError& error) {
    if (memory.is_needed || error.is_final()) throw;
    return let_go(memory);
  }
  memory.is_reached.store(true, std::memory_order_relaxed);
}

void LaunchThread::let_go(SharedMemory& memory) noexcept {
  memory.is_reached.store(false, std::memory_order_relaxed);
  if (memory.mapped != nullptr) memory_->unshare(memory.host->data());
  if (memory.device != nullptr) memory_->release(memory.device);
  memory.mapped = memory.device = nullptr;
}

void LaunchThread::wait_for_the_end() {
  cuda::wait_for_the_end(*device_, copy_stream(), flying_, options_.patience);
}

/// Returns the busy streams, including a stream whose work was sent only in part.
std::vector<unsigned> LaunchThread::busy_streams() const {
  std::vector<unsigned> busy;
  for (unsigned index = 0; index < streams_.size(); ++index) {
    if (!streams_[index].jobs.empty()) busy.push_back(index);
  }
  return busy;
}

/// Gives back the jobs that the GPU has not been given yet.
void LaunchThread::give_back_what_waits() noexcept {
  for (const auto& group : groups_) {
    while (group->head < group->tail) give_back(*group->at(group->head++).job, Job::State::lost);
    group->items = 0;
    group->hurried = 0;
  }
  waiting_ = 0;
  take();
}

/// Waits for launches after a failure. On a GPU that is given up most launches still end, in particular if another
/// engine's kernel is stuck. A launch that does not end may still write into shared columns that are in use again. Each
/// launch therefore gets its usual time limit, and is answered if it ends.
///
/// A launch that was sent only in part has no mark for its end, so it is not waited for. If the GPU has it, it may
/// still write too. Workers without a batch in flight do not wait. A device that is to be closed has already ended its
/// work; jobs that it cannot answer return when it is closed.
void LaunchThread::wait_for_launches() noexcept {
  const auto give_up = [this](unsigned index) {
    if (is_final_) give_back(streams_[index], Job::State::lost);
  };
  for (unsigned index = 0; index < streams_.size(); ++index) {
    if (std::ranges::find(flying_, index) == flying_.end()) give_up(index);
  }
  const auto is_over = [&](unsigned index) {
    try {
      if (!has_ended(index)) return false;
      give_back(streams_[index], Job::State::done);
    } catch (const DeviceError&) {
      give_up(index);
    }
    return true;
  };
  while (!flying_.empty()) {
    std::erase_if(flying_, is_over);
    take();
    std::this_thread::yield();
  }
}

/// Handles a device failure. Workers that have not noticed it continue to submit; take() gives their jobs back.
void LaunchThread::lose(const DeviceError& error) {
  accepts_.store(false, std::memory_order_relaxed);
  for (TableCopies* table : tables_) table->end();
  give_back_what_waits();
  std::string what = error.what();
  is_final_ = error.is_final();
  std::optional<KernelPause>
      pause;  // Closing the device needs a pause; if a kernel cannot be ended for it, the GPU counts as failed.
  if (device_ != nullptr && !is_final_) {
    pause.emplace();
    if (const auto second = why_it_does_not_end(*device_, copy_stream(), busy_streams(), options_.patience)) {
      is_final_ = true;
      what += std::string("; then ") + second->what();
    }
  }
  retry_at_ = Clock::now() + options_.retry_after;
  {
    const std::lock_guard lock(words_mutex_);
    failure_ = "lost: " + what + "; shaders run on the CPU" + (is_final_ ? "" : " until the GPU is back");
  }
  if (is_final_ && device_ != nullptr) device_->abandon(what);
  wait_for_launches();
  if (is_final_ && device_ != nullptr) keep_for_good(std::move(device_), tables_, memories_);
  memory_.reset();
  device_.reset();
  for (const auto& memory : memories_) {
    memory->is_reached.store(false, std::memory_order_relaxed);
    memory->mapped = memory->device = nullptr;
  }
  for (Stream& stream : streams_) give_back(stream, Job::State::lost);
  for (const auto& group : groups_) {
    group->flying = 0;
    group->is_waited_for = false;
  }
  std::erase_if(memories_, [](const auto& memory) { return memory->users == 0; });
}

}  // namespace penumbra::cuda
