// SPDX-License-Identifier: Apache-2.0
#include "runtime/chunk_scheduler.h"

#include <rte_cycles.h>

#include <algorithm>
#include <utility>

namespace penumbra::runtime {
namespace {

enum StageStep : std::size_t { kPre, kShade, kPost };

}  // namespace

ChunkScheduler::ChunkScheduler(const Pipeline& pipeline, std::vector<std::unique_ptr<EngineQueue>> queues,
                               WorkerCounters& counters, Tracer& tracer, Captures& captures, Egress& egress)
    : counters_(counters),
      tracer_(tracer),
      captures_(captures),
      egress_(egress),
      stages_(pipeline.stages().size()),
      chunks_(std::make_unique<InFlightChunk[]>(kMostChunks)) {
  for (std::size_t i = 0; i < stages_.size(); ++i) {
    stages_[i].stage = &pipeline.stages()[i];
    stages_[i].engine = std::move(queues[i]);
  }
  for (std::uint32_t i = kMostChunks; i > 0; --i) free_.push_back(&chunks_[i - 1]);
}

std::uint64_t ChunkScheduler::enter(std::uint64_t now) noexcept {
  clock_ = now;
  InFlightChunk& chunk = *free_.back();
  free_.pop_back();
  chunk.stage = 0;
  std::fill_n(chunk.verdicts.begin(), chunk.size, Verdict{});
  chunk.traced = false;
  if (tracer_.armed()) {
    chunk.traces = tracer_.select(chunk);
    chunk.traced = !chunk.traces.empty();
  }
  if (captures_.armed()) captures_.received(chunk);
  advance(chunk);
  return clock_;
}

void ChunkScheduler::advance(InFlightChunk& chunk) noexcept {
  while (chunk.stage < stages_.size()) {
    StageQueue& stage = stages_[chunk.stage];
    pre_shade(chunk, stage);
    if (stage.empty() && chunk.shading == InFlightChunk::Shading::waiting) submit(chunk, stage);
    if (!stage.empty() || chunk.shading != InFlightChunk::Shading::ready) {
      stage.at(stage.tail++) = &chunk;
      submit_waiting(stage);
      return;
    }
    post_shade(chunk, stage);
  }
  finish(chunk);
}

bool ChunkScheduler::poll() noexcept {
  bool moved = false;
  for (StageQueue& stage : stages_) {
    if (stage.empty()) continue;
    const std::size_t step = step_of_stage(static_cast<std::size_t>(&stage - stages_.data())) + kShade;
    for (;;) {
      clock_ = rte_rdtsc();
      Batch* batch = stage.engine->poll();
      if (batch == nullptr) break;
      InFlightChunk& chunk = InFlightChunk::of(*batch);
      chunk.shading = InFlightChunk::Shading::ready;
      counters_.steps[step].add(lap(), batch->items);
    }
    submit_waiting(stage);
    while (!stage.empty() && stage.at(stage.head)->shading == InFlightChunk::Shading::ready) {
      InFlightChunk& chunk = *stage.at(stage.head++);
      post_shade(chunk, stage);
      advance(chunk);
      moved = true;
    }
  }
  return moved;
}

std::uint64_t ChunkScheduler::lap() noexcept {
  const std::uint64_t now = rte_rdtsc();
  return now - std::exchange(clock_, now);
}

void ChunkScheduler::pre_shade(InFlightChunk& chunk, StageQueue& stage) noexcept {
  const auto is_undecided = [](Verdict verdict) { return verdict.kind == Verdict::Kind::pass; };
  auto* const end = chunk.verdicts.begin() + chunk.size;
  chunk.undecided = chunk.stage == 0
                        ? chunk.size
                        : static_cast<std::uint16_t>(std::count_if(chunk.verdicts.begin(), end, is_undecided));
  chunk.shading = InFlightChunk::Shading::ready;
  chunk.batch.items = 0;
  if (chunk.undecided == 0) return;
  chunk.columns.clear();
  chunk.batch.shader = stage.stage->shader;
  chunk.batch.table = stage.stage->table;
  chunk.batch.has_backlog = chunk.size == Chunk::kCapacity;
  chunk.fetch_ahead = stage.engine != nullptr && stage.engine->fetches_ahead();
  stage.stage->function->pre_shade(chunk);
  if (chunk.batch.items > 0 && stage.engine != nullptr) chunk.shading = InFlightChunk::Shading::waiting;
  counters_.steps[step_of_stage(chunk.stage) + kPre].add(lap(), chunk.undecided);
}

void ChunkScheduler::submit(InFlightChunk& chunk, StageQueue& stage) noexcept {
  const std::uint32_t items = chunk.batch.items;
  switch (stage.engine->submit(chunk.batch)) {
    case EngineQueue::Submitted::done:
      chunk.shading = InFlightChunk::Shading::ready;
      counters_.steps[step_of_stage(chunk.stage) + kShade].add(lap(), items);
      break;
    case EngineQueue::Submitted::queued:
      chunk.shading = InFlightChunk::Shading::submitted;
      counters_.steps[step_of_stage(chunk.stage) + kShade].cycles.add(lap());
      break;
    case EngineQueue::Submitted::full:
      break;
  }
}

void ChunkScheduler::submit_waiting(StageQueue& stage) noexcept {
  for (; stage.unsubmitted != stage.tail; ++stage.unsubmitted) {
    InFlightChunk& chunk = *stage.at(stage.unsubmitted);
    if (chunk.shading != InFlightChunk::Shading::waiting) continue;
    submit(chunk, stage);
    if (chunk.shading == InFlightChunk::Shading::waiting) return;
  }
}

void ChunkScheduler::post_shade(InFlightChunk& chunk, StageQueue& stage) noexcept {
  if (chunk.undecided > 0) {
    stage.stage->function->post_shade(chunk);
    counters_.steps[step_of_stage(chunk.stage) + kPost].add(lap(), chunk.undecided);
    if (chunk.traced) tracer_.note_stage(chunk, chunk.traces);
  }
  ++chunk.stage;
}

void ChunkScheduler::finish(InFlightChunk& chunk) noexcept {
  egress_.finish(chunk, clock_);
  free_.push_back(&chunk);
  counters_.steps.back().add(lap(), chunk.size);
}

}  // namespace penumbra::runtime
