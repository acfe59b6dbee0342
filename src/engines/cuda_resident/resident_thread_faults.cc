// SPDX-License-Identifier: Apache-2.0
//
// The resident thread's part in opening its device, in watching it, and in handling a failure (offload/device_owner.h).
#include <algorithm>
#include <exception>
#include <system_error>
#include <thread>
#include <utility>

#include "cuda/stream_ends.h"
#include "cuda_resident/numbered_block.h"
#include "cuda_resident/resident_thread.h"

namespace penumbra::cuda_resident {
namespace {

/// Makes the kernel of an abandoned device end. A kernel that is only late then ends at some time; until then, driver
/// calls of other users in the process wait. A detached thread makes the call, because this driver call may not return
/// either. The device is never destroyed.
void tell_to_end(ResidentDevice& device) noexcept {
  const auto tell = [&device] {
    try {
      device.stop();
    } catch (const std::exception&) {
      return;  // The GPU is given up as it is.
    }
  };
  try {
    std::thread(tell).detach();
  } catch (const std::system_error&) {
    return;  // No thread could be made; the GPU is given up as it is.
  }
}

}  // namespace

std::shared_ptr<cuda::Device> ResidentThread::open_device() {
  const std::shared_ptr<ResidentDevice> opened = backend_.open(index_, whole_warps_);
  device_ = opened.get();
  groups_ = std::min(options_.blocks, device_->most_slots());
  return {opened, &opened->memory()};
}

void ResidentThread::begin_work() {
  generation_.fetch_add(1, std::memory_order_release);
  is_lost_.store(false, std::memory_order_release);
}

void ResidentThread::quieten() {
  pause();
  cuda::wait_for_the_end(*memory_, kTableStream, {}, options_.patience);
}

void ResidentThread::watch() {
  const auto now = Clock::now();
  if (now - watched_ < options_.patience / 8) return;
  watched_ = now;
  if (runs_) {
    watch_groups(now);
  } else {
    watch_pause(now);
  }
}

/// Gives up waiting for a pause whose driver call, made by another thread, takes long or never returns. Workers take
/// back the batches in their slots, as after a device failure. The workers clear the slots for the time when the kernel
/// may run again.
void ResidentThread::watch_pause(Clock::time_point now) {
  const auto is_served = [](const auto& row) { return row->is_served.load(std::memory_order_relaxed); };
  if (now - paused_ < options_.patience || std::ranges::none_of(rows_, is_served)) return;
  generation_.fetch_add(1, std::memory_order_release);
  for (const auto& row : rows_) row->is_served.store(false, std::memory_order_release);
  const std::lock_guard lock(words_mutex_);
  failure_ = "the kernel has stood still for " + std::to_string(options_.patience.count()) +
             " ms, for others of this process that call the driver; shaders run on the CPU until it goes on";
}

/// Updates the watch of the group. Returns true if the group has answered the batch in its slot.
bool ResidentThread::look_at(std::size_t group, Clock::time_point now) {
  Watch& each = watches_[group];
  auto* const roster = reinterpret_cast<Roster*>(roster_->host->data());
  const std::uint32_t beat = std::atomic_ref(roster->beats[group]).load(std::memory_order_relaxed);
  if (std::exchange(each.beat, beat) != beat) each.beaten = now;
  const std::uint32_t number = each.row->lines[each.slot].number.load(std::memory_order_relaxed);
  const bool is_answered = number_in(each.row->slots()[each.slot].out[0]) == number;
  if (std::exchange(each.number, number) != number || is_answered) each.answered = now;
  return is_answered;
}

/// Returns why the group must be given up; null if it need not be.
const char* ResidentThread::why_stuck(const Watch& group, Clock::time_point now) const {
  if (now - group.beaten > options_.patience) return "has shown no life";
  if (now - group.answered > options_.patience) return "has not answered";
  return nullptr;
}

/// Throws a DeviceError if a group must be given up.
void ResidentThread::watch_groups(Clock::time_point now) {
  for (std::size_t group = 0; group < watches_.size(); ++group) {
    look_at(group, now);
    const char* const lack = why_stuck(watches_[group], now);
    if (lack == nullptr) continue;
    throw cuda::final_failure("group " + std::to_string(group) + " of the kernel " + lack + " for " +
                              std::to_string(options_.patience.count()) + " ms");
  }
}

/// Waits for the groups' answers after a failure. On a GPU that is given up most groups still run, in particular if
/// another engine's launch is stuck. A group that is only late may still write into shared columns that are in use
/// again. Batches in slots therefore get their usual time limit, and are answered if their group runs. No table is
/// available any more, so no further batches come into slots. A kernel of a device that is to be closed has ended.
///
/// If the kernel had to end and has not ended, the groups have used up that time, and groups that have ended answer
/// nothing more.
void ResidentThread::wait_for_answers() noexcept {
  if (!runs_ || is_told_to_end_) return;
  Submitting::pass_barriers();
  for (const auto& row : rows_) row->wait_until_submitted();
  const auto one_is_awaited = [this] {
    const auto now = Clock::now();
    bool is_awaited = false;
    for (std::size_t group = 0; group < watches_.size(); ++group) {
      const bool is_answered = look_at(group, now);
      is_awaited = is_awaited || (!is_answered && why_stuck(watches_[group], now) == nullptr);
    }
    return is_awaited;
  };
  try {
    while (one_is_awaited() && !device_->has_ended()) std::this_thread::yield();
  } catch (const DeviceError&) {
    return;  // The kernel has failed and writes nothing more.
  }
}

/// Workers see that their rows are no longer served, and take back unanswered batches. Only a device that is kept still
/// has a kernel that runs.
void ResidentThread::end_work() noexcept {
  if (runs_) tell_to_end(*device_);
  for (const auto& row : rows_) row->is_served.store(false, std::memory_order_release);
  runs_ = is_told_to_end_ = false;
  kernel_.end();
}

}  // namespace penumbra::cuda_resident
