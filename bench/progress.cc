// SPDX-License-Identifier: Apache-2.0
#include "progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>

#include "bench.h"

namespace penumbra::bench {
namespace {

constexpr std::size_t kBarWidth = 20;

void write_error(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
}

}  // namespace

std::string duration_name(double seconds) {
  const auto whole = static_cast<unsigned>(std::lround(seconds));
  if (whole < 60) return fmt::format("{} s", whole);
  return whole % 60 == 0 ? fmt::format("{} min", whole / 60) : fmt::format("{} min {} s", whole / 60, whole % 60);
}

Progress::Progress(bool alone) : renews_(alone && isatty(STDERR_FILENO) == 1) {}

Progress::~Progress() {
  if (renews_) write_error("\r\x1b[K");
}

std::string Progress::line(const Schedule& schedule) const {
  const std::size_t full = schedule.done() * kBarWidth / schedule.size();
  return fmt::format("[{:#<{}}{:.<{}}] {} of {}: {}; about {} left", "", full, "", kBarWidth - full,
                     schedule.done() + 1, schedule.size(), what_, duration_name(schedule.left(now() - begin_)));
}

void Progress::begin(const std::string& what, const Schedule& schedule) {
  what_ = what;
  begin_ = now();
  if (renews_) return tick(schedule);
  write_error(line(schedule) + "\n");
}

void Progress::tick(const Schedule& schedule) const {
  if (renews_) write_error("\r\x1b[K" + line(schedule));
}

}  // namespace penumbra::bench
