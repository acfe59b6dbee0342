// SPDX-License-Identifier: Apache-2.0
//
// Protects bursts on memif ports from a disconnecting peer. DPDK's memif driver then frees the shared memory
// immediately in DPDK's interrupt thread, although a worker may be reading it. The gate makes that thread wait until a
// burst on such a port ends. The driver also expects that its ports start and stop in the interrupt thread. DPDK panics
// if two threads close a socket at the same time.
#pragma once

#include <rte_config.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string_view>

namespace penumbra::io {

class MemifGate {
 public:
  /// Returns true if bursts on ports of this driver go through the gate.
  static bool guards(std::string_view driver) noexcept { return driver == "net_memif"; }
  /// Returns the process's gate. Peers come and go seldom, so all ports share one gate.
  static MemifGate& instance() noexcept;

  /// Return the index of a port's receive or send direction. One thread at a time may use each direction.
  static std::size_t rx(std::uint16_t port) noexcept { return 2 * std::size_t{port}; }
  static std::size_t tx(std::uint16_t port) noexcept { return 2 * std::size_t{port} + 1; }

  /// Calls `burst`, which returns a number of packets. Returns 0 without a call while a peer is disconnecting. Never
  /// waits.
  template <class Burst>
  std::uint16_t pass(std::size_t way, const Burst& burst) noexcept {
    std::atomic<bool>& inside = ways_[way].inside;
    // Each side first announces its action and then checks for the opposite side, so at least one of both notices.
    inside.store(true, std::memory_order_seq_cst);
    const std::uint16_t count = closed_.load(std::memory_order_seq_cst) ? std::uint16_t{0} : burst();
    inside.store(false, std::memory_order_release);
    return count;
  }

  /// Starts, stops or closes a port of this driver by calling `what`, in DPDK's interrupt thread if the gate guards
  /// such ports. Returns the result of `what`, or a negative value if the call is not possible.
  static int change(std::string_view driver, const std::function<int()>& what);

  /// Calls `change` after current bursts have ended and before new bursts begin. Any thread.
  template <class Change>
  void exclude(const Change& change) noexcept {
    const std::lock_guard only(changing_);
    closed_.store(true, std::memory_order_seq_cst);
    for (const Way& way : ways_) {
      while (way.inside.load(std::memory_order_seq_cst)) {
      }
    }
    change();
    closed_.store(false, std::memory_order_release);
  }

 private:
  struct alignas(64) Way {
    std::atomic<bool> inside{false};
  };
  std::array<Way, 2 * std::size_t{RTE_MAX_ETHPORTS}> ways_;
  std::mutex changing_;
  std::atomic<bool> closed_{false};
};

}  // namespace penumbra::io
