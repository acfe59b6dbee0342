// SPDX-License-Identifier: Apache-2.0
#include "base/log.h"

#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <new>
#include <system_error>

namespace penumbra {
namespace {

/// "2026-11-27T08:15:02.123+01:00" (RFC 3339) in local time.
std::string timestamp(std::chrono::system_clock::time_point time) {
  const auto since = std::chrono::duration_cast<std::chrono::milliseconds>(time.time_since_epoch()).count();
  const auto seconds = static_cast<std::time_t>(since / 1000);
  std::tm local{};
  localtime_r(&seconds, &local);
  std::array<char, 40> date{};
  std::array<char, 8> zone{};
  std::strftime(date.data(), date.size(), "%Y-%m-%dT%H:%M:%S", &local);
  std::strftime(zone.data(), zone.size(), "%z", &local);
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%s.%03d%.3s:%s", date.data(), static_cast<int>(since % 1000), zone.data(),
                zone.data() + 3);
  return text.data();
}

/// Line by line, so that lines of several threads do not mix. A pipe that nobody empties must not hold up the router:
/// what does not fit is lost.
void write_lines(std::string_view lines) {
  while (!lines.empty()) {
    const std::string_view line = lines.substr(0, lines.find('\n') + 1);
    pollfd room{.fd = STDERR_FILENO, .events = POLLOUT, .revents = 0};
    if (poll(&room, 1, 0) != 1 || (room.revents & POLLOUT) == 0) return;
    [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, line.data(), line.size());
    lines.remove_prefix(line.size());
  }
}

}  // namespace

bool is_journal(int descriptor, const char* stream) noexcept {
  struct stat status{};
  if (stream == nullptr || fstat(descriptor, &status) != 0) return false;
  const std::string_view text = stream;
  dev_t device = 0;
  ino_t inode = 0;
  const auto [colon, wrong_device] = std::from_chars(text.data(), text.data() + text.size(), device);
  if (wrong_device != std::errc{} || colon == text.data() + text.size() || *colon != ':') return false;
  const auto [end, wrong_inode] = std::from_chars(colon + 1, text.data() + text.size(), inode);
  return wrong_inode == std::errc{} && end == text.data() + text.size() && status.st_dev == device &&
         status.st_ino == inode;
}

std::string log_lines(LogLevel level, std::string_view text, bool for_journal,
                      std::chrono::system_clock::time_point time) {
  const std::string prefix =
      for_journal ? "<" + std::to_string(static_cast<unsigned>(level)) + ">" : timestamp(time) + " ";
  std::string lines;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    lines += prefix;
    lines += text.substr(0, end);
    lines += '\n';
    text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
  }
  return lines;
}

void log(LogLevel level, std::string_view text) noexcept {
  static const bool kForJournal = is_journal(STDERR_FILENO, std::getenv("JOURNAL_STREAM"));
  static const bool kOnTerminal = isatty(STDERR_FILENO) == 1;
  try {
    std::string lines = log_lines(level, text, kForJournal, std::chrono::system_clock::now());
    // The line of progress, which a terminal may show at the moment, comes again by itself.
    if (kOnTerminal) lines.insert(0, "\r\x1b[K");
    write_lines(lines);
  } catch (const std::bad_alloc&) {
    return;  // the event is lost, the router goes on
  }
}

}  // namespace penumbra
