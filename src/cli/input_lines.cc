// SPDX-License-Identifier: Apache-2.0
#include "cli/input_lines.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "cli/command.h"

namespace penumbra::cli {
namespace {

constexpr std::size_t kReadBytes = 1 << 20;
constexpr std::size_t kMaxLineBytes = 1 << 16;

}  // namespace

InputLines::InputLines(int descriptor) : descriptor_(descriptor) {}

const std::vector<std::string_view>& InputLines::next() {
  lines_.clear();
  buffer_.erase(0, begin_);
  begin_ = 0;
  while (lines_.empty() && !ended_) {
    const std::size_t known = buffer_.size();
    if (known > kMaxLineBytes) throw Failure(ExitCode::bad_input, "-: a line of more than 65536 bytes");
    buffer_.resize(known + kReadBytes);
    const ssize_t count = read(descriptor_, buffer_.data() + known, kReadBytes);
    buffer_.resize(known + (count > 0 ? static_cast<std::size_t>(count) : 0));
    if (count < 0 && errno != EINTR) {
      throw Failure(ExitCode::failure, std::string("standard input: ") + std::strerror(errno));
    }
    ended_ = count == 0;
    for (std::size_t end = 0; (end = buffer_.find('\n', begin_)) != std::string::npos; begin_ = end + 1) {
      lines_.emplace_back(buffer_.data() + begin_, end - begin_);
    }
    if (ended_ && begin_ < buffer_.size()) {
      lines_.emplace_back(buffer_.data() + begin_, buffer_.size() - begin_);
      begin_ = buffer_.size();
    }
  }
  return lines_;
}

}  // namespace penumbra::cli
