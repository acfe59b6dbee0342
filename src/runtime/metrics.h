// SPDX-License-Identifier: Apache-2.0
//
// Implements `metrics: {listen: ...}`: serves the router's counters to Prometheus by HTTP under /metrics. A separate
// thread reads the counters as `show` does, without disturbing workers.
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

/// Holds the sources of the metrics. They must outlive the server.
struct MetricsSource {
  Workers workers;
  const std::vector<std::unique_ptr<io::Port>>& ports;
  const Pipeline& pipeline;
  std::function<Statistics()> statistics;  ///< Called with the mutex held.
  std::shared_mutex& mutex;                ///< Held shared while the ports are read.
};

/// Returns the current metrics. Counters end in `_total` and are cumulative. Units are packets, bytes, cycles and
/// seconds.
std::vector<prometheus::MetricFamily> collect_metrics(const MetricsSource& source);

class MetricsServer {
 public:
  /// Starts to listen. Throws InputError at the address's place with the reason.
  explicit MetricsServer(const control::MetricsConfig& config);
  MetricsServer(const MetricsServer&) = delete;
  MetricsServer& operator=(const MetricsServer&) = delete;
  /// The sources are not read after the return.
  ~MetricsServer() = default;

  /// Starts to serve. Earlier clients wait.
  void start(MetricsSource source);

 private:
  HttpServer server_;
};

}  // namespace penumbra::runtime
