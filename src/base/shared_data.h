// SPDX-License-Identifier: Apache-2.0
//
// Finds the project's files and real tables for tests. No path is compiled in, so that the compiler cache serves every
// clone of the repository.
#pragma once

#include <cstdlib>
#include <filesystem>

namespace penumbra {

/// Root of the source tree that the running program was built in: the nearest folder above the program that has
/// include/penumbra. The current folder if there is none, as on a machine that got only the test programs.
inline std::filesystem::path source_folder() {
  std::error_code error;
  for (auto folder = std::filesystem::read_symlink("/proc/self/exe", error); folder.has_relative_path();
       folder = folder.parent_path()) {
    if (std::filesystem::exists(folder.parent_path() / "include/penumbra", error)) return folder.parent_path();
  }
  return ".";
}

/// Folder of real data: the one that PENUMBRA_SHARED_DATA names, relative to source_folder(); ../shared/data by
/// default.
inline std::filesystem::path shared_data() {
  const char* const named = std::getenv("PENUMBRA_SHARED_DATA");
  return source_folder() / (named == nullptr ? "../shared/data" : named);
}

}  // namespace penumbra
