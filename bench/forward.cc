// SPDX-License-Identifier: Apache-2.0
//
// Compares the whole router on one core with DPDK's dpdk-testpmd on the same core, with the same two virtual devices
// and the same frames. The devices are of net_pcap: they replay a capture from memory endlessly, and drop what is sent.
// testpmd in mode `io` passes packets from one port to the other without reading them; `macswap` swaps the MAC
// addresses. The router checks headers, looks up among 900,000 prefixes, and rewrites.
//
// Then measures the router alone, from its built-in source to its counting sink, on every engine of this machine, with
// the cycles of each step.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "bench.h"
#include "io/capture_writer.h"
#include "io/traffic.h"
#include "network.h"
#include "pin.h"
#include "process.h"
#include "rivals/testpmd.h"
#include "temporary.h"

namespace penumbra::bench {
namespace {

const std::vector<std::string> kTwoPorts{"port0", "port1"};
constexpr const char* kBar = "router / testpmd io";
constexpr std::uint64_t kFrames =
    2048;  // Frames of each port; the device keeps each of them in a packet buffer of the program.
constexpr std::uint16_t kFrameBytes = 60;
constexpr const char* kRouterTime = "2500ms";
constexpr std::array<double, 3> kLineRates{10e9, 25e9, 100e9};

class Bench {
 public:
  Bench(const Options& options, Report& report) : options_(options), report_(report) {
    const control::GeneratedTable table = forwarding_table(kTwoPorts, options.seed);
    write_table(table, folder_.path());
    std::vector<Ipv4Prefix> prefixes;
    prefixes.reserve(table.routes.routes.size());
    for (const auto& route : table.routes.routes) prefixes.push_back(route.prefix);
    for (std::size_t port = 0; port < kTwoPorts.size(); ++port) {
      write_frames(frames(port), prefixes, options.seed + port, MacAddress{0x020000000001 + port});
    }
    for (const std::string engine : {"auto", "scalar"}) {
      write_config("devices-" + engine + ".yaml", {device(0), device(1)}, {"", ""}, engine);
    }
    for (const EngineInfo* engine : engines_here()) {
      write_config("synth-" + engine->name + ".yaml",
                   {fmt::format("synth:size={},dst=prefixes:routes.txt,seed={}", kFrameBytes, options.seed), "none"},
                   {"", ""}, engine->name);
    }
    write_config("check.yaml", {"pcap:" + frames(0).string(), "pcap:" + frames(1).string()}, {"out0.pcap", "out1.pcap"},
                 "auto");
    report.input("table", fmt::format("{} prefixes, generated, {} next hops, seed {}", prefixes.size(),
                                      table.neighbours.size(), options.seed));
    report.input("frames", fmt::format("{} on each of two ports, {} bytes (64 with FCS), destinations uniform over the "
                                       "prefixes, seeds {} and {}",
                                       kFrames, kFrameBytes, options.seed, options.seed + 1));
  }

  /// Runs the router once over the same frames, from captures to captures, and compares with the oracle.
  void check() {
    run_program({self(), "run", path("check.yaml")});
    run_program({self(), "verify", path("check.yaml")});
    report_.checked(fmt::format("all {} frames, as `penumbra verify` has it", 2 * kFrames));
  }

  void beside_testpmd() {
    if (!Testpmd::is_here()) {
      report_.bar_not_shown(kBar, "dpdk-testpmd is not installed (Debian: dpdk-dev)");
      return;
    }
    if (first_core() == last_core()) {
      report_.bar_not_shown(kBar, "dpdk-testpmd needs a second core for its command line");
      return;
    }
    const Testpmd testpmd({device(0), device(1)}, first_core(), last_core());
    report_.input("dpdk-testpmd", testpmd.description());
    const std::vector<Series> series =
        interleave({{"testpmd io", [&testpmd] { return testpmd.rate("io"); }, Role::rival},
                    {"testpmd macswap", [&testpmd] { return testpmd.rate("macswap"); }, Role::rival},
                    {"penumbra", [this] { return router("devices-auto.yaml").front().second; }},
                    {"penumbra, engine scalar", [this] { return router("devices-scalar.yaml").front().second; }}},
                   options_.rounds);
    const std::vector<double> ratios =
        report_.compare("one core, two net_pcap devices", "M packets per second of the core", series, "testpmd io");
    report_.bar(kBar, ratios[2], 0.5, true);
    report_.note(
        "net_pcap copies each frame on receipt; that cost is in all of them. The frames' destinations are few "
        "enough for the core's own caches; below they are not");
  }

