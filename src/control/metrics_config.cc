// SPDX-License-Identifier: Apache-2.0
#include "control/metrics_config.h"

namespace penumbra::control {

MetricsConfig read_metrics(const ConfigNode& node) {
  if (!node.present()) return {};
  node.require_map({"listen"});
  return {.listen = read_listen(node.at("listen"))};
}

}  // namespace penumbra::control
