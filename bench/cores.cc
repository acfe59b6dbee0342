// SPDX-License-Identifier: Apache-2.0
//
// Whole routers from a source in memory to counting sinks, by function, engine and number of workers (G-Opt, figure 10;
// the integrated GPUs' paper, figures 5 and 6).
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/random.h"
#include "bench.h"
#include "generated_names.h"
#include "gpu/core_team.h"
#include "inputs.h"
#include "io/capture_writer.h"
#include "network.h"
#include "penumbra/engine.h"
#include "pin.h"
#include "process.h"
#include "temporary.h"

namespace penumbra::bench {
namespace {

constexpr const char* kRunFor = "300ms";
constexpr std::size_t kCapturedFrames = std::size_t{1} << 18;
constexpr std::size_t kStations = std::size_t{1} << 16;  ///< half of them on either port
constexpr std::uint32_t kRoutedNames = 1'000'000;
constexpr std::uint64_t kConsumers = 4000;  ///< stations, so that workers get their frames about evenly

/// What a configuration says of ports and functions.
struct System {
  std::string name, input, ports, pipeline;
  unsigned functions = 1;
};

/// For so many queues: of cuda-resident's blocks each gets as many as there are for all, but no more than without a
/// word.
std::string choice_of(const std::string& engine, unsigned queues) {
  constexpr unsigned kBlocks = 256, kSlots = 16;  // docs/cuda-resident.md
  if (engine != "cuda-resident" || queues * kSlots <= kBlocks) return engine;
  return fmt::format("{},slots={}", engine, std::max(1U, kBlocks / queues));
}

using FrameBytes = std::vector<std::uint8_t>;

void put(FrameBytes& frame, std::uint64_t value, int bytes) {
  while (bytes-- > 0) frame.push_back(static_cast<std::uint8_t>(value >> 8 * bytes));
}

/// UDP without data over IPv6: 62 bytes.
FrameBytes ipv6_frame(ipv6_address destination) {
  FrameBytes frame;
  put(frame, 0x020000000001, 6);
  put(frame, 0x02AA00000001, 6);
  put(frame, 0x86DD, 2);
  put(frame, 0x60000000, 4);
  put(frame, 8, 2);
  put(frame, 17, 1);
  put(frame, 64, 1);
  put(frame, 0x20010DB8FFFF0000, 8);
  put(frame, 1, 8);
  put(frame, destination.high, 8);
  put(frame, destination.low, 8);
  put(frame, 0x03E803E900080000, 8);
  return frame;
}

/// Of 60 bytes, with an ethertype for experiments.
FrameBytes ethernet_frame(std::uint64_t destination, std::uint64_t source) {
  FrameBytes frame;
  put(frame, 0x020000000000 + destination, 6);
  put(frame, 0x020000000000 + source, 6);
  put(frame, 0x88B5, 2);
  frame.resize(60);
  return frame;
}

std::uint64_t address_of_consumer(std::uint64_t number) {
  return 0x02AA00000000 + number;
}

/// An Interest (NDN packet format 0.3) from the station with that MAC address.
FrameBytes interest_frame(std::uint64_t from, const std::string& name, std::uint32_t nonce) {
  constexpr std::uint64_t kInterest = 5, kName = 7, kNonce = 10, kNonceBytes = 4;
  FrameBytes frame;
  put(frame, 0x020000000001, 6);
  put(frame, from, 6);
  put(frame, 0x8624, 2);
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

void write_capture(const std::filesystem::path& file, const std::function<FrameBytes(std::size_t)>& frame) {
  io::CaptureFile capture(file);
  capture.begin();
  io::CaptureWriter writer(capture);
  for (std::size_t i = 0; i < kCapturedFrames; ++i) writer.add(i, frame(i));
  writer.flush();
  if (capture.error() != 0) throw std::runtime_error("cannot write " + file.string());
}

class CoresBench {
 public:
  CoresBench(const Options& options, Report& report, const char* measurement)
      : options_(options), report_(report), measurement_(measurement) {}

  void add(System system) {
    report_.input(system.name, system.input);
    systems_.push_back(std::move(system));
  }

  void run() {
    for (const System& system : systems_) {
      for (const unsigned workers : worker_counts()) compare(system, workers);
    }
    report_.checked("every packet of every run was sent on");
  }

  static constexpr char kOnePort[] =
      "  - {name: port0, device: \"synth:size=60,dst=prefixes:routes.txt\", "
      "promiscuous: true, sink: count}\n";
  static constexpr char kIpv4[] = "  - ipv4: {routes: routes.txt, neighbours: neighbours.txt}\n";

  System echo() const {
    std::string ports;
    for (const int port : {0, 1}) {
      ports += fmt::format("  - {{name: port{}, device: \"synth:size=60\", sink: count}}\n", port);
    }
    return {"echo", "64-byte frames on two ports, sent out by an integer in them", ports, "  - echo: {}\n"};
  }
  System ipv4() const {
    write_ipv4_table();
    return {"ipv4", "900,000 generated prefixes, 64-byte frames, destinations uniform over the prefixes", kOnePort,
            kIpv4};
  }
  /// Every packet begins another flow, until the source begins anew.
  System flows() const {
    write_ipv4_table();
    return {"flows and ipv4",
            "900,000 generated prefixes, 64-byte frames, each packet of another flow until the source begins anew",
            kOnePort, fmt::format("  - flows: {{max_flows: 4000000}}\n{}", kIpv4), 2};
  }
  System ipv6() const {
    constexpr unsigned kNextHops = 16;
    const Ipv6InputTable table = ipv6_input_table({.names = {}, .routes = {}, .rules = {}, .seed = options_.seed});
    std::string routes, neighbours;
    for (std::size_t i = 0; i < table.entries.size(); ++i) {
      routes +=
          fmt::format("{} via 2001:db8:ffff::{:x} dev port0\n", to_string(table.entries[i].prefix), 1 + i % kNextHops);
    }
    for (unsigned i = 1; i <= kNextHops; ++i) {
      neighbours += fmt::format("2001:db8:ffff::{:x} dev port0 lladdr 02:bb:00:00:00:{:02x}\n", i, i);
    }
    write_file(folder_.path() / "routes6.txt", routes);
    write_file(folder_.path() / "neighbours6.txt", neighbours);
    const auto drawn = prefix_addresses(table, kCapturedFrames, options_.seed);
    write_capture(folder_.path() / "ipv6.pcap", [&](std::size_t i) { return ipv6_frame(drawn.addresses[i]); });
    return {"ipv6",
            fmt::format("{}, lookup trie; {} frames of 66 bytes, {}", table.description, kCapturedFrames,
                        drawn.description),
            "  - {name: port0, device: \"pcap:ipv6.pcap,loop\", promiscuous: true, sink: count}\n",
            "  - ipv6: {routes: routes6.txt, neighbours: neighbours6.txt}\n"};
  }
  System l2() const {
    for (const std::uint64_t port : {0, 1}) {
      write_capture(folder_.path() / fmt::format("l2-{}.pcap", port), [port](std::size_t i) {
        const std::uint64_t station = i % (kStations / 2) * 2;
        const std::uint64_t other = Random::mixed(i) % (kStations / 2) * 2;
        return ethernet_frame(0x100 + other + 1 - port, 0x100 + station + port);
      });
    }
    std::string ports;
    for (const int port : {0, 1}) {
      ports += fmt::format("  - {{name: port{0}, device: \"pcap:l2-{0}.pcap,loop\", sink: count}}\n", port);
    }
    return {"l2", fmt::format("{} stations on two ports, 64-byte frames from each to one of the others", kStations),
            ports, fmt::format("  - l2: {{max_stations: {}}}\n", 2 * kStations)};
  }

  /// Interests from thousands of stations, all for another one, by the longest of a million prefixes.
  System ndn() const {
    std::string routes;
    for (std::uint32_t i = 0; i < kRoutedNames; ++i) {
      routes += fmt::format("/{} there\n", fmt::join(name_components(i, options_.seed), "/"));
    }
    write_file(folder_.path() / "names.txt", routes);
    Random random(options_.seed);
    write_capture(folder_.path() / "ndn.pcap", [&](std::size_t number) {
      std::string name;
      for (const std::string& component : name_components(random.below(kRoutedNames), options_.seed)) {
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
    add_face("there", 0x0200000000BB);
    return {"ndn",
            fmt::format("{} names, Interests for them with two components behind, over Ethernet from {} stations",
                        kRoutedNames, kConsumers),
            "  - {name: port0, device: \"pcap:ndn.pcap,loop\", promiscuous: true, sink: count}\n",
            fmt::format("  - ndn:\n      faces:\n{}      routes: names.txt\n", faces)};
  }

 private:
  void write_ipv4_table() const { write_table(forwarding_table({"port0"}, options_.seed), folder_.path()); }

  void compare(const System& system, unsigned workers) {
    std::vector<Contender> turns;
    for (const EngineInfo* engine : engines_here()) {
      const std::string file = fmt::format("{}-{}-{}.yaml", system.name, engine->name, workers);
      std::vector<unsigned> cores;
      cores.reserve(workers);
      for (unsigned i = 0; i < workers; ++i) cores.push_back(core(i));
      const std::string choice = choice_of(engine->name, workers * system.functions);
      if (choice != engine->name) report_.note(fmt::format("{}, {} workers: {}", system.name, workers, choice));
      write_file(folder_.path() / file,
                 fmt::format("ports:\n{}workers: {{cores: [{}]}}\nengine: {}\npipeline:\n{}control: {{socket: "
                             "control.sock}}\n",
                             system.ports, fmt::join(cores, ", "), choice, system.pipeline));
      turns.push_back({engine->name, [path = (folder_.path() / file).string()] { return rate(path); }});
    }
    report_.compare(system.name + ", " + workers_in_words(workers), "M packets/s",
                    interleave(turns, options_.rounds, FirstRound::measured), "scalar",
                    Place{{measurement_, system.name, "workers"}, static_cast<double>(workers)});
  }

  /// Million packets a second of the whole system.
  static double rate(const std::string& config) {
    const Finished run = run_program({"/proc/self/exe", "run", config, "--for", kRunFor, "-j"});
    const nlohmann::json summary = nlohmann::json::parse(run.output);
    if (summary.at("received").at("packets") != summary.at("sent").at("packets")) {
      throw WrongAnswer(config + ": not every packet was sent on: " + summary.at("reasons").dump());
    }
    return summary.at("sent").at("packets_per_second").get<double>() * 1e-6;
  }

  const Options& options_;
  Report& report_;
  const char* const measurement_;
  const TemporaryFolder folder_;
  std::vector<System> systems_;
};

void run_e8(const Options& options, Report& report) {
  CoresBench bench(options, report, "E8");
  for (auto make : {&CoresBench::echo, &CoresBench::ipv4, &CoresBench::ipv6, &CoresBench::l2, &CoresBench::ndn}) {
    bench.add((bench.*make)());
  }
  bench.run();
}

void run_e22(const Options& options, Report& report) {
  CoresBench bench(options, report, "E22");
  bench.add(bench.flows());
  bench.run();
}

[[maybe_unused]] const bool kCoresBenchmarks[] = {
    register_benchmark({.name = "cores",
                        .measurement = "E8",
                        .measures = "whole routers by function, engine and number of workers",
                        .needs = "4 GiB of memory",
                        .cost = {8, 7.3, true},
                        .run = &run_e8}),
    register_benchmark({.name = "cores",
                        .measurement = "E22",
                        .measures = "accounting for flows and forwarding them, by engine and number of workers",
                        .needs = "4 GiB of memory",
                        .cost = {2, 1.9, true},
                        .run = &run_e22})};

}  // namespace
}  // namespace penumbra::bench
