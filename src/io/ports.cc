// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <sstream>
#include <stdexcept>
#include <system_error>

#include "io/builtin_port.h"
#include "io/ethdev_port.h"
#include "io/frames.h"
#include "io/output_file.h"
#include "io/packet_pool.h"
#include "io/port.h"
#include "io/traffic.h"

namespace penumbra::io {
namespace {

/// Calls `action` for one port and turns its exceptions into errors at `place`.
template <class Action>
auto for_port(const control::PortConfig& config, const SourceLocation& place, const Action& action) {
  try {
    return action();
  } catch (const std::exception& error) {
    throw InputError(place, fmt::format("port '{}': {}", config.info.name, error.what()));
  }
}
template <class Action>
auto for_device(const control::PortConfig& config, const Action& action) {
  return for_port(config, config.device_location, action);
}
template <class Action>
auto for_sink(const control::PortConfig& config, const Action& action) {
  return for_port(config, config.sink_location, action);
}

const std::filesystem::path* sink_file(const control::PortConfig& config) {
  const auto* sink = std::get_if<control::CaptureSink>(&config.sink);
  return sink == nullptr ? nullptr : &sink->file;
}
const std::filesystem::path* source_file(const control::PortConfig& config) {
  const auto* source = std::get_if<control::PcapSource>(&config.device);
  return source == nullptr ? nullptr : &source->file;
}

/// Returns the captures that a port's device opens: its source, or the files that DPDK's net_pcap reads and writes.
std::vector<std::filesystem::path> device_files(const control::PortConfig& config) {
  if (const auto* source = source_file(config)) return {*source};
  std::vector<std::filesystem::path> files;
  const auto* ethdev = std::get_if<control::Ethdev>(&config.device);
  std::istringstream arguments(ethdev == nullptr ? "" : ethdev->devargs);
  for (std::string argument; std::getline(arguments, argument, ',');) {
    for (const std::string_view key : {"rx_pcap=", "tx_pcap="}) {
      if (argument.starts_with(key)) files.emplace_back(argument.substr(key.size()));
    }
  }
  return files;
}

/// A sink overwrites its file. So no other port may read or write the file, and only captures are overwritten.
void check_sinks(std::span<const control::PortConfig> configs) {
  for (const control::PortConfig& config : configs) {
    const auto refuse = [&config](const std::string& what) {
      throw InputError(config.sink_location, fmt::format("port '{}': {}", config.info.name, what));
    };
    const auto* sink = sink_file(config);
    if (sink == nullptr) continue;
    for (const control::PortConfig& other : configs) {
      for (const auto& file : device_files(other)) {
        if (!same_file(*sink, file)) continue;
        refuse(fmt::format("its sink would overwrite the capture that port '{}' {}; write to another file",
                           other.info.name, source_file(other) == nullptr ? "has open" : "reads"));
      }
      if (const auto* earlier = sink_file(other);
          &other < &config && earlier != nullptr && same_file(*sink, *earlier)) {
        refuse(fmt::format("port '{}' has the same sink; write to another file", other.info.name));
      }
    }
    if (is_precious(*sink)) {
      refuse(fmt::format("its sink would overwrite {}, which is no capture; write to another file, or remove that one",
                         sink->string()));
    }
  }
}

/// Throws if the capture's folder does not exist. Does not check the rights, because another user may start the router.
void require_folder(const std::filesystem::path& file) {
  std::error_code ignored;
  const auto folder = std::filesystem::absolute(file, ignored).parent_path();
  const bool is_folder = std::filesystem::is_directory(file, ignored);
  if (!is_folder && std::filesystem::is_directory(folder, ignored)) return;
  const int reason = is_folder ? EISDIR : std::filesystem::exists(folder, ignored) ? ENOTDIR : ENOENT;
  throw std::system_error(reason, std::generic_category(), "cannot create " + file.string());
}

}  // namespace

void check_port_files(std::span<const control::PortConfig> configs) {
  check_sinks(configs);
  for (const control::PortConfig& config : configs) {
    for_device(config, [&config] {
      if (const auto* file = source_file(config)) load_capture(*file);
      if (const auto* synth = std::get_if<control::SynthSource>(&config.device)) Traffic{*synth};
    });
    if (const auto* file = sink_file(config)) for_sink(config, [file] { require_folder(*file); });
  }
}

std::vector<std::unique_ptr<Port>> open_ports(std::span<const control::PortConfig> configs, std::uint16_t workers) {
  check_sinks(configs);
  // Files are opened last, because a pipe begins when it is opened.
  std::vector<std::unique_ptr<Port>> ports(configs.size());
  std::vector<std::pair<BuiltinPort*, const control::PortConfig*>> builtin;
  std::uint32_t largest_frame = 0;
  for (std::size_t i = 0; i < configs.size(); ++i) {
    if (std::holds_alternative<control::Ethdev>(configs[i].device)) continue;
    auto port = for_device(configs[i], [&] { return std::make_unique<BuiltinPort>(configs[i], workers); });
    largest_frame = std::max(largest_frame, port->largest_frame());
    builtin.emplace_back(port.get(), &configs[i]);
    ports[i] = std::move(port);
  }
  std::vector<std::pair<int, PacketPool>> pools;
  for (const NodePorts& group : by_node(configs)) {
    pools.emplace_back(group.node, create_pool(pool_size(group.ports, workers, largest_frame), group.node));
  }
  const auto pool_of = [&pools](const control::PortConfig& config) {
    const auto found = std::ranges::find(pools, node_of(config), &std::pair<int, PacketPool>::first);
    return found == pools.end() ? pools.front().second : found->second;
  };
  for (std::size_t i = 0; i < configs.size(); ++i) {
    if (ports[i] != nullptr) continue;
    ports[i] =
        for_device(configs[i], [&] { return std::make_unique<EthdevPort>(configs[i], workers, pool_of(configs[i])); });
  }
  for (const auto& opening : builtin) {
    for_sink(*opening.second, [&] { opening.first->open(pool_of(*opening.second)); });
  }
  return ports;
}

}  // namespace penumbra::io
