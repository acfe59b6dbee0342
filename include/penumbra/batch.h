// SPDX-License-Identifier: Apache-2.0
//
// Defines the interface between functions and engines: a shader's signature and a batch of its input and output
// columns.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "penumbra/shader.h"
#include "penumbra/table.h"

namespace penumbra {

inline constexpr std::size_t kMaxColumns = 8;        ///< Maximum number of columns per direction in one batch.
inline constexpr std::size_t kColumnAlignment = 64;  ///< Bytes: one cache line.
/// Maximum number of batches that a worker has in flight in one queue.
inline constexpr std::uint32_t kMostInFlight = 16;

/// Returns the size of a column in bytes, rounded up to kColumnAlignment.
constexpr std::size_t padded(std::size_t bytes) {
  return (bytes + kColumnAlignment - 1) / kColumnAlignment * kColumnAlignment;
}

/// A shader's signature, which shader_entry.h reads from the source. All engines' variants of a shader share one
/// signature.
struct Shader {
  std::string name;
  std::size_t view_bytes = 0;
  std::vector<std::size_t> input_bytes;   ///< Bytes of an element of each input column, in order.
  std::vector<std::size_t> output_bytes;  ///< Bytes of an element of each output column, in order.
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
  void* owner = nullptr;  ///< The submitter's own mark. Engines do not use it.
  /// True if more packets were waiting than the caller takes at a time. The caller may be too slow for the traffic.
  bool has_backlog = false;
};

}  // namespace penumbra
