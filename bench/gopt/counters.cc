// SPDX-License-Identifier: Apache-2.0
#include "gopt/counters.h"

#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>

#include "base/file_descriptor.h"

namespace penumbra::bench {
namespace {

/// Opens a counter of this thread, disabled at first. A counter with a `leader` counts at the same times as the leader.
FileDescriptor open_counter(std::uint64_t event, int leader) {
  perf_event_attr wanted{};
  wanted.type = PERF_TYPE_HARDWARE;
  wanted.size = sizeof wanted;
  wanted.config = event;
  wanted.disabled = leader < 0 ? 1 : 0;
  wanted.exclude_kernel = 1;
  wanted.exclude_hv = 1;
  wanted.read_format = PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
  return FileDescriptor(static_cast<int>(syscall(SYS_perf_event_open, &wanted, 0, -1, leader, PERF_FLAG_FD_CLOEXEC)));
}

/// Result of reading the group in the format above.
struct GroupRead {
  std::uint64_t counters, enabled, running;
  std::array<std::uint64_t, 2> counts;
};

}  // namespace

std::optional<Counts> counted(const std::function<void()>& work) {
  const FileDescriptor instructions = open_counter(PERF_COUNT_HW_INSTRUCTIONS, -1);
  if (!instructions) return std::nullopt;
  const FileDescriptor cycles = open_counter(PERF_COUNT_HW_CPU_CYCLES, instructions.get());
  if (!cycles) return std::nullopt;
  if (ioctl(instructions.get(), PERF_EVENT_IOC_ENABLE, PERF_IOC_FLAG_GROUP) != 0) return std::nullopt;
  work();
  if (ioctl(instructions.get(), PERF_EVENT_IOC_DISABLE, PERF_IOC_FLAG_GROUP) != 0) return std::nullopt;
  GroupRead found{};
  if (read(instructions.get(), &found, sizeof found) != static_cast<ssize_t>(sizeof found)) return std::nullopt;
  // Other programs may use the counters part of the time.
  if (found.counts[1] == 0 || found.running < found.enabled) return std::nullopt;
  return Counts{found.counts[0], found.counts[1]};
}

}  // namespace penumbra::bench
