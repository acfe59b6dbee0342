// SPDX-License-Identifier: Apache-2.0
//
// The launch thread's part in handling a failure (offload/device_owner.h).
#include <algorithm>
#include <thread>

#include "cuda/launch_thread.h"

namespace penumbra::cuda {

/// Returns the busy streams, including a stream whose work was sent only in part.
std::vector<unsigned> LaunchThread::busy_streams() const {
  std::vector<unsigned> busy;
  for (unsigned index = 0; index < streams_.size(); ++index) {
    if (!streams_[index].jobs.empty()) busy.push_back(index);
  }
  return busy;
}

/// Gives back the jobs that the GPU has not been given yet. Workers that have not noticed the failure continue to
/// submit; take() gives their jobs back.
void LaunchThread::stop_work() noexcept {
  accepts_.store(false, std::memory_order_relaxed);
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
void LaunchThread::wait_for_answers() noexcept {
  const auto give_up = [this](unsigned index) {
    if (is_final()) give_back(streams_[index], Job::State::lost);
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

void LaunchThread::end_work() noexcept {
  for (Stream& stream : streams_) give_back(stream, Job::State::lost);
  for (const auto& group : groups_) {
    group->flying = 0;
    group->is_waited_for = false;
  }
}

}  // namespace penumbra::cuda
