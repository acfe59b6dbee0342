// SPDX-License-Identifier: Apache-2.0
//
// Ports as workers see them: private receive and transmit queues. Behind them a DPDK ethdev or a built-in source and
// sink; a worker cannot tell.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

#include "control/port_config.h"
#include "penumbra/function.h"

struct rte_mbuf;

namespace penumbra::io {

/// Packets that were lost inside a port.
struct Loss {
  std::uint64_t packets = 0;
  std::uint64_t bytes = 0;  ///< frames without FCS
};

/// Packets that a device lost, by its own count: the runtime counts them neither as received nor, if they were to be
/// sent, as anything but sent.
struct DeviceLoss {
  std::string what;  ///< as a key of `show ports`
  std::uint64_t packets = 0;
};

/// A receive queue: used by one worker.
class RxQueue {
 public:
  RxQueue() = default;
  RxQueue(const RxQueue&) = delete;
  RxQueue& operator=(const RxQueue&) = delete;
  virtual ~RxQueue() = default;

  /// Up to `capacity` packets, the caller's from then on; never waits. All of them came from one port.
  virtual std::uint16_t receive(rte_mbuf** packets, std::uint16_t capacity) noexcept = 0;
  /// How many packets receive() has taken from the device for other workers and lost because their rings were full. In
  /// each call they count against `capacity` too. By its worker.
  virtual std::uint64_t lost() const noexcept { return 0; }
  /// Ends receiving: nothing more is taken from the port's device. What software RSS took before and holds for a queue
  /// still comes out of it. Called by the queue's worker; it concerns the whole port.
  virtual void drain() noexcept = 0;
  /// No packet will come any more: a finite source has given its last one, or drain() was called and nothing is held
  /// back for this queue, nor can another queue's worker still put something there. Once true it stays true.
  virtual bool exhausted() const noexcept = 0;

  /// What becomes readable, by an edge, when a packet comes while it is armed; none where the driver has no RX
  /// interrupt, which is so for packets that another worker passes on, too. Of a started port.
  virtual std::vector<int> interrupts() const { return {}; }
  /// Switches the interrupts on or off. A packet that came before raises none. By its worker.
  virtual void arm(bool /*on*/) noexcept {}
};

/// A transmit queue: used by one worker.
class TxQueue {
 public:
  TxQueue() = default;
  TxQueue(const TxQueue&) = delete;
  TxQueue& operator=(const TxQueue&) = delete;
  virtual ~TxQueue() = default;

  /// Hands over packets; returns how many were taken, always the first ones. Built-in sinks take all.
  virtual std::uint16_t send(rte_mbuf** packets, std::uint16_t count) noexcept = 0;
  /// Writes out what it holds back. When the worker has nothing to do, not per burst.
  virtual void write_out() noexcept {}
  /// The same at the end of a run.
  virtual void close() noexcept = 0;
  /// Whether there is a device to take packets. Without one send() takes none, and the runtime drops as `port_gone`. By
  /// its worker.
  virtual bool is_open() const noexcept { return true; }
  /// What send() took and the device never did. Any thread; final when every worker's queue is closed. The runtime
  /// takes it off what it counted as sent and adds it to its drop `tx_full`.
  virtual Loss unsent() const noexcept { return {}; }
  /// What send() took and could not write, because the sink's file has failed (the disk was full, say). Likewise, but
  /// to the drop `sink_failed`.
  virtual Loss unwritten() const noexcept { return {}; }
};

class Port;
/// Opens a port's device once more, as it was opened before: a port that is stopped. Throws std::runtime_error.
using Reopen = std::function<std::unique_ptr<Port>()>;

/// A port that is open. Created stopped; the queues may be used between start() and stop().
class Port {
 public:
  Port() = default;
  Port(const Port&) = delete;
  Port& operator=(const Port&) = delete;
  virtual ~Port() = default;

  virtual const PortInfo& info() const = 0;  ///< with the MAC address and MTU in force
  virtual std::uint16_t rx_queues() const = 0;
  virtual RxQueue& rx_queue(std::uint16_t queue) = 0;
  virtual TxQueue& tx_queue(std::uint16_t worker) = 0;
  /// Until then nothing has been done that cannot be undone: what a sink's file holds goes here.
  virtual void start() = 0;
  /// Frees what is still held back (after a packet limit, say).
  virtual void stop() noexcept = 0;
  /// Packets that software RSS took from a device and dropped because the ring of the worker they belong to was full.
  /// Any thread; 0 where there is no software RSS. The runtime counts them as received and as dropped: rss_ring_full.
  virtual Loss ring_loss() const noexcept = 0;
  /// Everything that the device can lose, with what it has lost so far (missed, no mbuf, errors). Any thread. A port
  /// without a device has none.
  virtual std::vector<DeviceLoss> device_losses() const { return {}; }
  /// Whether packets can come and go: there is a cable, a peer. Any thread.
  virtual bool link_up() const noexcept { return true; }
  /// Why the link is down and what to do, in words; empty if the device does not say. Any thread.
  virtual std::string why_down() const { return ""; }
  /// Whether its device went away, for good: a Linux interface was deleted, or another one has its name. One thread at
  /// a time.
  virtual bool is_lost() const noexcept { return false; }
  /// How to open it again after this port is destroyed; null for a device that does not go and come.
  virtual Reopen reopen() const { return nullptr; }
  /// The memory of its packets, which may be on their way through other ports when this one is closed: it is kept
  /// until every port is closed.
  virtual std::shared_ptr<void> memory() const { return nullptr; }
  /// The Linux interface behind it that the host's stack sees too ("eth1"), or "".
  virtual std::string host_interface() const { return ""; }
  /// Driver, device or sink, link, speed: an object for `show ports`.
  virtual nlohmann::ordered_json show() const = 0;
  /// What has failed since it was opened and what that cost, in words: "FILE: REASON; N packets not written". Empty if
  /// nothing has. Any thread.
  virtual std::string failure() const { return ""; }
};

/// Looks at the ports' files as open_ports() will, and opens no device: captures are read to their end, the route files
/// of synthetic sources too, and the folders of sinks must be there. Creates nothing, and needs no EAL. Throws
/// InputError likewise.
void check_port_files(std::span<const control::PortConfig> configs);

/// Opens every port for `workers` workers, or none: throws InputError at the port's place with the reason and what to
/// do. The EAL must run (io/eal.h).
std::vector<std::unique_ptr<Port>> open_ports(std::span<const control::PortConfig> configs, std::uint16_t workers);

}  // namespace penumbra::io
