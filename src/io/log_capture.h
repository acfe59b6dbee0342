// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdio>
#include <string>

namespace penumbra::io {

/// Keeps what DPDK logs as long as this lives, and the warnings of libbpf and libxdp, which its driver for XDP sockets
/// uses, for an error's text. One at a time; set-up only.
class LogCapture {
 public:
  LogCapture();
  LogCapture(const LogCapture&) = delete;
  LogCapture& operator=(const LogCapture&) = delete;
  ~LogCapture();

  /// All of it so far, in one line, but each thing once, and not that a device did not open: the error says so.
  std::string text() const;
  /// text() in brackets, to be appended to an error; "" if there is none.
  std::string remark() const;

 private:
  char* text_ = nullptr;
  std::size_t bytes_ = 0;
  std::FILE* stream_;
};

}  // namespace penumbra::io
