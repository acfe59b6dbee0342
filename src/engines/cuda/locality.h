// SPDX-License-Identifier: Apache-2.0
//
// Which of several GPUs is near a worker.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>

namespace penumbra::cuda {

/// The NUMA node of a core, and of a PCI device ("0000:3b:00.0"), as Linux' /sys says it; -1 if it does not.
int node_of_core(unsigned core, const std::filesystem::path& sys = "/sys");
int node_of_pci(const std::string& address, const std::filesystem::path& sys = "/sys");

/// Of devices on these nodes the one for a worker on `node`: of those on its node, or if there are none of all, the
/// first that has the fewest queues.
std::size_t nearest(std::span<const int> nodes, std::span<const unsigned> queues, int node);

}  // namespace penumbra::cuda
