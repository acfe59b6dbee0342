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

/// Waits for the stream's last mark. Throws what the device fails for, and a final DeviceError after the deadline,
/// which `patience` has led to.
inline void wait_for_mark(Device& device, unsigned stream, Deadline deadline, std::chrono::milliseconds patience) {
  while (!device.reached(stream)) {
    if (std::chrono::steady_clock::now() > deadline) throw endless("what the GPU was given", patience);
    std::this_thread::yield();
  }
}

/// Waits until the device comes to the end of what was given to its stream of copies, and to the last marks of the
/// other streams, so that a call that waits for the GPU returns. Throws what the device fails for, and a final
/// DeviceError if it takes longer than `patience`, or the GPU is lost.
inline void wait_for_the_end(Device& device, unsigned copies, std::span<const unsigned> others,
                             std::chrono::milliseconds patience) {
  device.throw_if_lost();
  const Deadline deadline = std::chrono::steady_clock::now() + patience;
  device.mark(copies);
  wait_for_mark(device, copies, deadline, patience);
  for (const unsigned stream : others) wait_for_mark(device, stream, deadline, patience);
}

/// Why a device that has failed does not come to the end of all that these streams were given, so that it cannot be
/// closed: a final failure, also if it does not mark the ends. None if it does come to it. Of a stream that it cannot
/// be asked about nothing is known but what the others tell: those are waited for all the same.
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

/// A device's memory and streams. Taking, giving back and sharing memory may wait until nothing runs on the GPU: so
/// before that whatever this thread has there is brought to its end. What others have there is the device's to see to.
class QuietMemory final : public Device {
 public:
  /// `quieten` brings to its end what this thread has on the GPU; it throws DeviceError if that does not end.
  QuietMemory(Device& device, std::function<void()> quieten) : device_(device), quieten_(std::move(quieten)) {}

  void abandon(const std::string& reason) noexcept override { device_.abandon(reason); }
  void throw_if_lost() const override { device_.throw_if_lost(); }
  /// The same, at the same price, but also throws what `quieten` threw, which need not be final: for that memory was
  /// not taken, given back or shared, and the device is to be closed.
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
