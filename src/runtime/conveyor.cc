// SPDX-License-Identifier: Apache-2.0
#include "runtime/conveyor.h"

#include <rte_cycles.h>

#include <algorithm>
#include <utility>

namespace penumbra::runtime {
namespace {

enum StageStep : std::size_t { kPre, kShade, kPost };

}  // namespace

Conveyor::Conveyor(const Pipeline& pipeline, std::vector<std::unique_ptr<EngineQueue>> queues, WorkerCounters& counters,
                   Tracer& tracer, Captures& captures, Egress& egress)
    : counters_(counters),
      tracer_(tracer),
      captures_(captures),
      egress_(egress),
      lanes_(pipeline.stages().size()),
      flights_(std::make_unique<Flight[]>(kFlights)) {
  for (std::size_t i = 0; i < lanes_.size(); ++i) {
    lanes_[i].stage = &pipeline.stages()[i];
    lanes_[i].engine = std::move(queues[i]);
  }
  for (std::uint32_t i = kFlights; i > 0; --i) free_.push_back(&flights_[i - 1]);
}

std::uint64_t Conveyor::enter(std::uint64_t now) noexcept {
  clock_ = now;
  Flight& flight = *free_.back();
  free_.pop_back();
  flight.stage = 0;
  std::fill_n(flight.verdicts.begin(), flight.size, Verdict{});
  flight.traced = false;
  if (tracer_.armed()) {
    flight.traces = tracer_.select(flight);
    flight.traced = !flight.traces.empty();
  }
  if (captures_.armed()) captures_.received(flight);
  travel(flight);
  return clock_;
}

void Conveyor::travel(Flight& flight) noexcept {
  while (flight.stage < lanes_.size()) {
    Lane& lane = lanes_[flight.stage];
    pre_shade(flight, lane);
    if (lane.empty() && flight.shading == Flight::Shading::waiting) submit(flight, lane);
    if (!lane.empty() || flight.shading != Flight::Shading::ready) {
      lane.at(lane.tail++) = &flight;
      submit_waiting(lane);
      return;
    }
    post_shade(flight, lane);
  }
  finish(flight);
}

bool Conveyor::poll() noexcept {
  bool moved = false;
  for (Lane& lane : lanes_) {
    if (lane.empty()) continue;
    const std::size_t step = step_of_stage(static_cast<std::size_t>(&lane - lanes_.data())) + kShade;
    for (;;) {
      clock_ = rte_rdtsc();
      Batch* batch = lane.engine->poll();
      if (batch == nullptr) break;
      Flight& flight = Flight::of(*batch);
      flight.shading = Flight::Shading::ready;
      counters_.steps[step].add(lap(), batch->items);
    }
    submit_waiting(lane);
    while (!lane.empty() && lane.at(lane.head)->shading == Flight::Shading::ready) {
      Flight& flight = *lane.at(lane.head++);
      post_shade(flight, lane);
      travel(flight);
      moved = true;
    }
  }
  return moved;
}

std::uint64_t Conveyor::lap() noexcept {
  const std::uint64_t now = rte_rdtsc();
  return now - std::exchange(clock_, now);
}

void Conveyor::pre_shade(Flight& flight, Lane& lane) noexcept {
  const auto is_undecided = [](Verdict verdict) { return verdict.kind == Verdict::Kind::pass; };
  auto* const end = flight.verdicts.begin() + flight.size;
  flight.undecided = flight.stage == 0
                         ? flight.size
                         : static_cast<std::uint16_t>(std::count_if(flight.verdicts.begin(), end, is_undecided));
  flight.shading = Flight::Shading::ready;
  flight.batch.items = 0;
  if (flight.undecided == 0) return;
  flight.columns.clear();
  flight.batch.shader = lane.stage->shader;
  flight.batch.table = lane.stage->table;
  flight.batch.is_pressed = flight.size == Chunk::kCapacity;
  flight.fetch_ahead = lane.engine != nullptr && lane.engine->fetches_ahead();
  lane.stage->function->pre_shade(flight);
  if (flight.batch.items > 0 && lane.engine != nullptr) flight.shading = Flight::Shading::waiting;
  counters_.steps[step_of_stage(flight.stage) + kPre].add(lap(), flight.undecided);
}

void Conveyor::submit(Flight& flight, Lane& lane) noexcept {
  const std::uint32_t items = flight.batch.items;
  switch (lane.engine->submit(flight.batch)) {
    case EngineQueue::Submitted::done:
      flight.shading = Flight::Shading::ready;
      counters_.steps[step_of_stage(flight.stage) + kShade].add(lap(), items);
      break;
    case EngineQueue::Submitted::queued:
      flight.shading = Flight::Shading::submitted;
      counters_.steps[step_of_stage(flight.stage) + kShade].cycles.add(lap());
      break;
    case EngineQueue::Submitted::full:
      break;
  }
}

void Conveyor::submit_waiting(Lane& lane) noexcept {
  for (; lane.unsubmitted != lane.tail; ++lane.unsubmitted) {
    Flight& flight = *lane.at(lane.unsubmitted);
    if (flight.shading != Flight::Shading::waiting) continue;
    submit(flight, lane);
    if (flight.shading == Flight::Shading::waiting) return;
  }
}

void Conveyor::post_shade(Flight& flight, Lane& lane) noexcept {
  if (flight.undecided > 0) {
    lane.stage->function->post_shade(flight);
    counters_.steps[step_of_stage(flight.stage) + kPost].add(lap(), flight.undecided);
    if (flight.traced) tracer_.note_stage(flight, flight.traces);
  }
  ++flight.stage;
}

void Conveyor::finish(Flight& flight) noexcept {
  egress_.finish(flight, clock_);
  free_.push_back(&flight);
  counters_.steps.back().add(lap(), flight.size);
}

}  // namespace penumbra::runtime
