// SPDX-License-Identifier: Apache-2.0
//
// Provides devices for tests that change the ports of a running router. The test makes the devices vanish, refuse to
// open or hold packets. Also provides a router that forwards between such devices.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "control/config.h"
#include "io/port.h"
#include "runtime/router.h"
#include "runtime/test_support.h"

namespace penumbra::runtime::test {

/// Controls the devices of one port, and counts the events of all of them. Outlives the devices. Only one device can be
/// open at a time, like an interface.
struct DeviceScript {
  // The test sets these members at any time:
  std::atomic<bool> opens{true};
  std::atomic<std::uint16_t> refused_mtu{0};  ///< the device does not open with this MTU
  std::atomic<bool> lost{false};              ///< the open device is lost; the next device is not
  std::atomic<bool> holds_drained{false};     ///< while true, drained queues are not exhausted
  std::atomic<std::uint64_t> packets{~0ULL};  ///< packets that each queue of a device provides
  std::function<void()> at_close = [] {};     ///< called in each close() of a transmit queue; set before the run
  std::shared_ptr<void> memory;               ///< memory of each device; set before the run

  // The devices set these members:
  std::atomic<unsigned> opened{0}, refused{0}, alive{0};
  std::atomic<std::uint16_t> mtu{0};                             ///< MTU of the last device
  std::atomic<bool> drained{false};                              ///< true after some queue was drained
  std::atomic<std::uint64_t> given{0}, delivered{0}, unsent{0};  ///< numbers of packets
  /// Number of violations of io::TxQueue: use after close(), second close(), or destruction during close() or with
  /// packets.
  std::atomic<unsigned> breaches{0};

  /// Opens a device. Throws InputError if the device is open already or refuses.
  std::unique_ptr<io::Port> open(const control::PortConfig& config, std::uint16_t workers);
};

/// Runs a router between scripted devices in its own thread. The pipeline has the function test_judge twice, after
/// `first_stage`, a line of the configuration.
class ChangingRouter {
 public:
  /// `ports` are the lines of `ports:` in the configuration, as for config().
  ChangingRouter(const std::string& ports, std::uint16_t workers, std::string first_stage = "");
  ~ChangingRouter();

  /// Returns the lines of ports "a" and "b" with an MTU of 1500 bytes.
  static std::string ports_a_b();
  /// Returns the line of a port: "  - {name: a, device: net_null_a, KEYS}".
  static std::string line(const std::string& name, const std::string& keys = "mtu: 1500");
  /// Returns the line of a port with the device of port `device`.
  static std::string line_of_device(const std::string& device, const std::string& name);

  control::RouterConfig config(const std::string& ports) const;
  DeviceScript& device(const std::string& name) { return scripts_.at(name); }
  Router& router() { return *router_; }

  /// Starts the run and returns after packets were received. Without `wait`, returns while the workers are being set
  /// up.
  void start(bool wait = true);
  /// Replaces the ports. Throws like Router::reconfigure().
  void change(const std::string& ports);
  void stop() { router_->stop(); }
  /// Waits until the run has ended.
  void join() { run_.join(); }
  /// Waits for the end of the run if join() was not called. Then checks that each provided packet was sent, dropped or
  /// lost once.
  void join_and_check();
  /// Waits until the port sends a packet after this call.
  void wait_until_sent(std::size_t port);

 private:
  const std::string first_stage_;
  std::uint16_t workers_;
  std::map<std::string, DeviceScript> scripts_;
  std::unique_ptr<Router> router_;
  std::thread run_;
};

/// Waits until the condition is true; fails the test after a minute.
void wait_until(const std::function<bool()>& condition, const std::string& what);

}  // namespace penumbra::runtime::test
