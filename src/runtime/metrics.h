// SPDX-License-Identifier: Apache-2.0
//
// `metrics: {listen: ...}`: the router's counters for Prometheus, by HTTP under /metrics. It reads counters as `show`
// does, in a thread of its own; workers do not notice.
#pragma once

#include <functional>
#include <memory>
#include <shared_mutex>
#include <vector>

#include "control/metrics_config.h"
#include "runtime/http_server.h"
#include "runtime/statistics.h"

namespace prometheus {
struct MetricFamily;
}

namespace penumbra::runtime {

/// What the metrics are made of. All of it outlives their server.
struct MetricsSource {
  Workers workers;
  const std::vector<std::unique_ptr<io::Port>>& ports;
  const Pipeline& pipeline;
  std::function<Statistics()> statistics;  ///< with the mutex held
  std::shared_mutex& mutex;                ///< held shared while ports are looked at
};

/// This moment's metrics. Counters end in `_total` and are cumulative; units are packets, bytes, cycles, seconds.
std::vector<prometheus::MetricFamily> collect_metrics(const MetricsSource& source);

class MetricsServer {
 public:
  /// Listens. Throws InputError at the address's place with the reason.
  explicit MetricsServer(const control::MetricsConfig& config);
  MetricsServer(const MetricsServer&) = delete;
  MetricsServer& operator=(const MetricsServer&) = delete;
  /// Once this returns, nothing is being read.
  ~MetricsServer() = default;

  /// Answers from now on; before, who asks waits.
  void start(MetricsSource source);

 private:
  HttpServer server_;
};

}  // namespace penumbra::runtime
