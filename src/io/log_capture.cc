// SPDX-License-Identifier: Apache-2.0
#include "io/log_capture.h"

#include <rte_log.h>

#include <cstdlib>

namespace penumbra::io {

LogCapture::LogCapture() : stream_(open_memstream(&text_, &bytes_)) {
  if (stream_ != nullptr) rte_openlog_stream(stream_);
}

LogCapture::~LogCapture() {
  rte_openlog_stream(nullptr);
  if (stream_ != nullptr) std::fclose(stream_);
  std::free(text_);
}

std::string LogCapture::text() const {
  if (stream_ == nullptr) return "";
  std::fflush(stream_);
  std::string text(text_, bytes_);
  while (text.ends_with('\n')) text.pop_back();
  for (std::size_t at = 0; (at = text.find('\n', at)) != std::string::npos;) text.replace(at, 1, "; ");
  return text;
}

}  // namespace penumbra::io
