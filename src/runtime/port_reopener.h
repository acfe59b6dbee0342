// SPDX-License-Identifier: Apache-2.0
//
// Keeps the devices of ports: one whose interface goes away and comes back (a container that is started again) is
// opened again under the running router.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <shared_mutex>
#include <span>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "runtime/host_path.h"
#include "runtime/pipeline.h"
#include "runtime/port_slot.h"
#include "runtime/quiesce.h"
#include "runtime/worker.h"

namespace penumbra::runtime {

/// The ports of a running router with everything that has to change with them.
struct PortLayout {
  using Workers = std::vector<std::unique_ptr<Worker>>;

  std::vector<std::unique_ptr<io::Port>>& ports;  ///< PortSlots
  /// io::Port::memory() of the ports that are there, and of ports that are gone while packets may be in it.
  std::vector<std::shared_ptr<void>>& memory;
  const Workers& workers;
  Pipeline& pipeline;
  std::unique_ptr<HostPath>& host;  ///< null: no port has a twin
  Quiesce& quiesce;
  std::mutex& changing;      ///< held by who makes changes, while it prepares them too
  std::shared_mutex& mutex;  ///< held shared by whoever looks at ports, exclusively here

  PortSlot& slot(std::size_t index) const { return static_cast<PortSlot&>(*ports[index]); }
  /// What functions are told of all ports. One that is removed has no name any more.
  std::vector<PortInfo> infos() const;
  /// Frees the memory of ports that are gone once all packets have come back to it. Call with `changing` held.
  void free_unused_memory() const;
  /// Makes a change while no worker works, nobody looks and the host's thread rests.
  void change(const std::function<void()>& change) const;
  // With `changing` held:
  /// Takes devices out of these places, which have some, and closes them.
  void close(std::span<const std::uint16_t> places) const;
  /// Puts a device that is open and started into a place whose device is gone. Throws what a function throws that
  /// cannot have it, with nothing changed.
  void put_back(PortSlot& slot, std::unique_ptr<io::Port> port, std::unique_ptr<io::QuietInterface> quiet) const;
  /// Keeps a port's memory until free_unused_memory(). Within a change.
  void keep_memory(std::shared_ptr<void> of_port) const;
};

class PortReopener {
 public:
  /// What is in the layout outlives this.
  explicit PortReopener(PortLayout layout) : layout_(layout) {}

  /// Between the two a thread looks after the ports.
  void start();
  void stop() noexcept;

 private:
  using Clock = std::chrono::steady_clock;
  struct Absent {
    Clock::time_point next_attempt;
    std::string problem;  ///< of the last attempt
  };

  void run(const std::stop_token& stop) noexcept;
  void look_after(PortSlot& slot);
  void open(PortSlot& slot);

  PortLayout layout_;
  std::map<PortSlot*, Absent> absent_;  ///< by thread
  std::mutex mutex_;
  std::condition_variable_any waiting_;
  std::jthread thread_;
};

}  // namespace penumbra::runtime
