// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "cli/doctor/check.h"

namespace penumbra::cli::doctor {
namespace {

const std::string kCpus = "sys/devices/system/cpu/";

bool contains(const std::vector<unsigned>& cores, unsigned core) {
  return std::ranges::find(cores, core) != cores.end();
}

/// Returns the configured cores, or the machine's cores without a configuration.
std::vector<unsigned> cores_of(const Machine& machine) {
  return machine.has_config() ? machine.worker_cores() : machine.cores(kCpus + "online");
}

std::vector<Finding> worker_cores(const Machine& machine) {
  const auto online = machine.cores(kCpus + "online");
  std::vector<Finding> findings;
  if (!machine.has_config()) {
    return {{State::ok, fmt::format("{} online: {}", online.size(), fmt::join(online, ", ")), ""}};
  }
  for (const unsigned core : machine.worker_cores()) {
    if (contains(online, core)) continue;
    findings.push_back({State::problem, fmt::format("core {} is not online", core), fmt::format("chcpu -e {}", core)});
  }
  if (!findings.empty()) return findings;
  const auto workers = machine.worker_cores();
  if (std::ranges::all_of(online, [&](unsigned core) { return contains(workers, core); })) {
    return {
        {State::hint, "every core has a worker: the host's other programs, routing daemons too, share with them", ""}};
  }
  return {{State::ok,
           fmt::format("workers on {} of {} cores: {}", workers.size(), online.size(), fmt::join(workers, ", ")), ""}};
}

/// Checks a list of cores that is set by a boot option of the kernel.
std::vector<Finding> boot_option(const Machine& machine, const std::string& file, const char* option,
                                 const char* consequence) {
  const auto listed = machine.cores(kCpus + file);
  if (!machine.has_config()) {
    if (!listed.empty()) return {{State::ok, fmt::format("cores {}", fmt::join(listed, ", ")), ""}};
    return {{State::hint, fmt::format("no core; {}", consequence), ""}};
  }
  std::vector<unsigned> missing;
  std::ranges::copy_if(machine.worker_cores(), std::back_inserter(missing),
                       [&](unsigned core) { return !contains(listed, core); });
  if (missing.empty()) return {{State::ok, "all cores of workers", ""}};
  return {{State::hint, fmt::format("not of workers' cores {}; {}", fmt::join(missing, ", "), consequence),
           fmt::format("sed -i 's/^GRUB_CMDLINE_LINUX=\"/&{}={} /' /etc/default/grub && update-grub", option,
                       fmt::join(machine.worker_cores(), ","))}};
}

std::vector<Finding> isolation(const Machine& machine) {
  return boot_option(machine, "isolated", "isolcpus", "the scheduler gives other threads to workers' cores");
}

std::vector<Finding> ticks(const Machine& machine) {
  return boot_option(machine, "nohz_full", "nohz_full", "the kernel's tick interrupts workers");
}

std::vector<Finding> governor(const Machine& machine) {
  std::vector<unsigned> slow;
  std::string governor;
  bool known = false;
  for (const unsigned core : cores_of(machine)) {
    const auto found = machine.read(fmt::format("{}cpu{}/cpufreq/scaling_governor", kCpus, core));
    if (!found) continue;
    known = true;
    if (*found == "performance") continue;
    slow.push_back(core);
    governor = *found;
  }
  if (!known) return {{State::ok, "the machine's firmware or hypervisor sets the clock rate", ""}};
  if (slow.empty()) return {{State::ok, "performance", ""}};
  return {{State::hint,
           fmt::format("{} on cores {}: the clock rate follows the load, late", governor, fmt::join(slow, ", ")),
           fmt::format("cpupower -c {} frequency-set -g performance", fmt::join(slow, ","))}};
}

std::vector<Finding> siblings(const Machine& machine) {
  const auto workers = machine.worker_cores();
  std::vector<Finding> findings;
  for (const unsigned core : workers) {
    for (const unsigned other : machine.cores(fmt::format("{}cpu{}/topology/thread_siblings_list", kCpus, core))) {
      if (other <= core || !contains(workers, other)) continue;
      findings.push_back(
          {State::hint,
           fmt::format("workers on {} and {} share one core: together they do little more than one alone", core, other),
           fmt::format("cat /sys/devices/system/cpu/cpu{}/topology/thread_siblings_list", core)});
    }
  }
  if (findings.empty() && machine.has_config()) findings.push_back({State::ok, "no two workers share a core", ""});
  return findings;
}

}  // namespace

std::vector<Check> core_checks() {
  return {{"cores", worker_cores},
          {"core isolation", isolation},
          {"tickless cores", ticks},
          {"clock rate", governor},
          {"sibling threads", siblings}};
}

}  // namespace penumbra::cli::doctor
