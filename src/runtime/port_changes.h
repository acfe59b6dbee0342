// SPDX-License-Identifier: Apache-2.0
//
// Executes a plan for the ports of a running router (runtime/port_plan.h).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "control/netlink/feed.h"
#include "runtime/capture.h"
#include "runtime/port_plan.h"
#include "runtime/port_reopener.h"
#include "runtime/router.h"
#include "runtime/trace.h"

namespace penumbra::runtime {

class PortChanges {
 public:
  struct Parts {
    PortLayout layout;
    OpenPorts open_ports;
    control::netlink::NetlinkFeed& feed;
    Tracer& tracer;
    Captures& captures;
    std::atomic<bool>& has_ports;
  };
  explicit PortChanges(Parts parts) : parts_(std::move(parts)) {}

  /// Returns the current ports, by place.
  std::vector<PlacedPort> ports() const;

  /// Opens new devices, then changes everything while the workers are stopped, and then closes removed devices.
  ///
  /// Throws InputError if a device or a twin cannot be opened, std::runtime_error, or the exception of a function that
  /// cannot have these ports. If it throws, no port, twin or function has changed.
  ///
  /// A device that needs another MTU is closed before it is opened again, because most devices can be open only once.
  /// Meanwhile, packets for its port are dropped. After an error, the device is reopened with its previous settings. If
  /// that fails too, the port keeps its place and settings, and the PortReopener continues the attempts.
  void apply(const PortPlan& plan);

 private:
  /// Holds a device that is open and started.
  struct Opened {
    std::unique_ptr<io::Port> port;
    std::unique_ptr<io::QuietInterface> quiet;  ///< Null: the port has no twin or no interface.
  };
  /// Holds an opened port that is not in its place yet.
  struct Arrival {
    std::uint16_t place = 0;
    std::unique_ptr<io::Port> port;  ///< Null: the place has a device already.
    std::unique_ptr<PortSlot> slot;  ///< Null: the place exists.
    std::unique_ptr<io::QuietInterface> quiet;
    HostPath::NewTwin twin;
  };
  struct Arrivals {
    /// Path to the host for the first twin; null: the router has one, or there is no twin.
    std::unique_ptr<HostPath> host;
    std::vector<Arrival> each;
  };
  /// Holds a removed device, which is destroyed after the workers have resumed.
  struct Departure {
    std::uint16_t place = 0;
    std::unique_ptr<io::Port> port;
  };

  Opened open(const control::PortConfig& config) const;
  Arrivals open_arrivals(const PortPlan& plan) const;
  std::unique_ptr<HostPath> make_host(const control::RouterConfig& placed) const;
  std::vector<std::uint16_t> close_reopened(const PortPlan& plan) const;
  void give_back(std::uint16_t place) const noexcept;
  io::Reopen reopen_of(const control::PortConfig& config) const;
  std::vector<PortInfo> infos_after(const PortPlan& plan, const Arrivals& arrivals) const;
  void exchange(const PortPlan& plan, Arrivals& arrivals, std::vector<Departure>& departures,
                std::vector<HostPath::NewTwin>& twins);
  void put_in_place(const PortPlan& plan, Arrival& arrival);
  void connect_workers(PortSlot& slot);
  std::uint16_t host_worker(std::uint16_t place) const;
  PortSlot& slot(std::uint16_t place) const { return parts_.layout.slot(place); }

  Parts parts_;
};

}  // namespace penumbra::runtime
