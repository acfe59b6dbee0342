// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <vector>

#include "crypto/secret_memory.h"

namespace penumbra::control::xfrm {

/// Overwrites memory with zeros before it frees it, because messages carry keys. The keeper locks its whole memory
/// (keeper.h).
template <class Element>
struct ErasingAllocator {
  using value_type = Element;  // NOLINT(readability-identifier-naming): the standard's name

  ErasingAllocator() = default;
  template <class Other>
  explicit ErasingAllocator(const ErasingAllocator<Other>& /*other*/) {}

  Element* allocate(std::size_t count) { return static_cast<Element*>(::operator new(count * sizeof(Element))); }
  void deallocate(Element* memory, std::size_t count) noexcept {
    erase_bytes(memory, count * sizeof(Element));
    ::operator delete(memory);
  }
  bool operator==(const ErasingAllocator&) const = default;
};

/// Holds a message, which may contain keys.
using Buffer = std::vector<std::uint8_t, ErasingAllocator<std::uint8_t>>;

}  // namespace penumbra::control::xfrm
