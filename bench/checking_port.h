// SPDX-License-Identifier: Apache-2.0
//
// Ports that check each packet on its way out against a ChurnTruth.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "churn_truth.h"
#include "io/port.h"

namespace penumbra::bench {

/// The MAC address by which next hop number `hop` is known.
constexpr MacAddress mac_of_hop(std::size_t hop) {
  return {0x024E00000000 | hop};
}

/// The truth, and what was found; written by workers, to be read when they have ended.
struct CheckedTraffic {
  const ChurnTruth& truth;
  const std::vector<std::uint16_t>& port_of_hop;  ///< where next hop h is
  std::atomic<std::uint64_t> checked{0};
  std::atomic<std::uint64_t> wrong{0};
  std::atomic<std::uint64_t> ambiguous{0};    ///< had more than one right next hop
  std::atomic<std::uint32_t> first_wrong{0};  ///< destination
};

/// As io::open_ports, each transmit queue checked.
std::vector<std::unique_ptr<io::Port>> open_checking_ports(std::span<const control::PortConfig> configs,
                                                           std::uint16_t workers, CheckedTraffic& traffic);

}  // namespace penumbra::bench
