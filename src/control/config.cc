// SPDX-License-Identifier: Apache-2.0
#include "control/config.h"

#include <fmt/ranges.h>
#include <net/if.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <map>
#include <string_view>
#include <utility>
#include <variant>

#include "base/permitted_cores.h"
#include "control/config_together.h"
#include "control/device_arguments.h"
#include "control/duration.h"
#include "control/stage_graph.h"
#include "penumbra/engine.h"
#include "penumbra/function.h"

namespace penumbra::control {
namespace {

constexpr std::size_t kMaxPorts = 1024;
constexpr std::size_t kMaxPortName = 31;
constexpr std::uint64_t kBuiltInMac = 0x020000000000;  // Locally administered; a port's position from 1 is added.
constexpr std::uint64_t kMinMtu = 68;                  // RFC 791.
constexpr std::uint64_t kMaxMtu = 9194;
constexpr std::uint64_t kMaxQueues = 64;

std::string check_port_name(const ConfigNode& node) {
  std::string name = node.text();
  if (!is_port_name(name)) throw node.error("expected " + std::string(kPortNameRule) + ", found " + quote(name));
  return name;
}

MacAddress parse_mac(const ConfigNode& node) {
  const std::string text = node.text();
  const auto mac = parse_mac_address(text);
  if (!mac) throw node.error("expected a MAC address (XX:XX:XX:XX:XX:XX), found " + quote(text));
  if (mac->value == 0 || mac->is_multicast()) {
    throw node.error(quote(text) + " cannot be a port's MAC address: it is " +
                     (mac->value == 0 ? "zero" : "a group address"));
  }
  return *mac;
}

/// Parses ADDRESS/LENGTH, where ADDRESS may be any address of the network.
template <class Family>
InterfaceAddressOf<Family> parse_unicast(const ConfigNode& node) {
  const std::string text = node.text();
  const std::size_t slash = std::min(text.find('/'), text.size());
  const auto address = Family::parse_address(std::string_view(text).substr(0, slash));
  // parse_prefix() refuses host bits, so the length is parsed with the all-zero address, which has none.
  const auto length = Family::parse_prefix(to_string(typename Family::Address{}) + text.substr(slash));
  if (!address || !length || slash == text.size()) {
    throw node.error(fmt::format("expected an {} address with the length of its network ({}/LENGTH), found {}",
                                 Family::kName, Family::kForm, quote(text)));
  }
  if (!address->is_unicast()) {
    throw node.error(quote(text) + " cannot be a port's address: it is not unicast");
  }
  return {*address, Family::Prefix::around(*address, length->length)};
}

InterfaceAddressOf<Ipv6> parse_ipv6_interface_address(const ConfigNode& node) {
  const auto found = parse_unicast<Ipv6>(node);
  if (found.address.is_link_local()) {
    throw node.error(quote(node.text()) + " is link-local: what goes there is the host's in any case, so leave it out");
  }
  // The first address is the subnet-router anycast address (RFC 4291, 2.6.1), except on a /127 (RFC 6164).
  if (found.network.length <= 126 && found.address == found.network.address) {
    throw node.error(quote(node.text()) + " cannot be a port's address: it is that of all routers of its network");
  }
  return found;
}

InterfaceAddress parse_ipv4_interface_address(const ConfigNode& node) {
  const std::string text = node.text();
  const auto found = parse_unicast<Ipv4>(node);
  const auto& [address, network] = found;
  // Both addresses of a /31 are host addresses (RFC 3021).
  if (network.length <= 30 && (address == network.address || address == network.last())) {
    throw node.error(quote(text) + " cannot be a port's address: it is the " +
                     (address == network.address ? "address" : "broadcast address") + " of its network");
  }
  return found;
}

/// Returns true for words that YAML 1.1 reads as booleans. As a twin they would become an interface's name.
bool is_odd_boolean(std::string_view text) {
  constexpr std::array<std::string_view, 16> kWords{"yes", "Yes", "YES", "no",  "No",   "NO",   "on",    "On",
                                                    "ON",  "off", "Off", "OFF", "True", "TRUE", "False", "FALSE"};
  return std::ranges::find(kWords, text) != kWords.end();
}

/// Returns the twin's name: the port's name for `true`, empty for `false`, else the text.
std::string parse_twin(const ConfigNode& node, const std::string& port) {
  const std::string text = node.text();
  if (text == "false") return "";
  if (is_odd_boolean(text)) throw node.error("expected true, false or the name of an interface, found " + quote(text));
  std::string name = text == "true" ? port : text;
  // The kernel uses these names: the loopback interface, and sysctl's entries for all interfaces.
  if (name == "lo" || name == "all" || name == "default") {
    throw node.error("no twin can be called " + quote(name) + "; give it another name ('twin: NAME')");
  }
  // The kernel's rule (dev_valid_name), without characters that are special in a shell.
  if (name.size() < IFNAMSIZ && is_port_name(name) && name != "." && name != "..") return name;
  throw node.error("expected true, false or the name of an interface (1 to 15 letters, digits, '_', '.', '-'), found " +
                   quote(name));
}

/// Reads the ports of one file and refuses names, addresses, twins and devices that two ports share.
class PortReader {
 public:
  PortConfig read(const ConfigNode& node, std::uint16_t index) {
    node.require_map({"name", "device", "sink", "queues", "mac", "mtu", "addresses", "promiscuous", "twin"});
    PortConfig port;
    for (const auto& key : node.keys()) port.keys[key] = node.get(key).canonical();
    port.device = parse_device(node.at("device"));
    port.location = node.location();
    port.device_location = node.at("device").location();
    require_own_device(port, node.at("device"));
    port.sink_location = port.device_location;  // Default if the port has no `sink:`.
    const bool built_in = !std::holds_alternative<Ethdev>(port.device);
    port.info.index = index;
    port.info.name = check_port_name(node.at("name"));
    require_new(names_, port.info.name, node.at("name"), "the name " + quote(port.info.name));
    port.info.promiscuous = built_in;
    if (const ConfigNode value = node.get("promiscuous"); value.present()) port.info.promiscuous = value.boolean();
    if (built_in) port.info.mac = built_in_mac(index);
    if (const ConfigNode value = node.get("mac"); value.present()) port.info.mac = parse_mac(value);
    if (const ConfigNode value = node.get("mtu"); value.present()) {
      port.info.mtu = static_cast<std::uint16_t>(value.integer(kMinMtu, kMaxMtu));
      port.mtu_location = value.location();
    }
    if (const ConfigNode value = node.get("queues"); value.present()) {
      port.queues = static_cast<std::uint16_t>(value.integer(1, kMaxQueues));
    }
    if (const ConfigNode value = node.get("addresses"); value.present()) {
      port.addresses_location = value.location();
      for (const auto& element : value.list()) {
        const std::string address = add_address(element, port.info);
        require_new(addresses_, address, element, "the address " + address);
      }
    }
    if (const ConfigNode value = node.get("twin"); value.present()) {
      port.twin = parse_twin(value, port.info.name);
      port.twin_location = value.location();
      if (!port.twin.empty()) require_new(twins_, port.twin, value, "the twin " + quote(port.twin));
    }
    if (const ConfigNode value = node.get("sink"); value.present()) {
      if (!built_in) {
        throw value.error(
            "a sink goes with a built-in source (pcap:, synth:, none); a DPDK device sends by itself, so "
            "leave 'sink' out");
      }
      port.sink = parse_sink(value);
      port.sink_location = value.location();
    }
    return port;
  }

