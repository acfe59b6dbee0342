// SPDX-License-Identifier: Apache-2.0
#include "runtime/metrics.h"

#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>
#include <rte_version.h>
#include <sys/socket.h>

#include <chrono>
#include <optional>
#include <utility>

#include "runtime/port_slot.h"

namespace penumbra::runtime {
namespace {

using Labels = std::vector<prometheus::ClientMetric::Label>;

/// Collects metric families in the order of their first use.
class Families {
 public:
  void count(const char* name, const char* help, Labels labels, std::uint64_t value) {
    prometheus::ClientMetric metric;
    metric.label = std::move(labels);
    metric.counter.value = static_cast<double>(value);
    family(name, help, prometheus::MetricType::Counter).metric.push_back(std::move(metric));
  }
  void gauge(const char* name, const char* help, Labels labels, double value) {
    prometheus::ClientMetric metric;
    metric.label = std::move(labels);
    metric.gauge.value = value;
    family(name, help, prometheus::MetricType::Gauge).metric.push_back(std::move(metric));
  }
  std::vector<prometheus::MetricFamily> take() { return std::move(families_); }

 private:
  prometheus::MetricFamily& family(const char* name, const char* help, prometheus::MetricType type) {
    for (auto& each : families_) {
      if (each.name == name) return each;
    }
    return families_.emplace_back(prometheus::MetricFamily{name, help, type, {}});
  }

