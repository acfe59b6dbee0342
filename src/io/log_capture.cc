// SPDX-License-Identifier: Apache-2.0
#include "io/log_capture.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <rte_log.h>
#include <xdp/libxdp.h>

#include <algorithm>
#include <cstdarg>
#include <cstdlib>
#include <sstream>
#include <vector>

namespace penumbra::io {
namespace {

/// Writes a library's warning to DPDK's log. Messages of lower levels describe normal operation and are dropped.
template <class Level, Level kWarning>
int log_warning(Level level, const char* format, va_list arguments) {
  return level == kWarning ? std::vfprintf(rte_log_get_stream(), format, arguments) : 0;
}

/// Returns true for EAL's messages about every virtual device that cannot be opened, whatever the reason.
bool is_noise(const std::string& line) {
  return line.starts_with("EAL: Driver cannot attach the device") ||
         line == "EAL: Failed to attach device on primary process";
}

}  // namespace

LogCapture::LogCapture() : stream_(open_memstream(&text_, &bytes_)) {
  if (stream_ != nullptr) rte_openlog_stream(stream_);
  // The settings are not restored: later warnings go to standard error, as they do by default.
  libbpf_set_print(&log_warning<libbpf_print_level, LIBBPF_WARN>);
  libxdp_set_print(&log_warning<libxdp_print_level, LIBXDP_WARN>);
}

LogCapture::~LogCapture() {
  rte_openlog_stream(nullptr);
  if (stream_ != nullptr) std::fclose(stream_);
  std::free(text_);
}

std::string LogCapture::text() const {
  if (stream_ == nullptr) return "";
  std::fflush(stream_);
  std::istringstream text(std::string(text_, bytes_));
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

}  // namespace penumbra::io
