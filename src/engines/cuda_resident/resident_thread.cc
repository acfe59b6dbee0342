// SPDX-License-Identifier: Apache-2.0
#include "cuda_resident/resident_thread.h"

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <utility>

#include "cuda_resident/numbered_block.h"

namespace penumbra::cuda_resident {
namespace {

constexpr std::uint32_t kWarp = 32;
constexpr std::chrono::milliseconds kLongestSleep{10};  ///< Limit, because the thread must watch the groups.

}  // namespace

ResidentThread::ResidentThread(const Backend& backend, unsigned index, ResidentOptions options)
    : DeviceOwner("cuda-thread", kLongestSleep, {.patience = options.patience, .retry_after = options.retry_after}),
      backend_(backend),
      index_(index),
      options_(options),
      whole_warps_((options.threads + kWarp - 1) / kWarp * kWarp),
      groups_(options.blocks) {
  hold(roster_);
}

ResidentThread::~ResidentThread() {
  stop();
}

std::shared_ptr<SlotRow> ResidentThread::add_row() {
  std::shared_ptr<SlotRow> row;
  std::uint32_t groups = 0;
  ask([this, &row, &groups] {
    groups = groups_;
    std::uint32_t used = 0;
    for (const auto& each : rows_) used += each->count;
    const std::uint32_t count = std::min(options_.slots, groups > used ? groups - used : 0);
    if (count == 0) return;
    row = std::make_shared<SlotRow>(count, options_.before_first);
    row->fresh_for.store(generation(), std::memory_order_relaxed);
    {
      const std::lock_guard lock(words_mutex_);
      rows_.push_back(row);
    }
    hold(row->range);
  });
  if (row != nullptr) return row;
  throw std::runtime_error("all " + std::to_string(groups) + " blocks of the GPU that it may take are taken, " +
                           std::to_string(options_.slots) + " for each queue of a worker; choose fewer with slots=" +
                           (groups < options_.blocks ? "" : ", or more in all with blocks="));
}

void ResidentThread::remove(const SlotRow& row) {
  ask([this, &row] {
    const auto known = std::ranges::find(rows_, &row, &std::shared_ptr<SlotRow>::get);
    std::shared_ptr<SlotRow> kept;
    {
      const std::lock_guard lock(words_mutex_);
      by_gpu_ += row.by_gpu.load(std::memory_order_relaxed);
      by_cpu_ += row.by_cpu.load(std::memory_order_relaxed);
      given_up_ += row.given_up.load(std::memory_order_relaxed);
      kept = std::move(*known);
      rows_.erase(known);
    }
    drop(*kept->range);
  });
}

void ResidentThread::add(Table& table) {
  if (resident_tables_.find(table) == nullptr) add(resident_tables_.add(table, doorbell_));
}

void ResidentThread::settle(const SlotRow& row) const {
  const auto deadline = Clock::now() + options_.patience;
  const auto is_settled = [&] { return row.is_served.load(std::memory_order_acquire) && resident_tables_.are_ready(); };
  while (!is_settled() && !is_lost_.load(std::memory_order_acquire) && Clock::now() < deadline) {
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
}

bool ResidentThread::turn() {
  wake_services();
  if (!has_device()) return false;
  bool worked = give_back_copies();
  worked = advance_tables() || worked;
  if (runs_ && device_->has_ended()) throw DeviceError("the kernel has ended by itself", false);
  if (has_unserved_rows() || !cuda::ResidentKernel::is_allowed()) pause();
  if (!runs_ && has_rows_to_serve()) resume();
  watch();
  return worked;
}

/// Gives back copies of tables that no batch reads any more. Returns true if there were any.
bool ResidentThread::give_back_copies() {
  bool worked = false;
  for (const auto& table : resident_tables_.all()) {
    if (!table->has_former() || is_read(table->former())) continue;
    table->give_back_former();
    worked = true;
  }
  return worked;
}

/// True if an unanswered batch reads that copy, which is no longer the current one.
bool ResidentThread::is_read(std::uint32_t copy) const noexcept {
  return std::ranges::any_of(rows_, [copy](const auto& row) {
    row->wait_until_submitted();
    for (std::uint32_t i = 0; i < row->count; ++i) {
      const SlotLine& line = row->lines[i];
      if (line.reads.load(std::memory_order_acquire) != copy) continue;
      if (number_in(row->slots()[i].out[0]) != line.number.load(std::memory_order_relaxed)) return true;
    }
    return false;
  });
}

/// Signals the rows whose awaited answer has arrived, or whose batches the workers take back.
void ResidentThread::wake_services() noexcept {
  for (const auto& row : rows_) {
    const std::uint32_t slot = row->awaited.load(std::memory_order_acquire);
    if (slot == SlotRow::kNone) continue;
    const std::uint32_t number = row->lines[slot].number.load(std::memory_order_relaxed);
    const bool is_answered = number_in(row->slots()[slot].out[0]) == number;
    if (!is_answered && row->is_served.load(std::memory_order_relaxed)) continue;
    row->awaited.store(SlotRow::kNone, std::memory_order_relaxed);
    row->wakeup.signal();
  }
}

bool ResidentThread::has_nothing_to_do() const {
  const auto is_awaited = [](const auto& row) {
    return row->awaited.load(std::memory_order_relaxed) != SlotRow::kNone;
  };
  if (std::ranges::any_of(rows_, is_awaited)) return false;
  const bool is_allowed = cuda::ResidentKernel::is_allowed();
  const bool is_as_wanted = runs_ ? is_allowed && !has_unserved_rows() : !is_allowed || !has_rows_to_serve();
  return (memory_ == nullptr || is_as_wanted) && !tables_have_work();
}

/// Starts the kernel on the slots that are cleared for this generation, unless no kernel may run now. There must be
/// such slots.
void ResidentThread::resume() {
  auto* const roster = reinterpret_cast<Roster*>(roster_->host->data());
  const auto now = Clock::now();
  watches_.clear();
  for (const auto& row : rows_) {
    if (!is_fresh(*row)) continue;
    auto* const slots = reinterpret_cast<Slot*>(row->range->seen.load(std::memory_order_relaxed));
    for (std::uint32_t i = 0; i < row->count; ++i) {
      const auto group = watches_.size();
      roster->slots[group] = slots + i;
      watches_.push_back({row.get(), i, std::atomic_ref(roster->beats[group]).load(), 0, now, now});
    }
  }
  if (!kernel_.begin()) return;
  try {
    const std::byte* const seen = roster_->seen.load(std::memory_order_relaxed);
    device_->start(reinterpret_cast<const Roster*>(seen), static_cast<std::uint32_t>(watches_.size()));
  } catch (const DeviceError&) {
    kernel_.end();
    throw;
  }
  runs_ = true;
  for (const Watch& each : watches_) const_cast<SlotRow*>(each.row)->is_served.store(true, std::memory_order_release);
  const std::lock_guard lock(words_mutex_);
  failure_.clear();
}

/// Ends the kernel; batches in slots wait until resume().
void ResidentThread::pause() {
  if (!runs_) return;
  memory_->throw_if_lost();
  device_->stop();
  is_told_to_end_ = true;
  const auto deadline = Clock::now() + options_.patience;
  while (!device_->has_ended()) {
    if (Clock::now() > deadline) {
      throw cuda::final_failure("the kernel has not ended in " + std::to_string(options_.patience.count()) + " ms");
    }
    std::this_thread::yield();
  }
  runs_ = is_told_to_end_ = false;
  paused_ = Clock::now();
  kernel_.end();
}

/// True if the row's worker has cleared the slots for the present generation.
bool ResidentThread::is_fresh(const SlotRow& row) const noexcept {
  return row.fresh_for.load(std::memory_order_acquire) == generation();
}

/// True if any row is cleared. Rows of workers without a batch for this engine may stay uncleared for long.
bool ResidentThread::has_rows_to_serve() const noexcept {
  return std::ranges::any_of(rows_, [this](const auto& row) { return is_fresh(*row); });
}

bool ResidentThread::has_unserved_rows() const noexcept {
  return std::ranges::any_of(
      rows_, [this](const auto& row) { return !row->is_served.load(std::memory_order_relaxed) && is_fresh(*row); });
}

std::vector<std::string> ResidentThread::notes() const {
  const std::lock_guard lock(words_mutex_);
  std::uint64_t by_gpu = by_gpu_, by_cpu = by_cpu_, given_up = given_up_;
  std::uint32_t slots = 0;
  for (const auto& row : rows_) {
    slots += row->count;
    by_gpu += row->by_gpu.load(std::memory_order_relaxed);
    by_cpu += row->by_cpu.load(std::memory_order_relaxed);
    given_up += row->given_up.load(std::memory_order_relaxed);
  }
  std::vector<std::string> lines;
  if (!name_.empty()) {
    lines.push_back(name_ + ": " + std::to_string(slots) + " slots, groups of " + std::to_string(whole_warps_) +
                    " threads");
  }
  if (by_gpu > 0) lines.push_back(std::to_string(by_gpu) + " batches by the kernel");
  if (by_cpu > 0) lines.push_back(std::to_string(by_cpu) + " batches on the CPU: the GPU was not ready for them");
  if (given_up > 0)
    lines.push_back(std::to_string(given_up) +
                    " batches came back from a lost GPU, or from one at a pause, for the CPU");
  note_copied(lines);
  if (!failure_.empty()) lines.push_back(failure_);
  return lines;
}

}  // namespace penumbra::cuda_resident
