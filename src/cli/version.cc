// SPDX-License-Identifier: Apache-2.0
#include "cli/version.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <rte_version.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "commit.h"  // commit.cmake writes it when the commit changes
#include "penumbra/engine.h"

namespace penumbra::cli {
namespace {

std::vector<std::string> engine_list() {
  std::vector<std::string> names;
  for (const auto& engine : engines()) {
    if (engine.create != nullptr) names.push_back(engine.name);
  }
  return names;
}

}  // namespace

std::string version_number() {
  return PENUMBRA_VERSION;
}

std::string version_text() {
  const auto names = engine_list();
  const bool cuda = std::ranges::any_of(names, [](const auto& name) { return name.starts_with("cuda"); });
  return fmt::format(
      "penumbra {} ({})\n"
      "compiler: {} {}\n"
      "dpdk: {}\n"
      "engines: {}{}\n",
      version_number(), PENUMBRA_COMMIT, PENUMBRA_COMPILER, __VERSION__, rte_version(), fmt::join(names, ", "),
      cuda ? "" : " (built without the CUDA engines)");
}

std::string version_json() {
  const nlohmann::ordered_json version{{"version", version_number()},
                                       {"commit", PENUMBRA_COMMIT},
                                       {"compiler", PENUMBRA_COMPILER " " __VERSION__},
                                       {"dpdk", rte_version()},
                                       {"engines", engine_list()}};
  return version.dump() + "\n";
}

}  // namespace penumbra::cli
