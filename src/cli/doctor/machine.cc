// SPDX-License-Identifier: Apache-2.0
#include "cli/doctor/machine.h"

#include <linux/ethtool.h>
#include <net/if.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <fstream>
#include <iterator>
#include <sstream>
#include <utility>
#include <variant>

#include "io/ethdev_probe.h"
#include "io/ethtool.h"

namespace penumbra::cli::doctor {
namespace {

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
  std::ifstream file(root_ / path);
  if (!file) return std::nullopt;
  std::string text{std::istreambuf_iterator<char>(file), {}};
  if (file.bad()) return std::nullopt;
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
  for (const auto& entry : std::filesystem::directory_iterator(root_ / path, error)) {
    names.push_back(entry.path().filename());
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
  for (const auto* device : ethdevs(config_)) {
    const bool xdp = device->devargs.starts_with("net_af_xdp");
    if (!xdp && !device->devargs.starts_with("net_af_packet")) continue;
    if (const std::string name = io::devarg(device->devargs, "iface"); !name.empty()) ports.push_back({name, xdp});
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
