// SPDX-License-Identifier: Apache-2.0
//
// Interface between the engine `cuda` and the GPU, as its launch thread uses it. runtime_device.cc implements it with
// the CUDA runtime; tests have an implementation on the CPU that delays work and injects failures.
//
// All calls come from the launch thread. Copies and launches are asynchronous: operations of one stream run in the
// order in which they were given, operations of different streams in any order.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "penumbra/batch.h"

namespace penumbra::cuda {

/// A failure that a GPU reported.
class DeviceError : public std::runtime_error {
 public:
  /// `is_final` means that no later request of this process to the device can succeed, so that a retry is useless.
  DeviceError(const std::string& what, bool is_final) : std::runtime_error(what), is_final_(is_final) {}
  bool is_final() const { return is_final_; }

 private:
  bool is_final_;
};

/// Returns a final failure, whose text says how to recover.
inline DeviceError final_failure(const std::string& what) {
  return {what + "; this program has to be restarted to use the GPU again", true};
}
/// Returns the final failure of an operation that exceeds its time limit.
inline DeviceError endless(const std::string& what, std::chrono::milliseconds patience) {
  return final_failure(what + " has not come to its end in " + std::to_string(patience.count()) + " ms");
}

/// A range of a batch in a launch: the addresses of its columns, in the order of the shader's arguments.
struct Segment {
  std::array<const std::byte*, kMaxColumns> inputs{};
  std::array<std::byte*, kMaxColumns> outputs{};
  const std::byte* source = nullptr;  ///< Base addresses of the payload.
  std::byte* destination = nullptr;
  std::uint32_t items = 0;
};

/// Most segments that fit into a launch's parameters.
inline constexpr std::uint32_t kMostSegments = 64;

/// One shader over several batches on one table. `view` is the shader's view with device pointers.
struct Launch {
  const Shader* shader = nullptr;
  const void* view = nullptr;
  std::span<const Segment> segments;  ///< At most kMostSegments.
};

/// A small copy from the host to the device.
struct CopyRange {
  std::byte* to = nullptr;
  const std::byte* from = nullptr;
  std::size_t bytes = 0;
};

/// A GPU. All members but the destructor, abandon(), release() and unshare() throw DeviceError. The caller must then
/// destroy the device, or abandon it if the failure is final.
class Device {
 public:
  Device() = default;
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;
  /// Waits for all work, then frees all memory and unregisters shared memory.
  virtual ~Device() = default;
  /// Call instead of the destructor if it may never return. Afterwards only reached() may be called, and the copy that
  /// makes a resident kernel end.
  virtual void abandon(const std::string& reason) noexcept = 0;
  /// Throws a final DeviceError if any user in this process has abandoned the GPU. The check costs one load, so that
  /// every turn can call it.
  virtual void throw_if_lost() const = 0;
  /// Throws as throw_if_lost(), at the same cost, but also the error of an earlier quieten_by() function, which need
  /// not be final. The memory operation was then not done, and the device must be closed.
  void throw_if_failed() const {
    if (failure_) [[unlikely]]
      throw DeviceError(*failure_);
    throw_if_lost();
  }

  /// Returns the GPU's name for people.
  virtual std::string name() const = 0;
  /// True if kernels access all memory of the process coherently, at its own addresses (address translation services,
  /// or memory that CPU and GPU share). share() then registers nothing.
  virtual bool sees_all_memory() const { return false; }

  // Memory. These functions first wait for this thread's work on the GPU by the function of quieten_by(). Then they may
  // wait until no kernel of other threads runs there; they make a KernelPause for that.

  /// `quieten` throws DeviceError if the work does not end.
  void quieten_by(std::function<void()> quieten) { quieten_ = std::move(quieten); }
  /// Allocates `bytes` bytes of device memory, rounded up to whole lines of 16 bytes, in which kernels read payload.
  std::byte* allocate(std::size_t bytes) {
    become_quiet();
    return do_allocate(bytes);
  }
  /// Frees `memory`. Does nothing after a device failure, because the GPU may still access the memory.
  void release(std::byte* memory) noexcept {
    if (becomes_quiet()) do_release(memory);
  }
  /// Registers host memory with the GPU, and returns the memory's device address.
  std::byte* share(std::byte* host, std::size_t bytes) {
    become_quiet();
    return do_share(host, bytes);
  }
  /// Unregisters host memory. Does nothing after a device failure.
  void unshare(std::byte* host) noexcept {
    if (becomes_quiet()) do_unshare(host);
  }

  // Streams.

  /// Copies to the device. `host` is shared memory and must not change until the copy is done.
  virtual void to_device(unsigned stream, std::byte* device, const std::byte* host, std::size_t bytes) = 0;
  /// Copies many small ranges. The ranges themselves and their sources lie in one shared memory.
  virtual void scatter(unsigned stream, std::span<const CopyRange> ranges) {
    for (const CopyRange& range : ranges) to_device(stream, range.to, range.from, range.bytes);
  }
  virtual void to_host(unsigned stream, std::byte* host, const std::byte* device, std::size_t bytes) = 0;
  /// Overwrites device memory with zeros.
  virtual void erase(unsigned stream, std::byte* device, std::size_t bytes) = 0;
  virtual void on_device(unsigned stream, std::byte* to, const std::byte* from, std::size_t bytes) = 0;
  virtual void launch(unsigned stream, const Launch& launch) = 0;
  /// Marks the end of the work that `stream` has been given.
  virtual void mark(unsigned stream) = 0;
  /// Returns true if the stream has reached its last mark, or has none. Throws the failure of earlier asynchronous
  /// work.
  virtual bool reached(unsigned stream) = 0;

 private:
  virtual std::byte* do_allocate(std::size_t bytes) = 0;
  virtual void do_release(std::byte* memory) noexcept = 0;
  virtual std::byte* do_share(std::byte* host, std::size_t bytes) = 0;
  virtual void do_unshare(std::byte* host) noexcept = 0;

  void become_quiet() {
    throw_if_failed();
    try {
      if (quieten_) quieten_();
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

  std::function<void()> quieten_;
  std::optional<DeviceError> failure_;
};

/// The devices of an engine, and the shaders compiled for them.
struct Backend {
  std::function<std::unique_ptr<Device>(unsigned device, unsigned streams)>
      open;  ///< Opens a device with `streams` streams; throws DeviceError.
  std::function<const Shader*(const std::string& name)> find_shader;
  std::vector<int> nodes;  ///< NUMA node near each device, at least one element; below 0 if unknown.
};

}  // namespace penumbra::cuda
