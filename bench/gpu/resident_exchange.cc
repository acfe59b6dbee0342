// SPDX-License-Identifier: Apache-2.0
#include "gpu/resident_exchange.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <numeric>

#include "bench.h"

namespace penumbra::bench::gpu {

ResidentExchange::ResidentExchange(unsigned slots, unsigned threads, std::uint32_t capacity, Signal signal)
    : threads_(threads),
      capacity_(capacity),
      signal_(signal),
      gpu_slots_(slots),
      in_(std::size_t{slots} * capacity),
      out_(std::size_t{slots} * capacity),
      numbered_(std::size_t{slots} * capacity),
      posted_(slots) {
  std::ranges::fill(numbered_.span(), std::uint64_t{0});
  for (unsigned slot = 0; slot < slots; ++slot) {
    const std::size_t first = std::size_t{slot} * capacity;
    slots_.push_back({&in_[first], &out_[first], &numbered_[first]});
    gpu_slots_[slot] = {0, 0, &in_[first], &out_[first], &numbered_[first]};
  }
}

void ResidentExchange::start() {
  for (unsigned slot = 0; slot < posted_.size(); ++slot) {
    posted_[slot] = {};
    gpu_slots_[slot].request = 0;
    gpu_slots_[slot].done = 0;
  }
  std::ranges::fill(numbered_.span(), std::uint64_t{0});
  check(launch_exchange(gpu_slots_.data(), static_cast<unsigned>(posted_.size()), threads_, signal_, stream_.get()),
        "starting a kernel that never stops");
  runs_ = true;
}

void ResidentExchange::stop() noexcept {
  if (!runs_) return;
  for (ExchangeSlot& slot : gpu_slots_.span()) {
    std::atomic_ref(slot.request).store(ExchangeSlot::kStop, std::memory_order_release);
  }
  cudaStreamSynchronize(stream_.get());
  runs_ = false;
}

std::uint32_t ResidentExchange::answer_at(unsigned slot, std::uint32_t item) const {
  if (signal_ == Signal::group) return slots_[slot].out[item];
  return static_cast<std::uint32_t>(slots_[slot].numbered[item]);
}

void ResidentExchange::post(unsigned slot, std::uint32_t items) noexcept {
  Posted& posted = posted_[slot];
  posted = {posted.number + 1, items};
  std::atomic_ref(gpu_slots_[slot].request)
      .store(std::uint64_t{posted.number} << 32 | items, std::memory_order_release);
}

bool ResidentExchange::is_done(unsigned slot) const noexcept {
  const Posted& posted = posted_[slot];
  if (signal_ == Signal::group) {
    return std::atomic_ref(gpu_slots_[slot].done).load(std::memory_order_acquire) == posted.number;
  }
  const std::span numbered(slots_[slot].numbered, posted.items);
  return std::ranges::all_of(numbered, [&posted](std::uint64_t& each) {
    return std::atomic_ref(each).load(std::memory_order_acquire) >> 32 == posted.number;
  });
}

void check_answers(ResidentExchange& exchange, unsigned slots, std::uint32_t items) {
  for (const std::uint32_t first : {7U, 1'000'003U}) {
    for (unsigned slot = 0; slot < slots; ++slot) {
      std::iota(exchange.numbers(slot).begin(), exchange.numbers(slot).begin() + items, first + slot);
      exchange.post(slot, items);
    }
    for (unsigned slot = 0; slot < slots; ++slot) {
      exchange.wait(slot);
      for (std::uint32_t i = 0; i < items; ++i) {
        if (exchange.answer_at(slot, i) == answer(first + slot + i)) continue;
        throw WrongAnswer(fmt::format("exchange by polling: answer {} of slot {} is wrong", i, slot));
      }
    }
  }
}

}  // namespace penumbra::bench::gpu
