// SPDX-License-Identifier: Apache-2.0
#include "runtime/router.h"

#include <fmt/format.h>
#include <rte_cycles.h>

#include <algorithm>
#include <iterator>
#include <mutex>
#include <nlohmann/json.hpp>
#include <shared_mutex>
#include <stdexcept>
#include <thread>

#include "base/log.h"
#include "base/numa.h"
#include "control/netlink/feed.h"
#include "io/eal.h"
#include "io/packet_pool.h"
#include "io/port_warnings.h"
#include "penumbra/engine.h"
#include "penumbra/errors.h"
#include "runtime/commands.h"
#include "runtime/config_check.h"
#include "runtime/control_server.h"
#include "runtime/emission.h"
#include "runtime/explain.h"
#include "runtime/host_path.h"
#include "runtime/link_watch.h"
#include "runtime/metrics.h"
#include "runtime/placement.h"
#include "runtime/port_changes.h"
#include "runtime/port_reopener.h"
#include "runtime/port_slot.h"
#include "runtime/quiesce.h"
#include "runtime/reload.h"
#include "runtime/show_pipeline.h"
#include "runtime/started.h"
#include "runtime/statistics.h"

namespace penumbra::runtime {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kMostPorts = 1024;

std::vector<std::string> names_of(std::span<const PortInfo> ports) {
  std::vector<std::string> names(ports.size());
  std::transform(ports.begin(), ports.end(), names.begin(), [](const PortInfo& port) { return port.name; });
  return names;
}

/// Lets tables and packets lie near the workers. Returns the workers' nodes.
std::vector<int> take_memory_near(std::span<const unsigned> cores) {
  std::vector<int> nodes = nodes_of(cores);
  take_memory_of(nodes);
  return nodes;
}

}  // namespace

struct Router::Parts {
  Parts(const control::RouterConfig& config, const OpenPorts& open_ports);

  std::vector<std::unique_ptr<Worker>> make_workers();
  Statistics statistics() const;  ///< Requires `layout_mutex`.
  Statistics current_statistics() const;
  nlohmann::ordered_json show(std::string_view topic, std::span<const std::string> arguments) const;
  std::vector<std::string> topics() const;

  const std::vector<unsigned> cores;
  const std::chrono::nanoseconds longest_sleep;
  const std::vector<int> nodes;       ///< NUMA nodes of the workers; memory that is taken from then on is there.
  std::vector<std::string> warnings;  ///< About the configuration and this machine.
  QsbrGracePeriods grace_periods;
  control::netlink::NetlinkFeed feed;
  const std::vector<PortInfo> configured_ports;  ///< Functions may refer to these until bind().
  Pipeline pipeline;
  Tracer tracer;
  Captures captures;
  mutable std::mutex functions_mutex;  ///< Serializes show() and changes of functions.
  Reloader reloader;
  Explainer explainer;
  std::unique_ptr<ControlServer> server;
  io::PacketPool packet_pool;                    ///< Memory of created packets; null: no function creates any.
  std::vector<std::shared_ptr<void>> memory;     ///< Memory of packets; freed after all ports are closed.
  std::vector<std::unique_ptr<io::Port>> ports;  ///< PortSlots.
  std::unique_ptr<HostPath> host;                ///< Null: no port has a twin.
  std::unique_ptr<Handover> handover;            ///< Null: no function hands packets over.
  std::vector<std::unique_ptr<Worker>> workers;
  Quiesce quiesce;
  std::atomic<bool> has_ports{true};
  std::mutex changing;                     ///< Held while ports are changed.
  mutable std::shared_mutex layout_mutex;  ///< Held shared to read ports, exclusively to change them.
  std::unique_ptr<PortReopener> reopener;
  std::unique_ptr<PortChanges> port_changes;
  std::atomic<bool> stop{false};
  std::atomic<bool> ran{false};
  std::atomic<Clock::rep> began{0}, ended{0};  ///< Times of the run; 0: not yet.
  std::atomic<std::uint64_t> round{0};         ///< The grace period that ends when all workers have looped.
  std::vector<std::vector<io::DeviceLoss>> device_losses;
  std::unique_ptr<MetricsServer> metrics;  ///< Destroyed before its sources.
};

