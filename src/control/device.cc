// SPDX-License-Identifier: Apache-2.0
#include "control/device.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <functional>
#include <map>
#include <string_view>
#include <vector>

#include "control/device_arguments.h"

namespace penumbra::control {
namespace {

constexpr std::string_view kDeviceForms =
    "pcap:FILE[,loop][,rate=PPS], synth:[OPTION,...], none, or the devargs of a DPDK device such as "
    "net_af_packet0,iface=eth1 or 0000:81:00.0";

// Lists names and aliases of the linked drivers of virtual devices (cmake/Dpdk.cmake). A device's name is a driver's
// name with a suffix.
constexpr std::array<std::string_view, 22> kVirtualDrivers{
    "net_af_packet", "net_af_xdp",      "net_bonding", "net_failsafe",  "net_memif", "net_null",
    "net_pcap",      "net_ring",        "net_softnic", "net_tap",       "net_tun",   "net_vdev_netvsc",
    "net_vhost",     "net_virtio_user", "virtio_user", "eth_af_packet", "eth_bond",  "eth_null",
    "eth_pcap",      "eth_ring",        "eth_tap",     "eth_vhost"};
constexpr std::array<std::string_view, 4> kBuses{"pci", "vdev", "vmbus", "auxiliary"};

constexpr std::uint32_t kMostFlows = 1U << 24;
constexpr double kMostExponent = 10;

/// Holds `NAME` or `NAME=VALUE`.
struct Option {
  std::string name;
  std::string value;
  bool has_value = false;
};

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  for (std::size_t end = text.find(separator); end != std::string::npos; end = text.find(separator, begin)) {
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  parts.push_back(text.substr(begin));
  return parts;
}

Option parse_option(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos) return {text, "", false};
  return {text.substr(0, equals), text.substr(equals + 1), true};
}

/// Maps the names of the options of one kind of device to functions that store their values.
using Setters = std::map<std::string, std::function<void(const Option&)>>;

void apply_options(const ConfigNode& node, const std::string& kind, const std::vector<std::string>& texts,
                   const Setters& setters) {
  std::vector<std::string> names;
  for (const auto& [name, setter] : setters) names.push_back(name);
  std::vector<std::string> seen;
  for (const std::string& text : texts) {
    const Option option = parse_option(text);
    const auto setter = setters.find(option.name);
    if (setter == setters.end()) {
      const std::string hint = did_you_mean(option.name, names);
      throw node.error(fmt::format("unknown option '{}' of {}; {}", option.name, kind,
                                   hint.empty() ? fmt::format("valid options: {}", fmt::join(names, ", ")) : hint));
    }
    if (std::find(seen.begin(), seen.end(), option.name) != seen.end()) {
      throw node.error(fmt::format("option '{}' of {} is given twice", option.name, kind));
    }
    seen.push_back(option.name);
    setter->second(option);
  }
}

/// Parses a number from `least` to `most`, both included. The number must take up the whole text.
template <class Number>
std::optional<Number> number_in(std::string_view text, Number least, Number most) {
  Number number{};
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  // A NaN fails these comparisons.
  if (failure == std::errc{} && end == text.data() + text.size() && number >= least && number <= most) return number;
  return std::nullopt;
}

template <class Number>
Number parse_number(const ConfigNode& node, const Option& option, std::string_view value, Number least, Number most) {
  if (const auto number = number_in(value, least, most)) return *number;
  throw node.error(
      fmt::format("expected a number from {} to {} for {}=, found '{}'", least, most, option.name, option.value));
}

/// Parses an option that takes no value.
bool parse_flag(const ConfigNode& node, const char* kind, const Option& option) {
  if (option.has_value) throw node.error(fmt::format("option '{}' of {} takes no value", option.name, kind));
  return true;
}

Rate parse_rate(const ConfigNode& node, const Option& option) {
  std::string_view digits = option.value;
  double factor = 1;
  if (digits.ends_with('k') || digits.ends_with('K')) factor = 1e3;
  if (digits.ends_with('M')) factor = 1e6;
  if (factor > 1) digits.remove_suffix(1);
  return {factor * parse_number<double>(node, option, digits, 1e-3, 1e9)};
}

Device parse_pcap_source(const ConfigNode& node, const std::string& text) {
  std::vector<std::string> parts = split(text, ',');
  if (parts[0].empty()) throw node.error("expected pcap:FILE[,loop][,rate=PPS]; the file is missing");
  PcapSource source;
  source.file = node.path(parts[0]);
  parts.erase(parts.begin());
  apply_options(node, "pcap", parts,
                {{"loop", [&](const Option& option) { source.loop = parse_flag(node, "pcap", option); }},
                 {"rate", [&](const Option& option) { source.rate = parse_rate(node, option); }}});
  return source;
}

void set_destinations(const ConfigNode& node, const Option& option, SynthSource& source) {
  if (!parse_destinations(option.value, source)) {
    throw node.error(
        fmt::format("expected uniform, prefixes:FILE or zipf[:FLOWS[:EXPONENT]] for dst= (1 to {} flows, exponent 0 to "
                    "{}), found '{}'",
                    kMostFlows, kMostExponent, option.value));
  }
  if (!source.routes.empty()) source.routes = node.path(source.routes.string());
}

Device parse_synth_source(const ConfigNode& node, const std::string& text) {
  SynthSource source;
  std::optional<std::string> size;  // The valid sizes depend on `ipv6`, which may follow later.
  const auto whole = [&](const Option& option, std::uint64_t least) {
    return parse_number<std::uint64_t>(node, option, option.value, least, UINT64_MAX);
  };
  apply_options(node, "synth", text.empty() ? std::vector<std::string>{} : split(text, ','),
                {{"ipv6", [&](const Option& option) { source.ipv6 = parse_flag(node, "synth", option); }},
                 {"size", [&](const Option& option) { size = option.value; }},
                 {"dst", [&](const Option& option) { set_destinations(node, option, source); }},
                 {"count", [&](const Option& option) { source.count = whole(option, 1); }},
                 {"seed", [&](const Option& option) { source.seed = whole(option, 0); }},
                 {"rate", [&](const Option& option) { source.rate = parse_rate(node, option); }}});
  const auto bytes = size ? parse_frame_size(*size, source.ipv6) : source.least_frame();
  if (!bytes) {
    throw node.error(fmt::format("expected imix or a number from {} to {} for size={}, found '{}'",
                                 source.least_frame(), SynthSource::kLargestFrame, source.ipv6 ? " of IPv6" : "",
                                 *size));
  }
  source.frame_bytes = *bytes;
  return source;
}

/// Returns true if `text` is [DOMAIN:]BUS:DEVICE.FUNCTION in hexadecimal.
bool is_pci_address(std::string_view text) {
  const auto take_hex = [&text](std::size_t least, std::size_t most) {
    std::size_t digits = 0;
    while (digits < text.size() && digits < most && std::isxdigit(static_cast<unsigned char>(text[digits])) != 0) {
      ++digits;
    }
    text.remove_prefix(digits);
    return digits >= least;
  };
  const auto take = [&text](char expected) {
    if (!text.starts_with(expected)) return false;
    text.remove_prefix(1);
    return true;
  };
  if (std::count(text.begin(), text.end(), ':') == 2 && !(take_hex(4, 8) && take(':'))) return false;
  return take_hex(1, 2) && take(':') && take_hex(1, 2) && take('.') && take_hex(1, 1) && text.empty();
}

Device parse_ethdev(const ConfigNode& node, const std::string& text) {
  const std::string name = text.substr(0, text.find(','));
  const std::string bus = name.substr(0, name.find(':'));
  if (is_pci_address(name)) return Ethdev{text, true};
  if (name.size() > bus.size() && std::find(kBuses.begin(), kBuses.end(), bus) != kBuses.end()) {
    return Ethdev{text, bus == "pci"};
  }
  for (const std::string_view driver : kVirtualDrivers) {
    if (!name.starts_with(driver)) continue;
    const std::string fault = fault_of_arguments(text);
    if (!fault.empty()) throw node.error(fault);
    return Ethdev{text, false};
  }
  if (name == bus && (name.ends_with(".pcap") || name.ends_with(".pcapng"))) {
    throw node.error(fmt::format("unknown device '{}'; for a capture write 'pcap:{}'", text, text));
  }
  if (name.size() > bus.size()) {
    const std::string hint = did_you_mean(bus, std::array<std::string_view, 2>{"pcap", "synth"});
    throw node.error(fmt::format("unknown kind of device '{}:'; {}", bus,
                                 hint.empty() ? fmt::format("expected {}", kDeviceForms) : hint));
  }
  std::vector<std::string> known(kVirtualDrivers.begin(), kVirtualDrivers.end());
  known.insert(known.end(), {"none", "synth:"});
  const std::string hint = did_you_mean(name.substr(0, name.find_last_not_of("0123456789") + 1), known);
  throw node.error(
      fmt::format("unknown device '{}'; {}", name, hint.empty() ? fmt::format("expected {}", kDeviceForms) : hint));
}

}  // namespace

