// SPDX-License-Identifier: Apache-2.0
//
// Runs a function on an engine, for tests and fuzzers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "penumbra/engine.h"
#include "penumbra/function.h"
#include "testing/packet.h"

namespace penumbra::function_testing {

/// Sends packets through the function in the same way as a worker.
class Runner {
 public:
  explicit Runner(Function& function, const std::string& engine = "scalar")
      : function_(function), engine_(create_engine(engine)), shader_(engine_->find_shader(function.shader())) {
    if (shader_ == nullptr && !function.shader().empty()) throw std::invalid_argument(engine + " lacks the shader");
    if (shader_ != nullptr) engine_->use_table(*function.table());
    queue_ = engine_->open_queue();
  }

  /// Processes the packets of the chunk, of which there are `chunk.size`. Every second chunk is fetched ahead, because
  /// that must not change a result.
  void process(Chunk& chunk, std::uint16_t rx_port) {
    chunk.rx_port = rx_port;
    chunk.verdicts.fill({});
    chunk.columns.clear();
    chunk.batch.items = 0;
    chunk.fetch_ahead = !chunk.fetch_ahead;
    function_.pre_shade(chunk);
    if (chunk.batch.items > 0) {
      chunk.batch.shader = shader_;
      chunk.batch.table = function_.table();
      if (queue_->submit(chunk.batch) == EngineQueue::Submitted::queued) {
        while (queue_->poll() == nullptr) std::this_thread::yield();
      }
    }
    function_.post_shade(chunk);
  }
  /// Fills the chunk with the packets and processes it.
  void process(Chunk& chunk, std::vector<Packet>& packets, std::uint16_t rx_port = 0) {
    chunk.size = static_cast<std::uint16_t>(packets.size());
    for (std::size_t i = 0; i < packets.size(); ++i) chunk.packets[i] = &packets[i].mbuf;
    process(chunk, rx_port);
  }
  /// Returns the function's line about a packet of the processed chunk.
  std::string trace(const Chunk& chunk, std::uint16_t packet) const { return function_.trace(chunk, packet); }
  const Engine& engine() const { return *engine_; }

 private:
  Function& function_;
  std::unique_ptr<Engine> engine_;
  const Shader* shader_;
  std::unique_ptr<EngineQueue> queue_;
};

/// Returns the name of the reason, "" for a packet that is sent, or "pass".
inline std::string reason_of(const Function& function, Verdict verdict) {
  if (verdict.kind == Verdict::Kind::send || verdict.kind == Verdict::Kind::replicate) return "";
  if (verdict.kind == Verdict::Kind::pass) return "pass";
  const Reason& reason = function.reasons().at(verdict.value);
  return reason.kind == verdict.kind ? reason.name : reason.name + " of the wrong kind";
}

}  // namespace penumbra::function_testing
