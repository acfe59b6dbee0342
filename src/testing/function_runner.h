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

#include "base/null_emitter.h"
#include "packet/mbuf_metadata.h"
#include "penumbra/engine.h"
#include "penumbra/function.h"
#include "testing/packet.h"

namespace penumbra::function_testing {

/// Sends packets through the function in the same way as a worker.
class Runner {
 public:
  explicit Runner(Function& function, const std::string& engine = "scalar")
      : worker_(function.open_worker({.emitter = emitter_})), engine_(create_engine(engine)) {
    for (const FunctionShader& each : function.shaders()) {
      const Shader* const shader = engine_->find_shader(each.name);
      if (shader == nullptr) throw std::invalid_argument(engine + " lacks the shader " + each.name);
      engine_->use_table(*each.table);
      shaders_.push_back({shader, each.table, engine_->open_queue()});
    }
  }

  /// Processes the packets of the chunk, of which there are `chunk.size`. Every second chunk is fetched ahead, because
  /// that must not change a result.
  void process(Chunk& chunk, std::uint16_t rx_port) {
    chunk.rx_port = rx_port;
    chunk.verdicts.fill({});
    chunk.columns.clear();
    chunk.batch.items = 0;
    chunk.batch.source = chunk.batch.destination = payload_base();
    chunk.fetch_ahead = !chunk.fetch_ahead;
    chunk.shader = 0;
    for (std::uint16_t i = 0; i < chunk.size; ++i) clear_metadata(*chunk.packets[i]);
    worker_->process(chunk);
    bool has_job = chunk.batch.items > 0;
    do {
      if (has_job && !shaders_.empty()) run_job(chunk);
      has_job = worker_->resume(chunk);
    } while (has_job);
  }
  /// Fills the chunk with the packets and processes it.
  void process(Chunk& chunk, std::vector<Packet>& packets, std::uint16_t rx_port = 0) {
    chunk.size = static_cast<std::uint16_t>(packets.size());
    for (std::size_t i = 0; i < packets.size(); ++i) chunk.packets[i] = &packets[i].mbuf;
    process(chunk, rx_port);
  }
  /// Do what the worker does at `now`, in nanoseconds, and when the run ends.
  std::uint64_t tick(std::uint64_t now) { return worker_->tick(now); }
  bool finish() { return worker_->finish(); }
  /// Returns the function's line about a packet of the processed chunk.
  std::string trace(const Chunk& chunk, std::uint16_t packet) const { return worker_->trace(chunk, packet); }
  const Engine& engine() const { return *engine_; }

 private:
  struct JobQueue {
    const Shader* shader;
    const Table* table;
    std::unique_ptr<EngineQueue> queue;
  };

  void run_job(Chunk& chunk) {
    const JobQueue& job = shaders_[chunk.shader];
    chunk.batch.shader = job.shader;
    chunk.batch.table = job.table;
    if (job.queue->submit(chunk.batch) != EngineQueue::Submitted::queued) return;
    while (job.queue->poll() == nullptr) std::this_thread::yield();
  }

  NullEmitter emitter_;
  std::unique_ptr<FunctionWorker> worker_;
  std::unique_ptr<Engine> engine_;
  std::vector<JobQueue> shaders_;
};

/// Returns the name of the reason, "" for a packet that is sent, or "pass".
inline std::string reason_of(const Function& function, Verdict verdict) {
  if (verdict.kind == Verdict::Kind::send || verdict.kind == Verdict::Kind::replicate) return "";
  if (verdict.kind == Verdict::Kind::pass) return "pass";
  const Reason& reason = function.reasons().at(verdict.value);
  return reason.kind == verdict.kind ? reason.name : reason.name + " of the wrong kind";
}

}  // namespace penumbra::function_testing
