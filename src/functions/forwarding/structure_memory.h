// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

namespace penumbra::forwarding {

/// Describes the memory of a look-up structure.
struct StructureMemory {
  std::string structure;     ///< name of its shader
  std::size_t prefixes = 0;  ///< number of prefixes in the structure
  std::size_t bytes = 0;     ///< size of its address space; untouched pages use no memory
};

}  // namespace penumbra::forwarding
