// SPDX-License-Identifier: Apache-2.0
//
// Writes the log of a running router to standard error: one line per event, with its time. Events are rare (a link, a
// twin, a reload); the packet path never logs.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace penumbra {

/// Severity of an event. The values are syslog's priorities (RFC 5424, section 6.2.1), which the journal uses too.
enum class LogLevel : std::uint8_t { error = 3, warning = 4, info = 6 };

/// Writes an event to standard error. Begin the text with its subject: "port 'wan': link down". A text of several lines
/// becomes several lines of the log. A line begins with the local time. If systemd's journal reads standard error, a
/// line begins with the level ("<4>") instead, and the journal adds the time. Any thread; the caller must not hold a
/// lock that workers need.
///
/// Never waits for the reader of standard error. A line without room is lost, and the next written event reports the
/// number of lost lines. A line of more than 4096 bytes is cut.
void log(LogLevel level, std::string_view text) noexcept;
inline void log_error(std::string_view text) noexcept {
  log(LogLevel::error, text);
}
inline void log_warning(std::string_view text) noexcept {
  log(LogLevel::warning, text);
}
inline void log_info(std::string_view text) noexcept {
  log(LogLevel::info, text);
}

/// Writes at most 4096 bytes to standard error, as a whole, if the write does not block. Returns true if the text was
/// written.
bool write_to_stderr(std::string_view text) noexcept;

/// Writes a text of any size to standard error and waits at most `patience` for its reader. Returns true if the whole
/// text was written.
bool write_to_stderr(std::string_view text, std::chrono::milliseconds patience) noexcept;

/// Returns the lines that log() writes for an event at `time`, either for the journal or with the time.
std::string log_lines(LogLevel level, std::string_view text, bool for_journal,
                      std::chrono::system_clock::time_point time);

/// Returns true if `descriptor` is the stream that JOURNAL_STREAM names ("DEVICE:INODE", systemd.exec(5)). `stream` may
/// be null: the variable is not set.
bool is_journal(int descriptor, const char* stream) noexcept;

}  // namespace penumbra
