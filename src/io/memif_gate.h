// SPDX-License-Identifier: Apache-2.0
//
// When a peer goes, DPDK's memif driver gives up the memory that it shared with it at once, in DPDK's interrupt thread,
// though a worker may be reading it: so that thread is held up as long as a burst on such a port goes on. Nor does the
// driver expect its ports to be started and stopped by another thread than that one: DPDK panics if both close a socket
// at the same time.
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
  /// Whether bursts on ports of this driver go through the gate.
  static bool guards(std::string_view driver) noexcept { return driver == "net_memif"; }
  /// The process's: peers come and go seldom, so that all ports may wait for one.
  static MemifGate& instance() noexcept;

  /// Ways through a gate: receiving and sending at a port, each by one thread at a time.
  static std::size_t rx(std::uint16_t port) noexcept { return 2 * std::size_t{port}; }
  static std::size_t tx(std::uint16_t port) noexcept { return 2 * std::size_t{port} + 1; }

  /// Does `burst`, which returns a number of packets, unless a peer is going at this moment: then 0. Never waits.
  template <class Burst>
  std::uint16_t pass(std::size_t way, const Burst& burst) noexcept {
    std::atomic<bool>& inside = ways_[way].inside;
    // Either side says first what it does and looks then what the other one does: at least one of them sees the other.
    inside.store(true, std::memory_order_seq_cst);
    const std::uint16_t count = closed_.load(std::memory_order_seq_cst) ? std::uint16_t{0} : burst();
    inside.store(false, std::memory_order_release);
    return count;
  }

  /// Starts, stops or closes a port of this driver by `what`, in DPDK's interrupt thread if the gate guards such ports,
  /// and returns what that returned; negative if it cannot.
  static int change(std::string_view driver, const std::function<int()>& what);

  /// Does `change` when the bursts that go on have ended, and before others begin. Any thread.
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
