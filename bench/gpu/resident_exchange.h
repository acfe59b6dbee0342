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

/// Slots of numbers in memory shared with the GPU, each with a group of threads of its own there. Between
/// start() and stop() exchanges are answered, and nothing may be taken from the GPU or given back.
class ResidentExchange {
 public:
  /// For at most `capacity` numbers a slot.
  ResidentExchange(unsigned slots, unsigned threads, std::uint32_t capacity);
  ~ResidentExchange() { stop(); }
  ResidentExchange(const ResidentExchange&) = delete;
  ResidentExchange& operator=(const ResidentExchange&) = delete;

  void start();
  void stop() noexcept;

  std::span<std::uint32_t> numbers(unsigned slot) const { return {slots_[slot].in, capacity_}; }
  std::span<const std::uint32_t> answers(unsigned slot) const { return {slots_[slot].out, capacity_}; }
  /// Has the first `items` numbers of a slot answered, which must not be waiting for others.
  void post(unsigned slot, std::uint32_t items) noexcept;
  bool is_done(unsigned slot) const noexcept;
  void wait(unsigned slot) const noexcept {
    while (!is_done(slot)) {
    }
  }

 private:
  /// What the host knows of a slot, apart from what the GPU reads.
  struct Slot {
    std::uint32_t* in;
    std::uint32_t* out;
    std::uint32_t posted;  ///< number of the last exchange
  };

  const unsigned threads_;
  const std::uint32_t capacity_;
  SharedArray<ExchangeSlot> gpu_slots_;
  SharedArray<std::uint32_t> in_, out_;
  std::vector<Slot> slots_;
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
