// SPDX-License-Identifier: Apache-2.0
#include "offload/device_owner.h"

#include <algorithm>
#include <deque>
#include <iterator>
#include <optional>

#include "cuda/kernel_pause.h"
#include "cuda/stream_ends.h"

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

void DeviceOwner::add(cuda::TableCopies& table) {
  ask([this, &table] {
    tables_.push_back(&table);
    if (memory_ != nullptr) table.begin(*memory_, copy_stream(), limits_.patience);
  });
}

bool DeviceOwner::advance_tables() {
  bool worked = false;
  for (cuda::TableCopies* table : tables_) worked = table->advance() || worked;
  return worked;
}

bool DeviceOwner::tables_have_work() const noexcept {
  return std::ranges::any_of(tables_, [](const cuda::TableCopies* table) { return table->has_work(); });
}

void DeviceOwner::hold(std::shared_ptr<SharedRange> range) {
  ranges_.push_back(std::move(range));
  if (memory_ != nullptr) reach(*ranges_.back());
}

void DeviceOwner::drop(SharedRange& range) {
  if (--range.users > 0) return;
  if (memory_ != nullptr) {
    let_go(range);
    memory_->throw_if_failed();  // If this throws, the device may use the memory until lose() has closed it.
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
  range.is_everything.store(memory_->sees_all_memory(), std::memory_order_relaxed);
  range.seen.store(seen, std::memory_order_release);
}

void DeviceOwner::let_go(SharedRange& range) noexcept {
  if (range.seen.exchange(nullptr, std::memory_order_relaxed) != nullptr) memory_->unshare(range.host->data());
  if (range.device != nullptr) memory_->release(std::exchange(range.device, nullptr));
}

void DeviceOwner::note_copied(std::vector<std::string>& lines) const {
  const std::uint64_t copied = copied_.load(std::memory_order_relaxed);
  if (copied > 0) lines.push_back(std::to_string(copied) + " bytes of payload were copied by the host");
}

std::string DeviceOwner::device_name() const {
  const std::lock_guard lock(words_mutex_);
  return name_;
}

bool DeviceOwner::has_device() {
  if (memory_ == nullptr && !is_final_ && Clock::now() >= retry_at_) open();
  if (memory_ == nullptr) return false;
  memory_->throw_if_failed();
  return true;
}

void DeviceOwner::open() {
  try {
    memory_ = open_device();
    memory_->quieten_by([this] { quieten(); });
    for (const auto& range : ranges_) reach(*range);
    for (cuda::TableCopies* table : tables_) table->begin(*memory_, copy_stream(), limits_.patience);
    begin_work();
    const std::lock_guard lock(words_mutex_);
    name_ = memory_->name() + (memory_->sees_all_memory() ? ", which sees all memory of the host" : "");
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
      memory_->throw_if_failed();
      for (cuda::TableCopies* table : tables_) table->erase_secrets();
      quieten();
      memory_->throw_if_failed();
    }
  } catch (const DeviceError& error) {
    lose(error);
  }
  stop_everything();
  memory_.reset();
}

void DeviceOwner::stop_everything() noexcept {
  for (cuda::TableCopies* table : tables_) table->end();
  stop_work();
}

void DeviceOwner::lose(const DeviceError& error) {
  stop_everything();
  std::string what = error.what();
  is_final_ = error.is_final();
  std::optional<cuda::KernelPause> pause;  // Closing the device needs one.
  if (memory_ != nullptr && !is_final_) {
    try {
      end_kernel();
      pause.emplace();
      std::vector<unsigned> streams = busy_streams();
      streams.insert(streams.begin(), copy_stream());
      cuda::wait_after_failure(*memory_, streams, limits_.patience);
    } catch (const DeviceError& second) {
      is_final_ = true;
      what += std::string("; then ") + second.what();
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
  end_work();
  std::erase_if(ranges_, [](const auto& range) { return range->users == 0; });
}

/// Keeps an abandoned device and all memory that it may access at any time, until the process ends.
void DeviceOwner::keep_for_good() {
  static std::mutex mutex;
  static auto* const kKept = new std::deque<std::shared_ptr<const void>>();
  const std::lock_guard lock(mutex);
  for (const cuda::TableCopies* table : tables_) kKept->push_back(table->staging());
  std::ranges::copy(ranges_, std::back_inserter(*kKept));
  kKept->push_back(memory_);
}

}  // namespace penumbra::offload
