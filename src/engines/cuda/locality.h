// SPDX-License-Identifier: Apache-2.0
//
// Chooses a GPU near a worker.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>

namespace penumbra::cuda {

/// Return the NUMA node of a core and of a PCI device ("0000:3b:00.0") as Linux' /sys states it; -1 if it does not.
int node_of_core(unsigned core, const std::filesystem::path& sys = "/sys");
int node_of_pci(const std::string& address, const std::filesystem::path& sys = "/sys");

/// Returns the index of the device for a worker on `node`. The device is the first with the fewest queues, among the
/// devices on that node; if there are none, among all.
std::size_t nearest(std::span<const int> nodes, std::span<const unsigned> queues, int node);

}  // namespace penumbra::cuda
