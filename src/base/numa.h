// SPDX-License-Identifier: Apache-2.0
//
// Reads from Linux' /sys which NUMA node has which core and which card, and places memory.
#pragma once

#include <filesystem>
#include <span>
#include <string>

namespace penumbra {

/// Returns the folder that describes the machine: PENUMBRA_SYSFS if the environment has it, for tests of machines with
/// several nodes, otherwise /sys.
std::filesystem::path sysfs_root();

/// Return the NUMA node of a core, of a PCI device ("0000:3b:00.0") and of a network interface ("eth0"). Return -1 if
/// /sys does not state it, as on machines with one node.
int node_of_core(unsigned core, const std::filesystem::path& sys = sysfs_root());
int node_of_pci(const std::string& address, const std::filesystem::path& sys = sysfs_root());
int node_of_interface(const std::string& name, const std::filesystem::path& sys = sysfs_root());

/// Makes the calling thread, and threads that it starts later, take memory from these nodes: from the only one, or by
/// turns from several. Nodes below 0 do not count; without a node the policy stays. Memory of other nodes is taken if
/// these nodes have none left. Returns false if the kernel refuses.
bool take_memory_of(std::span<const int> nodes);
/// Makes the calling thread take memory from the node on which it runs.
void take_local_memory();

}  // namespace penumbra
