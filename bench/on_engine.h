// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <stdexcept>
#include <string>

#include "penumbra/engine.h"

namespace penumbra::bench {

/// Throws std::runtime_error if `note`, a note of an engine, reports a device failure. The CPU answered in the GPU's
/// place then.
inline void require_gpu(const std::string& engine, const std::string& note) {
  if (note.find("came back") == std::string::npos && note.find("lost") == std::string::npos) return;
  throw std::runtime_error(engine + " lost its GPU while it was measured: " + note);
}

/// Runs a table's shader on an engine instance that this object owns, one batch at a time.
class OnEngine {
 public:
  OnEngine(const std::string& engine, Table& table)
      : name_("penumbra " + engine), engine_(create_engine(engine)), table_(&table) {
    engine_->use_table(table);
    queue_ = engine_->open_queue();
    shader_ = engine_->find_shader(table.name());
  }

  bool has_shader() const { return shader_ != nullptr; }
  /// Returns the contender's name in reports.
  const std::string& name() const { return name_; }
  bool fetches_ahead() const { return queue_->fetches_ahead(); }

  /// Runs the batch and waits for its end.
  void run(Batch& batch) {
    batch.shader = shader_;
    batch.table = table_;
    auto answer = queue_->submit(batch);
    while (answer == EngineQueue::Submitted::full) answer = queue_->submit(batch);
    while (answer == EngineQueue::Submitted::queued && queue_->poll() == nullptr) {
    }
  }
  /// Runs a batch of one input and one output column.
  void run(const void* inputs, void* outputs, std::size_t items) {
    Batch batch;
    batch.items = static_cast<std::uint32_t>(items);
    batch.inputs[0] = inputs;
    batch.outputs[0] = outputs;
    run(batch);
  }

 private:
  std::string name_;
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<EngineQueue> queue_;
  const Shader* shader_ = nullptr;
  const Table* table_ = nullptr;
};

}  // namespace penumbra::bench
