// SPDX-License-Identifier: Apache-2.0
#include "io/quiet_interface.h"

#include <array>
#include <fstream>
#include <map>
#include <mutex>
#include <utility>

namespace penumbra::io {
namespace {

const std::string kRoot = "/proc/sys/";

struct Setting {
  const char* folder;  ///< Folder of all interfaces, below /proc/sys.
  const char* key;
  const char* value;
};

// See Linux Documentation/networking/ip-sysctl.rst.
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

/// Holds the state of an interface while a QuietInterface exists.
struct Held {
  unsigned holders = 0;
  std::map<std::string, std::string> before;  ///< Old content by file, for each changed file.
};

struct HeldInterfaces {
  std::mutex mutex;
  std::map<std::string, Held> by_name;
};

HeldInterfaces& held_interfaces() {
  static HeldInterfaces interfaces;
  return interfaces;
}

}  // namespace

QuietInterface::QuietInterface(std::string name) : name_(std::move(name)) {
  HeldInterfaces& interfaces = held_interfaces();
  const std::lock_guard lock(interfaces.mutex);
  Held& held = interfaces.by_name[name_];
  ++held.holders;
  for (const auto& [folder, key, value] : kSettings) {
    // Uses slashes for sysctl too, because an interface's name may have dots.
    const std::string variable = folder + name_ + "/" + key;
    const std::string before = read(kRoot + variable);
    if (before.empty() || before == value) continue;  // A kernel without this address family has no variable to set.
    if (write(kRoot + variable, value)) {
      held.before.try_emplace(kRoot + variable, before);
    } else {
      failures_.push_back(variable + "=" + value);
    }
  }
}

QuietInterface::~QuietInterface() {
  HeldInterfaces& interfaces = held_interfaces();
  const std::lock_guard lock(interfaces.mutex);
  const auto held = interfaces.by_name.find(name_);
  if (--held->second.holders > 0) return;
  for (const auto& [file, content] : held->second.before) write(file, content);
  interfaces.by_name.erase(held);
}

}  // namespace penumbra::io
