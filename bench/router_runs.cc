// SPDX-License-Identifier: Apache-2.0
#include "router_runs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <span>
#include <stdexcept>

#include "apart.h"
#include "checking_port.h"
#include "gpu/core_team.h"
#include "network.h"
#include "penumbra/engine.h"
#include "pin.h"
#include "process.h"
#include "runtime/router.h"

namespace penumbra::bench {
namespace {

constexpr const char* kRunFor = "300ms";
constexpr std::chrono::milliseconds kCheckTime{100};
constexpr double kCheckPatience = 120;        ///< Seconds, including the time to load the tables.
constexpr char kPlain[] = "scalar,avx512=0";  ///< The papers' baseline, where `scalar` has a hand-written form.

bool runs_on(const RouterSystem& system, const std::string& engine) {
  return system.engines.empty() || std::ranges::find(system.engines, engine) != system.engines.end();
}

nlohmann::json run_checked(const std::string& config, const MayLeave& may_leave) {
  control::RouterConfig loaded = control::load_config(config);
  loaded.control.socket.clear();
  CheckedPackets packets(may_leave);
  runtime::Router router(loaded, [&packets](std::span<const control::PortConfig> configs, std::uint16_t workers) {
    return open_checking_ports(configs, workers, packets);
  });
  router.run({.time = kCheckTime, .packets = {}}, [](const runtime::Statistics&) {});
  const runtime::Statistics statistics = router.statistics();
  if (packets.checked() == 0) return {{"error", "the router has sent nothing"}};
  if (const auto wrong = packets.wrong_in_words()) return {{"wrong", *wrong}};
  if (packets.checked() != statistics.received.packets || packets.checked() != statistics.sent.packets) {
    return {{"wrong", fmt::format("{} packets received, {} sent, {} of them checked", statistics.received.packets,
                                  statistics.sent.packets, packets.checked())}};
  }
  return {{"packets", packets.checked()}};
}

}  // namespace

std::string choice_of(const std::string& engine, unsigned queues) {
  constexpr unsigned kBlocks = 256, kSlots = 16;  // Defaults in docs/cuda-resident.md.
  if (engine != "cuda-resident" || queues * kSlots <= kBlocks) return engine;
  return fmt::format("{},slots={}", engine, std::max(1U, kBlocks / queues));
}

void RouterRuns::check(const RouterSystem& system, unsigned workers) const {
  std::vector<std::string> runs;
  const auto check_on = [&](const std::string& engine, Availability (*probe)()) {
    const std::string config = write_config(system, choice_of(engine, workers * system.functions), workers);
    const std::string who = fmt::format("{} on {}", system.name, engine);
    const auto work = [&] {
      return probe().available ? run_checked(config, system.may_leave) : nlohmann::json::object();
    };
    const nlohmann::json found = run_apart(who, kCheckPatience, work, [] {});
    if (found.contains("error")) throw std::runtime_error(who + ": " + found["error"].get<std::string>());
    if (found.contains("wrong")) throw WrongAnswer(who + ": " + found["wrong"].get<std::string>());
    if (!found.empty()) runs.push_back(fmt::format("{} on {}", found["packets"].get<std::uint64_t>(), engine));
  };
  for (const EngineInfo& engine : engines()) {
    if (runs_on(system, engine.name)) check_on(engine.name, engine.probe);
  }
  if (system.has_avx512) check_on(kPlain, [] { return Availability{true, "any CPU"}; });
  report_.checked(fmt::format("{}: packets of a run by {}, each sent by a port and to a MAC address that are right: {}",
                              system.name, workers_in_words(workers), fmt::join(runs, ", ")));
}

std::vector<std::string> RouterRuns::engines_of(const RouterSystem& system) {
  std::vector<std::string> names;
  for (const EngineInfo* engine : engines_here()) {
    if (!runs_on(system, engine->name)) continue;
    names.push_back(engine->name);
    if (engine->name == "scalar" && system.has_avx512) names.emplace_back(kPlain);
  }
  return names;
}

std::string RouterRuns::write_config(const RouterSystem& system, const std::string& engine, unsigned workers) const {
  const auto file = folder_.path() / fmt::format("{}-{}-{}.yaml", system.name, engine, workers);
  std::vector<unsigned> cores;
  cores.reserve(workers);
  for (unsigned i = 0; i < workers; ++i) cores.push_back(core(i));
  write_file(file, fmt::format("ports:\n{}workers: {{cores: [{}]}}\nengine: {}\npipeline:\n{}control: {{socket: "
                               "control.sock}}\n",
                               system.ports, fmt::join(cores, ", "), engine, system.pipeline));
  return file.string();
}

double RouterRuns::rate(const std::string& config) {
  const Finished run = run_program({router_program(), "run", config, "--for", kRunFor, "-j"});
  const nlohmann::json summary = nlohmann::json::parse(run.output);
  if (summary.at("received").at("packets") != summary.at("sent").at("packets")) {
    throw WrongAnswer(config + ": not every packet was sent on: " + summary.at("reasons").dump());
  }
  return summary.at("sent").at("packets_per_second").get<double>() * 1e-6;
}

}  // namespace penumbra::bench
