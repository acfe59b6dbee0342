// SPDX-License-Identifier: Apache-2.0
//
// Defines input of a shader for measurements before there is traffic. The engine `auto` measures a shader with payload
// on such input. Most shaders need none, since random columns and bytes cost as much as those of traffic.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "penumbra/table.h"

namespace penumbra {

/// Input like that of traffic, for a shader that would refuse random columns or would find nothing in random bytes.
class SampleInput {
 public:
  SampleInput() = default;
  SampleInput(const SampleInput&) = delete;
  SampleInput& operator=(const SampleInput&) = delete;
  virtual ~SampleInput() = default;

  /// Returns a table to measure on, or null for the table of the announced batches. Asked for once.
  virtual Table* table() { return nullptr; }
  /// Returns the room, in bytes, that the destination of an item needs whose source has `length` bytes.
  virtual std::uint32_t room(std::uint32_t length) const { return length; }
  /// Fills input column `column`, an index in Shader::input_bytes. `elements` has random bytes before. Not called for
  /// columns of the payload's positions, lengths and rooms.
  virtual void fill_column(std::size_t column, std::span<std::byte> elements) const = 0;
  /// Fills the source of the items. `bytes` has random bytes before.
  virtual void fill_source(std::span<std::byte> /*bytes*/) const {}
};

/// Registers how to make the sample input of a shader, and returns true. Call this function to initialise a
/// namespace-scope constant in the shader's folder.
bool register_sample_input(const std::string& shader, std::unique_ptr<SampleInput> (*make)());
/// Returns the sample input of a shader, or null if none is registered.
std::unique_ptr<SampleInput> make_sample_input(const std::string& shader);

}  // namespace penumbra
