// SPDX-License-Identifier: Apache-2.0
#include "runtime/chunk_scheduler.h"

#include <rte_cycles.h>

#include <algorithm>
#include <limits>
#include <utility>

namespace penumbra::runtime {
namespace {

enum StageStep : std::size_t { kPre, kShade, kPost };

using Job = InFlightChunk::Job;

/// Compares two positions of a ring, which wrap around.
bool is_before(std::uint32_t position, std::uint32_t other) {
  return static_cast<std::int32_t>(position - other) < 0;
}

}  // namespace

ChunkScheduler::ChunkScheduler(std::uint16_t worker, const Pipeline& pipeline, Pipeline::Queues queues,
                               WorkerCounters& counters, Tracer& tracer, Captures& captures, Egress& egress,
                               rte_mempool* pool, Handover* handover)
    : pipeline_(pipeline),
      counters_(counters),
      tracer_(tracer),
      captures_(captures),
      egress_(egress),
      emissions_(worker, pipeline, counters, captures, handover),
      stages_(pipeline.stages().size()),
      chunks_(std::make_unique<InFlightChunk[]>(kMostChunks)) {
  for (std::size_t i = 0; i < stages_.size(); ++i) {
    stages_[i].stage = &pipeline.stages()[i];
    stages_[i].engines = std::move(queues[i]);
    emitters_.emplace_back(emissions_, static_cast<std::uint16_t>(i), pool);
    pools_.push_back(stages_[i].stage->info->creates_packets ? pool : nullptr);
    has_ticks_ = has_ticks_ || stages_[i].stage->info->has_ticks;
  }
  for (std::uint32_t i = kMostChunks; i > 0; --i) free_.push_back(&chunks_[i - 1]);
}

void ChunkScheduler::open_functions(std::uint16_t index, std::uint16_t count, unsigned core) {
  for (std::size_t i = 0; i < stages_.size(); ++i) {
    const WorkerContext context{
        .index = index, .count = count, .core = core, .emitter = emitters_[i], .pool = pools_[i]};
    stages_[i].function = stages_[i].stage->function->open_worker(context);
  }
}

template <class Use>
void ChunkScheduler::each_queue_with_payload(Use use) {
  for (const StageQueue& stage : stages_) {
    for (std::size_t i = 0; i < stage.engines.size(); ++i) {
      if (stage.stage->shaders[i].shader->has_payload()) use(*stage.engines[i]);
    }
  }
}

void ChunkScheduler::share(const std::shared_ptr<const HugeMemory>& memory) {
  each_queue_with_payload([&memory](EngineQueue& queue) { queue.share(memory); });
}

void ChunkScheduler::unshare(const HugeMemory& memory) {
  each_queue_with_payload([&memory](EngineQueue& queue) { queue.unshare(memory); });
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
    if (chunk.traced) ++traced_chunks_;
  }
  if (captures_.armed()) captures_.received(chunk);
  advance(chunk);
  return clock_;
}

void ChunkScheduler::advance(InFlightChunk& chunk) noexcept {
  while (chunk.stage < stages_.size()) {
    StageQueue& stage = stages_[chunk.stage];
    process(chunk, stage);
    if (stage.empty()) {
      for (;;) {
        if (chunk.job == Job::waiting) submit(chunk, stage);
        if (chunk.job != Job::ready) break;
        resume(chunk, stage);
      }
    }
    if (chunk.job != Job::resumed) {
      stage.at(stage.tail++) = &chunk;
      submit_waiting(stage);
      return;
    }
    leave(chunk);
  }
  finish(chunk);
}

bool ChunkScheduler::poll(std::uint64_t now) noexcept {
  bool moved = false;
  for (StageQueue& stage : stages_) {
    if (stage.empty()) continue;
    const std::size_t step = step_of_stage(static_cast<std::size_t>(&stage - stages_.data())) + kShade;
    for (const auto& engine : stage.engines) {
      for (;;) {
        clock_ = rte_rdtsc();
        Batch* batch = engine->poll();
        if (batch == nullptr) break;
        static_cast<InFlightChunk*>(batch->owner)->job = Job::ready;
        counters_.steps[step].add(lap(), batch->items);
      }
    }
    submit_waiting(stage);
    if (resume_ready(stage)) moved = true;
    while (!stage.empty() && stage.at(stage.head)->job == Job::resumed) {
      InFlightChunk& chunk = *stage.at(stage.head++);
      if (is_before(stage.unsubmitted, stage.head)) stage.unsubmitted = stage.head;
      leave(chunk);
      advance(chunk);
      moved = true;
    }
  }
  // The trace of a redirected packet comes to the emissions when its first chunk has finished.
  while (emissions_.size() > 0 && has_room() && traced_chunks_ == 0) {
    clock_ = rte_rdtsc();
    InFlightChunk& chunk = *free_.back();
    free_.pop_back();
    emissions_.fill(chunk);
    chunk.now = now;
    if (chunk.traced) ++traced_chunks_;
    advance(chunk);
    moved = true;
  }
  return moved;
}

/// Resumes the chunks whose jobs are done. A chunk waits until the chunk in front of it has had its round.
bool ChunkScheduler::resume_ready(StageQueue& stage) noexcept {
  bool resumed = false;
  std::uint16_t rounds_in_front = std::numeric_limits<std::uint16_t>::max();
  for (std::uint32_t position = stage.head; position != stage.tail; ++position) {
    InFlightChunk& chunk = *stage.at(position);
    while (chunk.job == Job::ready && chunk.rounds < rounds_in_front) {
      clock_ = rte_rdtsc();
      resume(chunk, stage);
      resumed = true;
      if (chunk.job == Job::waiting) {
        if (is_before(position, stage.unsubmitted)) stage.unsubmitted = position;
        submit_waiting(stage);
      }
    }
    if (chunk.job != Job::resumed) rounds_in_front = std::min(rounds_in_front, chunk.rounds);
    if (rounds_in_front == 0) break;
  }
  return resumed;
}

