// SPDX-License-Identifier: Apache-2.0
//
// Finds the project's files and real tables for tests. No path is compiled in, so that all clones of the repository
// share the compiler cache.
#pragma once

#include <cstdlib>
#include <filesystem>

namespace penumbra {

/// Returns the root of the source tree of the running program: the nearest parent folder with include/penumbra. Returns
/// the current folder if there is none, as on a machine that has only the test programs.
inline std::filesystem::path source_folder() {
  std::error_code error;
  for (auto folder = std::filesystem::read_symlink("/proc/self/exe", error); folder.has_relative_path();
       folder = folder.parent_path()) {
    if (std::filesystem::exists(folder.parent_path() / "include/penumbra", error)) return folder.parent_path();
  }
  return ".";
}

/// Returns the folder of real data: the value of PENUMBRA_SHARED_DATA, relative to source_folder(), or ../shared/data
/// by default.
inline std::filesystem::path shared_data() {
  const char* const named = std::getenv("PENUMBRA_SHARED_DATA");
  return source_folder() / (named == nullptr ? "../shared/data" : named);
}

}  // namespace penumbra
