// SPDX-License-Identifier: Apache-2.0
//
// A bare kernel that never stops, and what the host does to have it answer: no queue, no table, no shader. What an
// engine that works so can be measured by.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "gpu/cuda_call.h"
#include "gpu/kernels.h"

namespace penumbra::bench::gpu {

/// Slots of numbers in memory shared with the GPU, each with a group of threads of its own there. Only while it runs()
/// are exchanges answered; nothing may be taken from the GPU or given back meanwhile.
class ResidentExchange {
 public:
  /// For at most `capacity` numbers a slot.
  ResidentExchange(unsigned slots, unsigned threads, std::uint32_t capacity, Signal signal);
  ~ResidentExchange() { stop(); }
  ResidentExchange(const ResidentExchange&) = delete;
  ResidentExchange& operator=(const ResidentExchange&) = delete;

  void start();
  void stop() noexcept;

  std::span<std::uint32_t> numbers(unsigned slot) const { return {slots_[slot].in, capacity_}; }
  std::uint32_t answer_at(unsigned slot, std::uint32_t item) const;
  /// Has the first `items` numbers of a slot answered, which must not be waiting for others.
  void post(unsigned slot, std::uint32_t items) noexcept;
  bool is_done(unsigned slot) const noexcept;
  void wait(unsigned slot) const noexcept {
    while (!is_done(slot)) __builtin_ia32_pause();
  }

 private:
  /// What the host knows of a slot, apart from what the GPU reads.
  struct Posted {
    std::uint32_t number = 0, items = 0;
  };

  const unsigned threads_;
  const std::uint32_t capacity_;
  const Signal signal_;
  SharedArray<ExchangeSlot> gpu_slots_;
  SharedArray<std::uint32_t> in_, out_;
  SharedArray<std::uint64_t> numbered_;
  struct Slot {
    std::uint32_t* in;
    std::uint32_t* out;
    std::uint64_t* numbered;
  };
  std::vector<Slot> slots_;
  std::vector<Posted> posted_;
  Stream stream_;
  bool runs_ = false;
};

/// While it lives, the exchange runs.
class Running {
 public:
  explicit Running(ResidentExchange& exchange) : exchange_(exchange) { exchange_.start(); }
  ~Running() { exchange_.stop(); }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

 private:
  ResidentExchange& exchange_;
};

/// Throws WrongAnswer unless each slot answers `items` numbers rightly, twice, with other numbers each time. It must
/// run.
void check_answers(ResidentExchange& exchange, unsigned slots, std::uint32_t items);

}  // namespace penumbra::bench::gpu
