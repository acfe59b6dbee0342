// SPDX-License-Identifier: Apache-2.0
//
// What a function hands to an engine: columns in, columns out, optionally payload; and what the engine needs to know of
// the shader that is to run over them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "penumbra/shader.h"
#include "penumbra/table.h"

namespace penumbra {

inline constexpr std::size_t kMaxColumns = 8;        ///< of each direction in one batch
inline constexpr std::size_t kColumnAlignment = 64;  ///< bytes: a cache line
inline constexpr std::uint32_t kMostInFlight = 16;   ///< batches that a worker has in flight in a queue

/// The bytes of a column with what stands behind it until the next one may begin.
constexpr std::size_t padded(std::size_t bytes) {
  return (bytes + kColumnAlignment - 1) / kColumnAlignment * kColumnAlignment;
}

/// A shader's signature, read off its source by shader_entry.h. All engines' variants of one shader share it.
struct Shader {
  std::string name;
  std::size_t view_bytes = 0;
  std::vector<std::size_t> input_bytes;   ///< bytes of an element of each input column, in order
  std::vector<std::size_t> output_bytes;  ///< likewise of each output column
  bool has_arena = false;

  bool operator==(const Shader&) const = default;
};

/// One call of a shader. All pointers stay valid until the engine hands the batch back.
struct Batch {
  const Shader* shader = nullptr;
  const Table* table = nullptr;
  std::uint32_t items = 0;
  std::array<const void*, kMaxColumns> inputs{};
  std::array<void*, kMaxColumns> outputs{};
  penumbra_arena arena{};
  /// More was waiting than the caller takes at a time: it may be falling behind.
  bool has_backlog = false;
};

}  // namespace penumbra
