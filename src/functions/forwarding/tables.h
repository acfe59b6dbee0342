// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "functions/forwarding/configuration.h"
#include "functions/forwarding/family.h"
#include "functions/forwarding/feed_listener.h"
#include "functions/forwarding/fib.h"
#include "penumbra/function.h"
#include "penumbra/route_feed.h"

namespace penumbra::forwarding {

/// Holds the forwarding table of a function and the sources of its entries. Control threads take turns. Workers only
/// read through `fib`.
template <ForwardingFamily Family>
struct Tables {
  Tables(std::span<const PortInfo> of_ports, GracePeriods& grace_periods, std::size_t lookup)
      : ports(of_ports.begin(), of_ports.end()), fib(of_ports, grace_periods, lookup) {}

  /// Returns the request for a route feed with the routes of `from`, whose ports may be removed or renamed.
  FeedRequest request_of(const Configuration<Family>& from) const {
    return to_request(from, [this](const std::string& port) { return fib.last_index_of(port); });
  }

  std::vector<PortInfo> ports;
  Fib<Family> fib;
  FeedListener<Family> listener{fib};
  Configuration<Family> configuration;              ///< as last read
  std::unique_ptr<RouteSubscription> subscription;  ///< null if only the configuration's routes are used
};

}  // namespace penumbra::forwarding
