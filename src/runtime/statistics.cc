// SPDX-License-Identifier: Apache-2.0
#include "runtime/statistics.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/numa.h"
#include "io/packet_pool.h"
#include "runtime/port_slot.h"

namespace penumbra::runtime {
namespace {

/// Returns a ratio with two decimals, or 0 if `whole` is 0.
double ratio(std::uint64_t part, std::uint64_t whole) {
  constexpr double kHundredths = 100;
  if (whole == 0) return 0;
  return std::round(static_cast<double>(part) / static_cast<double>(whole) * kHundredths) / kHundredths;
}

void add(Traffic& sum, const QueueCounters& queue) {
  sum.packets += queue.packets.get();
  sum.bytes += queue.bytes.get();
}

/// Returns the number of packets that functions of a worker hold. Reads effects before causes (see Counter).
std::uint64_t held_by(const WorkerCounters& counters) {
  const std::uint64_t absorbed = counters.absorbed.get(), released = counters.released.get();
  return counters.held.get() - released - absorbed;
}

void add_steps(Statistics& statistics, Workers workers, const Pipeline& pipeline) {
  const auto names = step_names(pipeline);
  for (std::size_t step = 0; step < names.size(); ++step) {
    if (names[step].empty()) continue;
    StepCost cost{.step = names[step]};
    for (const auto& worker : workers) {
      const StepCounters& counters = worker->counters().steps[step];
      cost.cycles += counters.cycles.get();
      cost.packets += counters.packets.get();
      cost.chunks += counters.chunks.get();
    }
    statistics.steps.push_back(std::move(cost));
  }
}

/// Sums the traffic of one port over all workers.
struct PortTraffic {
  Traffic received, sent;
  Traffic from_host;
  io::Loss ring_loss;  ///< Received, but dropped by software RSS.
  io::Loss unsent;     ///< Accepted by transmit queues but lost, like `unwritten`; `sent` includes neither.
  io::Loss unwritten;
};

void add(io::Loss& sum, const io::Loss& more) {
  sum = {sum.packets + more.packets, sum.bytes + more.bytes};
}

/// Subtracts a loss. A transmit queue may report the loss before the worker has counted its burst.
void take_off(Traffic& sent, const io::Loss& lost) {
  sent.packets -= std::min(sent.packets, lost.packets);
  sent.bytes -= std::min(sent.bytes, lost.bytes);
}

/// Reads losses and sent packets.
void add_sent(std::vector<PortTraffic>& traffic, Workers workers, Ports ports) {
  for (std::size_t port = 0; port < ports.size(); ++port) {
    traffic[port].ring_loss = ports[port]->ring_loss();
    const auto worker_count = static_cast<std::uint16_t>(workers.size());
    for (std::uint16_t worker = 0; worker < worker_count; ++worker) {
      add(traffic[port].unsent, ports[port]->tx_queue(worker).unsent());
      add(traffic[port].unwritten, ports[port]->tx_queue(worker).unwritten());
    }
    for (const auto& worker : workers) add(traffic[port].sent, worker->counters().sent[port]);
    take_off(traffic[port].sent, traffic[port].unsent);
    take_off(traffic[port].sent, traffic[port].unwritten);
  }
}

/// Reads received packets. Call after add_sent(), because effects are read before causes (see Counter).
void add_received(std::vector<PortTraffic>& traffic, Workers workers, Ports ports) {
  for (const auto& worker : workers) {
    for (std::size_t i = 0; i < worker->receive_queues().size(); ++i) {
      add(traffic[worker->receive_queues()[i].port].received, worker->counters().received[i]);
    }
  }
  for (std::size_t port = 0; port < ports.size(); ++port) {
    for (const auto& worker : workers) add(traffic[port].from_host, worker->counters().from_host[port]);
  }
  for (auto& port : traffic) {
    port.received.packets += port.ring_loss.packets;
    port.received.bytes += port.ring_loss.bytes;
  }
}

void add(Traffic& sum, const Traffic& more) {
  sum.packets += more.packets;
  sum.bytes += more.bytes;
}

std::vector<std::string> queue_names(const Worker& worker, Ports ports) {
  std::vector<std::string> names;
  for (const auto& queue : worker.receive_queues()) {
    names.push_back(fmt::format("{}:{}", ports[queue.port]->info().name, queue.index));
  }
  return names;
}

}  // namespace

std::vector<std::string> step_names(const Pipeline& pipeline) {
  std::vector<std::string> names{"receive"};
  for (const auto& stage : pipeline.stages()) {
    names.push_back(stage.name + ".pre");
    names.push_back(stage.shaders.empty() ? "" : stage.name + ".shade");
    names.push_back(stage.name + ".post");
  }
  names.emplace_back("send");
  return names;
}

Statistics sum(Workers workers, Ports ports, const Pipeline& pipeline, const HostPath* host) {
  constexpr auto kHostLost = static_cast<std::size_t>(RuntimeReason::host_lost);
  Statistics statistics;
  // Reads the losses of the host path's thread, then the reasons, then kept and received packets (see Counter). A
  // packet that leaves a function's hands in between is thus counted as in flight.
  std::vector<std::uint64_t> lost(pipeline.reasons().size());
  for (std::size_t i = 0; host != nullptr && i < lost.size(); ++i) lost[i] = host->lost(i);
  std::vector<std::uint64_t> reasons;
  std::uint64_t all_lost = 0;
  for (std::size_t i = 0; i < pipeline.reasons().size(); ++i) {
    std::uint64_t packets = 0;
    for (const auto& worker : workers) packets += worker->counters().reason(i).get();
    reasons.push_back(packets - std::min(packets, lost[i]));
    all_lost += packets - reasons.back();
  }
  reasons[kHostLost] += all_lost;
  std::vector<PortTraffic> traffic(ports.size());
  add_sent(traffic, workers, ports);
  for (const auto& worker : workers) {
    statistics.absorbed += worker->counters().absorbed.get();
    statistics.held += held_by(worker->counters());
  }
  add_received(traffic, workers, ports);
  for (const auto& port : traffic) {
    reasons[static_cast<std::size_t>(RuntimeReason::rss_ring_full)] += port.ring_loss.packets;
    reasons[static_cast<std::size_t>(RuntimeReason::tx_full)] += port.unsent.packets;
    reasons[static_cast<std::size_t>(RuntimeReason::sink_failed)] += port.unwritten.packets;
    statistics.received_by_port.push_back(port.received);
    statistics.sent_by_port.push_back(port.sent);
    add(statistics.received, port.received);
    add(statistics.sent, port.sent);
    statistics.from_host_by_port.push_back(port.from_host);
    add(statistics.from_host, port.from_host);
  }
  for (const auto& worker : workers) {
    statistics.replicated += worker->counters().replicated.get();
    statistics.created += worker->counters().created.get();
  }
  for (std::size_t i = 0; i < reasons.size(); ++i) {
    const auto& [stage, reason] = pipeline.reasons()[i];
    (reason.kind == Verdict::Kind::punt ? statistics.punted : statistics.dropped) += reasons[i];
    statistics.reasons.push_back({.stage = stage, .reason = reason.name, .kind = reason.kind, .packets = reasons[i]});
  }
  add_steps(statistics, workers, pipeline);
  return statistics;
}

nlohmann::ordered_json show_ports(Workers workers, Ports ports, const HostPath* host) {
  std::vector<PortTraffic> traffic(ports.size());
  add_sent(traffic, workers, ports);
  add_received(traffic, workers, ports);
  auto table = nlohmann::ordered_json::array();
  for (std::size_t i = 0; i < ports.size(); ++i) {
    const PortInfo& info = ports[i]->info();
    if (info.removed) continue;
    nlohmann::ordered_json row{{"name", info.name}};
    row.update(ports[i]->show());
    if (const int node = io::node_of(dynamic_cast<const PortSlot&>(*ports[i]).config()); node >= 0) {
      row["numa_node"] = node;
    }
    row.update({{"mac", to_string(info.mac)},
                {"mtu", info.mtu},
                {"rx_queues", ports[i]->rx_queues()},
                {"rx_packets", traffic[i].received.packets},
                {"rx_bytes", traffic[i].received.bytes},
                {"tx_packets", traffic[i].sent.packets},
                {"tx_bytes", traffic[i].sent.bytes}});
    if (host != nullptr && host->has_twin(info.index)) {
      row.update(host->show(info.index));
      row["from_host_packets"] = traffic[i].from_host.packets;
      row["from_host_bytes"] = traffic[i].from_host.bytes;
    }
    for (const auto& [what, packets] : ports[i]->device_losses()) row[what] = packets;
    table.push_back(std::move(row));
  }
  return table;
}

nlohmann::ordered_json show_queues(Workers workers, const io::Port& port) {
  auto table = nlohmann::ordered_json::array();
  for (std::size_t worker = 0; worker < workers.size(); ++worker) {
    const auto& queues = workers[worker]->receive_queues();
    const auto& counters = workers[worker]->counters();
    const std::uint16_t index = port.info().index;
    for (std::size_t i = 0; i < queues.size(); ++i) {
      if (queues[i].port != index) continue;
      table.push_back({{"direction", "rx"},
                       {"queue", queues[i].index},
                       {"worker", worker},
                       {"packets", counters.received[i].packets.get()},
                       {"bytes", counters.received[i].bytes.get()}});
    }
    table.push_back({{"direction", "tx"},
                     {"queue", worker},
                     {"worker", worker},
                     {"packets", counters.sent[index].packets.get()},
                     {"bytes", counters.sent[index].bytes.get()}});
  }
  return table;
}

nlohmann::ordered_json show_workers(Workers workers, Ports ports, const Pipeline& pipeline) {
  const auto names = step_names(pipeline);
  auto table = nlohmann::ordered_json::array();
  for (std::size_t i = 0; i < workers.size(); ++i) {
    const Worker& worker = *workers[i];
    const auto& steps = worker.counters().steps;
    const SleepCounters& asleep = worker.counters().asleep;
    const std::uint64_t packets = steps[kReceiveStep].packets.get();
    nlohmann::ordered_json cycles{{"all", 0}}, bursts;
    std::uint64_t busy = 0;
    for (std::size_t step = 0; step < names.size(); ++step) {
      const std::uint64_t spent = steps[step].cycles.get();
      busy += spent;
      if (names[step].empty()) continue;
      cycles[names[step]] = ratio(spent, packets);
      bursts[names[step]] = ratio(steps[step].packets.get(), steps[step].chunks.get());
    }
    cycles["all"] = ratio(busy, packets);
    const std::uint64_t all = worker.cycles(), chunks = steps[kReceiveStep].chunks.get();
    const int node = node_of_core(worker.core());
    table.push_back(
        {{"worker", i},
         {"core", worker.core()},
         {"numa_node", node < 0 ? nlohmann::ordered_json() : nlohmann::ordered_json(node)},
         {"rx_queues", queue_names(worker, ports)},
         {"packets", packets},
         {"replicated", worker.counters().replicated.get()},
         {"burst", ratio(packets, chunks)},
         {"busy", ratio(busy, all)},
         {"asleep", ratio(asleep.cycles.get(), all)},
         {"sleeps", asleep.sleeps.get()},
         {"created", worker.counters().created.get()},
         {"absorbed", worker.counters().absorbed.get()},
         {"held", held_by(worker.counters())},
         {"cycles_per_packet", std::move(cycles)},
         {"packets_per_chunk", std::move(bursts)},
         {"counters",
          {{"chunks", chunks}, {"busy_cycles", busy}, {"asleep_cycles", asleep.cycles.get()}, {"cycles", all}}}});
  }
  return table;
}

nlohmann::ordered_json show_functions(Workers workers, const Pipeline& pipeline) {
  static constexpr std::array<const char*, kStepsPerStage> kSteps{"pre", "shade", "post"};
  auto table = nlohmann::ordered_json::array();
  for (std::size_t i = 0; i < pipeline.stages().size(); ++i) {
    const Stage& stage = pipeline.stages()[i];
    const auto sum_of = [&](std::size_t step, Counter StepCounters::* counter) {
      std::uint64_t sum = 0;
      for (const auto& worker : workers) sum += (worker->counters().steps[step_of_stage(i) + step].*counter).get();
      return sum;
    };
    const std::uint64_t packets = sum_of(0, &StepCounters::packets), chunks = sum_of(0, &StepCounters::chunks);
    nlohmann::ordered_json cycles{{"all", 0}};
    std::uint64_t busy = 0;
    for (std::size_t step = 0; step < kSteps.size(); ++step) {
      const std::uint64_t spent = sum_of(step, &StepCounters::cycles);
      busy += spent;
      cycles[kSteps[step]] = ratio(spent, packets);
    }
    cycles["all"] = ratio(busy, packets);
    auto topics = nlohmann::ordered_json::array();
    for (const auto& topic : stage.info->topics) topics.push_back(topic.name);
    auto go_to = nlohmann::ordered_json::array();
    for (const auto& [reason, to] : stage.go_to) {
      go_to.push_back(fmt::format("{}: {}", reason, pipeline.stages()[to].name));
    }
    table.push_back({{"stage", stage.name},
                     {"function", stage.info->name},
                     {"engine", stage.engine_names()},
                     {"shader", stage.shader_names()},
                     {"packets", packets},
                     {"burst", ratio(packets, chunks)},
                     {"cycles_per_packet", std::move(cycles)},
                     {"counters", {{"chunks", chunks}, {"busy_cycles", busy}}},
                     {"topics", std::move(topics)},
                     {"go_to", std::move(go_to)},
                     {"summary", stage.info->summary}});
  }
  return table;
}

nlohmann::ordered_json show_drops(const Statistics& statistics, const Pipeline& pipeline, bool with_zeros) {
  auto table = nlohmann::ordered_json::array();
  for (std::size_t i = 0; i < statistics.reasons.size(); ++i) {
    const auto& count = statistics.reasons[i];
    if (count.packets == 0 && !with_zeros) continue;
    table.push_back({{"stage", count.stage},
                     {"reason", count.reason},
                     {"kind", count.kind == Verdict::Kind::punt ? "punt" : "drop"},
                     {"packets", count.packets},
                     {"help", pipeline.reasons()[i].reason.help}});
  }
  return table;
}

}  // namespace penumbra::runtime
