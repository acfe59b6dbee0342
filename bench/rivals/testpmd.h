// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <string>

namespace penumbra::bench {

/// DPDK's program dpdk-testpmd, which forwards packets between two ports: in mode `io` without reading them, in mode
/// `macswap` with the MAC addresses swapped.
class Testpmd {
 public:
  static bool is_here();

  /// Uses two DPDK devices, given by their arguments. The command line of testpmd runs on a separate core.
  Testpmd(std::array<std::string, 2> devices, unsigned forwarding_core, unsigned command_core);

  /// Returns its version and settings.
  std::string description() const;
  /// Forwards for some seconds. Returns the M packets received on both ports, per CPU second of the forwarding thread.
  /// Throws std::runtime_error if it does not run or prints no statistics.
  double rate(const std::string& mode) const;

 private:
  std::array<std::string, 2> devices_;
  unsigned forwarding_core_, command_core_;
};

}  // namespace penumbra::bench
