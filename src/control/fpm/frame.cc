// SPDX-License-Identifier: Apache-2.0
#include "control/fpm/frame.h"

#include <fmt/format.h>

#include <cstdint>
#include <cstring>

#include "penumbra/bytes.h"

namespace penumbra::control::fpm {
namespace {

constexpr unsigned kVersion = 1;
constexpr unsigned kNetlink = 1;
constexpr std::size_t kAlignment = 4;

}  // namespace

std::span<std::byte> FrameReader::room() {
  if (begin_ == end_) begin_ = end_ = 0;
  if (buffer_.size() - begin_ < kMostBytes + 1) {
    std::memmove(buffer_.data(), &buffer_[begin_], end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
  }
  return std::span(buffer_).subspan(end_);
}

std::optional<std::span<const std::byte>> FrameReader::next() {
  if (!failure_.empty() || end_ - begin_ < kHeaderBytes) return std::nullopt;
  const auto* const header = reinterpret_cast<const std::uint8_t*>(&buffer_[begin_]);
  const std::size_t length = load_be16(header + 2);
  if (header[0] != kVersion) failure_ = fmt::format("a frame of version {}, not {}", header[0], kVersion);
  if (failure_.empty() && header[1] != kNetlink) {
    failure_ = fmt::format("a frame of type {}, not {} (netlink)", header[1], kNetlink);
  }
  if (failure_.empty() && length < kHeaderBytes) failure_ = fmt::format("a frame of {} bytes", length);
  if (!failure_.empty() || end_ - begin_ < length) return std::nullopt;
  const std::span frame = std::span(buffer_).subspan(begin_, length).subspan(kHeaderBytes);
  begin_ += length;
  if (reinterpret_cast<std::uintptr_t>(frame.data()) % kAlignment == 0) return frame;
  aligned_.assign(frame.begin(), frame.end());
  return aligned_;
}

}  // namespace penumbra::control::fpm
