// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdio>
#include <string>

namespace penumbra::io {

/// Keeps what DPDK writes to its log as long as this lives, for an error's text. One at a time; set-up only.
class LogCapture {
 public:
  LogCapture();
  LogCapture(const LogCapture&) = delete;
  LogCapture& operator=(const LogCapture&) = delete;
  ~LogCapture();

  /// All of it so far, in one line.
  std::string text() const;

 private:
  char* text_ = nullptr;
  std::size_t bytes_ = 0;
  std::FILE* stream_;
};

}  // namespace penumbra::io
