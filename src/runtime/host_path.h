// SPDX-License-Identifier: Apache-2.0
//
// Implements the slow path. Punted packets go to the host's network stack through the twin of their port. Packets that
// the host sends into a twin leave by its port. A separate thread talks to the kernel; workers reach it through rings.
// (PacketShader, section 4.2: packets that are not forwarded are passed to the Linux TCP/IP stack.)
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <list>
#include <memory>
#include <mutex>
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
#include "control/netlink/addresses.h"
#include "io/capture_writer.h"
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

  /// Creates the configured twins for open ports, brings them up and gives them the ports' addresses. Throws InputError
  /// at the port's place.
  HostPath(const control::RouterConfig& config, Ports ports, const Pipeline& pipeline);
  HostPath(const HostPath&) = delete;
  HostPath& operator=(const HostPath&) = delete;
  ~HostPath();

  /// Sets the worker that sends the host's packets for a port, and its doorbell. Call before start().
  void serve(std::uint16_t port, std::uint16_t worker, Doorbell& doorbell);
  /// start() and stop() control the thread. Call stop() after the workers have ended; it returns when all punted
  /// packets are written.
  void start();
  void stop() noexcept;

  // The following functions are for changes of ports.
  /// Keeps the thread from accessing ports and twins while the lock is held.
  std::unique_lock<std::mutex> rest();
  struct Twin;
  using NewTwin = std::list<Twin>;  ///< One element or none.
  /// Creates the twin of a port, with `info` as the port's future properties. Takes over `quiet`, which keeps the host
  /// off the port's interface. Call without the lock. Throws InputError at the port's place.
  NewTwin prepare(const control::PortConfig& config, const io::Port& port, const PortInfo& info,
                  std::unique_ptr<io::QuietInterface> quiet);
  /// Allocates memory for the packets of `ports`, whose MTUs may be larger. Call without the lock. Throws
  /// std::runtime_error if there is no memory.
  void make_room(std::span<const control::PortConfig> ports);
  // The following functions require the lock of rest() and stopped workers.
  /// Adds a port.
  void add_port() { twin_of_port_.push_back(nullptr); }
  /// Adds a prepared twin. The other parameters are those of serve().
  void add(NewTwin twin, std::uint16_t worker, Doorbell& doorbell);
  /// Removes a port's twin and returns it. Destroying the result deletes the interface.
  NewTwin remove(std::uint16_t port);
  /// Makes the thread check the ports' addresses.
  void look_again() { addresses_wanted_ = true; }
  /// Updates the twin for a port's new device. `quiet` is the result of keep_off() for the device.
  void renew(const io::Port& port, std::unique_ptr<io::QuietInterface> quiet);
  // The following function needs no lock.
  /// Keeps the host's stack off the interface of a device that is not started yet; otherwise host and twin would both
  /// answer. Returns null for a port without a twin or an interface.
  static std::unique_ptr<io::QuietInterface> keep_off(const control::PortConfig& config, const io::Port& port);

  // The following functions are for workers.
  bool has_twin(std::uint16_t port) const noexcept { return twin_of_port_[port] != nullptr; }
  /// Takes a packet that was punted for `reason` and came from `port`, which must have a twin. `now` is the time stamp
  /// counter. Returns the verdict: a punt if the packet was taken, or a drop (over the limit, no room), and then the
  /// caller keeps the packet.
  Verdict punt(std::uint16_t worker, std::uint16_t port, std::uint16_t reason, rte_mbuf* packet,
               std::uint64_t now) noexcept;
  /// Wakes the thread. Call after the punts of a chunk.
  void wake() noexcept { doorbell_.ring(); }
  /// Takes at most `count` packets that the host sends. Each packet's mbuf names the output port.
  std::uint16_t take(std::uint16_t worker, rte_mbuf** packets, std::uint16_t count) noexcept {
    return from_host_[worker].take(packets, count);
  }
  /// Returns true if the packet is longer than its port permits. The host's administrator may have changed the twin's
  /// MTU.
  bool is_too_long(const rte_mbuf& packet) const noexcept;

  // Any thread may call the following functions.
  /// Returns the number of punted packets with this reason that the host did not accept. Final after stop().
  std::uint64_t lost(std::size_t reason) const noexcept { return lost_[reason].get(); }
  /// Returns messages about settings that the user must make.
  const std::vector<std::string>& warnings() const { return warnings_; }
  /// Returns {"twin": NAME, "twin_up": BOOL}, or {} for a port without a twin.
  nlohmann::ordered_json show(std::uint16_t port) const;

 private:
  using Clock = std::chrono::steady_clock;

  void add_twin(const control::PortConfig& config, const io::Port& port);
  void create(Twin& twin, const PortInfo& info);
  static void bring_up(Twin& twin);
  void run() noexcept;
  bool write_punted() noexcept;
  bool read_twins() noexcept;
  bool read_from(Twin& twin) noexcept;
  void deliver(rte_mbuf& packet) noexcept;
  void look_after_twins() noexcept;
  void give_addresses(Twin& twin);
  static void follow_device(Twin& twin);
  void sleep() noexcept;

  std::mutex mutex_;                 ///< The thread holds it except during sleeps.
  std::atomic<unsigned> wanted_{0};  ///< Number of waiting rest() calls, to which the thread yields.
  std::list<Twin> twins_;
  std::vector<Twin*> twin_of_port_;
  const std::uint16_t workers_;
  io::PoolSize room_;
  std::vector<io::PacketPool> earlier_pools_;  ///< Their packets may still be in flight.
  io::PacketPool pool_;  ///< For packets from the host. Declared before the rings, which return packets to it.
  std::vector<io::PacketRing> to_host_, from_host_;  ///< By worker.
  std::deque<RateLimiter> limits_;                   ///< By reason.
  std::vector<std::uint16_t> over_limit_;            ///< By reason of a punt: the reason of the drop over its limit.
  std::vector<Counter> lost_;                        ///< By reason.
  std::vector<std::string> warnings_;
  FileDescriptor poll_;
  control::netlink::AddressReconciler addresses_;
  bool addresses_wanted_ = false;  ///< The ports' addresses may have changed.
  Doorbell doorbell_;
  std::vector<std::uint8_t> chain_ = std::vector<std::uint8_t>(io::kMostFrameBytes);  ///< A punted packet's bytes.
  bool blocked_ = false;  ///< There is no room for the host's packets.
  std::atomic<bool> stopping_{false};
  Clock::time_point looked_after_;
  std::jthread thread_;
};

/// Declared here for the lists of twins.
struct HostPath::Twin {
  const io::Port* port = nullptr;
  std::string name;
  std::uint16_t worker = 0;
  Doorbell* doorbell = nullptr;  ///< The worker's.
  std::optional<io::Tap> tap;    ///< None: the interface was deleted and cannot be created at the moment.
  std::chrono::steady_clock::time_point created;
  std::atomic<bool> up{false};
  bool was_lost = false;                             ///< The interface was deleted and is not up again.
  std::string failure;                               ///< Error of the last failed creation.
  std::unique_ptr<io::QuietInterface> quiet;         ///< Null: the port has no interface.
  std::vector<control::netlink::HostAddress> given;  ///< Addresses that this program has added.
  std::string refusal;                               ///< Error that prevents some of the port's addresses.
  bool renewed = false;                              ///< The port's MAC address or MTU may have changed.
};

}  // namespace penumbra::runtime
