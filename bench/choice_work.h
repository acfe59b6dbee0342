// SPDX-License-Identifier: Apache-2.0
//
// The shaders with tables of several sizes and inputs like traffic's, for the benchmark of the choice of a CPU engine.
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
  std::string size;        ///< of the table, in words: "250000 flows"
  Table* table = nullptr;  ///< its name is the shader's
  const std::byte* inputs = nullptr;
  std::size_t input_bytes = 0;   ///< of an element
  std::vector<std::byte> right;  ///< an output for each input
  std::size_t answer_bytes = 0;  ///< of an element
  std::shared_ptr<void> owner;   ///< of all that pointers above point to

  std::size_t count() const { return right.size() / answer_bytes; }
};

/// Each makes one work. They are called one after the other, so that one table at a time needs memory.
std::vector<std::function<ChoiceWork()>> choice_works(const Options& options);

}  // namespace penumbra::bench
