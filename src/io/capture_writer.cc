// SPDX-License-Identifier: Apache-2.0
#include "io/capture_writer.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

namespace penumbra::io {
namespace {

// The layout of pcap files: draft-ietf-opsawg-pcap. Numbers are in the writing machine's byte order.
struct FileHeader {
  std::uint32_t magic = 0xA1B23C4D;  ///< Timestamps in nanoseconds.
  std::uint16_t major = 2, minor = 4;
  std::uint32_t reserved[2] = {0, 0};
  std::uint32_t longest_frame = 262144;
  std::uint32_t link_type = 1;  ///< Ethernet.
};

CaptureRecord header_at(const std::uint8_t* bytes) {
  CaptureRecord header{};
  std::memcpy(&header, bytes, sizeof header);
  return header;
}

/// Returns the size in bytes of the whole records within the first `written` bytes.
std::size_t whole_bytes(std::span<const std::uint8_t> records, std::size_t written) {
  std::size_t whole = 0;
  while (whole < written) {
    const std::size_t end = whole + sizeof(CaptureRecord) + header_at(records.data() + whole).captured_bytes;
    if (end > written) break;
    whole = end;
  }
  return whole;
}

}  // namespace

CaptureFile::CaptureFile(const std::filesystem::path& path) : path_(path) {
  constexpr int kFlags = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC;
  descriptor_ = ::open(path.c_str(), kFlags | O_EXCL, 0666);
  is_ours_ = descriptor_ >= 0;
  if (!is_ours_) descriptor_ = ::open(path.c_str(), kFlags, 0666);
  if (descriptor_ < 0) throw std::system_error(errno, std::generic_category(), "cannot create " + path.string());
  struct stat status{};
  is_regular_ = ::fstat(descriptor_, &status) == 0 && S_ISREG(status.st_mode);
  try {
    if (!is_regular_) begin();  // Detects immediately if the file cannot be written.
  } catch (...) {
    ::close(descriptor_);
    throw;
  }
}

CaptureFile::~CaptureFile() {
  ::close(descriptor_);
  if (is_ours_ && !begun_) ::unlink(path_.c_str());
}

void CaptureFile::begin() {
  if (std::exchange(begun_, true)) return;
  const FileHeader header;
  std::array<std::uint8_t, sizeof header> bytes{};
  std::memcpy(bytes.data(), &header, sizeof header);
  if (is_regular_ && ::ftruncate(descriptor_, 0) != 0) error_.store(errno, std::memory_order_relaxed);
  if (write(bytes) == bytes.size()) return;
  throw std::system_error(error(), std::generic_category(), "cannot write to " + path_.string());
}

std::size_t CaptureFile::append(std::span<const std::uint8_t> records) noexcept {
  const std::lock_guard lock(mutex_);
  const std::size_t written = write(records);
  if (written == records.size()) return written;
  const std::size_t whole = whole_bytes(records, written);
  if (whole < written) take_off(written - whole);
  return whole;
}

/// Writes all bytes to a regular file unless an error occurs. After a partial write, the next iteration finds the
/// reason.
std::size_t CaptureFile::write(std::span<const std::uint8_t> bytes) noexcept {
  std::size_t written = 0;
  while (written < bytes.size() && error() == 0) {
    const ssize_t step = ::write(descriptor_, bytes.data() + written, bytes.size() - written);
    if (step > 0) {
      written += static_cast<std::size_t>(step);
    } else if (step == 0 || errno != EINTR) {
      error_.store(step == 0 ? EIO : errno, std::memory_order_relaxed);
    }
  }
  return written;
}

/// Removes the last `bytes` bytes of a regular file. Bytes in a pipe cannot be removed.
void CaptureFile::take_off(std::size_t bytes) const noexcept {
  struct stat status{};
  if (!is_regular_ || ::fstat(descriptor_, &status) != 0) return;
  // If this fails, the file ends in a cut record, which its readers report.
  [[maybe_unused]] const int failure = ::ftruncate(descriptor_, status.st_size - static_cast<off_t>(bytes));
}

CaptureWriter::CaptureWriter(CaptureFile& file) : file_(file), buffer_(new std::uint8_t[kBufferBytes]) {}

void CaptureWriter::add(std::uint64_t nanoseconds, std::span<const std::uint8_t> frame) noexcept {
  const CaptureRecord header = CaptureRecord::of(nanoseconds, frame.size(), frame.size());
  if (used_ + sizeof header + frame.size() > kBufferBytes) flush();
  if (file_.error() != 0) return count_lost({1, frame.size()});
  std::memcpy(buffer_.get() + used_, &header, sizeof header);
  std::memcpy(buffer_.get() + used_ + sizeof header, frame.data(), frame.size());
  used_ += sizeof header + frame.size();
}

void CaptureWriter::flush() noexcept {
  if (used_ == 0) return;
  Loss lost{};
  for (std::size_t at = file_.append({buffer_.get(), used_}); at < used_;) {
    const CaptureRecord header = header_at(buffer_.get() + at);
    at += sizeof header + header.captured_bytes;
    lost = {lost.packets + 1, lost.bytes + header.captured_bytes};
  }
  used_ = 0;
  count_lost(lost);
}

void CaptureWriter::count_lost(Loss more) noexcept {
  lost_packets_.fetch_add(more.packets, std::memory_order_relaxed);
  lost_bytes_.fetch_add(more.bytes, std::memory_order_relaxed);
}

Loss CaptureWriter::lost() const noexcept {
  return {lost_packets_.load(std::memory_order_relaxed), lost_bytes_.load(std::memory_order_relaxed)};
}

}  // namespace penumbra::io
