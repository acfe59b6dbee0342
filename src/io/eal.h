// SPDX-License-Identifier: Apache-2.0
//
// DPDK's environment, with arguments derived from what the machine has and the configuration needs.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "io/port.h"

namespace penumbra::io {

/// What start_eal() found and chose, in words, for the summary of a run.
struct Environment {
  bool huge_pages = false;  ///< packet memory lies in hugetlbfs pages
  std::string memory;       ///< "2 MiB huge pages, 512 MiB" or "no huge pages (...): 256 MiB of ordinary memory"
  std::string arguments;    ///< the EAL arguments, joined
};

/// Starts the EAL once in this process; later calls return the first one's findings. Needs neither root nor huge pages;
/// uses huge pages where they are free and permitted. Probes PCI only if a port names a PCI device. Throws
/// std::runtime_error with what EAL said.
const Environment& start_eal(std::span<const control::PortConfig> ports, std::uint16_t workers);

/// Makes the calling thread known to DPDK (mempool caches, RCU) for as long as it lives. Throws std::runtime_error.
void register_thread();

}  // namespace penumbra::io
