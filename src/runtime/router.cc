// SPDX-License-Identifier: Apache-2.0
#include "runtime/router.h"

#include <fmt/format.h>
#include <rte_cycles.h>

#include <algorithm>
#include <iterator>
#include <mutex>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <thread>

#include "control/netlink/feed.h"
#include "io/eal.h"
#include "penumbra/engine.h"
#include "penumbra/errors.h"
#include "runtime/control_server.h"
#include "runtime/host_path.h"
#include "runtime/metrics.h"
#include "runtime/reload.h"
#include "runtime/statistics.h"

namespace penumbra::runtime {
namespace {

using Clock = std::chrono::steady_clock;

std::vector<std::string> names_of(std::span<const PortInfo> ports) {
  std::vector<std::string> names(ports.size());
  std::transform(ports.begin(), ports.end(), names.begin(), [](const PortInfo& port) { return port.name; });
  return names;
}

/// Stops what was started, in whatever way it ends.
class StartedPorts {
 public:
  explicit StartedPorts(Ports ports) : ports_(ports) {
    try {
      for (; started_ < ports_.size(); ++started_) ports_[started_]->start();
    } catch (...) {
      stop();
      throw;
    }
  }
  StartedPorts(const StartedPorts&) = delete;
  StartedPorts& operator=(const StartedPorts&) = delete;
  ~StartedPorts() { stop(); }

 private:
  void stop() noexcept {
    for (; started_ > 0; --started_) ports_[started_ - 1]->stop();
  }
  Ports ports_;
  std::size_t started_ = 0;
};

/// Fills the tables before there are packets, and follows as long as there may be.
class StartedFeed {
 public:
  explicit StartedFeed(control::netlink::NetlinkFeed& feed) : feed_(feed) { feed_.start(); }
  StartedFeed(const StartedFeed&) = delete;
  StartedFeed& operator=(const StartedFeed&) = delete;
  ~StartedFeed() { feed_.stop(); }

 private:
  control::netlink::NetlinkFeed& feed_;
};

/// Stops the host's thread at the latest before the ports stop that it sends by.
class StartedHost {
 public:
  explicit StartedHost(HostPath* host) : host_(host) {
    if (host_ != nullptr) host_->start();
  }
  StartedHost(const StartedHost&) = delete;
  StartedHost& operator=(const StartedHost&) = delete;
  ~StartedHost() { stop(); }

  void stop() noexcept {
    if (host_ != nullptr) host_->stop();
  }

 private:
  HostPath* host_;  ///< or null
};

/// Which ports' links have gone down since the last look.
class LinkWatch {
 public:
  explicit LinkWatch(Ports ports) : ports_(ports) {
    for (const auto& port : ports_) was_up_.push_back(port->link_up());
  }

  void look(Pipeline& pipeline) {
    for (std::size_t i = 0; i < ports_.size(); ++i) {
      const bool is_up = ports_[i]->link_up();
      if (was_up_[i] && !is_up) pipeline.lose_link(ports_[i]->info().index);
      was_up_[i] = is_up;
    }
  }

 private:
  Ports ports_;
  std::vector<bool> was_up_;
};

/// Lets the workers end before their threads are joined, in whatever way a run ends.
struct StopAtExit {
  std::atomic<bool>& stop;
  ~StopAtExit() { stop.store(true, std::memory_order_relaxed); }
};

nlohmann::ordered_json show_engines(const Pipeline& pipeline) {
  auto table = nlohmann::ordered_json::array();
  for (const auto& info : engines()) {
    const Availability availability = info.probe();
    auto users = nlohmann::ordered_json::array();
    std::vector<std::string> notes;
    for (const auto& stage : pipeline.stages()) {
      const Engine* const engine = stage.engine_of(info.name);
      if (engine == nullptr) {
        if (stage.engine != nullptr && stage.configured_engine == info.name && !availability.available) {
          notes.push_back(fmt::format("{} was to run here: it runs on {}", stage.name, stage.engine_name));
        }
        continue;
      }
      if (engine == stage.engine) users.push_back(stage.name);
      for (std::string& note : engine->notes()) {
        if (std::ranges::find(notes, note) == notes.end()) notes.push_back(std::move(note));
      }
    }
    table.push_back({{"engine", info.name},
                     {"available", availability.available},
                     {"reason", availability.reason},
                     {"used_by", users},
                     {"settings", describe_settings(info)},
                     {"notes", notes},
                     {"summary", info.summary}});
  }
  return table;
}

/// What the stages that know the topic show of it: the only one's answer, or an object with all answers by stage. Null
/// if none knows it.
nlohmann::ordered_json show_stages(const Pipeline& pipeline, std::string_view topic,
                                   std::span<const std::string> arguments) {
  std::vector<const Stage*> knowing;
  for (const auto& stage : pipeline.stages()) {
    const auto& topics = stage.info->topics;
    if (std::ranges::any_of(topics, [&](const auto& each) { return each.name == topic; })) knowing.push_back(&stage);
  }
  if (knowing.empty()) return nullptr;
  if (knowing.size() == 1) return knowing.front()->function->show(topic, arguments);
  nlohmann::ordered_json by_stage;
  for (const auto* stage : knowing) by_stage[stage->name] = stage->function->show(topic, arguments);
  return by_stage;
}

}  // namespace

struct Router::Parts {
  Parts(const control::RouterConfig& config, const OpenPorts& open_ports);

