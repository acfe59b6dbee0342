// SPDX-License-Identifier: Apache-2.0
//
// Defines ports as workers see them: private receive and transmit queues. The implementation is a DPDK ethdev or a
// built-in source and sink.
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
  std::uint64_t bytes = 0;  ///< Bytes of frames without FCS.
};

/// Packets that a device lost by its own count. The runtime does not count them as received, and counts lost
/// transmissions as sent.
struct DeviceLoss {
  std::string what;  ///< A key of `show ports`.
  std::uint64_t packets = 0;
};

/// A receive queue, used by one worker.
class RxQueue {
 public:
  RxQueue() = default;
  RxQueue(const RxQueue&) = delete;
  RxQueue& operator=(const RxQueue&) = delete;
  virtual ~RxQueue() = default;

  /// Receives up to `capacity` packets, which the caller then owns. All packets come from one port. Never waits.
  virtual std::uint16_t receive(rte_mbuf** packets, std::uint16_t capacity) noexcept = 0;
  /// Returns the number of packets that receive() took from the device for other workers and dropped because their
  /// rings were full. In each call they count against `capacity` too. Worker of this queue only.
  virtual std::uint64_t lost() const noexcept { return 0; }
  /// Stops taking packets from the port's device. Packets that software RSS already holds for a queue are still
  /// received. The queue's worker calls it, and it affects the whole port.
  virtual void drain() noexcept = 0;
  /// Returns true if no more packets will come, and then stays true. A finite source is exhausted when it is empty.
  /// After drain() the queue is exhausted when it holds no packets and no other worker can pass packets to it.
  virtual bool exhausted() const noexcept = 0;

  /// Returns descriptors that become readable, edge-triggered, when a packet arrives while armed. Empty if the driver
  /// has no RX interrupts or other workers pass packets to this queue. The port must be started.
  virtual std::vector<int> interrupts() const { return {}; }
  /// Switches the interrupts on or off. Packets that arrived earlier raise no interrupt. Worker of this queue only.
  virtual void arm(bool /*on*/) noexcept {}
};

/// A transmit queue, used by one worker.
class TxQueue {
 public:
  TxQueue() = default;
  TxQueue(const TxQueue&) = delete;
  TxQueue& operator=(const TxQueue&) = delete;
  virtual ~TxQueue() = default;

  /// Sends packets. Returns the number of accepted packets, always the first packets. Built-in sinks accept all.
  virtual std::uint16_t send(rte_mbuf** packets, std::uint16_t count) noexcept = 0;
  /// Writes out packets that the queue holds back. Called when the worker is idle, not per burst.
  virtual void write_out() noexcept {}
  /// Writes out packets that the queue holds back, at the end of a run.
  virtual void close() noexcept = 0;
  /// Returns true if the queue takes packets of several segments.
  virtual bool takes_chains() const noexcept { return false; }
  /// Returns true if there is a device to accept packets. Without a device send() accepts none, and the runtime drops
  /// packets as `port_gone`. Worker of this queue only.
  virtual bool is_open() const noexcept { return true; }
  /// Returns the packets that send() accepted and the device never took. The runtime subtracts them from the sent
  /// packets and adds them to the drop `tx_full`. Any thread; final after every worker's queue is closed.
  virtual Loss unsent() const noexcept { return {}; }
  /// Returns the packets that send() accepted and could not write because the sink's file failed, for example because
  /// the disk is full. The runtime moves them to the drop `sink_failed`. Any thread; final after every worker's queue
  /// is closed.
  virtual Loss unwritten() const noexcept { return {}; }
};

class Port;
/// Opens a port's device again with the same configuration and returns a stopped port. Throws std::runtime_error.
using Reopen = std::function<std::unique_ptr<Port>()>;

/// An open port, which is created stopped. Queues may be used between start() and stop().
class Port {
 public:
  Port() = default;
  Port(const Port&) = delete;
  Port& operator=(const Port&) = delete;
  virtual ~Port() = default;

  virtual const PortInfo& info() const = 0;  ///< The info has the current MAC address and MTU.
  virtual std::uint16_t rx_queues() const = 0;
  virtual RxQueue& rx_queue(std::uint16_t queue) = 0;
  virtual TxQueue& tx_queue(std::uint16_t worker) = 0;
  /// Returns true if a packet comes by queue queue_of(packet, rx_queues()) (io/flow_spread.h), or by the only queue.
  virtual bool spreads_by_flow() const { return rx_queues() == 1; }
  /// Starts the port. Only this call makes changes that cannot be undone, such as emptying a sink's file.
  virtual void start() = 0;
  /// Stops the port and frees packets that it holds back, for example after a packet limit.
  virtual void stop() noexcept = 0;
  /// Returns the packets that software RSS took from a device and dropped because a worker's ring was full. 0 without
  /// software RSS. The runtime counts them as received and as dropped: rss_ring_full. Any thread.
  virtual Loss ring_loss() const noexcept = 0;
  /// Returns every kind of loss that the device counts, with its count (missed, no mbuf, errors). Empty for a port
  /// without a device. Any thread.
  virtual std::vector<DeviceLoss> device_losses() const { return {}; }
  /// Returns true if packets can be received and sent: a cable or a peer is connected. Any thread.
  virtual bool link_up() const noexcept { return true; }
  /// Returns why the link is down and advice; empty if the device does not say. Any thread.
  virtual std::string why_down() const { return ""; }
  /// Returns true if the device is gone for good: a Linux interface was deleted, or another interface has its name. One
  /// thread at a time.
  virtual bool is_lost() const noexcept { return false; }
  /// Changes the name of the port in later messages. No other thread may use the port.
  virtual void rename(const std::string& /*name*/) {}
  /// Returns a function that opens the port again after this object is destroyed, or null if the device cannot
  /// disappear.
  virtual Reopen reopen() const { return nullptr; }
  /// Returns the memory of the port's packets. Other ports may hold packets when this port closes, so the memory must
  /// live until every port is closed.
  virtual std::shared_ptr<void> memory() const { return nullptr; }
  /// Returns the Linux interface of the port that the host's stack sees too ("eth1"), or "".
  virtual std::string host_interface() const { return ""; }
  /// Returns driver, device or sink, link and speed: an object for `show ports`.
  virtual nlohmann::ordered_json show() const = 0;
  /// Returns the failure since the port was opened and its cost, "FILE: REASON; N packets not written", or "" without a
  /// failure. Any thread.
  virtual std::string failure() const { return ""; }
};

/// Checks the ports' files like open_ports() without opening devices. Reads captures and route files of synthetic
/// sources to their end, and checks the folders of sinks. Creates nothing and needs no EAL. Throws InputError like
/// open_ports().
void check_port_files(std::span<const control::PortConfig> configs);

/// Opens every port for `workers` workers, or no port. Throws InputError at the port's place with the reason and
/// advice. The EAL must be running (io/eal.h).
std::vector<std::unique_ptr<Port>> open_ports(std::span<const control::PortConfig> configs, std::uint16_t workers);

}  // namespace penumbra::io
