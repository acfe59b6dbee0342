// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <string>
#include <vector>

#include "base/log.h"
#include "runtime/pipeline.h"
#include "runtime/statistics.h"

namespace penumbra::runtime {

/// Logs changes of the ports' links, and notifies the functions of links that went down.
class LinkWatch {
 public:
  /// Logs the links that are down. Construct before the control socket opens, so that no thread can change the ports.
  explicit LinkWatch(Ports ports) {
    for (const auto& port : ports) {
      was_up_.push_back(port->link_up());
      if (!was_up_.back()) log_down(*port);
    }
  }

  /// Logs changes since the last call. The caller must hold the ports' mutex, at least shared.
  void look(Ports ports, Pipeline& pipeline) {
    for (std::size_t i = 0; i < ports.size(); ++i) {
      if (i == was_up_.size()) was_up_.push_back(true);
      const io::Port& port = *ports[i];
      if (port.info().removed) continue;
      const bool is_up = port.link_up();
      if (was_up_[i] && !is_up) {
        pipeline.link_down(port.info().index);
        log_down(port);
      } else if (!was_up_[i] && is_up) {
        log_info(fmt::format("port '{}': link up", port.info().name));
      }
      was_up_[i] = is_up;
    }
  }

 private:
  static void log_down(const io::Port& port) {
    const std::string why = port.why_down();
    log_warning(fmt::format("port '{}': link down{}{}", port.info().name, why.empty() ? "" : ": ", why));
  }

  std::vector<bool> was_up_;
};

}  // namespace penumbra::runtime
