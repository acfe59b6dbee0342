// SPDX-License-Identifier: Apache-2.0
#include "cli/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <utility>

#include "base/log.h"
#include "cli/render.h"
#include "cli/run_summary.h"

namespace penumbra::cli {
namespace {

runtime::Traffic difference(const runtime::Traffic& now, const runtime::Traffic& before) {
  return {now.packets - before.packets, now.bytes - before.bytes};
}

/// Ignores errors: a run continues even if nobody can read its progress.
void write_error(const std::string& text) {
  [[maybe_unused]] const bool written = write_to_stderr(text);
}

}  // namespace

Progress::Progress(bool wanted) : terminal_(isatty(STDERR_FILENO) == 1), wanted_(wanted || terminal_) {}

Progress::~Progress() {
  if (terminal_) write_error("\r\x1b[K");
}

void Progress::tick(const runtime::Statistics& now) {
  using std::chrono::milliseconds;
  const auto elapsed = now.elapsed - last_.elapsed;
  if (!wanted_ || elapsed < (terminal_ ? milliseconds(250) : milliseconds(1000))) return;
  const auto received = difference(now.received, last_.received);
  const std::string line =
      fmt::format("{:.1f} s  {} packets  {:.2f} Mpps  {:.2f} Gbps  {} dropped  {} punted",
                  std::chrono::duration<double>(now.elapsed).count(), group_digits(now.received.packets),
                  packets_per_second(received, elapsed) / 1e6, wire_bits_per_second(received, elapsed) / 1e9,
                  group_digits(now.dropped), group_digits(now.punted));
  write_error(terminal_ ? "\r\x1b[K" + line : line + "\n");
  last_ = now;
}

PacketProgress::PacketProgress() : terminal_(isatty(STDERR_FILENO) == 1) {}

PacketProgress::~PacketProgress() {
  if (terminal_) write_error("\r\x1b[K");
}

void PacketProgress::begin(std::string step) {
  step_ = std::move(step);
  packets_ = 0;
  if (terminal_) show();
}

void PacketProgress::show() {
  const auto now = std::chrono::steady_clock::now();
  if (packets_ > 0 && now - shown_ < std::chrono::milliseconds(250)) return;
  shown_ = now;
  write_error(fmt::format("\r\x1b[K{}  {} packets", step_, group_digits(packets_)));
}

}  // namespace penumbra::cli
