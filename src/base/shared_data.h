// SPDX-License-Identifier: Apache-2.0
//
// Where tests find real tables, if they are at hand.
#pragma once

#include <cstdlib>
#include <filesystem>

namespace penumbra {

/// The folder that PENUMBRA_SHARED_DATA names, like a relative name from `source_folder`; if it names none, the one
/// beside the project.
inline std::filesystem::path shared_data(const std::filesystem::path& source_folder) {
  const char* const named = std::getenv("PENUMBRA_SHARED_DATA");
  return source_folder / (named == nullptr ? "../shared/data" : named);
}

}  // namespace penumbra
