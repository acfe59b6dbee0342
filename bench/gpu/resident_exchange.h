// SPDX-License-Identifier: Apache-2.0
//
// A bare resident kernel, and the host's part in its exchanges, without queue, table or shader. The exchange is the
// reference for engines that work this way.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "gpu/cuda_call.h"
#include "gpu/kernels.h"

namespace penumbra::bench::gpu {

/// Slots of numbers in memory shared with the GPU, each with a group of threads. Exchanges are answered between start()
/// and stop(); no GPU memory may be allocated or freed meanwhile.
class ResidentExchange {
 public:
  /// A slot holds at most `capacity` numbers.
  ResidentExchange(unsigned slots, unsigned threads, std::uint32_t capacity);
  ~ResidentExchange() { stop(); }
  ResidentExchange(const ResidentExchange&) = delete;
  ResidentExchange& operator=(const ResidentExchange&) = delete;

  void start();
  void stop() noexcept;

  std::span<std::uint32_t> numbers(unsigned slot) const { return {slots_[slot].in, capacity_}; }
  std::span<const std::uint32_t> answers(unsigned slot) const { return {slots_[slot].out, capacity_}; }
  /// Requests the answers to the first `items` numbers of a slot, which must have no exchange in progress.
  void post(unsigned slot, std::uint32_t items) noexcept;
  bool is_done(unsigned slot) const noexcept;
  void wait(unsigned slot) const noexcept {
    while (!is_done(slot)) {
    }
  }

 private:
  /// The host's data of a slot; the GPU does not read them.
  struct Slot {
    std::uint32_t* in;
    std::uint32_t* out;
    std::uint32_t posted;  ///< Number of the last exchange.
  };

  const unsigned threads_;
  const std::uint32_t capacity_;
  SharedArray<ExchangeSlot> gpu_slots_;
  SharedArray<std::uint32_t> in_, out_;
  std::vector<Slot> slots_;
  Stream stream_;
  bool runs_ = false;
};

/// Runs the exchange during its lifetime.
class Running {
 public:
  explicit Running(ResidentExchange& exchange) : exchange_(exchange) { exchange_.start(); }
  ~Running() { exchange_.stop(); }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

 private:
  ResidentExchange& exchange_;
};

/// Throws WrongAnswer unless each slot answers `items` numbers rightly, twice, with different numbers. The exchange
/// must run.
void check_answers(ResidentExchange& exchange, unsigned slots, std::uint32_t items);

}  // namespace penumbra::bench::gpu
