// SPDX-License-Identifier: Apache-2.0
//
// Some of a batch's items, as a batch by themselves: for engines that cut long ones.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "penumbra/batch.h"

namespace penumbra {

/// Where the column's item `first` stands.
template <class Column>
auto* item_of(Column* column, std::uint32_t first, std::size_t element_bytes) {
  return static_cast<std::conditional_t<std::is_const_v<Column>, const std::byte, std::byte>*>(column) +
         first * element_bytes;
}

/// `items` of the batch's, from `first` on.
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
