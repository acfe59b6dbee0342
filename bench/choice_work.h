// SPDX-License-Identifier: Apache-2.0
//
// Provides shaders with tables of several sizes and inputs like those of traffic, for the benchmark of the choice of a
// CPU engine.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "bench.h"
#include "penumbra/table.h"

namespace penumbra::bench {

/// A filled table, inputs of the shader that reads it, and the right answers.
struct ChoiceWork {
  std::string size;        ///< Size of the table in words: "250000 flows".
  Table* table = nullptr;  ///< Its name is the shader's name.
  const std::byte* inputs = nullptr;
  std::size_t input_bytes = 0;   ///< Bytes of an input element.
  std::vector<std::byte> right;  ///< One output for each input.
  std::size_t answer_bytes = 0;  ///< Bytes of an output element.
  std::shared_ptr<void> owner;   ///< Owns everything that the pointers above refer to.

  std::size_t count() const { return right.size() / answer_bytes; }
};

/// Returns functions that each make one work. Call them one after the other, so that only one table at a time needs
/// memory.
std::vector<std::function<ChoiceWork()>> choice_works(const Options& options);

}  // namespace penumbra::bench
