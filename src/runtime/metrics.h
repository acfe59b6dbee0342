// SPDX-License-Identifier: Apache-2.0
//
// `metrics: {listen: ...}`: the router's counters for Prometheus, by HTTP under /metrics. It reads counters as `show`
// does, in threads of its own; workers do not notice.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "control/metrics_config.h"
#include "runtime/statistics.h"

namespace prometheus {
struct MetricFamily;
}

namespace penumbra::runtime {

/// What the metrics are made of. All of it outlives their server.
struct MetricsSource {
  Workers workers;
  Ports ports;
  const Pipeline& pipeline;
  std::function<Statistics()> statistics;
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
  ~MetricsServer();

  /// Answers from now on; before, nothing is found there.
  void start(MetricsSource source);

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace penumbra::runtime
