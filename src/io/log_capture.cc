// SPDX-License-Identifier: Apache-2.0
#include "io/log_capture.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <rte_log.h>
#include <xdp/libxdp.h>

#include <algorithm>
#include <cstdarg>
#include <mutex>
#include <new>
#include <sstream>
#include <string_view>
#include <utility>
#include <vector>

#include "base/log.h"

namespace penumbra::io {
namespace {

/// Takes the text of the stream. Several threads may write.
class Sink {
 public:
  void write(std::string_view text) {
    const std::lock_guard lock(mutex_);
    if (captured_ != nullptr) {
      captured_->append(text);
      return;
    }
    line_.append(text);
    for (std::size_t end = line_.find('\n'); end != std::string::npos; end = line_.find('\n')) {
      if (end > 0) penumbra::log_warning("DPDK: " + line_.substr(0, end));
      line_.erase(0, end + 1);
    }
  }
  /// Appends what follows to `text`; null: logs it.
  void capture(std::string* text) {
    const std::lock_guard lock(mutex_);
    captured_ = text;
  }
  std::string copy(const std::string& captured) {
    const std::lock_guard lock(mutex_);
    return captured;
  }

 private:
  std::mutex mutex_;
  std::string* captured_ = nullptr;
  std::string line_;  ///< A line whose end has not been written yet.
};

/// Threads of DPDK may log until the process ends, so nothing destroys the sink.
Sink& sink() {
  static Sink* const kSink = new Sink;
  return *kSink;
}

ssize_t write_to_sink(void* /*cookie*/, const char* text, std::size_t bytes) noexcept {
  try {
    sink().write({text, bytes});
  } catch (const std::bad_alloc&) {
    return static_cast<ssize_t>(bytes);  // The message is lost, but the router goes on.
  }
  return static_cast<ssize_t>(bytes);
}

/// Writes a library's warning to DPDK's log. Messages of lower levels describe normal operation and are dropped.
template <class Level, Level kWarning>
int log_library_warning(Level level, const char* format, va_list arguments) {
  return level == kWarning ? std::vfprintf(dpdk_log(), format, arguments) : 0;
}

std::FILE* open_log() {
  std::FILE* const log =
      fopencookie(nullptr, "w", {.read = nullptr, .write = write_to_sink, .seek = nullptr, .close = nullptr});
  if (log == nullptr) throw std::bad_alloc();
  std::setvbuf(log, nullptr, _IOLBF, BUFSIZ);
  rte_openlog_stream(log);
  libbpf_set_print(&log_library_warning<libbpf_print_level, LIBBPF_WARN>);
  libxdp_set_print(&log_library_warning<libxdp_print_level, LIBXDP_WARN>);
  return log;
}

/// Returns true for EAL's messages about every virtual device that cannot be opened, whatever the reason, and for its
/// messages on `stderr`, which it also logs.
bool is_noise(const std::string& line) {
  return line.starts_with("EAL: Driver cannot attach the device") ||
         line == "EAL: Failed to attach device on primary process" || line.starts_with("EAL: FATAL: ");
}

}  // namespace

std::FILE* dpdk_log() {
  static std::FILE* const kLog = open_log();
  return kLog;
}

LogCapture::LogCapture() {
  std::fflush(dpdk_log());
  sink().capture(&text_);
}

LogCapture::~LogCapture() {
  std::fflush(dpdk_log());
  sink().capture(nullptr);
}

std::string LogCapture::text() const {
  std::fflush(dpdk_log());
  std::istringstream text(sink().copy(text_));
  std::vector<std::string> lines;
  for (std::string line; std::getline(text, line);) {
    if (line.empty() || is_noise(line) || std::ranges::find(lines, line) != lines.end()) continue;
    lines.push_back(line);
  }
  return fmt::format("{}", fmt::join(lines, "; "));
}

std::string LogCapture::remark() const {
  const std::string said = text();
  return said.empty() ? "" : fmt::format(" ({})", said);
}

// The GNU C Library defines `stderr` as a variable that programs may set.
StderrCapture::StderrCapture() : before_(std::exchange(stderr, dpdk_log())) {}

StderrCapture::~StderrCapture() {
  stderr = before_;
}

}  // namespace penumbra::io
