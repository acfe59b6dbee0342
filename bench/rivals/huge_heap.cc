// SPDX-License-Identifier: Apache-2.0
#include "rivals/huge_heap.h"

#include <fmt/format.h>
#include <rte_errno.h>
#include <rte_malloc.h>

#include <stdexcept>
#include <vector>

#include "io/eal.h"

namespace penumbra::bench {
namespace {

constexpr std::size_t kPageBytes = std::size_t{2} << 20;

void require_heap(bool done, const char* step) {
  if (!done) throw std::runtime_error(fmt::format("DPDK heap: {}: {}", step, rte_strerror(rte_errno)));
}

}  // namespace

HugeHeap::HugeHeap(const std::string& name, std::size_t bytes)
    : memory_((bytes + kPageBytes - 1) / kPageBytes * kPageBytes) {
  io::start_eal({}, 1);
  require_heap(rte_malloc_heap_create(name.c_str()) == 0, "create");
  const auto pages = static_cast<unsigned>(memory_.bytes() / kPageBytes);
  std::vector<rte_iova_t> addresses(pages, RTE_BAD_IOVA);  // No device reads the memory.
  require_heap(rte_malloc_heap_memory_add(name.c_str(), memory_.data(), memory_.bytes(), addresses.data(), pages,
                                          kPageBytes) == 0,
               "add memory");
  socket_ = rte_malloc_heap_get_socket(name.c_str());
  require_heap(socket_ >= 0, "find");
}

}  // namespace penumbra::bench