  std::vector<prometheus::MetricFamily> families_;
};

void add_ports(const MetricsSource& source, const Statistics& statistics, Families& families) {
  for (std::size_t i = 0; i < source.ports.size(); ++i) {
    if (source.ports[i]->info().removed) continue;
    const Labels port{{"port", source.ports[i]->info().name}};
    const Traffic &received = statistics.received_by_port[i], &sent = statistics.sent_by_port[i],
                  &from_host = statistics.from_host_by_port[i];
    families.count("penumbra_port_received_packets_total", "Packets received on the port", port, received.packets);
    families.count("penumbra_port_received_bytes_total", "Bytes of frames received, without FCS", port, received.bytes);
    families.count("penumbra_port_sent_packets_total", "Packets sent out of the port", port, sent.packets);
    families.count("penumbra_port_sent_bytes_total", "Bytes of frames sent, without FCS", port, sent.bytes);
    families.count("penumbra_port_from_host_packets_total", "Packets that the host gave to be sent, by the port's twin",
                   port, from_host.packets);
    families.count("penumbra_port_from_host_bytes_total", "Bytes of frames that the host gave to be sent", port,
                   from_host.bytes);
    if (const auto* slot = dynamic_cast<const PortSlot*>(source.ports[i].get()); slot != nullptr) {
      families.count("penumbra_port_reopened_total", "How often the port's interface came back after it was gone", port,
                     slot->reopened());
    }
    for (const auto& [what, packets] : source.ports[i]->device_losses()) {
      families.count("penumbra_port_lost_packets_total", "Packets that the port's device lost, by its own count",
                     {{"port", source.ports[i]->info().name}, {"reason", what}}, packets);
    }
  }
}

void add_queue(const std::string& direction, const std::string& port, std::size_t queue, std::size_t worker,
               const QueueCounters& counters, Families& families) {
  const Labels labels{
      {"direction", direction}, {"port", port}, {"queue", std::to_string(queue)}, {"worker", std::to_string(worker)}};
  families.count("penumbra_queue_packets_total", "Packets that a worker received from or gave to a port's queue",
                 labels, counters.packets.get());
  families.count("penumbra_queue_bytes_total", "Bytes of their frames, without FCS", labels, counters.bytes.get());
}

void add_queues(const MetricsSource& source, Families& families) {
  for (std::size_t worker = 0; worker < source.workers.size(); ++worker) {
    const auto& counters = source.workers[worker]->counters();
    const auto& queues = source.workers[worker]->receive_queues();
    for (std::size_t i = 0; i < queues.size(); ++i) {
      const PortInfo& info = source.ports[queues[i].port]->info();
      if (!info.removed) add_queue("rx", info.name, queues[i].index, worker, counters.received[i], families);
    }
    for (std::size_t port = 0; port < source.ports.size(); ++port) {
      const PortInfo& info = source.ports[port]->info();
      if (!info.removed) add_queue("tx", info.name, worker, worker, counters.sent[port], families);
    }
  }
}

void add_reasons(const Statistics& statistics, Families& families) {
  for (const auto& [stage, reason, kind, packets] : statistics.reasons) {
    const Labels labels{{"stage", stage}, {"reason", reason}};
    if (kind == Verdict::Kind::punt) {
      families.count("penumbra_punted_packets_total", "Packets given to the host, by reason", labels, packets);
    } else {
      families.count("penumbra_dropped_packets_total", "Packets dropped, by reason", labels, packets);
    }
  }
}

void add_other_packets(const Statistics& statistics, Families& families) {
  families.count("penumbra_replicated_packets_total",
                 "Copies made of packets that leave by several ports, the packets themselves not counted", {},
                 statistics.replicated);
  families.count("penumbra_created_packets_total", "Packets that functions made", {}, statistics.created);
  families.count("penumbra_absorbed_packets_total", "Packets that became part of packets that functions made", {},
                 statistics.absorbed);
  families.gauge("penumbra_held_packets", "Packets that functions keep", {}, static_cast<double>(statistics.held));
}

void add_functions(const MetricsSource& source, Families& families) {
  for (const auto& stage : source.pipeline.stages()) {
    for (const FunctionMetric& metric : stage.function->metrics()) {
      Labels labels{{"stage", stage.name}};
      for (const auto& [name, value] : metric.labels) labels.push_back({name, value});
      const std::string name = "penumbra_" + metric.name;
      if (metric.kind == FunctionMetric::Kind::counter) {
        families.count((name + "_total").c_str(), metric.help.c_str(), std::move(labels), metric.value);
      } else {
        families.gauge(name.c_str(), metric.help.c_str(), std::move(labels), static_cast<double>(metric.value));
      }
    }
  }
}

void add_workers(const MetricsSource& source, Families& families) {
  const auto names = step_names(source.pipeline);
  for (std::size_t i = 0; i < source.workers.size(); ++i) {
    const Worker& worker = *source.workers[i];
    const std::string number = std::to_string(i);
    families.count("penumbra_worker_cycles_total", "Time stamp counter cycles since the worker began",
                   {{"worker", number}, {"core", std::to_string(worker.core())}}, worker.cycles());
    for (std::size_t step = 0; step < names.size(); ++step) {
      if (names[step].empty()) continue;
      const Labels labels{{"worker", number}, {"step", names[step]}};
      const StepCounters& counters = worker.counters().steps[step];
      families.count("penumbra_worker_step_cycles_total", "Cycles spent in a step of the way", labels,
                     counters.cycles.get());
      families.count("penumbra_worker_step_packets_total", "Packets that went through a step", labels,
                     counters.packets.get());
      families.count("penumbra_worker_step_chunks_total",
                     "Chunks that went through a step; packets by chunks is the burst size", labels,
                     counters.chunks.get());
    }
  }
}

void add_run(const MetricsSource& source, const Statistics& statistics, Families& families) {
  families.gauge("penumbra_build_info", "What the router is made of",
                 {{"version", PENUMBRA_VERSION}, {"dpdk", rte_version()}}, 1);
  for (const auto& stage : source.pipeline.stages()) {
    families.gauge("penumbra_stage_info", "The functions of the pipeline, and the engines that run their shaders",
                   {{"stage", stage.name},
                    {"function", stage.info->name},
                    {"engine", stage.engine_names()},
                    {"shader", stage.shader_names()}},
                   1);
  }
  families.gauge("penumbra_run_seconds", "How long the workers have been running", {},
                 std::chrono::duration<double>(statistics.elapsed).count());
  families.gauge("penumbra_tsc_hertz", "Cycles of the time stamp counter in a second", {}, statistics.tsc_hz);
}

}  // namespace

std::vector<prometheus::MetricFamily> collect_metrics(const MetricsSource& source) {
  const std::shared_lock lock(source.mutex);
  const Statistics statistics = source.statistics();
  Families families;
  add_run(source, statistics, families);
  add_ports(source, statistics, families);
  add_queues(source, families);
  add_reasons(statistics, families);
  add_other_packets(statistics, families);
  add_functions(source, families);
  add_workers(source, families);
  return families.take();
}

MetricsServer::MetricsServer(const control::MetricsConfig& config)
    : server_(control::listen_at(config.listen, "metrics", SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK)) {}

void MetricsServer::start(MetricsSource source) {
  server_.start([source = std::move(source)](const std::string& path) -> std::optional<HttpPage> {
    if (path != "/metrics") return std::nullopt;
    return HttpPage{.content_type = "text/plain; version=0.0.4; charset=utf-8",
                    .body = prometheus::TextSerializer().Serialize(collect_metrics(source))};
  });
}

}  // namespace penumbra::runtime
