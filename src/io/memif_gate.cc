// SPDX-License-Identifier: Apache-2.0
#include "io/memif_gate.h"

#include <rte_alarm.h>

#include <future>

struct rte_eth_dev;

// The linker leads the driver's calls of its own function memif_free_regions() here (cmake/Dpdk.cmake). When it returns
// there are no regions for the driver, and a burst that begins then does nothing.
extern "C" {
void __real_memif_free_regions(rte_eth_dev* device);  // NOLINT(bugprone-reserved-identifier)
void __wrap_memif_free_regions(rte_eth_dev* device);  // NOLINT(bugprone-reserved-identifier)
}

namespace penumbra::io {

MemifGate& MemifGate::instance() noexcept {
  static MemifGate gate;
  return gate;
}

int MemifGate::change(std::string_view driver, const std::function<int()>& what) {
  if (!guards(driver)) return what();
  std::packaged_task<int()> task(what);
  const auto run = [](void* argument) { (*static_cast<std::packaged_task<int()>*>(argument))(); };
  if (const int refusal = rte_eal_alarm_set(1, run, &task); refusal < 0) return refusal;
  return task.get_future().get();
}

}  // namespace penumbra::io

void __wrap_memif_free_regions(rte_eth_dev* device) {
  penumbra::io::MemifGate::instance().exclude([device] { __real_memif_free_regions(device); });
}
