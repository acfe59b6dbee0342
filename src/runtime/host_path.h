// SPDX-License-Identifier: Apache-2.0
//
// The slow path: what functions punt goes to the host's network stack by way of the twin of the port that it came from,
// and what the host sends into a twin goes out of its port. A thread of its own talks to the kernel; workers reach it
// through rings. (PacketShader, section 4.2: what is not forwarded is passed to the Linux TCP/IP stack.)
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "base/doorbell.h"
#include "base/file_descriptor.h"
#include "base/rate_limiter.h"
#include "control/config.h"
#include "io/packet_pool.h"
#include "io/packet_ring.h"
#include "io/port.h"
#include "io/quiet_interface.h"
#include "io/tap.h"
#include "penumbra/chunk.h"
#include "runtime/counters.h"
#include "runtime/pipeline.h"

namespace penumbra::runtime {

class HostPath {
 public:
  using Ports = std::span<const std::unique_ptr<io::Port>>;

  /// Creates the twins that the configuration wants, for ports that are open, and brings them up. Throws InputError at
  /// the port's place.
  HostPath(const control::RouterConfig& config, Ports ports, const Pipeline& pipeline);
  HostPath(const HostPath&) = delete;
  HostPath& operator=(const HostPath&) = delete;
  ~HostPath();

  /// Which worker takes what the host sends out of a port, and how to wake it. Before start().
  void serve(std::uint16_t port, std::uint16_t worker, Doorbell& doorbell);
  /// Between the two the thread runs. stop() returns when everything that was punted is written; the workers have left.
  void start();
  void stop() noexcept;

  // For workers:
  bool has_twin(std::uint16_t port) const noexcept { return twin_of_port_[port] != nullptr; }
  /// Takes over a packet that is punted for `reason` and came from `port`, which has a twin. `now` is in ticks of the
  /// time stamp counter. Returns the verdict: the same if so, else a drop (over the limit, no room), and the packet
  /// stays the caller's.
  Verdict punt(std::uint16_t worker, std::uint16_t port, std::uint16_t reason, rte_mbuf* packet,
               std::uint64_t now) noexcept;
  /// After the punts of a chunk: the thread may be asleep.
  void wake() noexcept { doorbell_.ring(); }
  /// What the host sends, at most `count`; each packet's mbuf says out of which port.
  std::uint16_t take(std::uint16_t worker, rte_mbuf** packets, std::uint16_t count) noexcept {
    return from_host_[worker].take(packets, count);
  }
  /// Whether that is longer than its port sends: the host's administrator may have given the twin another MTU.
  bool is_too_long(const rte_mbuf& packet) const noexcept;

  // For anybody:
  /// Punted packets of that reason that the host did not take. Final after stop().
  std::uint64_t lost(std::size_t reason) const noexcept { return lost_[reason].get(); }
  /// What somebody has to set by hand, in words.
  const std::vector<std::string>& warnings() const { return warnings_; }
  /// {"twin": NAME, "twin_up": BOOL}, or {} for a port without.
  nlohmann::ordered_json show(std::uint16_t port) const;

 private:
  using Clock = std::chrono::steady_clock;

  struct Twin {
    const io::Port* port = nullptr;
    std::string name;
    std::uint16_t worker = 0;
    Doorbell* doorbell = nullptr;  ///< the worker's
    std::optional<io::Tap> tap;    ///< none: it was deleted and cannot be made anew yet
    Clock::time_point created;
    std::atomic<bool> up{false};
    std::optional<io::QuietInterface> quiet;
  };

  void add_twin(const control::PortConfig& config, const io::Port& port);
  void create(Twin& twin);
  static void bring_up(Twin& twin);
  void run() noexcept;
  bool write_punted() noexcept;
  bool read_twins() noexcept;
  bool read_from(Twin& twin) noexcept;
  void deliver(rte_mbuf& packet) noexcept;
  void look_after_twins() noexcept;
  void sleep() noexcept;

  std::deque<Twin> twins_;
  std::vector<Twin*> twin_of_port_;
  io::PacketPool pool_;                              ///< of what the host sends; before the rings, which give back
  std::vector<io::PacketRing> to_host_, from_host_;  ///< by worker
  std::deque<RateLimiter> limits_;                   ///< by reason
  std::vector<std::uint16_t> over_limit_;            ///< by reason of a punt: the drop in its place
  std::vector<Counter> lost_;                        ///< by reason
  std::vector<std::string> warnings_;
  FileDescriptor poll_;
  Doorbell doorbell_;
  bool blocked_ = false;  ///< there is no room for what the host sends
  std::atomic<bool> stopping_{false};
  Clock::time_point looked_after_;
  std::jthread thread_;
};

}  // namespace penumbra::runtime
