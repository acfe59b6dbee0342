// SPDX-License-Identifier: Apache-2.0
//
// Captures written by any number of threads at once: pcap with nanosecond timestamps, Ethernet.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>

#include "io/port.h"

namespace penumbra::io {

/// A capture file. Writers append to it in whole records, so that they share it without a lock.
class CaptureFile {
 public:
  /// Creates the file anew and writes its header. Throws std::system_error.
  explicit CaptureFile(const std::filesystem::path& path);
  CaptureFile(const CaptureFile&) = delete;
  CaptureFile& operator=(const CaptureFile&) = delete;
  ~CaptureFile();

  /// Appends the bytes, whole records, in one go. Returns how many were written: fewer after an error, and then none
  /// any more. Any thread.
  std::size_t append(std::span<const std::uint8_t> records) noexcept;
  /// The errno of the first error, or 0. Any thread.
  int error() const noexcept { return error_.load(std::memory_order_relaxed); }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  int descriptor_ = -1;
  std::atomic<int> error_{0};
};

/// One thread's way into a capture file. The file outlives it.
class CaptureWriter {
 public:
  explicit CaptureWriter(CaptureFile& file);

  /// Adds a frame of at most 65535 bytes, received `nanoseconds` after 1970-01-01. False if the file has failed: then
  /// the frame was not taken.
  bool add(std::uint64_t nanoseconds, std::span<const std::uint8_t> frame) noexcept;
  /// Writes out what is buffered. False if not all of it was written.
  bool flush() noexcept;
  /// What add() took and flush() could not write. Any thread.
  Loss lost() const noexcept;

 private:
  static constexpr std::size_t kBufferBytes = 1 << 20;

  CaptureFile& file_;
  std::unique_ptr<std::uint8_t[]> buffer_;
  std::size_t used_ = 0;
  std::atomic<std::uint64_t> lost_packets_{0};
  std::atomic<std::uint64_t> lost_bytes_{0};
};

}  // namespace penumbra::io
