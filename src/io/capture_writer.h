// SPDX-License-Identifier: Apache-2.0
//
// Writes captures from several threads: pcap with nanosecond timestamps, Ethernet.
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

/// The header of a frame in a capture, in the writing machine's byte order (draft-ietf-opsawg-pcap).
struct CaptureRecord {
  std::uint32_t seconds;
  std::uint32_t nanoseconds;
  std::uint32_t captured_bytes;
  std::uint32_t wire_bytes;

  /// Returns the header of a frame of `wire_bytes` bytes, received `nanoseconds` after 1970-01-01. The first
  /// `captured_bytes` bytes of the frame follow the header.
  static CaptureRecord of(std::uint64_t nanoseconds, std::size_t captured_bytes, std::size_t wire_bytes) {
    constexpr std::uint64_t kSecond = 1'000'000'000;
    return {static_cast<std::uint32_t>(nanoseconds / kSecond), static_cast<std::uint32_t>(nanoseconds % kSecond),
            static_cast<std::uint32_t>(captured_bytes), static_cast<std::uint32_t>(wire_bytes)};
  }
};

/// A capture file. Writers append large groups of whole records, one writer at a time. The file ends with a whole
/// record, even if the disk is full: a cut record is removed again. If the process is killed (SIGKILL) or the machine
/// fails during a write, the last record may be cut. Buffered records are then missing.
class CaptureFile {
 public:
  /// Opens or creates the file. A regular file keeps its content until begin(); other files begin immediately. Throws
  /// std::system_error.
  explicit CaptureFile(const std::filesystem::path& path);
  CaptureFile(const CaptureFile&) = delete;
  CaptureFile& operator=(const CaptureFile&) = delete;
  /// Deletes the file if this object created it and never began it.
  ~CaptureFile();

  /// Empties the file and writes its header. Call before append(). Throws std::system_error.
  void begin();
  /// Appends records in one step. Returns the size in bytes of the whole records written: fewer after an error, and 0
  /// in later calls. Any thread.
  std::size_t append(std::span<const std::uint8_t> records) noexcept;
  /// Returns the errno of the first error, or 0. Any thread.
  int error() const noexcept { return error_.load(std::memory_order_relaxed); }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::size_t write(std::span<const std::uint8_t> bytes) noexcept;
  void take_off(std::size_t bytes) const noexcept;

  std::filesystem::path path_;
  bool is_ours_ = false;     ///< True if this object created the file.
  bool is_regular_ = false;  ///< False for a pipe or a device.
  bool begun_ = false;
  std::mutex mutex_;  ///< Held while records are appended.
  int descriptor_ = -1;
  std::atomic<int> error_{0};
};

/// Bytes of the longest frame: an IP packet of 65535 bytes after Ethernet and tags.
inline constexpr std::uint32_t kMostFrameBytes = 65535 + 64;

/// One thread's buffer for a capture file, which must outlive the buffer.
class CaptureWriter {
 public:
  explicit CaptureWriter(CaptureFile& file);

  /// Adds a frame of at most kMostFrameBytes, received `nanoseconds` after 1970-01-01. Counts the frame as lost if the
  /// file has failed.
  void add(std::uint64_t nanoseconds, std::span<const std::uint8_t> frame) noexcept;
  /// Writes the buffer to the file.
  void flush() noexcept;
  /// Returns the added frames that are missing in the file because of a write error. Any thread; final after flush().
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
