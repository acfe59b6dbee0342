// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sched.h>

#include <vector>

namespace penumbra {

/// Returns the cores of this process's affinity mask, lowest first. Returns no cores and sets errno if the kernel has
/// more cores than a cpu_set_t.
inline std::vector<unsigned> permitted_cores() {
  cpu_set_t set;
  std::vector<unsigned> cores;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return cores;
  for (unsigned core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &set)) cores.push_back(core);
  }
  return cores;
}

}  // namespace penumbra