std::uint64_t ChunkScheduler::lap() noexcept {
  const std::uint64_t now = rte_rdtsc();
  return now - std::exchange(clock_, now);
}

void ChunkScheduler::process(InFlightChunk& chunk, StageQueue& stage) noexcept {
  const auto is_undecided = [](Verdict verdict) { return verdict.kind == Verdict::Kind::pass; };
  auto* const end = chunk.verdicts.begin() + chunk.size;
  chunk.undecided = chunk.stage == 0
                        ? chunk.size
                        : static_cast<std::uint16_t>(std::count_if(chunk.verdicts.begin(), end, is_undecided));
  chunk.job = Job::ready;
  chunk.rounds = 0;
  chunk.batch.items = 0;
  if (chunk.undecided == 0) return;
  chunk.columns.clear();
  chunk.shader = 0;
  chunk.batch.owner = &chunk;
  chunk.batch.source = chunk.batch.destination = payload_base();
  chunk.batch.has_backlog = chunk.size == Chunk::kCapacity;
  chunk.fetch_ahead = !stage.engines.empty() && stage.engines.front()->fetches_ahead();
  stage.function->process(chunk);
  if (chunk.batch.items > 0) start_job(chunk, stage);
  counters_.steps[step_of_stage(chunk.stage) + kPre].add(lap(), chunk.undecided);
}

/// Completes the batch that the function filled. A function without shaders may use a batch as it likes.
void ChunkScheduler::start_job(InFlightChunk& chunk, const StageQueue& stage) noexcept {
  if (stage.engines.empty()) return;
  const StageShader& shader = stage.stage->shaders[chunk.shader];
  chunk.batch.shader = shader.shader;
  chunk.batch.table = shader.table;
  chunk.job = Job::waiting;
}

void ChunkScheduler::submit(InFlightChunk& chunk, StageQueue& stage) noexcept {
  const std::uint32_t items = chunk.batch.items;
  switch (stage.engines[chunk.shader]->submit(chunk.batch)) {
    case EngineQueue::Submitted::done:
      chunk.job = Job::ready;
      counters_.steps[step_of_stage(chunk.stage) + kShade].add(lap(), items);
      break;
    case EngineQueue::Submitted::queued:
      chunk.job = Job::submitted;
      counters_.steps[step_of_stage(chunk.stage) + kShade].cycles.add(lap());
      break;
    case EngineQueue::Submitted::full:
      break;
  }
}

void ChunkScheduler::submit_waiting(StageQueue& stage) noexcept {
  for (; stage.unsubmitted != stage.tail; ++stage.unsubmitted) {
    InFlightChunk& chunk = *stage.at(stage.unsubmitted);
    if (chunk.job != Job::waiting) continue;
    submit(chunk, stage);
    if (chunk.job == Job::waiting) return;
  }
}

void ChunkScheduler::resume(InFlightChunk& chunk, StageQueue& stage) noexcept {
  chunk.job = Job::resumed;
  ++chunk.rounds;
  if (chunk.undecided == 0) return;
  if (stage.function->resume(chunk)) start_job(chunk, stage);
  counters_.steps[step_of_stage(chunk.stage) + kPost].add(lap(), chunk.undecided);
}

/// Moves the chunk to the next stage.
void ChunkScheduler::leave(InFlightChunk& chunk) noexcept {
  if (chunk.traced && chunk.undecided > 0) tracer_.note_stage(chunk, *stages_[chunk.stage].function, chunk.traces);
  if (!stages_[chunk.stage].stage->go_to.empty()) redirect(chunk);
  ++chunk.stage;
}

/// Moves the packets whose next stage is another one by the configuration.
void ChunkScheduler::redirect(InFlightChunk& chunk) noexcept {
  for (std::uint16_t i = 0; i < chunk.size; ++i) {
    const Verdict verdict = pipeline_.redirected(chunk.stage, chunk.verdicts[i]);
    if (verdict == chunk.verdicts[i]) continue;
    chunk.verdicts[i] = verdict;
    emissions_.redirect(chunk, i);
  }
}

void ChunkScheduler::finish(InFlightChunk& chunk) noexcept {
  if (chunk.traced) {
    --traced_chunks_;
    std::erase_if(chunk.traces, [&](PacketTrace& trace) {
      return chunk.verdicts[trace.packet].kind == Verdict::Kind::go_to &&
             emissions_.follow(chunk.packets[trace.packet], trace);
    });
  }
  egress_.finish(chunk, clock_);
  free_.push_back(&chunk);
  counters_.steps.back().add(lap(), chunk.size);
}

std::uint64_t ChunkScheduler::tick(std::uint64_t now) noexcept {
  std::uint64_t next = FunctionWorker::kNever;
  for (StageQueue& stage : stages_) {
    if (stage.stage->info->has_ticks) next = std::min(next, stage.function->tick(now));
  }
  return next;
}

bool ChunkScheduler::finish() noexcept {
  bool finished = true;
  for (StageQueue& stage : stages_) {
    if (stage.stage->info->has_ticks && !stage.function->finish()) finished = false;
  }
  return finished;
}

}  // namespace penumbra::runtime
