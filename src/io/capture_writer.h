// SPDX-License-Identifier: Apache-2.0
//
// Captures written by any number of threads at once: pcap with nanosecond timestamps, Ethernet.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <span>
#include <string>

#include "io/port.h"

namespace penumbra::io {

/// What stands before a frame in a capture, in the writing machine's byte order (draft-ietf-opsawg-pcap).
struct CaptureRecord {
  std::uint32_t seconds;
  std::uint32_t nanoseconds;
  std::uint32_t captured_bytes;
  std::uint32_t wire_bytes;

  /// Of a frame of `wire_bytes`, `captured_bytes` of which follow, received `nanoseconds` after 1970-01-01.
  static CaptureRecord of(std::uint64_t nanoseconds, std::size_t captured_bytes, std::size_t wire_bytes) {
    constexpr std::uint64_t kSecond = 1'000'000'000;
    return {static_cast<std::uint32_t>(nanoseconds / kSecond), static_cast<std::uint32_t>(nanoseconds % kSecond),
            static_cast<std::uint32_t>(captured_bytes), static_cast<std::uint32_t>(wire_bytes)};
  }
};

/// A capture file. Writers append to it in large pieces of whole records, one at a time, as the kernel would have it
/// anyway. It ends with a whole record, also when the disk is full: of a piece that was taken in part, what is cut is
/// taken off again. Not so if the process is killed (SIGKILL) or the machine fails within a piece: then the last record
/// may be cut, and what was buffered is missing.
class CaptureFile {
 public:
  /// Opens the file, or makes it; what is in a regular one stays until begin(), any other is begun at once. Throws
  /// std::system_error.
  explicit CaptureFile(const std::filesystem::path& path);
  CaptureFile(const CaptureFile&) = delete;
  CaptureFile& operator=(const CaptureFile&) = delete;
  /// A file that was made and never begun goes again.
  ~CaptureFile();

  /// Empties it and writes its header; before anything is appended. Throws std::system_error.
  void begin();
  /// Appends records in one go. Returns how many bytes of whole records were written: fewer after an error, and then
  /// none any more. Any thread.
  std::size_t append(std::span<const std::uint8_t> records) noexcept;
  /// The errno of the first error, or 0. Any thread.
  int error() const noexcept { return error_.load(std::memory_order_relaxed); }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::size_t write(std::span<const std::uint8_t> bytes) noexcept;
  void take_off(std::size_t bytes) const noexcept;

  std::filesystem::path path_;
  bool is_ours_ = false;     ///< it was not there before
  bool is_regular_ = false;  ///< and no pipe or device
  bool begun_ = false;
  std::mutex mutex_;  ///< held while something is appended
  int descriptor_ = -1;
  std::atomic<int> error_{0};
};

/// One thread's way into a capture file. The file outlives it.
class CaptureWriter {
 public:
  explicit CaptureWriter(CaptureFile& file);

  /// Adds a frame of at most 65535 bytes, received `nanoseconds` after 1970-01-01. If the file has failed it is lost.
  void add(std::uint64_t nanoseconds, std::span<const std::uint8_t> frame) noexcept;
  /// Writes out what is buffered.
  void flush() noexcept;
  /// What was added and is not in the file because that has failed. Any thread; final after flush().
  Loss lost() const noexcept;

 private:
  void count_lost(Loss more) noexcept;

  static constexpr std::size_t kBufferBytes = 1 << 20;

  CaptureFile& file_;
  std::unique_ptr<std::uint8_t[]> buffer_;
  std::size_t used_ = 0;
  std::atomic<std::uint64_t> lost_packets_{0};
  std::atomic<std::uint64_t> lost_bytes_{0};
};

}  // namespace penumbra::io
