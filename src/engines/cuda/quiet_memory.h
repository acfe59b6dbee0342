// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <utility>

#include "cuda/device.h"

namespace penumbra::cuda {

using Deadline = std::chrono::steady_clock::time_point;

/// Waits for the stream's last mark. Throws the device's failure, or after `deadline` a final DeviceError, whose text
/// names `patience`.
inline void wait_for_mark(Device& device, unsigned stream, Deadline deadline, std::chrono::milliseconds patience) {
  while (!device.reached(stream)) {
    if (std::chrono::steady_clock::now() > deadline) throw endless("what the GPU was given", patience);
    std::this_thread::yield();
  }
}

/// Waits for the end of all work in the stream `copies`, and for the last marks of the streams `others`. Afterwards a
/// call that waits for the GPU can return. Throws the device's failure. Throws a final DeviceError if the wait takes
/// longer than `patience`, or after a device failure.
inline void wait_for_the_end(Device& device, unsigned copies, std::span<const unsigned> others,
                             std::chrono::milliseconds patience) {
  device.throw_if_lost();
  const Deadline deadline = std::chrono::steady_clock::now() + patience;
  device.mark(copies);
  wait_for_mark(device, copies, deadline, patience);
  for (const unsigned stream : others) wait_for_mark(device, stream, deadline, patience);
}

/// Returns why a failed device does not reach the end of the streams' work, so that it cannot be closed; none if it
/// does. The result is final, also if the device cannot mark the ends. The end of a stream whose query fails is
/// unknown, so the function still waits for the other streams.
inline std::optional<DeviceError> why_it_does_not_end(Device& device, unsigned copies, std::span<const unsigned> others,
                                                      std::chrono::milliseconds patience) {
  const Deadline deadline = std::chrono::steady_clock::now() + patience;
  const auto wait_for = [&](unsigned stream) {
    try {
      wait_for_mark(device, stream, deadline, patience);
    } catch (const DeviceError& error) {
      if (error.is_final()) throw;
    }
  };
  try {
    device.throw_if_lost();
    device.mark(copies);
    for (const unsigned stream : others) device.mark(stream);
  } catch (const DeviceError& error) {
    if (error.is_final()) return error;
    return final_failure(std::string("where what the GPU was given ends is not marked, ") + error.what());
  }
  try {
    wait_for(copies);
    std::ranges::for_each(others, wait_for);
  } catch (const DeviceError& error) {
    return error;
  }
  return std::nullopt;
}

/// A device's memory and streams. Allocating, freeing and sharing memory may wait until no kernel runs on the GPU.
/// QuietMemory first waits for this thread's work on the GPU; the device handles the work of other threads.
class QuietMemory final : public Device {
 public:
  /// `quieten` waits for this thread's work on the GPU; it throws DeviceError if the work does not end.
  QuietMemory(Device& device, std::function<void()> quieten) : device_(device), quieten_(std::move(quieten)) {}

  void abandon(const std::string& reason) noexcept override { device_.abandon(reason); }
  void throw_if_lost() const override { device_.throw_if_lost(); }
  /// Throws as throw_if_lost(), at the same cost, but also the error of an earlier `quieten`, which need not be final.
  /// The memory operation was then not done, and the device must be closed.
  void check() const {
    if (failure_) [[unlikely]]
      throw DeviceError(*failure_);
    device_.throw_if_lost();
  }
  std::string name() const override { return device_.name(); }
  std::byte* allocate(std::size_t bytes) override {
    become_quiet();
    return device_.allocate(bytes);
  }
  void release(std::byte* memory) noexcept override {
    if (becomes_quiet()) device_.release(memory);
  }
  std::byte* share(std::byte* host, std::size_t bytes) override {
    become_quiet();
    return device_.share(host, bytes);
  }
  void unshare(std::byte* host) noexcept override {
    if (becomes_quiet()) device_.unshare(host);
  }
  void to_device(unsigned stream, std::byte* device, const std::byte* host, std::size_t bytes) override {
    device_.to_device(stream, device, host, bytes);
  }
  void scatter(unsigned stream, std::span<const CopyRange> ranges) override { device_.scatter(stream, ranges); }
  void to_host(unsigned stream, std::byte* host, const std::byte* device, std::size_t bytes) override {
    device_.to_host(stream, host, device, bytes);
  }
  void erase(unsigned stream, std::byte* device, std::size_t bytes) override { device_.erase(stream, device, bytes); }
  void on_device(unsigned stream, std::byte* to, const std::byte* from, std::size_t bytes) override {
    device_.on_device(stream, to, from, bytes);
  }
  void launch(unsigned stream, const Launch& launch) override { device_.launch(stream, launch); }
  void mark(unsigned stream) override { device_.mark(stream); }
  bool reached(unsigned stream) override { return device_.reached(stream); }

 private:
  void become_quiet() {
    check();
    try {
      quieten_();
    } catch (const DeviceError& error) {
      failure_ = error;
      throw;
    }
  }
  bool becomes_quiet() noexcept {
    try {
      become_quiet();
      return true;
    } catch (const DeviceError&) {
      return false;
    }
  }

  Device& device_;
  const std::function<void()> quieten_;
  std::optional<DeviceError> failure_;
};

}  // namespace penumbra::cuda
