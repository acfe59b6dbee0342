// SPDX-License-Identifier: Apache-2.0
//
// The seam between the engine `cuda` and the GPU: what its launch_thread asks of it. The runtime's form of it is in
// runtime_device.cc; the tests have one that works on the CPU, takes its time and fails when it is told to.
//
// All calls come from the launch_thread's thread. Copies and launches are asynchronous: those of one stream run in the
// order in which they were given, those of several in any.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "penumbra/batch.h"

namespace penumbra::cuda {

/// What a GPU answered in place of doing what it was asked.
class DeviceError : public std::runtime_error {
 public:
  /// `is_final`: nothing that this process asks of the device will succeed any more, so that trying again is in vain.
  DeviceError(const std::string& what, bool is_final) : std::runtime_error(what), is_final_(is_final) {}
  bool is_final() const { return is_final_; }

 private:
  bool is_final_;
};

/// A failure for good, with what is left to do about it.
inline DeviceError final_failure(const std::string& what) {
  return {what + "; this program has to be started anew to use the GPU again", true};
}
/// That of what takes longer than it may.
inline DeviceError endless(const std::string& what, std::chrono::milliseconds patience) {
  return final_failure(what + " has not come to its end in " + std::to_string(patience.count()) + " ms");
}

/// A range of a batch as a launch sees it: where its columns begin, in the order of the shader's arguments.
struct Segment {
  std::array<const std::byte*, kMaxColumns> inputs{};
  std::array<std::byte*, kMaxColumns> outputs{};
  std::uint32_t items = 0;
};

/// As many as fit into a launch's parameters.
inline constexpr std::uint32_t kMostSegments = 64;

/// One shader over several batches on one table. `view` is the shader's view with the device's pointers in it.
struct Launch {
  const Shader* shader = nullptr;
  const void* view = nullptr;
  std::span<const Segment> segments;  ///< at most kMostSegments
};

/// A small copy from the host to the device.
struct CopyRange {
  std::byte* to = nullptr;
  const std::byte* from = nullptr;
  std::size_t bytes = 0;
};

/// All but the destructor, release() and unshare() throw DeviceError. The device is then to be destroyed, or abandoned
/// if the failure is final.
class Device {
 public:
  Device() = default;
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;
  /// Waits for what it was given, and takes back all memory that it gave and shared.
  virtual ~Device() = default;
  /// In place of the destructor, which may never return. For this reason nothing will be asked of it any more, but for
  /// whether streams have come to their marks, and for a copy that tells a resident kernel to end.
  virtual void abandon(const std::string& reason) noexcept = 0;
  /// Throws a final DeviceError if anyone of this process has abandoned the GPU; costs one load, so it can be asked at
  /// every turn.
  virtual void throw_if_lost() const = 0;

  /// What it is, for people.
  virtual std::string name() const = 0;

  // Memory. These may wait until nothing runs on the GPU, and bring about a pause for that.

  /// Memory of the device.
  virtual std::byte* allocate(std::size_t bytes) = 0;
  /// Does nothing if the GPU is lost, which may go on with the memory.
  virtual void release(std::byte* memory) noexcept = 0;
  /// Lets the device reach host memory; returns the memory's address there.
  virtual std::byte* share(std::byte* host, std::size_t bytes) = 0;
  /// As release().
  virtual void unshare(std::byte* host) noexcept = 0;

  // Streams.

  /// `host` is shared memory and stays as it is until the copy is done.
  virtual void to_device(unsigned stream, std::byte* device, const std::byte* host, std::size_t bytes) = 0;
  /// The same of many small ranges at once. They themselves, and what they are copied from, lie in one memory that was
  /// shared.
  virtual void scatter(unsigned stream, std::span<const CopyRange> ranges) {
    for (const CopyRange& range : ranges) to_device(stream, range.to, range.from, range.bytes);
  }
  virtual void to_host(unsigned stream, std::byte* host, const std::byte* device, std::size_t bytes) = 0;
  virtual void on_device(unsigned stream, std::byte* to, const std::byte* from, std::size_t bytes) = 0;
  virtual void launch(unsigned stream, const Launch& launch) = 0;
  /// Sets a mark behind what the stream was given.
  virtual void mark(unsigned stream) = 0;
  /// Whether the stream has come to its last mark; true if it has none. Also how the failure of something asynchronous
  /// comes to light.
  virtual bool reached(unsigned stream) = 0;
};

/// What an engine runs on: its devices, how to open one with so many streams, and the shaders that were compiled for
/// them.
struct Backend {
  std::function<std::unique_ptr<Device>(unsigned device, unsigned streams)> open;  ///< throws DeviceError
  std::function<const Shader*(const std::string& name)> find_shader;
  std::vector<int> nodes;  ///< of each device, at least one: the NUMA node near it, or below 0
};

}  // namespace penumbra::cuda
