// SPDX-License-Identifier: Apache-2.0
#include "rivals/testpmd.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <vector>

#include "process.h"

namespace penumbra::bench {
namespace {

constexpr char kProgram[] = "dpdk-testpmd";
constexpr unsigned kBurst = 64;  ///< Packets per burst, as in the router.
constexpr unsigned kPacketBuffers = 65536;
constexpr std::size_t kShownSeconds = 3;

/// Returns the quoted text of its version line: "DPDK 22.11.11".
std::string testpmd_version() {
  constexpr std::string_view kLabel = "RTE Version: '";
  const std::string told = run_program({kProgram, "-v", "--no-huge", "-m", "64", "--no-pci", "--no-telemetry",
                                        "--no-shconf", "--", "--help"})
                               .errors;
  const std::size_t at = told.find(kLabel);
  if (at == std::string::npos) return "of a version that it does not tell";
  const std::size_t begin = at + kLabel.size();
  return told.substr(begin, told.find('\'', begin) - begin);
}

double rate_of_run(const Finished& run, unsigned core) {
  const std::string name = fmt::format("-worker-{}", core);  // The prefix is rte or lcore.
  const auto thread =
      std::ranges::find_if(run.thread_seconds, [&name](const auto& entry) { return entry.first.ends_with(name); });
  if (thread == run.thread_seconds.end()) throw std::runtime_error(fmt::format("{} had no thread *{}", kProgram, name));
  constexpr std::string_view kTotal = "+++ Accumulated forward statistics", kLabel = "RX-packets:";
  const std::size_t at = run.output.find(kLabel, run.output.find(kTotal));
  if (at == std::string::npos)
    throw std::runtime_error(fmt::format("{} printed no statistics:\n{}", kProgram, run.output));
  return std::stod(run.output.substr(at + kLabel.size())) / thread->second * 1e-6;
}

}  // namespace

bool Testpmd::is_here() {
  return find_program(kProgram).has_value();
}

Testpmd::Testpmd(std::array<std::string, 2> devices, unsigned forwarding_core, unsigned command_core)
    : devices_(std::move(devices)), forwarding_core_(forwarding_core), command_core_(command_core) {}

std::string Testpmd::description() const {
  return fmt::format(
      "{}; one forwarding core, bursts of {}, {} packet buffers, no reserved huge pages: the router has "
      "none either",
      testpmd_version(), kBurst, kPacketBuffers);
}

double Testpmd::rate(const std::string& mode) const {
  const auto enough = [](const std::string& output) {
    std::size_t shown = 0;
    for (std::size_t at = 0; (at = output.find("Port statistics", at)) != std::string::npos; ++at) ++shown;
    return shown > kShownSeconds;
  };
  const Finished run = run_program({"stdbuf",
                                    "-oL",
                                    kProgram,
                                    "--no-huge",
                                    "-m",
                                    "1024",
                                    "--no-pci",
                                    "--no-telemetry",
                                    "--no-shconf",
                                    "-l",
                                    fmt::format("{},{}", forwarding_core_, command_core_),
                                    "--main-lcore",
                                    std::to_string(command_core_),
                                    "--vdev",
                                    devices_[0],
                                    "--vdev",
                                    devices_[1],
                                    "--",
                                    "--forward-mode=" + mode,
                                    "--nb-cores=1",
                                    fmt::format("--burst={}", kBurst),
                                    "--stats-period=1",
                                    fmt::format("--total-num-mbufs={}", kPacketBuffers)},
                                   enough);
  return rate_of_run(run, forwarding_core_);
}

}  // namespace penumbra::bench