Router::Parts::Parts(const control::RouterConfig& config, const OpenPorts& open_ports)
    : cores(config.cores),
      longest_sleep(config.sleep),
      nodes(take_memory_near(cores)),
      warnings(config.warnings),
      grace_periods(static_cast<std::uint32_t>(config.cores.size() + 1)),  // The workers and `explain`.
      feed(twins(config.ports), config.fpm, [](const auto& line) { log_info(line); }),
      configured_ports(port_infos(config.ports)),
      pipeline(config.pipeline, configured_ports, grace_periods, &feed,
               static_cast<std::uint16_t>(config.cores.size())),
      tracer(pipeline, names_of(configured_ports)),
      captures(pipeline, names_of(configured_ports), static_cast<std::uint16_t>(cores.size()), grace_periods),
      reloader(config, pipeline, functions_mutex),
      explainer(pipeline, [this](const auto& action) {
        const QsbrGracePeriods::Reader reader(grace_periods, static_cast<std::uint32_t>(cores.size()));
        action();
      }) {
  std::ranges::move(placement_warnings(config.ports, cores), std::back_inserter(warnings));
  pipeline.check_punts(config.punts);
  check_sockets(config.control);
  if (!config.control.socket.empty()) server = std::make_unique<ControlServer>(config.control);
  if (config.metrics.wanted()) metrics = std::make_unique<MetricsServer>(config.metrics);
  const auto worker_count = static_cast<std::uint16_t>(cores.size());
  std::ranges::move(io::port_warnings(config.ports), std::back_inserter(warnings));
  std::vector<control::PortConfig> port_configs = config.ports;
  for (control::PortConfig& port : port_configs) port.held_packets = pipeline.most_held();
  io::start_eal(port_configs, worker_count);
  ports.reserve(kMostPorts);  // The reservation prevents reallocation, so that readers' references stay valid.
  has_ports = !config.ports.empty();
  std::vector<PortInfo> infos;
  for (auto& port : open_ports(port_configs, worker_count)) {
    infos.push_back(port->info());
    memory.push_back(port->memory());
    ports.push_back(std::make_unique<PortSlot>(config.ports[ports.size()], std::move(port), worker_count));
  }
  pipeline.bind(infos);
  if (std::ranges::any_of(pipeline.stages(), [](const auto& stage) { return stage.info->hands_over; })) {
    handover = std::make_unique<Handover>(worker_count);
  }
  if (std::ranges::any_of(pipeline.stages(), [](const auto& stage) { return stage.info->creates_packets; })) {
    packet_pool = io::create_pool(io::created_pool_size(config.ports, worker_count, Emissions::kCapacity), nodes[0]);
  }
  const auto has_twin = [](const auto& port) { return !port.twin.empty(); };
  if (std::ranges::any_of(config.ports, has_twin)) host = std::make_unique<HostPath>(config, ports, pipeline);
  workers = make_workers();
  if (handover != nullptr) {
    for (const auto& port : ports) set_flow_workers(*handover, *port, workers);
  }
  const PortLayout layout{.ports = ports,
                          .memory = memory,
                          .workers = workers,
                          .pipeline = pipeline,
                          .host = host,
                          .handover = handover.get(),
                          .quiesce = quiesce,
                          .changing = changing,
                          .mutex = layout_mutex};
  reopener = std::make_unique<PortReopener>(layout);
  port_changes = std::make_unique<PortChanges>(PortChanges::Parts{.layout = layout,
                                                                  .open_ports = open_ports,
                                                                  .feed = feed,
                                                                  .tracer = tracer,
                                                                  .captures = captures,
                                                                  .has_ports = has_ports});
  reloader.use(*port_changes);
}