  std::vector<std::unique_ptr<Worker>> make_workers();
  Statistics statistics() const;
  nlohmann::ordered_json show(std::string_view topic, std::span<const std::string> arguments) const;
  std::vector<std::string> topics() const;

  const std::vector<unsigned> cores;
  const std::chrono::nanoseconds longest_sleep;
  QsbrGracePeriods grace_periods;
  control::netlink::NetlinkFeed feed;
  const std::vector<PortInfo> configured_ports;  ///< what functions may hold on to until bind()
  Pipeline pipeline;
  Tracer tracer;
  Captures captures;
  Reloader reloader;
  std::unique_ptr<ControlServer> server;
  std::vector<std::unique_ptr<io::Port>> ports;
  std::vector<PortInfo> bound_ports;
  std::unique_ptr<HostPath> host;  ///< none: no port has a twin
  std::vector<std::unique_ptr<Worker>> workers;
  std::atomic<bool> stop{false};
  std::atomic<bool> ran{false};
  std::atomic<Clock::rep> began{0}, ended{0};  ///< of the run; 0: not yet
  std::atomic<std::uint64_t> round{0};         ///< the grace period that ends when all workers have come round
  std::vector<std::vector<io::DeviceLoss>> device_losses;
  std::unique_ptr<MetricsServer> metrics;  ///< destroyed before what it reads
  mutable std::mutex show_mutex;           ///< functions are asked by one thread at a time
};

Router::Parts::Parts(const control::RouterConfig& config, const OpenPorts& open_ports)
    : cores(config.cores),
      longest_sleep(config.sleep),
      grace_periods(static_cast<std::uint32_t>(config.cores.size())),
      feed(twins(config.ports), config.fpm, [](const auto& line) { fmt::print(stderr, "{}\n", line); }),
      configured_ports(port_infos(config.ports)),
      pipeline(config.pipeline, configured_ports, grace_periods, &feed),
      tracer(pipeline, names_of(configured_ports)),
      captures(pipeline, names_of(configured_ports), static_cast<std::uint16_t>(cores.size()), grace_periods),
      reloader(config, pipeline) {
  pipeline.check_punts(config.punts);
  if (!config.socket.empty()) server = std::make_unique<ControlServer>(config.socket);
  if (config.metrics.wanted()) metrics = std::make_unique<MetricsServer>(config.metrics);
  const auto worker_count = static_cast<std::uint16_t>(cores.size());
  io::start_eal(config.ports, worker_count);
  ports = open_ports(config.ports, worker_count);
  for (const auto& port : ports) bound_ports.push_back(port->info());
  pipeline.bind(bound_ports);
  const auto has_twin = [](const auto& port) { return !port.twin.empty(); };
  if (std::ranges::any_of(config.ports, has_twin)) host = std::make_unique<HostPath>(config, ports, pipeline);
  workers = make_workers();
}

/// Receive queues go round the workers, so that the ports' and the queues' load spreads.
std::vector<std::unique_ptr<Worker>> Router::Parts::make_workers() {
  std::vector<WorkerSetup> setups;
  const auto workers_wanted = static_cast<std::uint16_t>(cores.size());
  for (std::uint16_t i = 0; i < workers_wanted; ++i) {
    WorkerSetup setup{.index = i,
                      .core = cores[i],
                      .longest_sleep = longest_sleep,
                      .receive = {},
                      .transmit = {},
                      .host = host.get(),
                      .pipeline = pipeline,
                      .grace_periods = grace_periods,
                      .tracer = tracer,
                      .captures = captures};
    for (const auto& port : ports) setup.transmit.push_back(&port->tx_queue(i));
    setups.push_back(std::move(setup));
  }
  std::size_t turn = 0;
  std::vector<std::uint16_t>
      host_workers;  // by port: one that has a queue of it, so that it is there as long as that is
  for (const auto& port : ports) {
    host_workers.push_back(static_cast<std::uint16_t>(turn % setups.size()));
    for (std::uint16_t queue = 0; queue < port->rx_queues(); ++queue) {
      setups[turn++ % setups.size()].receive.push_back({&port->rx_queue(queue), port->info().index, queue});
    }
  }
  std::vector<std::unique_ptr<Worker>> made;
  made.reserve(setups.size());
  for (auto& setup : setups) made.push_back(std::make_unique<Worker>(std::move(setup)));
  for (std::size_t port = 0; host != nullptr && port < ports.size(); ++port) {
    const std::uint16_t worker = host_workers[port];
    host->serve(ports[port]->info().index, worker, made[worker]->doorbell());
  }
  return made;
}

Statistics Router::Parts::statistics() const {
  Statistics statistics = sum(workers, ports, pipeline, host.get());
  const Clock::rep from = began.load();
  const Clock::rep to = ended.load() != 0 ? ended.load() : Clock::now().time_since_epoch().count();
  if (from != 0) statistics.elapsed = Clock::duration(to - from);
  statistics.tsc_hz = static_cast<double>(rte_get_tsc_hz());
  return statistics;
}

nlohmann::ordered_json Router::Parts::show(std::string_view topic, std::span<const std::string> arguments) const {
  const std::lock_guard lock(show_mutex);
  if (topic == "ports" && arguments.size() == 1) {
    std::vector<std::string> names;
    for (const auto& port : ports) {
      if (port->info().name == arguments[0]) return show_queues(workers, *port);
      names.push_back(port->info().name);
    }
    throw std::invalid_argument(
        fmt::format("there is no port '{}'; {}", arguments[0], did_you_mean_or_list(arguments[0], names)));
  }
  const bool all_drops = topic == "drops" && arguments.size() == 1 && arguments[0] == "all";
  if (all_drops) return show_drops(statistics(), pipeline, true);
  if (auto shown = show_stages(pipeline, topic, arguments); !shown.is_null()) return shown;
  const auto known = topics();
  if (std::find(known.begin(), known.end(), topic) == known.end()) {
    throw std::invalid_argument(
        fmt::format("there is nothing to show under '{}'; topics: {}", topic, fmt::join(known, ", ")));
  }
  if (!arguments.empty()) throw std::invalid_argument(fmt::format("show {}: too many arguments", topic));
  if (topic == "ports") return show_ports(workers, ports, host.get());
  if (topic == "workers") return show_workers(workers, ports, pipeline);
  if (topic == "functions") return show_functions(workers, pipeline);
  if (topic == "drops") return show_drops(statistics(), pipeline, false);
  return show_engines(pipeline);
}

std::vector<std::string> Router::Parts::topics() const {
  std::vector<std::string> names{"ports", "workers", "functions", "drops", "engines"};
  for (const auto& stage : pipeline.stages()) {
    for (const auto& topic : stage.info->topics) {
      if (std::find(names.begin(), names.end(), topic.name) == names.end()) names.push_back(topic.name);
    }
  }
  return names;
}

Router::Router(const control::RouterConfig& config, const OpenPorts& open_ports)
    : parts_(std::make_unique<Parts>(config, open_ports)) {
  if (parts_->metrics != nullptr) {
    parts_->metrics->start(
        {.workers = parts_->workers, .ports = parts_->ports, .pipeline = parts_->pipeline, .statistics = [this] {
           return parts_->statistics();
         }});
  }
}

/// Answers on the control socket. Before, those who ask wait.
void Router::serve() {
  if (parts_->server == nullptr) return;
  const auto answer = [this](std::string_view command, std::string_view topic, Arguments arguments) {
    if (command == "show") return show(topic, arguments);
    if (command == "trace") return trace(topic, arguments);
    if (command == "reload") return reload(topic, arguments);
    throw std::invalid_argument(
        fmt::format("unknown command '{}'; there are show, trace, capture and reload", command));
  };
  const auto capture = [this](std::string_view what, Arguments arguments, FileDescriptor& connection) {
    parts_->captures.start(what, arguments, connection);
  };
  parts_->server->start(answer, {.command = "capture", .start = capture});
}

std::vector<std::string> Router::warnings() const {
  std::vector<std::string> all = parts_->pipeline.warnings();
  if (parts_->host != nullptr) std::ranges::copy(parts_->host->warnings(), std::back_inserter(all));
  return all;
}

std::vector<std::pair<std::string, std::string>> Router::engines() const {
  std::vector<std::pair<std::string, std::string>> pairs;
  for (const auto& stage : parts_->pipeline.stages()) {
    if (stage.engine != nullptr) pairs.emplace_back(stage.name, stage.engine_name);
  }
  return pairs;
}

std::map<std::string, std::vector<EngineFinding>> Router::findings() const {
  return parts_->pipeline.findings();
}

void Router::recall(const std::map<std::string, std::vector<EngineFinding>>& findings) {
  parts_->pipeline.recall(findings);
}

Router::~Router() {
  if (parts_->server != nullptr) parts_->server->stop();
}

void Router::run(const RunLimits& limits, const std::function<void(const Statistics&)>& tick) {
  constexpr std::chrono::milliseconds kTick{100};
  Parts& parts = *parts_;
  if (parts.ran.exchange(true)) throw std::logic_error("a router runs once");
  // Ports last: what was in their files goes when they start.
  const StartedFeed following(parts.feed);
  const StartedPorts started(parts.ports);
  LinkWatch links(parts.ports);
  PacketQuota quota(limits.packets);
  RollCall roll(static_cast<unsigned>(parts.workers.size()));
  StartedHost host(parts.host.get());
  serve();  // whoever has an answer may send packets: a port that starts forgets what it has heard
  std::vector<std::jthread> threads;
  const StopAtExit stop_at_exit{parts.stop};
  for (const auto& worker : parts.workers) {
    try {
      threads.emplace_back([&, each = worker.get()] { each->run(roll, quota, parts.stop); });
    } catch (...) {
      roll.excuse(static_cast<unsigned>(parts.workers.size() - threads.size()), std::current_exception());
      break;
    }
  }
  const Clock::time_point began = roll.wait_for_start();
  parts.began.store(began.time_since_epoch().count());
  parts.round.store(parts.grace_periods.start());
  auto deadline = limits.time && *limits.time < Clock::time_point::max() - began
                      ? began + std::chrono::duration_cast<Clock::duration>(*limits.time)
                      : Clock::time_point::max();
  Clock::time_point next_tick = began + kTick;
  while (!roll.wait_for_end(std::min(next_tick, deadline))) {
    const Clock::time_point now = Clock::now();
    if (now >= deadline) {
      stop();
      deadline = Clock::time_point::max();
    }
    if (now < next_tick) continue;
    links.look(parts.pipeline);
    tick(parts.statistics());
    next_tick = std::max(next_tick + kTick, now);
  }
  threads.clear();
  host.stop();
  parts.captures.finish();
  parts.ended.store(roll.ended().time_since_epoch().count());
  // Now, as stopping may reset what a device counts.
  for (const auto& port : parts.ports) parts.device_losses.push_back(port->device_losses());
  tick(parts.statistics());
}

void Router::stop() noexcept {
  parts_->stop.store(true, std::memory_order_relaxed);
}

Statistics Router::statistics() const {
  return parts_->statistics();
}

bool Router::workers_came_round() {
  if (!parts_->grace_periods.elapsed(parts_->round.load(), false)) return false;
  parts_->round.store(parts_->grace_periods.start());
  return true;
}

std::vector<std::string> Router::failures() const {
  std::vector<std::string> failures;
  for (const auto& port : parts_->ports) {
    if (std::string failure = port->failure(); !failure.empty()) failures.push_back(std::move(failure));
  }
  return failures;
}

const std::vector<std::vector<io::DeviceLoss>>& Router::device_losses() const {
  return parts_->device_losses;
}

nlohmann::ordered_json Router::show(std::string_view topic, std::span<const std::string> arguments) const {
  return parts_->show(topic, arguments);
}

nlohmann::ordered_json Router::trace(std::string_view action, std::span<const std::string> arguments) {
  return parts_->tracer.command(action, arguments);
}

nlohmann::ordered_json Router::reload(std::string_view action, std::span<const std::string> arguments) {
  return parts_->reloader.command(action, arguments);
}

Function& Router::function(std::size_t stage) {
  return *parts_->pipeline.stages().at(stage).function;
}

}  // namespace penumbra::runtime
