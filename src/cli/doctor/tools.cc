// SPDX-License-Identifier: Apache-2.0
//
// The Debian packages of the tools that the doctor's commands use.
#include <algorithm>
#include <array>
#include <sstream>
#include <string_view>

#include "cli/doctor/check.h"

namespace penumbra::cli::doctor {
namespace {

struct Tool {
  std::string_view name;
  std::string_view package;
};
constexpr std::array<Tool, 13> kTools{{{"apt", "apt"},
                                       {"chcpu", "util-linux"},
                                       {"cpupower", "linux-cpupower"},
                                       {"dpdk-devbind.py", "dpdk"},
                                       {"ethtool", "ethtool"},
                                       {"ip", "iproute2"},
                                       {"modprobe", "kmod"},
                                       {"mount", "mount"},
                                       {"nvidia-modprobe", "nvidia-modprobe"},
                                       {"setcap", "libcap2-bin"},
                                       {"sysctl", "procps"},
                                       {"update-grub", "grub2-common"},
                                       {"wget", "wget"}}};
constexpr std::array<std::string_view, 6> kFolders{"usr/bin/", "usr/sbin/",      "bin/",
                                                   "sbin/",    "usr/local/bin/", "usr/local/sbin/"};

}  // namespace

std::vector<std::string> missing_packages(const Machine& machine, const std::string& command) {
  std::vector<std::string> packages;
  std::istringstream words(command);
  for (std::string word; words >> word;) {
    const auto* const tool = std::ranges::find(kTools, word, &Tool::name);
    if (tool == kTools.end()) continue;
    const bool there = std::ranges::any_of(
        kFolders, [&](std::string_view folder) { return machine.exists(std::string(folder) + word); });
    if (!there && std::ranges::find(packages, tool->package) == packages.end()) packages.emplace_back(tool->package);
  }
  return packages;
}

}  // namespace penumbra::cli::doctor
