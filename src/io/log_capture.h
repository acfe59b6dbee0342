// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdio>
#include <string>

namespace penumbra::io {

/// Captures DPDK's log during its lifetime, for the text of an error. Also captures the warnings of libbpf and libxdp,
/// which the AF_XDP driver uses. Only one object at a time; set-up only.
class LogCapture {
 public:
  LogCapture();
  LogCapture(const LogCapture&) = delete;
  LogCapture& operator=(const LogCapture&) = delete;
  ~LogCapture();

  /// Returns the log so far in one line, without repetitions and without messages that a device did not open.
  std::string text() const;
  /// Returns text() in brackets, to append to an error, or "" if text() is empty.
  std::string remark() const;

 private:
  char* text_ = nullptr;
  std::size_t bytes_ = 0;
  std::FILE* stream_;
};

}  // namespace penumbra::io
