// SPDX-License-Identifier: Apache-2.0
//
// Sends the messages of DPDK to the router's log (base/log.h), which never waits for the reader of standard error.
#pragma once

#include <cstdio>
#include <string>

namespace penumbra::io {

/// Returns the stream of DPDK's log. Each line becomes a warning of the router's log, or a part of the current
/// LogCapture. The first call also redirects the warnings of libbpf and libxdp, which the AF_XDP driver uses.
std::FILE* dpdk_log();

/// Captures DPDK's log and the warnings of libbpf and libxdp during its lifetime, for the text of an error. Only one
/// object at a time; set-up only.
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
  std::string text_;
};

/// Sends `stderr` to DPDK's log during its lifetime, because EAL writes the error of a failed start there directly.
class StderrCapture {
 public:
  StderrCapture();
  StderrCapture(const StderrCapture&) = delete;
  StderrCapture& operator=(const StderrCapture&) = delete;
  ~StderrCapture();

 private:
  std::FILE* before_;
};

}  // namespace penumbra::io
