// SPDX-License-Identifier: Apache-2.0
//
// Starts DPDK's environment (EAL) with arguments derived from the machine and the configuration.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "io/port.h"

namespace penumbra::io {

/// The choices of start_eal(), for the summary of a run.
struct Environment {
  bool huge_pages = false;  ///< True if packet memory lies in hugetlbfs pages.
  std::string memory;       ///< "2 MiB huge pages, 512 MiB" or "no huge pages (...): 256 MiB of ordinary memory".
  std::string arguments;    ///< The EAL arguments, joined.
};

/// Starts the EAL once in this process; later calls return the first result. Needs neither root nor huge pages, but
/// uses huge pages that are free and permitted. Probes PCI only if a port names a PCI device. Throws std::runtime_error
/// with EAL's message.
const Environment& start_eal(std::span<const control::PortConfig> ports, std::uint16_t workers);

/// Registers the calling thread with DPDK (mempool caches, RCU) until the thread ends. Throws std::runtime_error.
void register_thread();

}  // namespace penumbra::io
