// SPDX-License-Identifier: Apache-2.0
//
// Defines parts of a run. They start in the constructor and stop in the destructor, however the run ends.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <vector>

#include "control/netlink/feed.h"
#include "runtime/host_path.h"
#include "runtime/port_reopener.h"
#include "runtime/reload.h"

namespace penumbra::runtime {

/// Starts all ports, or none of them. Also stops the ports that other objects added and started later.
class StartedPorts {
 public:
  using List = std::vector<std::unique_ptr<io::Port>>;

  explicit StartedPorts(const List& ports) : ports_(ports) {
    std::size_t started = 0;
    try {
      for (; started < ports_.size(); ++started) ports_[started]->start();
    } catch (...) {
      stop(started);
      throw;
    }
  }
  StartedPorts(const StartedPorts&) = delete;
  StartedPorts& operator=(const StartedPorts&) = delete;
  ~StartedPorts() { stop(ports_.size()); }

 private:
  void stop(std::size_t count) noexcept {
    for (; count > 0; --count) ports_[count - 1]->stop();
  }
  const List& ports_;
};

/// Fills the tables before packets arrive, and follows changes during the run.
class StartedFeed {
 public:
  explicit StartedFeed(control::netlink::NetlinkFeed& feed) : feed_(feed) { feed_.start(); }
  StartedFeed(const StartedFeed&) = delete;
  StartedFeed& operator=(const StartedFeed&) = delete;
  ~StartedFeed() { feed_.stop(); }

 private:
  control::netlink::NetlinkFeed& feed_;
};

/// Stops the host path's thread before the ports that it uses stop.
class StartedHost {
 public:
  explicit StartedHost(std::unique_ptr<HostPath>& host) : host_(host) {
    if (host_ != nullptr) host_->start();
  }
  StartedHost(const StartedHost&) = delete;
  StartedHost& operator=(const StartedHost&) = delete;
  ~StartedHost() { stop(); }

  void stop() noexcept {
    if (host_ != nullptr) host_->stop();
  }

 private:
  std::unique_ptr<HostPath>& host_;  ///< Null: no port has a twin so far.
};

/// Reopens the ports' devices during the run.
class StartedReopener {
 public:
  explicit StartedReopener(PortReopener& reopener) : reopener_(reopener) { reopener_.start(); }
  StartedReopener(const StartedReopener&) = delete;
  StartedReopener& operator=(const StartedReopener&) = delete;
  ~StartedReopener() { stop(); }

  void stop() noexcept { reopener_.stop(); }

 private:
  PortReopener& reopener_;
};

/// Ends changes before the objects that they change stop.
struct EndChangesAtExit {
  Reloader& reloader;
  ~EndChangesAtExit() { reloader.stop(); }
};

/// Stops the workers before their threads are joined, however a run ends.
struct StopAtExit {
  std::atomic<bool>& stop;
  ~StopAtExit() { stop.store(true, std::memory_order_relaxed); }
};

}  // namespace penumbra::runtime