  /// Refuses twins that have the name of a port's interface. Call after read() of all ports.
  void check_twins(const std::vector<PortConfig>& ports) const {
    for (const PortConfig& port : ports) {
      const auto interface = interfaces_.find(port.twin);
      if (port.twin.empty() || interface == interfaces_.end()) continue;
      throw InputError(port.twin_location,
                       fmt::format("the twin {} has the name of the interface of the port in line {}; give it another "
                                   "one ('twin: NAME')",
                                   quote(port.twin), interface->second));
    }
  }

 private:
  using Lines = std::map<std::string, int>;

  static std::string add_address(const ConfigNode& node, PortInfo& port) {
    if (node.text().find(':') != std::string::npos) {
      port.ipv6_addresses.push_back(parse_ipv6_interface_address(node));
      return to_string(port.ipv6_addresses.back().address);
    }
    port.addresses.push_back(parse_ipv4_interface_address(node));
    return to_string(port.addresses.back().address);
  }

  /// Refuses a device or interface that an earlier port uses: the two ports would take each other's packets.
  void require_own_device(const PortConfig& port, const ConfigNode& node) {
    const auto* ethdev = std::get_if<Ethdev>(&port.device);
    if (ethdev == nullptr) return;
    const std::string name = device_name(ethdev->devargs), interface = device_interface(ethdev->devargs);
    require_new(devices_, name + devarg(ethdev->devargs, "representor"), node, "the device " + quote(name));
    if (!interface.empty()) require_new(interfaces_, interface, node, "the interface " + quote(interface));
  }

  static void require_new(Lines& lines, const std::string& key, const ConfigNode& node, const std::string& what) {
    const auto [first, added] = lines.emplace(key, node.location().line);
    if (!added) throw node.error(what + " is in line " + std::to_string(first->second) + " already");
  }

