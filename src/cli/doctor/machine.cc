// SPDX-License-Identifier: Apache-2.0
#include "cli/doctor/machine.h"

#include <linux/ethtool.h>
#include <net/if.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <sstream>
#include <utility>
#include <variant>

#include "base/text_file.h"
#include "control/device_arguments.h"
#include "io/ethdev_probe.h"
#include "io/ethtool.h"
#include "penumbra/errors.h"

namespace penumbra::cli::doctor {
namespace {

/// Returns the words of a line.
std::vector<std::string> words_of(const std::string& line) {
  std::istringstream words(line);
  return {std::istream_iterator<std::string>(words), {}};
}

std::vector<const control::Ethdev*> ethdevs(const control::RouterConfig* config) {
  std::vector<const control::Ethdev*> found;
  if (config == nullptr) return found;
  for (const auto& port : config->ports) {
    if (const auto* device = std::get_if<control::Ethdev>(&port.device)) found.push_back(device);
  }
  return found;
}

}  // namespace

Machine::Machine(std::filesystem::path root, const control::RouterConfig* config,
                 std::function<std::optional<InterfaceFeatures>(const std::string&)> features)
    : root_(std::move(root)), config_(config), features_(std::move(features)) {}

std::optional<std::string> Machine::read(std::string_view path) const {
  constexpr std::size_t kMost = std::size_t{1} << 20;
  std::string text;
  try {
    text = read_text_file(root_ / path, kMost);
  } catch (const InputError&) {  // many files of /sys can be opened but not read, for example `carrier` of an interface
                                 // that is down
    return std::nullopt;
  }
  if (text.ends_with('\n')) text.pop_back();
  return text;
}

std::optional<std::uint64_t> Machine::number(std::string_view path) const {
  const auto text = read(path);
  std::uint64_t value = 0;
  if (!text || std::from_chars(text->data(), text->data() + text->size(), value).ec != std::errc{}) return std::nullopt;
  return value;
}

bool Machine::exists(std::string_view path) const {
  std::error_code error;
  return std::filesystem::exists(root_ / path, error);
}

std::vector<std::string> Machine::list(std::string_view path) const {
  std::vector<std::string> names;
  std::error_code error;
  std::filesystem::directory_iterator entry(root_ / path, error);
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    names.push_back(entry->path().filename());
  }
  std::ranges::sort(names);
  return names;
}

std::optional<bool> Machine::has_capability(unsigned number) const {
  std::istringstream status(read("proc/self/status").value_or(""));
  for (std::string line; std::getline(status, line);) {
    constexpr std::string_view kName = "CapEff:";
    if (!line.starts_with(kName)) continue;
    std::uint64_t effective = 0;
    std::istringstream(line.substr(kName.size())) >> std::hex >> effective;
    return (effective >> number & 1) != 0;
  }
  return std::nullopt;
}

std::vector<std::string> Machine::default_route_interfaces() const {
  std::vector<std::string> names;
  const auto add = [&names](const std::string& name) {
    if (name != "lo" && std::ranges::find(names, name) == names.end()) names.push_back(name);
  };
  std::istringstream routes(read("proc/net/route").value_or(""));
  for (std::string line; std::getline(routes, line);) {  // Iface Destination Gateway Flags RefCnt Use Metric Mask ...
    const auto words = words_of(line);
    if (words.size() > 7 && words[1] == "00000000" && words[7] == "00000000") add(words[0]);
  }
  std::istringstream routes6(read("proc/net/ipv6_route").value_or(""));
  for (std::string line; std::getline(routes6, line);) {  // destination, its length, ..., interface
    const auto words = words_of(line);
    if (words.size() > 9 && words[1] == "00" && words[0].find_first_not_of('0') == std::string::npos) add(words.back());
  }
  for (std::size_t i = 0; i < names.size();) {  // add() appends to names
    constexpr std::string_view kLower = "lower_";
    for (const auto& entry : list("sys/class/net/" + names[i++])) {
      if (entry.starts_with(kLower)) add(entry.substr(kLower.size()));
    }
  }
  return names;
}

std::string Machine::link(std::string_view path) const {
  std::error_code error;
  return std::filesystem::read_symlink(root_ / path, error).filename();
}

std::vector<unsigned> Machine::cores(std::string_view path) const {
  std::vector<unsigned> cores;
  const std::string text = read(path).value_or("");
  const char* at = text.data();
  const char* const end = at + text.size();
  for (unsigned first = 0, last = 0; at < end; ++at) {
    const auto [behind, failure] = std::from_chars(at, end, first);
    if (failure != std::errc{}) break;
    at = behind;
    last = first;
    if (at < end && *at == '-') at = std::from_chars(at + 1, end, last).ptr;
    for (unsigned core = first; core <= last; ++core) cores.push_back(core);
  }
  return cores;
}

std::vector<unsigned> Machine::worker_cores() const {
  return config_ == nullptr ? std::vector<unsigned>{} : config_->cores;
}

std::vector<InterfacePort> Machine::interface_ports() const {
  std::vector<InterfacePort> ports;
  if (config_ == nullptr) return ports;
  for (const auto& port : config_->ports) {
    const auto* const device = std::get_if<control::Ethdev>(&port.device);
    if (device == nullptr) continue;
    const bool xdp = device->devargs.starts_with("net_af_xdp");
    if (!xdp && !device->devargs.starts_with("net_af_packet")) continue;
    if (const std::string name = control::devarg(device->devargs, "iface"); !name.empty()) {
      ports.push_back({name, xdp, !port.twin.empty()});
    }
  }
  return ports;
}

std::vector<std::string> Machine::pci_addresses() const {
  std::vector<std::string> addresses;
  for (const auto* device : ethdevs(config_)) {
    if (device->is_pci) addresses.push_back(device->devargs.substr(0, device->devargs.find(',')));
  }
  return addresses;
}

std::vector<std::string> Machine::twins() const {
  std::vector<std::string> names;
  if (config_ == nullptr) return names;
  for (const auto& port : config_->ports) {
    if (!port.twin.empty()) names.push_back(port.twin);
  }
  return names;
}

bool Machine::uses_driver(std::string_view driver) const {
  return std::ranges::any_of(ethdevs(config_), [&](const auto* each) { return each->devargs.starts_with(driver); });
}

std::optional<InterfaceFeatures> features_of(const std::string& interface) {
  ethtool_drvinfo driver{};
  driver.cmd = ETHTOOL_GDRVINFO;
  if (interface.size() >= IFNAMSIZ || !io::ask_ethtool(interface, driver)) return std::nullopt;
  const auto is_on = [&interface](std::uint32_t command) {
    ethtool_value value{.cmd = command, .data = 0};
    return io::ask_ethtool(interface, value) && value.data != 0;
  };
  return InterfaceFeatures{
      .driver = driver.driver, .checksums = is_on(ETHTOOL_GTXCSUM), .segmentation = is_on(ETHTOOL_GTSO)};
}

}  // namespace penumbra::cli::doctor
