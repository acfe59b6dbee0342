// SPDX-License-Identifier: Apache-2.0
#include "base/log.h"

#include <poll.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <climits>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <mutex>
#include <new>
#include <system_error>

namespace penumbra {
namespace {

/// Returns "2026-11-27T08:15:02.123+01:00" (RFC 3339) in local time.
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

/// A pipe accepts this number of bytes at once or none (pipe(7)). poll() reports room for as many bytes.
constexpr std::size_t kMostAtOnce = PIPE_BUF;

/// Serialises the lines of all threads, so that poll() holds for the write after it, and counts lost lines.
struct Lines {
  std::mutex mutex;
  std::uint64_t lost = 0;
};

Lines& lines_of_log() {
  static Lines lines;
  return lines;
}

/// Writes at most kMostAtOnce bytes if the write does not block, after a wait of at most `patience` for room. Sets no
/// O_NONBLOCK, because other processes share the open file.
bool write_now(std::string_view text, std::chrono::milliseconds patience = {}) noexcept {
  pollfd room{.fd = STDERR_FILENO, .events = POLLOUT, .revents = 0};
  if (poll(&room, 1, static_cast<int>(patience.count())) != 1 || (room.revents & POLLOUT) == 0) return false;
  struct stat status{};
  ssize_t written = -1;
  errno = EOPNOTSUPP;
  if (fstat(STDERR_FILENO, &status) == 0 && S_ISFIFO(status.st_mode)) {
    // Another process may fill the pipe after poll(). Kernels before 6.4 do not support the flag for pipes.
    const iovec part{.iov_base = const_cast<char*>(text.data()), .iov_len = text.size()};
    written = pwritev2(STDERR_FILENO, &part, 1, -1, RWF_NOWAIT);
  }
  if (written < 0 && (errno == EOPNOTSUPP || errno == EINVAL || errno == ENOSYS)) {
    written = write(STDERR_FILENO, text.data(), text.size());
  }
  return written == static_cast<ssize_t>(text.size());
}

/// Cuts a line, which ends in a newline, to the size that write_now() accepts.
std::string bounded(std::string_view line) {
  if (line.size() <= kMostAtOnce) return std::string(line);
  const std::string end = "... (" + std::to_string(line.size() - 1) + " bytes)\n";
  return std::string(line.substr(0, kMostAtOnce - end.size())) + end;
}

}  // namespace

bool write_to_stderr(std::string_view text) noexcept {
  if (text.size() > kMostAtOnce) return false;
  const std::lock_guard lock(lines_of_log().mutex);
  return write_now(text);
}

bool write_to_stderr(std::string_view text, std::chrono::milliseconds patience) noexcept {
  using Clock = std::chrono::steady_clock;
  const auto deadline = Clock::now() + patience;
  const std::lock_guard lock(lines_of_log().mutex);
  while (!text.empty()) {
    const std::string_view part = text.substr(0, kMostAtOnce);
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
    if (!write_now(part, std::max(left, std::chrono::milliseconds{0}))) return false;
    text.remove_prefix(part.size());
  }
  return true;
}

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
    const auto now = std::chrono::system_clock::now();
    const std::string all = log_lines(level, text, kForJournal, now);
    Lines& log = lines_of_log();
    const std::lock_guard lock(log.mutex);
    if (log.lost > 0) {
      const std::string told = std::to_string(log.lost) + (log.lost == 1 ? " line" : " lines") + " of the log " +
                               (log.lost == 1 ? "was" : "were") + " lost: standard error took no more";
      if (write_now(log_lines(LogLevel::warning, told, kForJournal, now))) log.lost = 0;
    }
    // The line of progress, which a terminal may show, is printed again later.
    if (kOnTerminal) write_now("\r\x1b[K");
    for (std::string_view rest = all; !rest.empty();) {
      const std::string_view line = rest.substr(0, rest.find('\n') + 1);
      if (log.lost > 0 || !write_now(bounded(line))) ++log.lost;
      rest.remove_prefix(line.size());
    }
  } catch (const std::bad_alloc&) {
    return;  // The event is lost, but the router goes on.
  }
}

}  // namespace penumbra
