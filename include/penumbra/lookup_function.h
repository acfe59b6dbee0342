// SPDX-License-Identifier: Apache-2.0
//
// Defines the base class of functions that look packets up in one table, or in none.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "penumbra/function.h"

namespace penumbra {

/// Implements both halves of a function that has one shader. pre_shade(), post_shade() and trace() run on any worker at
/// any time, so they may change only state that is made for concurrent use. They must change no state at all for a
/// dry-run chunk.
class LookupFunction : public Function {
 public:
  /// Return the name of the function's shader and the table that the shader reads: "" and null without a shader.
  virtual std::string shader() const { return {}; }
  virtual Table* table() { return nullptr; }
  /// Takes nothing from the ports unless overridden.
  void bind(std::span<const PortInfo> /*ports*/) override {}

  /// Prepares for a worker, on the worker's thread before its first packet. An override touches memory that the worker
  /// will write, so that no packet waits for a page fault. Not called for a dry run.
  virtual void prepare(std::uint16_t /*worker*/) noexcept {}
  /// Judges each undecided packet and fills a batch for the packets that need the shader: chunk.columns, items and
  /// packet_of_item. The runtime skips the shader if there are no items.
  virtual void pre_shade(Chunk& chunk) noexcept = 0;
  /// Turns the batch's outputs into verdicts and rewrites the packets. A function without a shader needs none.
  virtual void post_shade(Chunk& /*chunk*/) noexcept {}
  /// Return the results of FunctionWorker::trace() and explain().
  virtual std::string trace(const Chunk& chunk, std::uint16_t packet) const = 0;
  virtual nlohmann::ordered_json explain(const Chunk& chunk, std::uint16_t packet) const;
  /// Refuses each topic. A function with topics overrides this function.
  nlohmann::ordered_json show(std::string_view topic, std::span<const std::string> arguments) const override;

  using Function::prepare;  // Prepares a command.
  std::vector<FunctionShader> shaders() final {
    if (shader().empty()) return {};
    return {{shader(), table()}};
  }
  std::unique_ptr<FunctionWorker> open_worker(const WorkerContext& context) final;
};

}  // namespace penumbra
