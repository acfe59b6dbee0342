// SPDX-License-Identifier: Apache-2.0
#include "run_values.h"

#include <atomic>

namespace penumbra {

RunValues::RunValues(GracePeriods& grace_periods, std::size_t region)
    : grace_periods_(grace_periods), changes_(region) {
  for (std::size_t value = 0; value < kSingles; ++value) values_[value] = static_cast<std::uint16_t>(value);
}

std::uint32_t RunValues::place(std::span<const std::uint16_t> values) {
  if (values.size() == 1) return values[0];
  const std::uint32_t first = take(size_for(values.size()));
  write(first, values);
  return first;
}

void RunValues::write(std::uint32_t first, std::span<const std::uint16_t> values) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::uint16_t& element = values_[first + i];
    if (element == values[i]) continue;
    std::atomic_ref(element).store(values[i], std::memory_order_relaxed);
    if (table_ != nullptr) changes_.add(*table_, first + i);
  }
}

void RunValues::retire(std::uint32_t first, unsigned count) {
  if (count > 1) retiring_.push_back({0, first, size_for(count)});
}

void RunValues::start_grace_period() {
  if (retiring_.empty()) return;
  const std::uint64_t token = grace_periods_.start();
  for (Retired& block : retiring_) {
    block.token = token;
    retired_.push_back(block);
  }
  retiring_.clear();
}

std::uint32_t RunValues::take(unsigned size) {
  if (free_[size].empty()) reclaim(false);
  if (free_[size].empty() && blocks_[size] >= kOwners + 1) {
    start_grace_period();
    reclaim(true);
  }
  if (free_[size].empty()) {
    const std::size_t begin = lines_begun_++ * kLine;
    for (std::size_t at = begin + kLine; at > begin; at -= elements(size)) {
      free_[size].push_back(static_cast<std::uint32_t>(at - elements(size)));
      ++blocks_[size];
    }
  }
  const std::uint32_t first = free_[size].back();
  free_[size].pop_back();
  return first;
}

/// Frees retired blocks that no reader can access any more. If `wait`, waits until all retired blocks are free.
void RunValues::reclaim(bool wait) {
  while (!retired_.empty() && grace_periods_.elapsed(retired_.front().token, wait)) {
    free_[retired_.front().size].push_back(retired_.front().first);
    retired_.pop_front();
  }
}

}  // namespace penumbra
