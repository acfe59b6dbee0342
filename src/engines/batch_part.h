// SPDX-License-Identifier: Apache-2.0
//
// Views of a range of a batch's items as a batch, for engines that split long batches.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "penumbra/batch.h"

namespace penumbra {

/// Returns the address of item `first` of `column`, whose elements have `element_bytes` bytes.
template <class Column>
auto* item_of(Column* column, std::uint32_t first, std::size_t element_bytes) {
  return static_cast<std::conditional_t<std::is_const_v<Column>, const std::byte, std::byte>*>(column) +
         first * element_bytes;
}

/// Returns the batch of `items` items of `batch` that starts at item `first`.
inline Batch part_of(const Batch& batch, std::uint32_t first, std::uint32_t items) noexcept {
  Batch part = batch;
  part.items = items;
  const Shader& shader = *batch.shader;
  for (std::size_t i = 0; i < shader.input_bytes.size(); ++i) {
    part.inputs[i] = item_of(batch.inputs[i], first, shader.input_bytes[i]);
  }
  for (std::size_t i = 0; i < shader.output_bytes.size(); ++i) {
    part.outputs[i] = item_of(batch.outputs[i], first, shader.output_bytes[i]);
  }
  return part;
}

}  // namespace penumbra
