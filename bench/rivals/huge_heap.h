// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

#include "penumbra/huge_memory.h"

namespace penumbra::bench {

/// A DPDK heap in transparent huge pages, for tables of DPDK's libraries. On a machine without hugetlbfs they thus have
/// the pages that DPDK's guides recommend, the same as Penumbra's tables. DPDK uses the memory until the process ends.
class HugeHeap {
 public:
  /// Starts the EAL unless it runs already. Throws std::runtime_error.
  HugeHeap(const std::string& name, std::size_t bytes);
  HugeHeap(const HugeHeap&) = delete;
  HugeHeap& operator=(const HugeHeap&) = delete;

  /// Returns the `socket_id` with which DPDK's functions allocate here.
  int socket() const { return socket_; }

 private:
  HugeMemory memory_;
  int socket_ = 0;
};

}  // namespace penumbra::bench
