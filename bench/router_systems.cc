// SPDX-License-Identifier: Apache-2.0
#include "router_systems.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/random.h"
#include "base/sanitizer_scale.h"
#include "frame_fields.h"
#include "generated_names.h"
#include "inputs.h"
#include "made_frames.h"
#include "network.h"

namespace penumbra::bench {
namespace {

constexpr std::size_t kCapturedFrames = (std::size_t{1} << 18) / kSanitizerScale;
constexpr std::size_t kMostCapturedBytes = 64U << 20;
constexpr std::size_t kStations = (std::size_t{1} << 16) / kSanitizerScale;  ///< Half of them on either port.
constexpr std::uint32_t kRoutedPrefixes = 900'000 / kSanitizerScale, kRoutedNames = 1'000'000 / kSanitizerScale;
constexpr std::uint64_t kConsumers = 4000;           ///< Stations, enough for workers to get frames about equally.
constexpr std::uint64_t kProducer = 0x0200000000BB;  ///< MAC address to which all Interests go.

std::string one_port(std::uint64_t seed, std::uint16_t frame_bytes = 60) {
  return fmt::format(
      "  - {{name: port0, device: \"synth:size={},dst=prefixes:routes.txt,seed={}\", promiscuous: true, sink: "
      "count}}\n",
      frame_bytes, seed);
}
constexpr char kIpv4[] = "  - ipv4: {routes: routes.txt, neighbours: neighbours.txt}\n";

/// Returns a frame of UDP over IPv6 with zeros as data, at least 62 bytes.
FrameBytes ipv6_frame(ipv6_address destination, std::uint16_t frame_bytes) {
  constexpr std::uint64_t kBeforeUdp = 14 + 40;
  FrameBytes frame = ethernet_header(kRouterMac, kHostMac, 0x86DD);
  put(frame, 0x60000000, 4);
  put(frame, frame_bytes - kBeforeUdp, 2);
  put(frame, 17, 1);
  put(frame, 64, 1);
  put(frame, 0x20010DB8FFFF0000, 8);
  put(frame, 1, 8);
  put(frame, destination.high, 8);
  put(frame, destination.low, 8);
  put(frame, 0x03E803E9, 4);
  put(frame, frame_bytes - kBeforeUdp, 2);
  frame.resize(frame_bytes);
  return frame;
}

/// Returns a frame of 60 bytes with an ethertype for experiments.
FrameBytes ethernet_frame(std::uint64_t destination, std::uint64_t source) {
  FrameBytes frame = ethernet_header(0x020000000000 + destination, 0x020000000000 + source, 0x88B5);
  frame.resize(60);
  return frame;
}

std::uint64_t address_of_consumer(std::uint64_t number) {
  return 0x02AA00000000 + number;
}

/// Returns an Interest (NDN packet format 0.3) from the station with MAC address `from`.
FrameBytes interest_frame(std::uint64_t from, const std::string& name, std::uint32_t nonce) {
  constexpr std::uint64_t kInterest = 5, kName = 7, kNonce = 10, kNonceBytes = 4;
  FrameBytes frame = ethernet_header(kRouterMac, from, 0x8624);
  put(frame, kInterest, 1);
  put(frame, 2 + name.size() + 2 + kNonceBytes, 1);
  put(frame, kName, 1);
  put(frame, name.size(), 1);
  frame.insert(frame.end(), name.begin(), name.end());
  put(frame, kNonce, 1);
  put(frame, kNonceBytes, 1);
  put(frame, nonce, 4);
  frame.resize(std::max<std::size_t>(frame.size(), 60));
  return frame;
}

/// Criterion of routers with one port: the MAC address must be that of the oracle's next hop.
template <class Family>
MayLeave to_next_hops(std::span<const EntryOf<Family>> entries, std::vector<MacAddress> macs) {
  const auto oracle = std::make_shared<const OracleOf<Family>>(entries);
  return [oracle, macs = std::move(macs)](std::uint16_t port, std::span<const std::uint8_t> frame) {
    ColumnOf<Family> destination{};
    if constexpr (std::is_same_v<Family, Ipv4>) {
      destination = ipv4_destination(frame);
    } else {
      destination = ipv6_destination(frame);
    }
    const std::uint16_t hop = oracle->next_hop(address_of(destination));
    return port == 0 && hop < macs.size() && destination_mac(frame) == macs[hop];
  };
}

}  // namespace

RouterSystem RouterSystems::echo() const {
  std::string ports;
  for (const int port : {0, 1}) {
    ports += fmt::format("  - {{name: port{}, device: \"synth:size=60,seed={}\", sink: count}}\n", port,
                         seed_ + static_cast<std::uint64_t>(port));
  }
  return {"echo",
          fmt::format("64-byte frames on two ports, seeds {} and {}, sent out by an integer in them", seed_, seed_ + 1),
          ports, "  - echo: {}\n", [](std::uint16_t port, std::span<const std::uint8_t> frame) {
            constexpr std::size_t kInteger = 42;  // Offset defined in docs/functions/echo.md.
            return number_at(frame, kInteger, 4) % 2 == port;
          }};
}

RouterSystem RouterSystems::ipv4(std::uint16_t frame_bytes) const {
  return {.name = "ipv4",
          .input = fmt::format("{} generated prefixes, {}-byte frames, destinations uniform over the prefixes, seed {}",
                               kRoutedPrefixes, frame_bytes + kFcsBytes, seed_),
          .ports = one_port(seed_, frame_bytes),
          .pipeline = kIpv4,
          .may_leave = write_ipv4_table(),
          .has_avx512 = true};
}

RouterSystem RouterSystems::flows() const {
  return {.name = "flows and ipv4",
          .input = fmt::format("{} generated prefixes, 64-byte frames, each packet of another flow until the source "
                               "starts again, seed {}",
                               kRoutedPrefixes, seed_),
          .ports = one_port(seed_),
          .pipeline = fmt::format("  - flows: {{max_flows: 4000000}}\n{}", kIpv4),
          .may_leave = write_ipv4_table(),
          .functions = 2,
          .has_avx512 = true};
}

RouterSystem RouterSystems::ipv6(std::uint16_t frame_bytes) const {
  constexpr unsigned kNextHops = 16;
  const Ipv6InputTable table = ipv6_input_table({.names = {}, .routes = {}, .rules = {}, .seed = seed_});
  std::string routes, neighbours;
  for (std::size_t i = 0; i < table.entries.size(); ++i) {
    routes +=
        fmt::format("{} via 2001:db8:ffff::{:x} dev port0\n", to_string(table.entries[i].prefix), 1 + i % kNextHops);
  }
  for (unsigned i = 1; i <= kNextHops; ++i) {
    neighbours += fmt::format("2001:db8:ffff::{:x} dev port0 lladdr 02:bb:00:00:00:{:02x}\n", i, i);
  }
  write_file(folder_ / "routes6.txt", routes);
  write_file(folder_ / "neighbours6.txt", neighbours);
  std::vector<MacAddress> macs;
  for (std::uint64_t i = 1; i <= kNextHops; ++i) macs.push_back({0x02BB00000000 + i});
  std::vector<EntryOf<Ipv6>> entries = table.entries;
  for (std::size_t i = 0; i < entries.size(); ++i) entries[i].next_hop = static_cast<std::uint16_t>(i % kNextHops);
  const std::string capture = fmt::format("ipv6-{}.pcap", frame_bytes);
  const std::size_t frames = std::min(kCapturedFrames, kMostCapturedBytes / frame_bytes);
  const auto drawn = prefix_addresses(table, frames, seed_);
  write_capture(folder_ / capture, frames, [&](std::size_t i) { return ipv6_frame(drawn.addresses[i], frame_bytes); });
  return {
      .name = "ipv6",
      .input = fmt::format("{}, lookup trie; {} frames of {} bytes, {}", table.description, frames,
                           frame_bytes + kFcsBytes, drawn.description),
      .ports = fmt::format("  - {{name: port0, device: \"pcap:{},loop\", promiscuous: true, sink: count}}\n", capture),
      .pipeline = "  - ipv6: {routes: routes6.txt, neighbours: neighbours6.txt}\n",
      .may_leave = to_next_hops<Ipv6>(entries, std::move(macs)),
      .has_avx512 = true};
}

RouterSystem RouterSystems::l2() const {
  for (const std::uint64_t port : {0, 1}) {
    write_capture(folder_ / fmt::format("l2-{}.pcap", port), kCapturedFrames, [port, seed = seed_](std::size_t i) {
      const std::uint64_t station = i % (kStations / 2) * 2;
      const std::uint64_t other = Random::mixed(i + (seed << 32)) % (kStations / 2) * 2;
      return ethernet_frame(0x100 + other + 1 - port, 0x100 + station + port);
    });
  }
  std::string ports;
  for (const int port : {0, 1}) {
    ports += fmt::format("  - {{name: port{0}, device: \"pcap:l2-{0}.pcap,loop\", sink: count}}\n", port);
  }
  return {
      "l2",
      fmt::format("{} stations on two ports, 64-byte frames from each to one of the others, seed {}", kStations, seed_),
      ports, fmt::format("  - l2: {{max_stations: {}}}\n", 2 * kStations),
      [](std::uint16_t port, std::span<const std::uint8_t> frame) {
        return destination_mac(frame).value % 2 == port;  // Every second address belongs to the same port.
      }};
}

RouterSystem RouterSystems::ndn() const {
  std::string routes;
  for (std::uint32_t i = 0; i < kRoutedNames; ++i) {
    routes += fmt::format("/{} there\n", fmt::join(name_components(i, seed_), "/"));
  }
  write_file(folder_ / "names.txt", routes);
  Random random(seed_);
  write_capture(folder_ / "ndn.pcap", kCapturedFrames, [&](std::size_t number) {
    std::string name;
    for (const std::string& component : name_components(random.below(kRoutedNames), seed_)) {
      append_component(name, component);
    }
    append_component(name, fmt::format("{:x}", random.next() >> 32));
    append_component(name, fmt::format("seg{}", random.below(100)));
    return interest_frame(address_of_consumer(number % kConsumers), name, static_cast<std::uint32_t>(random.next()));
  });
  std::string faces;
  const auto add_face = [&faces](const std::string& name, std::uint64_t address) {
    faces += fmt::format("        - {{name: {}, port: port0, remote: \"ether://[{}]\"}}\n", name,
                         to_string(MacAddress{address}));
  };
  for (std::uint64_t i = 0; i < kConsumers; ++i) add_face(fmt::format("consumer{}", i), address_of_consumer(i));
  add_face("there", kProducer);
  return {"ndn",
          fmt::format("{} names, Interests for them with two more components, over Ethernet from {} stations, seed {}",
                      kRoutedNames, kConsumers, seed_),
          "  - {name: port0, device: \"pcap:ndn.pcap,loop\", promiscuous: true, sink: count}\n",
          fmt::format("  - ndn:\n      faces:\n{}      routes: names.txt\n", faces),
          [](std::uint16_t port, std::span<const std::uint8_t> frame) {
            return port == 0 && destination_mac(frame).value == kProducer;
          }};
}

MayLeave RouterSystems::write_ipv4_table() const {
  const control::GeneratedTable table = forwarding_table({"port0"}, seed_, kRoutedPrefixes);
  write_table(table, folder_);
  std::map<Ipv4Address, MacAddress> mac_of;
  for (const control::Neighbour& neighbour : table.neighbours) mac_of[neighbour.address] = neighbour.mac;
  std::vector<MacAddress> macs;
  macs.reserve(table.routes.targets.size());
  for (const auto& target : table.routes.targets) macs.push_back(mac_of.at(target.next_hops.front().gateway.value()));
  std::vector<EntryOf<Ipv4>> entries;
  entries.reserve(table.routes.routes.size());
  for (const control::Route& route : table.routes.routes) {
    entries.push_back({route.prefix, static_cast<std::uint16_t>(route.target)});
  }
  return to_next_hops<Ipv4>(entries, std::move(macs));
}

}  // namespace penumbra::bench
