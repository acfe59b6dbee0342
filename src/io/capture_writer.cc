// SPDX-License-Identifier: Apache-2.0
#include "io/capture_writer.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <system_error>

namespace penumbra::io {
namespace {

// The layout of pcap files: draft-ietf-opsawg-pcap. Numbers are in the writing machine's byte order.
struct FileHeader {
  std::uint32_t magic = 0xA1B23C4D;  ///< timestamps in nanoseconds
  std::uint16_t major = 2, minor = 4;
  std::uint32_t reserved[2] = {0, 0};
  std::uint32_t longest_frame = 262144;
  std::uint32_t link_type = 1;  ///< Ethernet
};
struct RecordHeader {
  std::uint32_t seconds;
  std::uint32_t nanoseconds;
  std::uint32_t captured_bytes;
  std::uint32_t wire_bytes;
};
constexpr std::uint64_t kSecond = 1'000'000'000;

}  // namespace

CaptureFile::CaptureFile(const std::filesystem::path& path) : path_(path) {
  descriptor_ = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0666);
  if (descriptor_ < 0) throw std::system_error(errno, std::generic_category(), "cannot create " + path.string());
  const FileHeader header;
  std::array<std::uint8_t, sizeof header> bytes{};
  std::memcpy(bytes.data(), &header, sizeof header);
  if (append(bytes) != bytes.size()) {
    ::close(descriptor_);
    throw std::system_error(error(), std::generic_category(), "cannot write to " + path.string());
  }
}

CaptureFile::~CaptureFile() {
  ::close(descriptor_);
}

std::size_t CaptureFile::append(std::span<const std::uint8_t> records) noexcept {
  std::size_t written = 0;
  // O_APPEND makes one write() one piece of the file. A regular file takes all of it or has failed; the second turn of
  // the loop then asks for the reason.
  while (written < records.size() && error() == 0) {
    const ssize_t step = ::write(descriptor_, records.data() + written, records.size() - written);
    if (step > 0) {
      written += static_cast<std::size_t>(step);
    } else if (step == 0 || errno != EINTR) {
      error_.store(step == 0 ? EIO : errno, std::memory_order_relaxed);
    }
  }
  return written;
}

CaptureWriter::CaptureWriter(CaptureFile& file) : file_(file), buffer_(new std::uint8_t[kBufferBytes]) {}

bool CaptureWriter::add(std::uint64_t nanoseconds, std::span<const std::uint8_t> frame) noexcept {
  const RecordHeader header{static_cast<std::uint32_t>(nanoseconds / kSecond),
                            static_cast<std::uint32_t>(nanoseconds % kSecond), static_cast<std::uint32_t>(frame.size()),
                            static_cast<std::uint32_t>(frame.size())};
  if (used_ + sizeof header + frame.size() > kBufferBytes) flush();
  if (file_.error() != 0) return false;
  std::memcpy(buffer_.get() + used_, &header, sizeof header);
  std::memcpy(buffer_.get() + used_ + sizeof header, frame.data(), frame.size());
  used_ += sizeof header + frame.size();
  return true;
}

bool CaptureWriter::flush() noexcept {
  const std::size_t written = file_.append({buffer_.get(), used_});
  Loss now{};
  for (std::size_t at = 0; written < used_ && at < used_;) {
    RecordHeader header{};
    std::memcpy(&header, buffer_.get() + at, sizeof header);
    at += sizeof header + header.captured_bytes;
    if (at > written) now = {now.packets + 1, now.bytes + header.captured_bytes};
  }
  used_ = 0;
  lost_packets_.fetch_add(now.packets, std::memory_order_relaxed);
  lost_bytes_.fetch_add(now.bytes, std::memory_order_relaxed);
  return now.packets == 0;
}

Loss CaptureWriter::lost() const noexcept {
  return {lost_packets_.load(std::memory_order_relaxed), lost_bytes_.load(std::memory_order_relaxed)};
}

}  // namespace penumbra::io
