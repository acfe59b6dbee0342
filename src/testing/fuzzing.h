// SPDX-License-Identifier: Apache-2.0
//
// Provides helpers for fuzzers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "penumbra/errors.h"

namespace penumbra::fuzzing {

inline void require(bool holds) {
  if (!holds) std::abort();
}

inline std::string_view text_of(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

/// Calls `check`, which reads a text from the file "fuzz". The text may only be refused with a place in that file.
template <class Check>
void read_or_refuse(const Check& check) {
  try {
    check();
  } catch (const InputError& error) {
    require(error.location().file == "fuzz" && error.location().line >= 1 && error.location().column >= 1);
  }
}

}  // namespace penumbra::fuzzing
