// SPDX-License-Identifier: Apache-2.0
#include "gpu/resident_exchange.h"

#include <fmt/format.h>

#include <atomic>
#include <numeric>

#include "bench.h"

namespace penumbra::bench::gpu {

ResidentExchange::ResidentExchange(unsigned slots, unsigned threads, std::uint32_t capacity)
    : threads_(threads),
      capacity_(capacity),
      gpu_slots_(slots),
      in_(std::size_t{slots} * capacity),
      out_(std::size_t{slots} * capacity) {
  for (unsigned slot = 0; slot < slots; ++slot) {
    const std::size_t first = std::size_t{slot} * capacity;
    slots_.push_back({&in_[first], &out_[first], 0});
  }
}

void ResidentExchange::start() {
  for (unsigned slot = 0; slot < slots_.size(); ++slot) {
    slots_[slot].posted = 0;
    gpu_slots_[slot] = {0, 0, slots_[slot].in, slots_[slot].out};
  }
  check(launch_exchange(gpu_slots_.data(), static_cast<unsigned>(slots_.size()), threads_, stream_.get()),
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

void ResidentExchange::post(unsigned slot, std::uint32_t items) noexcept {
  const std::uint64_t number = ++slots_[slot].posted;
  std::atomic_ref(gpu_slots_[slot].request).store(number << 32 | items, std::memory_order_release);
}

bool ResidentExchange::is_done(unsigned slot) const noexcept {
  return std::atomic_ref(gpu_slots_[slot].done).load(std::memory_order_acquire) == slots_[slot].posted;
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
        if (exchange.answers(slot)[i] == answer(first + slot + i)) continue;
        throw WrongAnswer(fmt::format("exchange by polling: answer {} of slot {} is wrong", i, slot));
      }
    }
  }
}

}  // namespace penumbra::bench::gpu
