// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

#include "penumbra/huge_memory.h"

namespace penumbra::bench {

/// A DPDK heap in transparent huge pages, for tables of DPDK's libraries: so they have on a machine without hugetlbfs
/// the pages that DPDK's guides ask for, and the same as Penumbra's tables. Lives as long as the process.
class HugeHeap {
 public:
  /// Starts the EAL if it does not run yet. Throws std::runtime_error.
  HugeHeap(const std::string& name, std::size_t bytes);
  HugeHeap(const HugeHeap&) = delete;
  HugeHeap& operator=(const HugeHeap&) = delete;

  /// What DPDK's functions take as `socket_id` to allocate here.
  int socket() const { return socket_; }

 private:
  HugeMemory memory_;
  int socket_ = 0;
};

}  // namespace penumbra::bench
