// SPDX-License-Identifier: Apache-2.0
//
// For tests that change the ports of a running router: devices that vanish, refuse to open and hold packets back as
// told, and a router that forwards between them.
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

/// How the devices of one port behave, and what all of them together did. Outlives them. A device can be open only
/// once, as an interface can.
struct DeviceScript {
  // What a test says, at any time:
  std::atomic<bool> opens{true};
  std::atomic<std::uint16_t> refused_mtu{0};  ///< does not open with this MTU
  std::atomic<bool> lost{false};              ///< the device that is open is lost; the next one is not
  std::atomic<bool> holds_drained{false};     ///< drained queues are not exhausted for as long as this holds
  std::atomic<std::uint64_t> packets{~0ULL};  ///< that each queue of a device gives
  std::function<void()> at_close = [] {};     ///< in each close() of a transmit queue; set before the run
  std::shared_ptr<void> memory;               ///< of each device; set before the run

  // What the devices did:
  std::atomic<unsigned> opened{0}, refused{0}, alive{0};
  std::atomic<std::uint16_t> mtu{0};                             ///< of the last device
  std::atomic<bool> drained{false};                              ///< some queue was
  std::atomic<std::uint64_t> given{0}, delivered{0}, unsent{0};  ///< packets
  /// Breaches of what io::TxQueue promises: used after close(), closed twice, destroyed in use or with packets.
  std::atomic<unsigned> breaches{0};

  /// Throws InputError.
  std::unique_ptr<io::Port> open(const control::PortConfig& config, std::uint16_t workers);
};

/// A router between scripted devices that runs in a thread of its own. Its function is test_judge, twice.
class ChangingRouter {
 public:
  /// `ports`: the lines below `ports:` of the configuration, as for config().
  ChangingRouter(const std::string& ports, std::uint16_t workers);
  ~ChangingRouter();

  /// "a" and "b", with 1500 bytes of MTU.
  static std::string ports_a_b();
  /// A line for a port: "  - {name: a, device: net_null_a, KEYS}".
  static std::string line(const std::string& name, const std::string& keys = "mtu: 1500");

  control::RouterConfig config(const std::string& ports) const;
  DeviceScript& device(const std::string& name) { return scripts_.at(name); }
  Router& router() { return *router_; }

  /// Starts the run and returns once packets are received; without `wait` while the workers are set up.
  void start(bool wait = true);
  /// Takes over other ports. Throws as Router::reconfigure().
  void change(const std::string& ports);
  void stop() { router_->stop(); }
  /// Waits until the run has ended.
  void join() { run_.join(); }
  /// Likewise, if nobody has waited. Then all that was given must be sent, dropped or lost, each once.
  void join_and_check();
  /// Waits until packets have been sent by the port after this call.
  void wait_until_sent(std::size_t port);

 private:
  std::uint16_t workers_;
  std::map<std::string, DeviceScript> scripts_;
  std::unique_ptr<Router> router_;
  std::thread run_;
};

/// Waits until the condition holds; fails the test after a minute.
void wait_until(const std::function<bool()>& condition, const std::string& what);

}  // namespace penumbra::runtime::test