  Lines names_, addresses_, twins_, devices_, interfaces_;
};

std::vector<PortConfig> read_ports(const ConfigNode& node) {
  const auto elements = node.list();
  if (elements.size() > kMaxPorts) {
    throw node.error("expected at most 1024 ports, found " + std::to_string(elements.size()));
  }
  PortReader reader;
  std::vector<PortConfig> ports;
  ports.reserve(elements.size());
  for (const auto& element : elements) ports.push_back(reader.read(element, static_cast<std::uint16_t>(ports.size())));
  reader.check_twins(ports);
  return ports;
}

std::vector<unsigned> read_cores(const ConfigNode& workers) {
  const auto permitted = permitted_cores();
  if (workers.present()) workers.require_map({"cores", "sleep"});
  const ConfigNode node = workers.get("cores");
  if (!node.present()) return {permitted.empty() ? 0 : permitted.front()};
  std::vector<unsigned> cores;
  for (const auto& element : node.list()) {
    const auto core = static_cast<unsigned>(element.integer(0, CPU_SETSIZE - 1));
    if (std::find(permitted.begin(), permitted.end(), core) == permitted.end()) {
      throw element.error(
          fmt::format("this process may not run on core {}, only on {}", core, fmt::join(permitted, ", ")));
    }
    if (std::find(cores.begin(), cores.end(), core) != cores.end()) {
      throw element.error("core " + std::to_string(core) + " is given twice; a worker has a core of its own");
    }
    cores.push_back(core);
  }
  if (cores.empty()) throw node.error("expected at least one core");
  return cores;
}

/// Reads `sleep:`. The upper bound is needed: packets that arrive during a sleep wait in the device's queue. The rate
/// limiter of a source accumulates little credit.
std::chrono::microseconds read_sleep(const ConfigNode& node) {
  constexpr std::chrono::microseconds kLeast(10), kMost(1000);
  if (!node.present()) return RouterConfig::kLongestSleep;
  const std::string text = node.text();
  if (text == "never") return std::chrono::microseconds(0);
  const auto time = parse_duration(text);
  if (!time || *time < kLeast || *time > kMost) {
    throw node.error("expected a time from 10us to 1ms, or 'never', found " + quote(text));
  }
  return *time;
}

/// Reads a map from outcomes of a function to the stages that these packets continue with.
std::vector<GoTo> read_go_to(const ConfigNode& node) {
  std::vector<GoTo> all;
  if (!node.present()) return all;
  if (!node.is_map()) throw node.error("expected outcomes with the stages that follow them (`pass: ipv4`)");
  for (const auto& key : node.keys()) {
    const ConfigNode value = node.get(key);
    if (std::ranges::find(all, key, &GoTo::reason) != all.end()) {
      throw value.error("key " + quote(key) + " is given twice in go_to");
    }
    all.push_back({.reason = key, .stage = value.text(), .location = value.location()});
  }
  return all;
}

StageConfig read_stage(const ConfigNode& entry, const std::string& default_engine) {
  if (!entry.is_map() && !entry.is_scalar()) throw entry.error("expected a function's name, or its name and its keys");
  const auto names = entry.is_map() ? entry.keys() : std::vector{entry.text()};
  if (names.size() != 1) {
    throw entry.error("expected one function in each element of 'pipeline', found " + std::to_string(names.size()) +
                      " keys; begin each function with '- '");
  }
  if (find_function(names[0]) == nullptr) {
    std::vector<std::string> known;
    for (const auto& function : functions()) known.push_back(function.name);
    throw entry.error("unknown function " + quote(names[0]) + "; " + did_you_mean_or_list(names[0], known));
  }
  const ConfigNode config = entry.is_map() ? entry.get(names[0]) : entry;
  const SourceLocation place = entry.location();
  if (!entry.is_map() || config.is_null()) return {names[0], default_engine, config.empty_map(), place};
  if (!config.is_map()) return {names[0], default_engine, config, place};
  const auto keys = config.keys();
  const ConfigNode engine = config.get("engine"), go_to = config.get("go_to");
  // The function checks every other key.
  for (const auto& [key, value] : {std::pair("engine", engine), std::pair("go_to", go_to)}) {
    if (std::ranges::count(keys, key) > 1) throw value.error(fmt::format("key '{}' is given twice", key));
  }
  return {names[0], engine.present() ? engine.checked_text(check_engine) : default_engine,
          config.without("engine").without("go_to"), place, read_go_to(go_to)};
}

std::vector<StageConfig> read_pipeline(const ConfigNode& node, const std::string& engine) {
  const auto elements = node.list();
  if (elements.size() > kMostStages) {
    throw node.error("expected at most " + std::to_string(kMostStages) + " functions, found " +
                     std::to_string(elements.size()));
  }
  std::vector<StageConfig> stages;
  stages.reserve(elements.size());
  for (const auto& element : elements) stages.push_back(read_stage(element, engine));
  resolve_go_to(stages);
  return stages;
}

/// Reads a map from reasons to packets per second. `each` is the limit of the reasons that the map does not name.
PuntLimits read_punts(const ConfigNode& node) {
  constexpr std::uint64_t kMost = 100'000'000;
  PuntLimits limits;
  if (!node.present()) return limits;
  if (!node.is_map()) throw node.error("expected reasons with packets a second (`each: 10000`)");
  const std::vector<std::string> keys = node.keys();
  for (const auto& key : keys) {
    const ConfigNode value = node.get(key);
    if (std::ranges::count(keys, key) > 1) throw value.error("key " + quote(key) + " is given twice in punts");
    const auto rate = static_cast<double>(value.integer(1, kMost));
    if (key == "each") {
      limits.each = rate;
    } else {
      limits.own.push_back({key, rate, value.location()});
    }
  }
  return limits;
}

RouterConfig read_config(const ConfigNode& root, const std::filesystem::path& file) {
  root.require_map({"ports", "workers", "engine", "pipeline", "punts", "control", "metrics", "fpm"});
  RouterConfig config;
  config.file = file;
  config.root = std::make_shared<const ConfigNode>(root);
  for (const auto& key : root.keys()) config.sections[key] = root.get(key).canonical();
  config.ports = read_ports(root.at("ports"));
  const ConfigNode workers = root.get("workers");
  config.cores = read_cores(workers);
  config.sleep = read_sleep(workers.get("sleep"));
  const ConfigNode engine = root.get("engine");
  config.pipeline = read_pipeline(root.at("pipeline"), engine.present() ? engine.checked_text(check_engine) : "auto");
  config.punts = read_punts(root.get("punts"));
  config.control = read_control(root.get("control"));
  config.metrics = read_metrics(root.get("metrics"));
  config.fpm = fpm::read_config(root.get("fpm"));
  check_together(config, root);
  return config;
}

}  // namespace

std::filesystem::path save_journal(const std::filesystem::path& file) {
  return file.parent_path() / ("." + file.filename().string() + ".save");
}

namespace {

/// Returns the stamps of the configuration and of the files that its values name. Call before the files are read, so
/// that a file that changes meanwhile counts as changed. Values that name no file are harmless.
std::map<std::filesystem::path, FileStamp> stamps_of(const ConfigNode& root, const std::filesystem::path& file,
                                                     const FileStamp& own) {
  std::map<std::filesystem::path, FileStamp> stamps{{std::filesystem::absolute(file), own}};
  const ConfigNode pipeline = root.get("pipeline");
  if (!pipeline.is_list()) return stamps;
  for (const ConfigNode& element : pipeline.list()) {
    if (!element.is_map()) continue;
    for (const auto& name : element.keys()) {
      const ConfigNode map = element.get(name);
      if (!map.is_map()) continue;
      for (const auto& key : map.keys()) {
        const ConfigNode value = map.get(key);
        if (!value.is_scalar() || value.text().empty() || value.text().find('\n') != std::string::npos) continue;
        const auto named = std::filesystem::absolute(value.path());
        if (const FileStamp stamp = stamp_of(named); stamp != FileStamp{}) stamps.emplace(named, stamp);
      }
    }
  }
  return stamps;
}

}  // namespace

void finish_save(const std::filesystem::path& file) {
  finish_files(save_journal(file));
}

RouterConfig load_config(const std::filesystem::path& file) {
  const FileStamp stamp = stamp_of(file);
  const ConfigNode root = ConfigNode::load(file);
  auto stamps = root.is_map() ? stamps_of(root, file, stamp) : std::map<std::filesystem::path, FileStamp>{};
  RouterConfig config = read_config(root, file);
  config.stamps = std::move(stamps);
  return config;
}

RouterConfig parse_config(const std::string& text, const std::string& name, const std::filesystem::path& directory) {
  return read_config(ConfigNode::parse(text, name, directory), name);
}

double PuntLimits::limit_of(std::string_view reason) const {
  const auto found = std::ranges::find(own, reason, &Own::reason);
  return found == own.end() ? each : found->packets_per_second;
}

MacAddress built_in_mac(std::uint16_t index) {
  return {kBuiltInMac + index + 1};
}

bool is_port_name(std::string_view name) {
  const auto permitted = [](char letter) {
    return (letter >= 'A' && letter <= 'Z') || (letter >= 'a' && letter <= 'z') || (letter >= '0' && letter <= '9') ||
           letter == '_' || letter == '.' || letter == '-';
  };
  return !name.empty() && name.size() <= kMaxPortName && std::ranges::all_of(name, permitted);
}

}  // namespace penumbra::control