std::optional<std::uint16_t> parse_frame_size(std::string_view text, bool ipv6) {
  if (text == "imix") return 0;
  return number_in(text, SynthSource::least_frame(ipv6), SynthSource::kLargestFrame);
}

bool parse_destinations(std::string_view text, SynthSource& source) {
  using Destinations = SynthSource::Destinations;
  constexpr std::string_view kPrefixes = "prefixes:";
  if (text.starts_with(kPrefixes) && text.size() > kPrefixes.size()) {
    source.destinations = Destinations::prefixes;
    source.routes = text.substr(kPrefixes.size());
    return true;
  }
  const std::vector<std::string> parts = split(std::string(text), ':');
  if (text == "uniform") {
    source.destinations = Destinations::uniform;
    return true;
  }
  if (parts[0] != "zipf" || parts.size() > 3) return false;
  const auto flows = parts.size() < 2 ? source.flows : number_in<std::uint32_t>(parts[1], 1, kMostFlows);
  const auto exponent = parts.size() < 3 ? source.exponent : number_in<double>(parts[2], 0, kMostExponent);
  if (!flows || !exponent) return false;
  source.destinations = Destinations::zipf;
  source.flows = *flows;
  source.exponent = *exponent;
  return true;
}

Device parse_device(const ConfigNode& node) {
  const std::string text = node.text();
  if (text.empty()) throw node.error(fmt::format("expected {}", kDeviceForms));
  if (text == "none") return NoSource{};
  if (text.starts_with("pcap:")) return parse_pcap_source(node, text.substr(5));
  if (text.starts_with("synth:")) return parse_synth_source(node, text.substr(6));
  if (text == "synth") return SynthSource{};
  return parse_ethdev(node, text);
}

Sink parse_sink(const ConfigNode& node) {
  const std::string text = node.text();
  if (text == "count") return CountingSink{};
  if (text.starts_with("pcap:") && text.size() > 5) return CaptureSink{node.path(text.substr(5))};
  if (text.size() > 5 && text.ends_with(".pcap")) return CaptureSink{node.path(text)};
  throw node.error(fmt::format("expected count, pcap:FILE or a path that ends in .pcap, found '{}'", text));
}

}  // namespace penumbra::control
