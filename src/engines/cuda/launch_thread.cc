// SPDX-License-Identifier: Apache-2.0
#include "cuda/launch_thread.h"

#include <algorithm>
#include <cstdio>
#include <functional>
#include <utility>

namespace penumbra::cuda {
namespace {

constexpr std::size_t kInbox = 4096;            ///< A power of two.
constexpr std::size_t kTaken = 16;              ///< Jobs taken from the inbox at once.
constexpr std::size_t kMostWaiting = 1024;      ///< Jobs taken and not launched, above which no more are taken.
constexpr std::uint64_t kEnoughItems = 65'536;  ///< A launch of this many items does not wait for more.
/// Bytes from which a copy beats a kernel that reads host memory. If a warp's 32 elements fill a line of 128 bytes,
/// such a kernel reaches about 0.9 of the bus at any length. IPv4 addresses do. Copies of 1 MiB reach less, copies of 4
/// MiB more. A warp reads wider keys line by line, so copies win earlier (penumbra-bench run gpu: E11, E1).
constexpr std::size_t kLeastCopied = std::size_t{2} << 20;
constexpr std::size_t kLeastCopiedOfWide = std::size_t{512} << 10;
constexpr std::size_t kNarrowElementBytes = 4;  ///< Upper limit of a narrow element.
constexpr unsigned kUsualStreams = 8;           ///< More than any measured plan has.

}  // namespace

LaunchThread::LaunchThread(std::function<std::unique_ptr<Device>(unsigned)> open, LaunchOptions options)
    : DeviceOwner("cuda-master", options.retry_after,
                  {.patience = options.patience, .retry_after = options.retry_after, .has_counterparts = true}),
      open_(std::move(open)),
      options_(options),
      inbox_(kInbox),
      streams_(options.constraints.streams.value_or(kUsualStreams)) {
  for (Stream& stream : streams_) stream.jobs.reserve(kMostSegments);
  flying_.reserve(streams_.size());
}

LaunchThread::~LaunchThread() {
  stop();
}

void LaunchThread::wake_by(offload::Wakeup& wakeup, std::span<Job* const> jobs) {
  ask([&] {
    for (Job* const job : jobs) job->wakeup = &wakeup;
  });
}

bool LaunchThread::submit(Job& job) noexcept {
  if (!inbox_.put(&job)) return false;
  doorbell_.ring();
  return true;
}

bool LaunchThread::turn() {
  bool worked = take();
  if (!has_device()) return worked;
  worked = finish() || worked;
  worked = advance_tables() || worked;
  return launch() || worked;
}

/// Queries only the oldest launch of each group, because a query costs as much as a copy. A group's launches end
/// roughly in the order of their begin.
bool LaunchThread::finish() {
  const std::size_t before = flying_.size();
  for (auto index = flying_.begin(); index != flying_.end();) {
    Stream& stream = streams_[*index];
    if (!stream.group->is_waited_for && has_ended(*index)) {
      land(stream);
      index = flying_.erase(index);  // One at a time, so that flying_ stays correct if has_ended() throws.
    } else {
      stream.group->is_waited_for = true;
      ++index;
    }
  }
  for (const unsigned index : flying_) streams_[index].group->is_waited_for = false;
  return flying_.size() < before;
}

bool LaunchThread::has_ended(unsigned index) {
  if (memory_->reached(index)) return true;
  if (Clock::now() - streams_[index].since > options_.patience) {
    throw endless("a launch", options_.patience);
  }
  return false;
}

/// Gives back the jobs of a launch that has ended.
void LaunchThread::land(Stream& stream) {
  stream.group->table->leave(stream.copy);
  --stream.group->flying;
  give_back(stream, Job::State::done);
}

/// The worker may use the job again as soon as it sees the state. Its queue stays until unshare() has run on this
/// thread.
void LaunchThread::give_back(Job& job, Job::State state) noexcept {
  offload::Wakeup* const wakeup = job.wakeup;
  job.state.store(state, std::memory_order_release);
  if (wakeup != nullptr) wakeup->signal();
}

void LaunchThread::give_back(Stream& stream, Job::State state) noexcept {
  for (Job* job : stream.jobs) give_back(*job, state);
  stream.jobs.clear();
}

bool LaunchThread::take() {
  bool taken = false;
  for (std::size_t count = 1; count > 0 && waiting_ < kMostWaiting;) {
    // Takes all jobs first, so that their cache lines arrive while the first is processed.
    std::array<Job*, kTaken> jobs;
    for (count = 0; count < jobs.size(); ++count) {
      jobs[count] = inbox_.take();
      if (jobs[count] == nullptr) break;
      __builtin_prefetch(jobs[count], 1);
    }
    const Clock::time_point now = options_.max_delay.count() > 0 && count > 0 ? Clock::now() : Clock::time_point();
    for (std::size_t i = 0; i < count; ++i) put_into_group(*jobs[i], now);
    taken = taken || count > 0;
  }
  return taken;
}

void LaunchThread::put_into_group(Job& job, Clock::time_point now) {
  if (!accepts()) return give_back(job, Job::State::lost);
  Group* const group = is_reached(job) ? group_of(*job.shader, *job.table) : nullptr;
  if (group == nullptr) return give_back(job, Job::State::on_cpu);
  group->at(group->tail++) = {&job, group->table->wanted(), now};
  group->items += job.items;
  group->hurried += job.is_hurried ? 1 : 0;
  ++waiting_;
}

bool LaunchThread::launch() {
  bool launched = false;
  for (unsigned index = 0; index < streams_.size() && waiting_ > 0; ++index) {
    if (!streams_[index].jobs.empty()) continue;
    bool found = false;
    for (std::size_t i = 0; i < groups_.size() && !found; ++i) {
      found = launch(*groups_[next_group_++ % groups_.size()], index);
    }
    if (!found) break;
    launched = true;
  }
  return launched;
}

/// True if the group's jobs have waited long enough, or one is hurried, or they are so many that waiting would not
/// improve the launch.
bool LaunchThread::is_ripe(Group& group) const {
  if (group.head == group.tail) return false;
  return options_.max_delay.count() == 0 || group.hurried > 0 || group.tail - group.head >= group.plan.gather ||
         group.items >= kEnoughItems || Clock::now() - group.at(group.head).since >= options_.max_delay;
}

/// Launches the group's oldest jobs for which the table is ready; returns false if there are none.
bool LaunchThread::launch(Group& group, unsigned index) {
  if (group.flying == group.plan.streams || !is_ripe(group)) return false;
  Stream& stream = streams_[index];
  while (stream.jobs.size() < group.plan.gather && group.head < group.tail &&
         group.table->shows(group.at(group.head).state)) {
    Job* const job = group.at(group.head++).job;
    group.items -= job->items;
    group.hurried -= job->is_hurried ? 1 : 0;
    stream.jobs.push_back(job);
  }
  if (stream.jobs.empty()) return false;
  waiting_ -= stream.jobs.size();
  ++group.flying;
  stream.group = &group;
  stream.copy = group.table->enter();
  stream.since = Clock::now();
  send(stream, index);
  flying_.push_back(index);
  if (is_calibrating_) return true;
  launches_.fetch_add(1, std::memory_order_relaxed);
  const auto batches = std::ranges::count(stream.jobs, true, &Job::is_last);
  batches_.fetch_add(static_cast<std::uint64_t>(batches), std::memory_order_relaxed);
  return true;
}

/// Gives the work of the next launch to the stream.
void LaunchThread::send(Stream& stream, unsigned index) {
  const Shader& shader = *stream.group->shader;
  const bool copies = is_copied(stream);
  if (copies) {
    for_each_run(stream.jobs, &Job::inputs, &Shader::input_bytes,
                 [&](std::byte* device, const std::byte* host, std::size_t bytes) {
                   memory_->to_device(index, device, host, bytes);
                 });
  }
  for (std::size_t i = 0; i < stream.jobs.size(); ++i) fill(segments_[i], *stream.jobs[i], !copies);
  memory_->launch(index, {&shader, stream.group->table->view(stream.copy), {segments_.data(), stream.jobs.size()}});
  if (copies) {
    for_each_run(stream.jobs, &Job::outputs, &Shader::output_bytes,
                 [&](const std::byte* device, std::byte* host, std::size_t bytes) {
                   memory_->to_host(index, host, device, bytes);
                 });
  }
  memory_->mark(index);
}

/// True if the launch works on copies in GPU memory. The jobs are then sorted by their columns, so that one copy takes
/// adjacent columns.
bool LaunchThread::is_copied(Stream& stream) const {
  if (stream.group->plan.access == Access::mapped) return false;
  std::uint64_t items = 0;
  for (const Job* job : stream.jobs) items += job->items;
  if (stream.group->plan.access == Access::by_length && items * stream.group->item_bytes < stream.group->least_copied)
    return false;
  std::ranges::sort(stream.jobs, std::less<>(), [](const Job* job) {
    const std::byte* begin = job->inputs.staged;
    return begin != nullptr ? begin : item_of(job->batch->inputs[0], job->first, job->shader->input_bytes[0]);
  });
  if (stream.group->plan.access == Access::copied) return true;
  std::size_t runs = 0;
  for_each_run(stream.jobs, &Job::inputs, &Shader::input_bytes,
               [&runs](const std::byte*, const std::byte*, std::size_t) { ++runs; });
  return items * stream.group->item_bytes >= stream.group->least_copied * runs;
}

/// Calls `copy` with each run of adjacent columns of one direction: its device address, host address and bytes. Jobs of
/// one queue come in order, so most runs are long.
template <class Copy>
void LaunchThread::for_each_run(const std::vector<Job*>& jobs, Places Job::* direction,
                                std::vector<std::size_t> Shader::* element_bytes, const Copy& copy) {
  const SharedMemory* memory = nullptr;
  std::byte* begin = nullptr;
  std::byte* end = nullptr;
  const auto finish = [&] {
    if (begin != end) copy(memory->address_of(begin, false), begin, static_cast<std::size_t>(end - begin));
  };
  for (const Job* job : jobs) {
    const Places& places = job->*direction;
    for_each_column(*job, direction, element_bytes, [&](std::size_t, std::byte* column, std::size_t bytes) {
      if (places.memory != memory || column != end) {
        finish();
        memory = places.memory;
        begin = end = column;
      }
      end += places.staged != nullptr ? padded(bytes) : bytes;
    });
  }
  finish();
}

/// Sets the segment to the job's device addresses, in host memory if `is_mapped`, else in device memory.
void LaunchThread::fill(Segment& segment, const Job& job, bool is_mapped) noexcept {
  segment.items = job.items;
  if (job.shader->has_payload()) {
    const auto seen = [](const PayloadPlace& place) {
      return place.memory == nullptr ? nullptr : place.memory->address_of(place.base, true);
    };
    segment.source = seen(job.source);
    segment.destination = seen(job.destination);
  }
  for_each_column(job, &Job::inputs, &Shader::input_bytes, [&](std::size_t i, const std::byte* column, std::size_t) {
    segment.inputs[i] = job.inputs.memory->address_of(column, is_mapped);
  });
  for_each_column(job, &Job::outputs, &Shader::output_bytes, [&](std::size_t i, const std::byte* column, std::size_t) {
    segment.outputs[i] = job.outputs.memory->address_of(column, is_mapped);
  });
}

bool LaunchThread::is_reached(const Job& job) noexcept {
  const auto is_it = [](const SharedMemory* memory) { return memory == nullptr || memory->is_reached(); };
  const bool has_columns = is_it(job.inputs.memory) && is_it(job.outputs.memory);
  return has_columns && (!job.shader->has_payload() || (is_it(job.source.memory) && is_it(job.destination.memory)));
}

/// Returns null if the table does not belong to this engine.
LaunchThread::Group* LaunchThread::group_of(const Shader& shader, const Table& table) {
  const auto is_of = [&](const Group* group) { return group->shader == &shader && &group->table->table() == &table; };
  if (last_group_ != nullptr && is_of(last_group_)) return last_group_;
  const auto known = std::ranges::find_if(groups_, is_of, &std::unique_ptr<Group>::get);
  if (known != groups_.end()) return last_group_ = known->get();
  const auto is_its = [&table](const TableCopies* copies) { return &copies->table() == &table; };
  const auto copies = std::ranges::find_if(tables_, is_its);
  if (copies == tables_.end()) return nullptr;
  auto group = std::make_unique<Group>();
  group->shader = &shader;
  group->table = *copies;
  group->plan = options_.constraints.applied_to(LaunchPlan());
  group->item_bytes = std::max(sum_of(shader.input_bytes), sum_of(shader.output_bytes));
  group->least_copied = std::ranges::max(shader.input_bytes) > kNarrowElementBytes ? kLeastCopiedOfWide : kLeastCopied;
  group->ring.resize(kMostWaiting + kTaken);
  return last_group_ = groups_.emplace_back(std::move(group)).get();
}

bool LaunchThread::has_nothing_to_do() const {
  return inbox_.empty() && waiting_ == 0 && flying_.empty() && !tables_have_work();
}

std::vector<std::string> LaunchThread::notes() const {
  const std::lock_guard lock(words_mutex_);
  std::vector<std::string> lines;
  const std::uint64_t launches = launches_.load(std::memory_order_relaxed);
  const std::uint64_t batches = batches_.load(std::memory_order_relaxed);
  if (!name_.empty()) {
    const auto delay = options_.max_delay.count();
    lines.push_back(name_ + ": " + describe(options_.constraints.applied_to(LaunchPlan())) +
                    (delay > 0 ? ", waiting for them up to " + std::to_string(delay) + " us" : ""));
  }
  for (const Choice& each : choices_) {
    std::array<char, 64> gain{};
    std::snprintf(gain.data(), gain.size(), ", %.1f times one copied batch at a time%s", each.gain,
                  each.is_loaded ? " in an earlier run" : "");
    lines.push_back(each.shader->name + ": " + describe(each.plan) + gain.data());
  }
  if (launches > 0) lines.push_back(std::to_string(batches) + " batches in " + std::to_string(launches) + " launches");
  const std::uint64_t given_up = given_up_.load(std::memory_order_relaxed);
  if (given_up > 0) lines.push_back(std::to_string(given_up) + " batches came back from a lost GPU, for the CPU");
  note_copied(lines);
  if (!failure_.empty()) lines.push_back(failure_);
  return lines;
}

}  // namespace penumbra::cuda
