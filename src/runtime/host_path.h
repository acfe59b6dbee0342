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

  /// Creates the twins that the configuration wants, for ports that are open, brings them up and gives them the ports'
  /// addresses. Throws InputError at the port's place.
  HostPath(const control::RouterConfig& config, Ports ports, const Pipeline& pipeline);
  HostPath(const HostPath&) = delete;
  HostPath& operator=(const HostPath&) = delete;
  ~HostPath();

  /// Which worker takes what the host sends out of a port, and how to wake it. Before start().
  void serve(std::uint16_t port, std::uint16_t worker, Doorbell& doorbell);
  /// Between the two the thread runs. stop() returns when everything that was punted is written; the workers have left.
  void start();
  void stop() noexcept;

  // For whoever changes ports:
  /// Keeps the thread from looking at ports and twins for as long as the lock is held.
  std::unique_lock<std::mutex> rest();
  struct Twin;
  using NewTwin = std::list<Twin>;  ///< one, or none
  /// Creates the twin of a port that will be known as `port`, with what `info` says of it, and takes over what keeps
  /// the host off its interface. Throws InputError at the port's place. Without the lock.
  NewTwin prepare(const control::PortConfig& config, const io::Port& port, const PortInfo& info,
                  std::unique_ptr<io::QuietInterface> quiet);
  /// Makes room for the packets of these ports, whose MTUs may be larger. Throws std::runtime_error without memory.
  /// Without the lock.
  void make_room(std::span<const control::PortConfig> ports);
  // With the lock of rest(), while the workers stand still:
  /// There is one more port.
  void add_port() { twin_of_port_.push_back(nullptr); }
  /// Takes over a twin that was prepared. As for serve().
  void add(NewTwin twin, std::uint16_t worker, Doorbell& doorbell);
  /// Gives away a port's twin: it goes when that is destroyed.
  NewTwin remove(std::uint16_t port);
  /// Ports may have other addresses.
  void look_again() { addresses_wanted_ = true; }
  /// The port has another device, from whose interface the host was kept off (keep_off()).
  void renew(const io::Port& port, std::unique_ptr<io::QuietInterface> quiet);
  // In whatever state:
  /// Keeps the host's stack off the interface of a device that is not started yet: it would answer what the twin
  /// answers. Returns null for a port without a twin or an interface.
  static std::unique_ptr<io::QuietInterface> keep_off(const control::PortConfig& config, const io::Port& port);

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

  std::mutex mutex_;                 ///< the thread holds it while it does not sleep
  std::atomic<unsigned> wanted_{0};  ///< who waits for rest(): the thread lets them go first
  std::list<Twin> twins_;
  std::vector<Twin*> twin_of_port_;
  const std::uint16_t workers_;
  io::PoolSize room_;
  std::vector<io::PacketPool> earlier_pools_;        ///< packets of theirs may be in flight
  io::PacketPool pool_;                              ///< of what the host sends; before the rings, which give back
  std::vector<io::PacketRing> to_host_, from_host_;  ///< by worker
  std::deque<RateLimiter> limits_;                   ///< by reason
  std::vector<std::uint16_t> over_limit_;            ///< by reason of a punt: the drop in its place
  std::vector<Counter> lost_;                        ///< by reason
  std::vector<std::string> warnings_;
  FileDescriptor poll_;
  control::netlink::AddressReconciler addresses_;
  bool addresses_wanted_ = false;  ///< ports may have others
  Doorbell doorbell_;
  bool blocked_ = false;  ///< there is no room for what the host sends
  std::atomic<bool> stopping_{false};
  Clock::time_point looked_after_;
  std::jthread thread_;
};

/// Declared here for the lists of them.
struct HostPath::Twin {
  const io::Port* port = nullptr;
  std::string name;
  std::uint16_t worker = 0;
  Doorbell* doorbell = nullptr;  ///< the worker's
  std::optional<io::Tap> tap;    ///< none: it was deleted and cannot be made anew yet
  std::chrono::steady_clock::time_point created;
  std::atomic<bool> up{false};
  bool was_lost = false;                             ///< it was deleted and is not up again
  std::string failure;                               ///< why it could not be made the last time that this failed
  std::unique_ptr<io::QuietInterface> quiet;         ///< null: the port has no interface
  std::vector<control::netlink::HostAddress> given;  ///< addresses that it has of this program
  std::string refusal;                               ///< why it lacks some of its port's
  bool renewed = false;                              ///< its port's MAC address or MTU may be another
};

}  // namespace penumbra::runtime
