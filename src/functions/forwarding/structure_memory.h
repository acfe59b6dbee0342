// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

namespace penumbra::forwarding {

/// What a look-up structure costs.
struct StructureMemory {
  std::string structure;     ///< its shader's name
  std::size_t prefixes = 0;  ///< in it
  std::size_t bytes = 0;     ///< of address space; what is untouched costs no memory
};

}  // namespace penumbra::forwarding