/// Makes the workers with their receive queues, which are spread evenly, near the cards if possible.
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
                      .workers = workers_wanted,
                      .pool = packet_pool.get(),
                      .pipeline = pipeline,
                      .grace_periods = grace_periods,
                      .tracer = tracer,
                      .captures = captures,
                      .quiesce = quiesce,
                      .has_ports = has_ports,
                      .handover = handover.get()};
    for (const auto& port : ports) setup.transmit.push_back(&port->tx_queue(i));
    setups.push_back(std::move(setup));
  }
  std::size_t queues = 0;
  for (const auto& port : ports) queues += port->rx_queues();
  QueuePlacement placement(nodes, queues);
  std::vector<std::uint16_t>
      host_workers;  // By port: a worker that has a queue of the port, so that the worker lasts as long as the port.
  for (const auto& port : ports) {
    host_workers.push_back(0);
    const int node = io::node_of(dynamic_cast<const PortSlot&>(*port).config());
    for (std::uint16_t queue = 0; queue < port->rx_queues(); ++queue) {
      const std::uint16_t worker = placement.place(node);
      if (queue == 0) host_workers.back() = worker;
      setups[worker].receive.push_back({&port->rx_queue(queue), port->info().index, queue});
    }
  }
  std::vector<std::unique_ptr<Worker>> made;
  made.reserve(setups.size());
  for (auto& setup : setups) made.push_back(std::make_unique<Worker>(std::move(setup)));
  for (std::uint16_t i = 0; handover != nullptr && i < workers_wanted; ++i) {
    handover->set_doorbell(i, made[i]->doorbell());
  }
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

Statistics Router::Parts::current_statistics() const {
  const std::shared_lock lock(layout_mutex);
  return statistics();
}

nlohmann::ordered_json Router::Parts::show(std::string_view topic, std::span<const std::string> arguments) const {
  const std::lock_guard lock(functions_mutex);
  const std::shared_lock layout(layout_mutex);
  if (topic == "ports" && arguments.size() == 1) {
    std::vector<std::string> names;
    for (const auto& port : ports) {
      if (port->info().removed) continue;
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
  std::vector<std::string> names{"ports", "workers", "functions", "drops", "engines", "config"};
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
    parts_->metrics->start({.workers = parts_->workers,
                            .ports = parts_->ports,
                            .pipeline = parts_->pipeline,
                            .statistics = [this] { return parts_->statistics(); },
                            .mutex = parts_->layout_mutex});
  }
}

/// Serves the control socket. Earlier clients wait.
void Router::serve() {
  if (parts_->server == nullptr) return;
  const auto answer = [this](std::string_view command, std::string_view topic, Arguments arguments) {
    if (command == "show") return show(topic, arguments);
    if (command == "trace") return trace(topic, arguments);
    if (command == "explain") return explain(topic, arguments);
    if (command == "reload") return reload(topic, arguments);
    if (command == "config") return configure(topic, arguments);
    if (!topic_of(command).empty()) return change(std::string(command), topic, arguments);
    throw std::invalid_argument(
        fmt::format("unknown command '{}'; there are show, trace, capture, explain, reload and config, and those of "
                    "functions: {}",
                    command, fmt::join(command_names(), ", ")));
  };
  const auto capture = [this](std::string_view what, Arguments arguments, FileDescriptor& connection) {
    const std::shared_lock lock(parts_->layout_mutex);
    parts_->captures.start(what, arguments, connection);
  };
  parts_->server->start(
      {.handle = answer,
       .stream = {.command = "capture", .start = capture},
       .is_privileged = [](const ControlRequest& request) { return needs_full_access(request.command, request.topic); },
       .audit = log_info});
}

std::vector<std::string> Router::warnings() const {
  std::vector<std::string> all = parts_->warnings;
  std::ranges::copy(parts_->pipeline.warnings(), std::back_inserter(all));
  if (parts_->host != nullptr) std::ranges::copy(parts_->host->warnings(), std::back_inserter(all));
  return all;
}

std::vector<std::pair<std::string, std::string>> Router::engines() const {
  std::vector<std::pair<std::string, std::string>> pairs;
  for (const auto& stage : parts_->pipeline.stages()) {
    if (!stage.shaders.empty()) pairs.emplace_back(stage.name, stage.engine_names());
  }
  return pairs;
}

std::map<std::string, std::vector<EngineCalibration>> Router::calibrations() const {
  return parts_->pipeline.calibrations();
}

void Router::load_calibrations(const std::map<std::string, std::vector<EngineCalibration>>& calibrations) {
  parts_->pipeline.load_calibrations(calibrations);
}

Router::~Router() {
  if (parts_->server != nullptr) parts_->server->stop();
  parts_->reloader.stop();
}

void Router::run(const RunLimits& limits, const std::function<void(const Statistics&)>& tick) {
  constexpr std::chrono::milliseconds kTick{100};
  Parts& parts = *parts_;
  if (parts.ran.exchange(true)) throw std::logic_error("a router runs once");
  // The ports start last, because starting truncates their files.
  const StartedFeed following(parts.feed);
  const StartedPorts started(parts.ports);
  LinkWatch links(parts.ports);
  PacketQuota quota(limits.packets);
  RollCall roll(static_cast<unsigned>(parts.workers.size()));
  StartedHost host(parts.host);
  StartedReopener reopener(*parts.reopener);
  const EndChangesAtExit end_changes{parts.reloader};
  serve();  // a client with an answer may send packets, and a port that starts discards earlier packets
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
  tick(parts.current_statistics());
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
    {
      const std::shared_lock lock(parts.layout_mutex);
      links.look(parts.ports, parts.pipeline);
    }
    tick(parts.current_statistics());
    next_tick = std::max(next_tick + kTick, now);
  }
  threads.clear();
  parts.reloader.stop();
  reopener.stop();
  host.stop();
  parts.captures.finish();
  parts.ended.store(roll.ended().time_since_epoch().count());
  // The losses are read now, because stopping may reset a device's counters.
  {
    const std::shared_lock lock(parts.layout_mutex);
    for (const auto& port : parts.ports) parts.device_losses.push_back(port->device_losses());
  }
  tick(parts.current_statistics());
}

