// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "cuda/device.h"
#include "cuda/standstill.h"

namespace penumbra::cuda {

/// A device's memory and streams. Taking, giving back and sharing memory may wait until nothing runs on the GPU: so
/// before that whatever this thread has there is brought to its end, kernels that never end stand still, and a GPU that
/// is lost by then is not asked.
class QuietMemory final : public Device {
 public:
  /// `quieten` brings to its end what this thread has on the GPU; it throws DeviceError if that does not end.
  QuietMemory(Device& device, std::function<void()> quieten) : device_(device), quieten_(std::move(quieten)) {}

  void abandon(const std::string& reason) noexcept override { device_.abandon(reason); }
  /// Also what memory could not be given back for.
  void throw_if_lost() const override {
    if (failure_) throw DeviceError(*failure_);
    device_.throw_if_lost();
  }
  std::string name() const override { return device_.name(); }
  std::byte* allocate(std::size_t bytes) override {
    std::optional<Standstill> standstill;
    become_quiet(standstill);
    return device_.allocate(bytes);
  }
  void release(std::byte* memory) noexcept override {
    std::optional<Standstill> standstill;
    if (becomes_quiet(standstill)) device_.release(memory);
  }
  std::byte* share(std::byte* host, std::size_t bytes) override {
    std::optional<Standstill> standstill;
    become_quiet(standstill);
    return device_.share(host, bytes);
  }
  void unshare(std::byte* host) noexcept override {
    std::optional<Standstill> standstill;
    if (becomes_quiet(standstill)) device_.unshare(host);
  }
  void to_device(unsigned stream, std::byte* device, const std::byte* host, std::size_t bytes) override {
    device_.to_device(stream, device, host, bytes);
  }
  void scatter(unsigned stream, std::span<const Piece> pieces) override { device_.scatter(stream, pieces); }
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
  void become_quiet(std::optional<Standstill>& standstill) {
    throw_if_lost();
    try {
      quieten_();
      standstill.emplace();
      device_.throw_if_lost();  // whoever could not end a kernel for this
    } catch (const DeviceError& error) {
      failure_ = error;
      throw;
    }
  }
  bool becomes_quiet(std::optional<Standstill>& standstill) noexcept {
    try {
      become_quiet(standstill);
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
