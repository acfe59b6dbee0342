// SPDX-License-Identifier: Apache-2.0
#include "offload/device_owner.h"

#include <algorithm>
#include <deque>
#include <iterator>
#include <optional>

#include "cuda/kernel_pause.h"

namespace penumbra::offload {

DeviceOwner::DeviceOwner(const char* name, std::chrono::milliseconds longest_sleep, Options options)
    : DeviceThread(name, longest_sleep), limits_(options) {}

std::shared_ptr<SharedRange> DeviceOwner::share(std::shared_ptr<const HugeMemory> host, bool is_needed) {
  std::shared_ptr<SharedRange> range;
  ask([&] {
    const auto known = std::ranges::find(ranges_, host, &SharedRange::host);
    if (known != ranges_.end()) {
      range = *known;
      ++range->users;
      return;
    }
    range = std::make_shared<SharedRange>(std::move(host), is_needed);
    hold(range);
  });
  return range;
}

void DeviceOwner::unshare(SharedRange& range) {
  ask([this, &range] { drop(range); });
}

void DeviceOwner::hold(std::shared_ptr<SharedRange> range) {
  ranges_.push_back(std::move(range));
  if (memory_ != nullptr) reach(*ranges_.back());
}

void DeviceOwner::drop(SharedRange& range) {
  if (--range.users > 0) return;
  if (memory_ != nullptr) {
    let_go(range);
    memory_->check();  // If this throws, the device may use the memory until lose() has closed it.
  }
  std::erase_if(ranges_, [&range](const auto& each) { return each.get() == &range; });
}

void DeviceOwner::reach(SharedRange& range) {
  std::byte* seen = nullptr;
  try {
    seen = memory_->share(range.host->data(), range.host->bytes());
    if (limits_.has_counterparts) range.device = memory_->allocate(range.host->bytes());
  } catch (const DeviceError& error) {
    if (range.is_needed || error.is_final()) throw;
    if (seen != nullptr) memory_->unshare(range.host->data());
    return;
  }
  range.seen.store(seen, std::memory_order_release);
}

void DeviceOwner::let_go(SharedRange& range) noexcept {
  if (range.seen.exchange(nullptr, std::memory_order_relaxed) != nullptr) memory_->unshare(range.host->data());
  if (range.device != nullptr) memory_->release(std::exchange(range.device, nullptr));
}

std::string DeviceOwner::device_name() const {
  const std::lock_guard lock(words_mutex_);
  return name_;
}

bool DeviceOwner::has_device() {
  if (memory_ == nullptr && !is_final_ && Clock::now() >= retry_at_) open();
  if (memory_ == nullptr) return false;
  memory_->check();
  return true;
}

void DeviceOwner::open() {
  try {
    memory_ = std::make_unique<cuda::QuietMemory>(open_device(), [this] { quieten(); });
    for (const auto& range : ranges_) reach(*range);
    begin_work();
    const std::lock_guard lock(words_mutex_);
    name_ = memory_->name();
    failure_.clear();
  } catch (const DeviceError& error) {
    lose(error);
  }
}

void DeviceOwner::close() {
  std::optional<cuda::KernelPause> pause;  // Closing the device waits until no kernel runs.
  try {
    if (memory_ != nullptr) {
      quieten();
      pause.emplace();
      memory_->check();
      erase_secrets();
      quieten();
      memory_->check();
    }
  } catch (const DeviceError& error) {
    lose(error);
  }
  stop_work();
  memory_.reset();
  close_device();
}

void DeviceOwner::lose(const DeviceError& error) {
  stop_work();
  std::string what = error.what();
  is_final_ = error.is_final();
  const auto fail = [this, &what](const DeviceError& second) {
    is_final_ = true;
    what += std::string("; then ") + second.what();
  };
  std::optional<cuda::KernelPause> pause;  // Closing the device needs one.
  if (memory_ != nullptr && !is_final_) {
    try {
      end_kernel();
      pause.emplace();
      const auto why = cuda::why_it_does_not_end(*memory_, copy_stream(), busy_streams(), limits_.patience);
      if (why) fail(*why);
    } catch (const DeviceError& second) {
      fail(second);
    }
  }
  retry_at_ = Clock::now() + limits_.retry_after;
  {
    const std::lock_guard lock(words_mutex_);
    failure_ = "lost: " + what + "; shaders run on the CPU" + (is_final_ ? "" : " until the GPU is back");
  }
  const bool is_abandoned = memory_ != nullptr && is_final_;
  if (is_abandoned) abandon_device(what);
  wait_for_answers();
  if (is_abandoned) keep_for_good();
  for (const auto& range : ranges_) {
    range->seen.store(nullptr, std::memory_order_relaxed);
    range->device = nullptr;
  }
  memory_.reset();
  close_device();
  end_work();
  std::erase_if(ranges_, [](const auto& range) { return range->users == 0; });
}

/// Keeps an abandoned device and all memory that it may access at any time, until the process ends.
void DeviceOwner::keep_for_good() {
  static std::mutex mutex;
  static auto* const kKept = new std::deque<std::shared_ptr<const void>>();
  std::vector<std::shared_ptr<const void>> all = accessible();
  std::ranges::copy(ranges_, std::back_inserter(all));
  all.push_back(give_up_device());
  const std::lock_guard lock(mutex);
  std::ranges::move(all, std::back_inserter(*kKept));
}

}  // namespace penumbra::offload
