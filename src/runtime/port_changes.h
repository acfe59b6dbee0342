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

  /// Opens what is new, then changes everything between two packets, and closes what is removed. Throws InputError if a
  /// device or a twin cannot be had, std::runtime_error, or what a function throws that cannot have these ports.
  ///
  /// If it throws, no port, twin or function has changed. A device that takes another MTU is closed before it is opened
  /// with that, as most can be open only once; its port's packets are dropped meanwhile. After an error it is opened
  /// again as it was. Where that fails too, its port keeps its place and settings, and the PortReopener goes on trying.
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
    std::unique_ptr<PortSlot> slot;  ///< For a new place.
    std::unique_ptr<io::QuietInterface> quiet;
    HostPath::NewTwin twin;
  };
  struct Arrivals {
    std::unique_ptr<HostPath> host;  ///< for the first twin; null: there is one, or there is no twin
    std::vector<Arrival> each;
  };
  /// What goes, to be destroyed when the workers work again.
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
