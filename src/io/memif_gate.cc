// SPDX-License-Identifier: Apache-2.0
#include "io/memif_gate.h"

#include <rte_alarm.h>

#include <chrono>
#include <thread>

struct rte_eth_dev;

// The linker redirects the driver's calls of memif_free_regions() here (cmake/Dpdk.cmake). Afterwards the driver has no
// regions, and a new burst does nothing.
extern "C" {
// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming): the linker's names
void __real_memif_free_regions(rte_eth_dev* device);
void __wrap_memif_free_regions(rte_eth_dev* device);
// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)
}

namespace penumbra::io {

MemifGate& MemifGate::instance() noexcept {
  static MemifGate gate;
  return gate;
}

int MemifGate::change(std::string_view driver, const std::function<int()>& what) {
  if (!guards(driver)) return what();
  // The atomics order the accesses of both threads explicitly, because ThreadSanitizer does not see into DPDK's alarms.
  struct Request {
    const std::function<int()>& what;
    int result = 0;
    std::atomic<bool> is_given{false}, is_done{false};
  } request{what};
  const auto run = [](void* argument) {
    Request& given = *static_cast<Request*>(argument);
    while (!given.is_given.load(std::memory_order_acquire)) {
    }
    given.result = given.what();
    given.is_done.store(true, std::memory_order_release);
  };
  if (const int refusal = rte_eal_alarm_set(1, run, &request); refusal < 0) return refusal;
  request.is_given.store(true, std::memory_order_release);
  while (!request.is_done.load(std::memory_order_acquire)) std::this_thread::sleep_for(std::chrono::microseconds(50));
  return request.result;
}

}  // namespace penumbra::io

void __wrap_memif_free_regions(rte_eth_dev* device) {
  penumbra::io::MemifGate::instance().exclude([device] { __real_memif_free_regions(device); });
}
