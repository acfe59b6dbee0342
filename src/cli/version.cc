// SPDX-License-Identifier: Apache-2.0
#include "cli/version.h"

#include <fmt/format.h>
#include <rte_version.h>

#include <algorithm>

#include "commit.h"  // written by commit.cmake when the commit changes
#include "penumbra/engine.h"

namespace penumbra::cli {

std::string version_number() {
  return PENUMBRA_VERSION;
}

std::string version_text() {
  std::string names;
  bool cuda = false;
  for (const auto& engine : engines()) {
    names += (names.empty() ? "" : ", ") + engine.name;
    cuda = cuda || engine.name.starts_with("cuda");
  }
  return fmt::format(
      "penumbra {} ({})\n"
      "compiler: {} {}\n"
      "dpdk: {}\n"
      "engines: {}{}\n",
      version_number(), PENUMBRA_COMMIT, PENUMBRA_COMPILER, __VERSION__, rte_version(), names,
      cuda ? "" : " (built without the CUDA engines)");
}

}  // namespace penumbra::cli
