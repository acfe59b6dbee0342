// SPDX-License-Identifier: Apache-2.0
#include "cuda_resident/resident_tables.h"

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <stdexcept>

namespace penumbra::cuda_resident {

const bool Submitting::kHasMembarrier = syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0;

void Submitting::pass_barriers() noexcept {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (kHasMembarrier) syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
}

void ResidentTable::end() noexcept {
  current_.store(0, std::memory_order_seq_cst);
  former_ = kNone;
  TableCopies::end();
}

bool ResidentTable::advance() {
  if (!TableCopies::advance()) return false;
  const std::uint64_t before = current_.load(std::memory_order_relaxed);
  const std::uint64_t newest = state();
  if (newest == state_of(before)) return true;
  const unsigned copy = enter();
  const auto* const seen = static_cast<const std::byte*>(view(copy));
  views_[copy].assign(seen, seen + view_bytes(copy));
  if (before != 0) former_ = copy_of(before);
  current_.store(newest << 1 | copy, std::memory_order_seq_cst);
  Submitting::pass_barriers();
  return true;
}

void ResidentTable::give_back_former() noexcept {
  leave(former_);
  former_ = kNone;
}

ResidentTable& ResidentTables::add(Table& table, Doorbell& doorbell) {
  const std::size_t count = count_.load(std::memory_order_relaxed);
  if (count == kMost) throw std::length_error("the engine has room for 64 tables");
  all_[count] = std::make_unique<ResidentTable>(table, doorbell, static_cast<std::uint32_t>(count));
  count_.store(count + 1, std::memory_order_release);
  return *all_[count];
}

}  // namespace penumbra::cuda_resident
