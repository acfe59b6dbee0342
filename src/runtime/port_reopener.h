// SPDX-License-Identifier: Apache-2.0
//
// Reopens devices of ports during the run when their interface disappears and returns, as with a restarted container.
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

#include "runtime/handover.h"
#include "runtime/host_path.h"
#include "runtime/pipeline.h"
#include "runtime/port_slot.h"
#include "runtime/quiesce.h"
#include "runtime/worker.h"

namespace penumbra::runtime {

/// Refers to the ports of a running router and all parts that change together with them.
struct PortLayout {
  using Workers = std::vector<std::unique_ptr<Worker>>;

  std::vector<std::unique_ptr<io::Port>>& ports;  ///< PortSlots.
  /// io::Port::memory() of the current ports, and of removed ports whose memory may still hold packets.
  std::vector<std::shared_ptr<void>>& memory;
  const Workers& workers;
  Pipeline& pipeline;
  std::unique_ptr<HostPath>& host;  ///< Null: no port has a twin.
  Handover* handover = nullptr;     ///< Null: no function hands packets over.
  Quiesce& quiesce;
  std::mutex& changing;      ///< Held during changes and their preparation.
  std::shared_mutex& mutex;  ///< Held shared to read ports, exclusively during change().

  PortSlot& slot(std::size_t index) const { return static_cast<PortSlot&>(*ports[index]); }
  /// Returns the information that functions get about all ports. A removed port has no name.
  std::vector<PortInfo> infos() const;
  /// Frees the memory of removed ports after all its packets have been returned. Call with `changing` held.
  void free_unused_memory() const;
  /// Makes a change while all workers are stopped, no thread reads the ports and the host path's thread rests.
  void change(const std::function<void()>& change) const;
  // With `changing` held:
  /// Takes the devices out of `places`, each of which has one, and closes them.
  void close(std::span<const std::uint16_t> places) const;
  /// Puts an open and started device into a place without a device. Throws the exception of a function that cannot have
  /// the port; then nothing has changed.
  void put_back(PortSlot& slot, std::unique_ptr<io::Port> port, std::unique_ptr<io::QuietInterface> quiet) const;
  /// Keeps a port's memory until free_unused_memory(). Call within change().
  void keep_memory(std::shared_ptr<void> of_port) const;
};

class PortReopener {
 public:
  /// The objects of `layout` must outlive this object.
  explicit PortReopener(PortLayout layout) : layout_(layout) {}

  /// start() and stop() control the thread that checks the ports.
  void start();
  void stop() noexcept;

 private:
  using Clock = std::chrono::steady_clock;
  struct Absent {
    Clock::time_point next_attempt;
    std::string problem;  ///< Error of the last attempt.
  };

  void run(const std::stop_token& stop) noexcept;
  void look_after(PortSlot& slot);
  void open(PortSlot& slot);

  PortLayout layout_;
  std::map<PortSlot*, Absent> absent_;  ///< Used by the thread only.
  std::mutex mutex_;
  std::condition_variable_any waiting_;
  std::jthread thread_;
};

}  // namespace penumbra::runtime
