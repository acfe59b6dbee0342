// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdlib>
#include <string>

namespace penumbra {

/// Replaces standard error by a pipe during its lifetime.
class StderrPipe {
 public:
  StderrPipe() : before_(::dup(STDERR_FILENO)) {
    if (::pipe(ends_.data()) != 0) std::abort();
    ::dup2(ends_[1], STDERR_FILENO);
  }
  StderrPipe(const StderrPipe&) = delete;
  StderrPipe& operator=(const StderrPipe&) = delete;
  ~StderrPipe() {
    ::dup2(before_, STDERR_FILENO);
    for (const int each : {before_, ends_[0], ends_[1]}) ::close(each);
  }

  /// Fills the pipe completely and then reads `bytes` bytes.
  void fill_but(std::size_t bytes) const {
    const int flags = ::fcntl(ends_[1], F_GETFL);
    ::fcntl(ends_[1], F_SETFL, flags | O_NONBLOCK);
    const std::array<char, 4096> page{};
    while (::write(ends_[1], page.data(), page.size()) > 0) continue;
    ::fcntl(ends_[1], F_SETFL, flags);
    read_bytes(bytes);
  }
  /// Reads and returns the content of the pipe.
  std::string drain() const {
    const int flags = ::fcntl(ends_[0], F_GETFL);
    ::fcntl(ends_[0], F_SETFL, flags | O_NONBLOCK);
    std::string all = read_bytes(std::size_t{1} << 20);
    ::fcntl(ends_[0], F_SETFL, flags);
    return all;
  }

 private:
  std::string read_bytes(std::size_t bytes) const {
    std::string all;
    std::array<char, 4096> page{};
    while (all.size() < bytes) {
      const ssize_t count = ::read(ends_[0], page.data(), std::min(page.size(), bytes - all.size()));
      if (count <= 0) break;
      all.append(page.data(), static_cast<std::size_t>(count));
    }
    return all;
  }

  int before_;
  std::array<int, 2> ends_{};
};

/// Returns the lines without their times.
inline std::string texts_of(const std::string& log) {
  constexpr std::size_t kTime = sizeof "2026-11-27T08:00:00.042+00:00 " - 1;
  std::string texts;
  for (std::size_t at = 0; at < log.size(); at = log.find('\n', at) + 1) {
    texts += log.substr(std::min(at + kTime, log.size()), log.find('\n', at) + 1 - at - kTime);
  }
  return texts;
}

}  // namespace penumbra