void Router::stop() noexcept {
  parts_->stop.store(true, std::memory_order_relaxed);
}

Statistics Router::statistics() const {
  return parts_->current_statistics();
}

bool Router::workers_came_round() {
  if (!parts_->grace_periods.elapsed(parts_->round.load(), false)) return false;
  parts_->round.store(parts_->grace_periods.start());
  return true;
}

std::vector<std::string> Router::failures() const {
  std::vector<std::string> failures;
  const std::shared_lock lock(parts_->layout_mutex);
  for (const auto& port : parts_->ports) {
    if (std::string failure = port->failure(); !failure.empty()) failures.push_back(std::move(failure));
  }
  return failures;
}

const std::vector<std::vector<io::DeviceLoss>>& Router::device_losses() const {
  return parts_->device_losses;
}

nlohmann::ordered_json Router::show(std::string_view topic, std::span<const std::string> arguments) const {
  if (topic == "config") return parts_->reloader.configure("show", arguments);
  return parts_->show(topic, arguments);
}

nlohmann::ordered_json Router::trace(std::string_view action, std::span<const std::string> arguments) {
  const std::shared_lock lock(parts_->layout_mutex);
  return parts_->tracer.command(action, arguments);
}

nlohmann::ordered_json Router::explain(std::string_view port, std::span<const std::string> arguments) {
  const std::lock_guard lock(parts_->functions_mutex);
  const std::shared_lock layout(parts_->layout_mutex);
  std::vector<ExplainedPort> ports;
  for (const auto& each : parts_->ports) {
    const auto& slot = static_cast<const PortSlot&>(*each);
    ports.push_back({.info = slot.info(), .twin = slot.config().twin, .has_device = slot.has_device()});
  }
  return parts_->explainer.command(ports, port, arguments);
}

nlohmann::ordered_json Router::reload(std::string_view action, std::span<const std::string> arguments) {
  return parts_->reloader.command(action, arguments);
}

nlohmann::ordered_json Router::reconfigure(const control::RouterConfig& next, bool apply) {
  return parts_->reloader.take_over(next, apply);
}

std::vector<std::string> Router::port_names() const {
  const std::shared_lock lock(parts_->layout_mutex);
  std::vector<std::string> names;
  for (const auto& port : parts_->ports) names.push_back(port->info().name);
  return names;
}

nlohmann::ordered_json Router::configure(std::string_view action, std::span<const std::string> arguments) {
  return parts_->reloader.configure(action, arguments);
}

nlohmann::ordered_json Router::change(const std::string& command, std::string_view action,
                                      std::span<const std::string> arguments) {
  if (action == "show") return show(topic_of(command), arguments);
  return parts_->reloader.change(command, action, arguments);
}

Function& Router::function(std::size_t stage) {
  return *parts_->pipeline.stages().at(stage).function;
}

}  // namespace penumbra::runtime
