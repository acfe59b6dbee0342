// SPDX-License-Identifier: Apache-2.0
//
// Defines the interface between functions and engines: a shader's signature and a batch of its input and output
// columns.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
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

/// The columns of a shader's source or destination.
struct PayloadColumns {
  std::size_t positions = 0;  ///< Index of an input column. The lengths of a source and the rooms follow it.
  std::size_t lengths = 0;    ///< Index of the output column that has the lengths of a destination. A source: not used.

  bool operator==(const PayloadColumns&) const = default;
};

/// A shader's signature, which shader_entry.h reads from the source. All engines' variants of a shader share one
/// signature.
struct Shader {
  std::string name;
  std::size_t view_bytes = 0;
  std::vector<std::size_t> input_bytes;   ///< Bytes of an element of each input column, in order.
  std::vector<std::size_t> output_bytes;  ///< Bytes of an element of each output column, in order.
  /// Payload adds columns: a source its positions and lengths, a destination its positions, rooms and lengths.
  std::optional<PayloadColumns> source = std::nullopt, destination = std::nullopt;

  bool has_payload() const { return source || destination; }
  bool operator==(const Shader&) const = default;
};

/// One call of a shader. All pointers stay valid until the engine hands the batch back.
struct Batch {
  const Shader* shader = nullptr;
  const Table* table = nullptr;
  std::uint32_t items = 0;
  std::array<const void*, kMaxColumns> inputs{};
  std::array<void*, kMaxColumns> outputs{};
  /// The addresses to which the positions of the payload refer; no item lies before them. Not used without payload.
  const std::byte* source = nullptr;
  std::byte* destination = nullptr;
  /// Set by the engine: true if the batch is back and a failed accelerator may still write the destination. It can only
  /// write the bytes that are there, but the submitter must not use the source and the destination for anything else.
  bool is_still_written = false;
  void* owner = nullptr;  ///< The submitter's own mark. Engines do not use it.
  /// True if more packets were waiting than the caller takes at a time. The caller may be too slow for the traffic.
  bool has_backlog = false;
};

/// Returns an address that no object lies before, so that payload of any memory has a position relative to it.
inline std::byte* payload_base() {
  return reinterpret_cast<std::byte*>(kColumnAlignment);  // NOLINT(performance-no-int-to-ptr)
}

/// Returns the position of payload at `bytes` in a batch with this base.
inline std::uint64_t position_of(const void* bytes, const std::byte* base) {
  return reinterpret_cast<std::uintptr_t>(bytes) - reinterpret_cast<std::uintptr_t>(base);
}

}  // namespace penumbra