  void alone() {
    struct OnEngine {
      std::string name;
      std::vector<Series> figures;  ///< In the order of RouterFigures.
    };
    std::vector<OnEngine> all;
    const std::vector<const EngineInfo*> here = engines_here();
    all.reserve(here.size());
    for (const EngineInfo* engine : here) all.push_back({engine->name, {}});
    for (unsigned round = 0; round < options_.rounds; ++round) {
      for (OnEngine& each : all) {
        const RouterFigures figures = router("synth-" + each.name + ".yaml");
        each.figures.resize(figures.size());
        for (std::size_t i = 0; i < figures.size(); ++i) {
          each.figures[i].name = figures[i].first;
          each.figures[i].samples.push_back(figures[i].second);
        }
      }
    }
    std::vector<Series> rates;
    rates.reserve(all.size());
    for (const OnEngine& each : all) rates.push_back({"router, engine " + each.name, each.figures[0].samples});
    report_.compare("one core, built-in source (900,000 destinations) to counting sink",
                    "M packets per second of the core", rates, "router, engine scalar");
    for (const OnEngine& each : all) {
      report_.compare("the router by step, engine " + each.name, "cycles of the time stamp counter per packet",
                      std::span(each.figures).subspan(1), "");
    }
    report_.note(
        fmt::format("the time stamp counter runs at {:.2f} GHz, whatever the core's clock; steps are scaled to the "
                    "time that the worker had its core",
                    time_stamps_per_second() * 1e-9));
    for (const double rate : kLineRates) {
      constexpr double kWireBits = 8.0 * (kFrameBytes + 24);
      report_.note(fmt::format("{:.0f} Gbit/s of 64-byte frames are {:.2f} Mpps", rate / 1e9, rate / kWireBits / 1e6));
    }
  }

 private:
  std::filesystem::path frames(std::size_t port) const { return folder_.path() / fmt::format("frames{}.pcap", port); }
  std::string path(const std::string& name) const { return (folder_.path() / name).string(); }
  static std::string self() { return router_program(); }
  std::string device(std::size_t port) const {
    return fmt::format("net_pcap{},rx_pcap={},infinite_rx=1", port, frames(port).string());
  }

  static void write_frames(const std::filesystem::path& file, const std::vector<Ipv4Prefix>& prefixes,
                           std::uint64_t seed, MacAddress destination) {
    control::SynthSource source;
    source.frame_bytes = kFrameBytes;
    source.destinations = control::SynthSource::Destinations::prefixes;
    source.seed = seed;
    const io::Traffic traffic(source, prefixes, {.destination = destination});
    io::CaptureFile capture(file);
    capture.begin();
    io::CaptureWriter writer(capture);
    std::vector<std::uint8_t> frame(control::SynthSource::kLargestFrame);
    for (std::uint64_t i = 0; i < kFrames; ++i) {
      const std::size_t bytes = traffic.fill(i, frame);
      writer.add(i, {frame.data(), bytes});
    }
    writer.flush();
    if (capture.error() != 0) throw std::runtime_error("cannot write " + file.string());
  }

  void write_config(const std::string& name, const std::array<std::string, 2>& devices,
                    const std::array<std::string, 2>& sinks, const std::string& engine) const {
    std::string text = "ports:\n";
    for (std::size_t port = 0; port < kTwoPorts.size(); ++port) {
      text += fmt::format("  - {{name: {}, device: \"{}\", promiscuous: true", kTwoPorts[port], devices[port]);
      text += sinks[port].empty() ? "}\n" : fmt::format(", sink: {}}}\n", sinks[port]);
    }
    text += fmt::format("workers: {{cores: [{}]}}\nengine: {}\npipeline:\n", first_core(), engine);
    text += "  - ipv4: {routes: routes.txt, neighbours: neighbours.txt}\ncontrol: {socket: control.sock}\n";
    write_file(folder_.path() / name, text);
  }

  /// The M packets per second of the core, then the cycles per packet of each step, in their order.
  using RouterFigures = std::vector<std::pair<std::string, double>>;
  /// Throws WrongAnswer unless every packet was forwarded.
  RouterFigures router(const std::string& config) const {
    const Finished run = run_program({self(), "run", path(config), "--for", kRouterTime, "-j"});
    const nlohmann::json summary = nlohmann::json::parse(run.output);
    if (summary.at("received").at("packets") != summary.at("sent").at("packets")) {
      throw WrongAnswer("not every packet was sent on: " + summary.at("reasons").dump());
    }
    const double packets = summary.at("received").at("packets");
    RouterFigures result{{"router", packets / run.thread_seconds.at("worker-0") * 1e-6}};
    double all_cycles = 0;
    for (const auto& step : summary.at("steps")) all_cycles += step.at("cycles").get<double>();
    const double own_cycles = run.thread_seconds.at("worker-0") * time_stamps_per_second();
    for (const auto& step : summary.at("steps")) {
      result.emplace_back(step.at("step"), step.at("cycles").get<double>() * own_cycles / all_cycles / packets);
    }
    result.emplace_back("all", own_cycles / packets);
    return result;
  }

  const Options& options_;
  Report& report_;
  TemporaryFolder folder_;
};

void run_forward(const Options& options, Report& report) {
  Bench bench(options, report);
  bench.check();
  bench.beside_testpmd();
  bench.alone();
}

[[maybe_unused]] const bool kForwardBenchmark = register_benchmark(
    {.name = "forward",
     .measures = "the whole router on one core compared with dpdk-testpmd, and its cycles by step and engine",
     .needs = "two cores and dpdk-testpmd (Debian: dpdk-dev) for the comparison",
     .cost = {13, 28},
     .run = &run_forward});

}  // namespace
}  // namespace penumbra::bench
