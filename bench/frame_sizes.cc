// SPDX-License-Identifier: Apache-2.0
//
// Measures whole routers by the size of frames, and a switch by the size of its table. The sources are figure 11 of
// PacketShader and figures 8 to 10 of APUNet.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "bench.h"
#include "functions/ids/detect/hyperscan.h"
#include "gpu/core_team.h"
#include "made_frames.h"
#include "router_runs.h"

namespace penumbra::bench {
namespace {

constexpr std::array<std::uint16_t, 3> kFrameSizes{64, 512, 1518};  ///< With FCS.
constexpr std::uint16_t kLeastIpv6 = 66;                            ///< The size of an IPv6 frame without data.
constexpr double kGapBytes = 20;  ///< Of preamble and gap on the wire, which the papers' rates include.

/// Returns the rate on the wire in Gbit/s.
double on_the_wire(double million_packets, std::uint16_t frame_bytes) {
  constexpr double kBits = 8, kMillionsInBillion = 1e-3;
  return million_packets * (frame_bytes + kGapBytes) * kBits * kMillionsInBillion;
}

class FramesBench {
 public:
  FramesBench(const Options& options, Report& report, const char* measurement)
      : options_(options), report_(report), measurement_(measurement), runs_(options, report) {}

  const RouterSystems& makers() const { return runs_.makers(); }

  /// Adds a system at one place of the plot `plot`. With `frame_bytes` the rate is that on the wire.
  void add(RouterSystem system, const std::string& plot, const std::string& x, double at, std::uint16_t frame_bytes) {
    report_.input(system.name, system.input);
    // The size of frames changes no decision of a router, so that the shortest and the longest stand for all.
    if (frame_bytes == kFrameSizes.front() || frame_bytes == kFrameSizes.back()) runs_.check(system, workers_);
    system.may_leave = nullptr;  // It may own a table.
    points_.push_back({std::move(system), {{measurement_, plot, x, x == kFrame ? "B" : ""}, at}, frame_bytes, {}});
  }
  /// Adds a system to compare with the last one, on `scalar`.
  void add_rival(const std::string& name, RouterSystem system) {
    points_.back().rivals.emplace_back(name, std::move(system));
  }
  void add_sizes(const std::string& plot, const auto& make) {
    for (const std::uint16_t bytes : kFrameSizes) add(make(bytes), plot, kFrame, bytes, bytes);
  }

  void run() {
    for (const Point& point : points_) compare(point);
    report_.checked("every packet of every run was sent on");
  }

  static constexpr char kFrame[] = "frame";

 private:
  struct Point {
    RouterSystem system;
    Place place;
    std::uint16_t frame_bytes;
    std::vector<std::pair<std::string, RouterSystem>> rivals;
  };

  void compare(const Point& point) {
    std::vector<Contender> turns;
    const auto add_turn = [&](const std::string& name, const RouterSystem& system, const std::string& engine,
                              Role role) {
      const std::string path = runs_.write_config(system, choice_of(engine, workers_ * system.functions), workers_);
      turns.push_back(
          {name, [path, bytes = point.frame_bytes] { return on_the_wire(RouterRuns::rate(path), bytes); }, role});
    };
    for (const std::string& engine : RouterRuns::engines_of(point.system)) {
      add_turn(engine, point.system, engine, Role::ours);
    }
    for (const auto& [name, system] : point.rivals) add_turn(name, system, "scalar", Role::rival);
    report_.compare(fmt::format("{}, {}", point.system.name, workers_in_words(workers_)), "Gbit/s",
                    interleave(turns, options_.rounds, FirstRound::measured), "scalar", point.place);
  }

  const Options& options_;
  Report& report_;
  const char* const measurement_;
  const unsigned workers_ = worker_counts().back();
  const RouterRuns runs_;
  std::vector<Point> points_;
};

void add_forwarding(FramesBench& bench) {
  const RouterSystems& makers = bench.makers();
  bench.add_sizes("ipv4", [&](std::uint16_t bytes) {
    RouterSystem system = makers.ipv4(bytes - kFcsBytes);
    system.name = fmt::format("ipv4, {} bytes", bytes);
    return system;
  });
  bench.add_sizes("ipv6", [&](std::uint16_t bytes) {
    const std::uint16_t frame = std::max(bytes, kLeastIpv6);
    RouterSystem system = makers.ipv6(frame - kFcsBytes);
    system.name = fmt::format("ipv6, {} bytes", frame);
    return system;
  });
}

void add_ipsec(FramesBench& bench, const std::string& suite) {
  bench.add_sizes("ipsec, " + suite,
                  [&](std::uint16_t bytes) { return bench.makers().ipsec(bytes - kFcsBytes, suite); });
}

/// PacketShader, figure 11: its IPsec has AES-128-CTR and HMAC-SHA1.
void run_e12(const Options& options, Report& report) {
  FramesBench bench(options, report, "E12");
  add_forwarding(bench);
  add_ipsec(bench, "AES-128-CTR and HMAC-SHA1");
  add_ipsec(bench, "AES-128-GCM");
  constexpr std::uint32_t kExactPerWildcard = 1024;
  constexpr std::uint16_t kBytes = 64;
  for (const std::uint32_t exact : {8U << 10, 64U << 10, 512U << 10}) {
    bench.add(bench.makers().openflow(exact, exact / kExactPerWildcard), "openflow", "flows with all fields", exact,
              kBytes);
  }
  bench.run();
}

/// APUNet, figures 9 and 10: its IPsec has AES-128-CBC and HMAC-SHA1.
void run_e20(const Options& options, Report& report) {
  FramesBench bench(options, report, "E20");
  add_ipsec(bench, "AES-128-CBC and HMAC-SHA1");
  const std::string lack = ids::Hyperscan::why_unavailable();
  for (const std::uint16_t bytes : kFrameSizes) {
    bench.add(bench.makers().ids(bytes - kFcsBytes, "patterns"), "ids", FramesBench::kFrame, bytes, bytes);
    if (lack.empty()) bench.add_rival("Hyperscan", bench.makers().ids(bytes - kFcsBytes, "hyperscan"));
  }
  if (!lack.empty()) report.note("no Hyperscan: " + lack);
  report.note("the forwarding of IPv4 and IPv6 by frame size is E12's");
  report.note("TLS is not here: HAProxy with the provider needs servers and clients (docs/tls.md)");
  bench.run();
}

[[maybe_unused]] const bool kFrameBenchmarks[] = {
    register_benchmark({.name = "frames",
                        .measurements = {"E12"},
                        .measures = "forwarding by frame size: IPv4, IPv6, IPsec; a switch by the size of its table",
                        .needs = "4 GiB of memory",
                        .cost = {.once = 40, .a_round = 55, .once_on_gpu = 60},
                        .run = &run_e12}),
    register_benchmark({.name = "frames",
                        .measurements = {"E20"},
                        .measures = "functions by frame size: IPsec, intrusion detection",
                        .needs = "4 GiB of memory; libhyperscan5 for the comparison",
                        .cost = {.once = 15, .a_round = 15, .once_on_gpu = 30},
                        .run = &run_e20})};

}  // namespace
}  // namespace penumbra::bench
