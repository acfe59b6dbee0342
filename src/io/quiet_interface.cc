// SPDX-License-Identifier: Apache-2.0
#include "io/quiet_interface.h"

#include <array>
#include <fstream>

namespace penumbra::io {
namespace {

const std::string kRoot = "/proc/sys/";

struct Setting {
  const char* folder;  ///< of all interfaces, below /proc/sys
  const char* key;
  const char* value;
};

// Linux Documentation/networking/ip-sysctl.rst.
constexpr std::array<Setting, 4> kSettings{{{"net/ipv4/conf/", "rp_filter", "1"},
                                            {"net/ipv4/conf/", "forwarding", "0"},
                                            {"net/ipv4/conf/", "arp_ignore", "8"},
                                            {"net/ipv6/conf/", "disable_ipv6", "1"}}};

std::string read(const std::string& file) {
  std::string content;
  std::getline(std::ifstream(file), content);
  return content;
}

bool write(const std::string& file, const std::string& content) {
  std::ofstream out(file);
  out << content << std::flush;
  return out.good();
}

}  // namespace

QuietInterface::QuietInterface(const std::string& name) {
  for (const auto& [folder, key, value] : kSettings) {
    // With slashes for sysctl too, as an interface's name may have dots.
    const std::string variable = folder + name + "/" + key;
    const std::string before = read(kRoot + variable);
    if (before.empty() || before == value) continue;  // a kernel without this family has nothing to be quiet about
    if (write(kRoot + variable, value)) {
      before_.emplace_back(kRoot + variable, before);
    } else {
      failures_.push_back(variable + "=" + value);
    }
  }
}

QuietInterface::~QuietInterface() {
  for (const auto& [file, content] : before_) write(file, content);
}

}  // namespace penumbra::io
