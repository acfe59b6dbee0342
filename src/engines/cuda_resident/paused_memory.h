// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "cuda_resident/device.h"

namespace penumbra::cuda_resident {

/// A device's memory and streams beside a kernel that never ends: the kernel is paused for what would wait for it.
class PausedMemory final : public cuda::Device {
 public:
  /// `pause` throws DeviceError.
  PausedMemory(cuda::Device& memory, std::function<void()> pause) : memory_(memory), pause_(std::move(pause)) {}

  void abandon(const std::string& reason) noexcept override { memory_.abandon(reason); }
  std::string name() const override { return memory_.name(); }
  std::byte* allocate(std::size_t bytes) override {
    pause();
    return memory_.allocate(bytes);
  }
  void release(std::byte* memory) noexcept override {
    if (pauses()) memory_.release(memory);
  }
  std::byte* share(std::byte* host, std::size_t bytes) override {
    pause();
    return memory_.share(host, bytes);
  }
  void unshare(std::byte* host) noexcept override {
    if (pauses()) memory_.unshare(host);
  }
  void to_device(unsigned stream, std::byte* device, const std::byte* host, std::size_t bytes) override {
    memory_.to_device(stream, device, host, bytes);
  }
  void scatter(unsigned stream, std::span<const cuda::Piece> pieces) override { memory_.scatter(stream, pieces); }
  void to_host(unsigned stream, std::byte* host, const std::byte* device, std::size_t bytes) override {
    memory_.to_host(stream, host, device, bytes);
  }
  void on_device(unsigned stream, std::byte* to, const std::byte* from, std::size_t bytes) override {
    memory_.on_device(stream, to, from, bytes);
  }
  void launch(unsigned stream, const cuda::Launch& launch) override { memory_.launch(stream, launch); }
  void mark(unsigned stream) override { memory_.mark(stream); }
  bool reached(unsigned stream) override { return memory_.reached(stream); }

  /// Throws what a pause failed for, if memory was to be given back.
  void check() const {
    if (failure_) throw DeviceError(*failure_);
  }

 private:
  void pause() {
    check();
    pause_();
  }
  bool pauses() noexcept {
    try {
      pause();
    } catch (const DeviceError& error) {
      failure_ = error;
      return false;
    }
    return true;
  }

  cuda::Device& memory_;
  const std::function<void()> pause_;
  std::optional<DeviceError> failure_;
};

}  // namespace penumbra::cuda_resident
