// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <string>

namespace penumbra::bench {

/// DPDK's program dpdk-testpmd, which hands packets from one of two ports to the other: in mode `io` without looking at
/// them, in mode `macswap` with the MAC addresses swapped.
class Testpmd {
 public:
  static bool is_here();

  /// With two devices of DPDK's, by their arguments; its command line has a core of its own.
  Testpmd(std::array<std::string, 2> devices, unsigned forwarding_core, unsigned command_core);

  /// Its version and how it is set.
  std::string description() const;
  /// Forwards for some seconds. M packets received on both ports, per second that the forwarding thread had its core.
  /// Throws std::runtime_error if it does not run or prints no statistics.
  double rate(const std::string& mode) const;

 private:
  std::array<std::string, 2> devices_;
  unsigned forwarding_core_, command_core_;
};

}  // namespace penumbra::bench
