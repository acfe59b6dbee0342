// SPDX-License-Identifier: Apache-2.0
//
// Measures the best plan for a shader on a table. The launch thread does so before there is traffic, on batches of a
// router's size that come as from several workers.
#include <algorithm>
#include <array>
#include <memory>
#include <random>
#include <utility>

#include "cuda/launch_thread.h"

namespace penumbra::cuda {
namespace {

constexpr std::uint32_t kItems = 64;
constexpr std::size_t kJobs = 256, kQueues = 4;  ///< Jobs in flight, and the number of queues that they simulate.
constexpr std::size_t kBatches = 512;            ///< Batches of a measurement.
constexpr int kTimes = 5;                        ///< Repetitions; the best counts.
constexpr double kGain = 0.95;  ///< Another plan must take less than this factor, because measurements are not exact.

}  // namespace

/// Batches of random columns.
struct LaunchThread::Sample {
  Sample(const Shader& shader, const Table& table)
      : bytes_in(staged_bytes(shader.input_bytes, kItems)),
        bytes_out(staged_bytes(shader.output_bytes, kItems)),
        memory(std::make_shared<SharedMemory>(std::make_shared<HugeMemory>(kJobs * (bytes_in + bytes_out)), false)) {
    std::byte* const inputs = memory->host->data();
    std::mt19937 random(1);
    std::generate_n(inputs, kJobs * bytes_in, [&random] { return static_cast<std::byte>(random()); });
    batch = {.shader = &shader, .table = &table, .items = kItems};
    for (std::size_t i = 0; i < kJobs; ++i) {
      const std::size_t place = i % kQueues * (kJobs / kQueues) + i / kQueues;
      Job& job = jobs[i];
      job.shader = &shader;
      job.table = &table;
      job.inputs = {memory.get(), inputs + place * bytes_in};
      job.outputs = {memory.get(), inputs + kJobs * bytes_in + place * bytes_out};
      job.items = kItems;
      job.is_hurried = true;
      job.batch = &batch;
    }
  }

  const std::size_t bytes_in, bytes_out;
  const std::shared_ptr<SharedMemory> memory;
  Batch batch;
  std::array<Job, kJobs> jobs;
};

void LaunchThread::calibrate(const Shader& shader, const Table& table) {
  ask([&] {
    Group* const group = group_of(shader, table);
    if (memory_ == nullptr || group == nullptr) return;
    Sample sample(shader, table);  // Must outlive the work in flight after a device failure.
    is_calibrating_ = true;
    try {
      hold(sample.memory);
      if (is_reached(sample.jobs[0]) && wait_for_table(*group->table)) choose_plan(*group, sample);
      drop(*sample.memory);
    } catch (const DeviceError& error) {
      lose(error);
    }
    is_calibrating_ = false;
    std::erase(ranges_, sample.memory);
  });
}

/// Returns true if the GPU has the table, or gets it within the patience.
bool LaunchThread::wait_for_table(TableCopies& table) {
  const std::uint64_t wanted = table.wanted();
  const auto deadline = Clock::now() + options_.patience;
  while (wanted > 0 && !table.shows(wanted) && Clock::now() < deadline) advance_tables();
  return wanted > 0 && table.shows(wanted);
}

void LaunchThread::choose_plan(Group& group, Sample& sample) {
  constexpr LaunchPlan kPlainest{.streams = 1, .gather = 1, .access = Access::copied};
  const double plainest = cost(group, sample, kPlainest);
  LaunchPlan best = options_.constraints.applied_to(LaunchPlan());
  double least = cost(group, sample, best);
  const auto try_plan = [&](const LaunchPlan& plan) {
    if (plan == best || !options_.constraints.allows(plan)) return;
    if (const double found = cost(group, sample, plan); found < kGain * least) {
      best = plan;
      least = found;
    }
  };
  try_plan({.streams = best.streams, .gather = best.gather, .access = Access::copied});
  const Access access = best.access;
  for (const unsigned streams : {1U, 2U, 4U, 8U}) {
    for (const unsigned gather : {8U, 32U, kMostSegments}) {
      try_plan({.streams = streams, .gather = gather, .access = access});
    }
  }
  group.plan = best;
  add_choice({.shader = group.shader,
              .table = &group.table->table(),
              .plan = best,
              .gain = plainest / least,
              .is_loaded = false});
}

/// Returns the seconds per batch.
double LaunchThread::cost(Group& group, Sample& sample, const LaunchPlan& plan) {
  group.plan = plan;
  double least = 0;
  for (int i = 0; i < kTimes; ++i) {
    const Clock::time_point begin = Clock::now();
    for (std::size_t given = 0; given < kBatches || !flying_.empty() || waiting_ > 0;) {
      for (; given < kBatches; ++given) {
        Job& job = sample.jobs[given % kJobs];
        if (job.state.load(std::memory_order_relaxed) == Job::State::on_gpu) break;
        job.state.store(Job::State::on_gpu, std::memory_order_relaxed);
        put_into_group(job, begin);
      }
      launch();
      finish();
      advance_tables();  // Owners of the tables continue, and jobs must see their commits.
    }
    const double took = std::chrono::duration<double>(Clock::now() - begin).count() / kBatches;
    least = i == 0 ? took : std::min(least, took);
  }
  return least;
}

void LaunchThread::use_plan(const Choice& choice) {
  ask([&] {
    if (Group* const group = group_of(*choice.shader, *choice.table); group != nullptr) group->plan = choice.plan;
    add_choice(choice);
  });
}

void LaunchThread::add_choice(const Choice& choice) {
  const std::lock_guard lock(words_mutex_);
  choices_.push_back(choice);
}

std::vector<Choice> LaunchThread::choices() const {
  const std::lock_guard lock(words_mutex_);
  return choices_;
}

}  // namespace penumbra::cuda
