// SPDX-License-Identifier: Apache-2.0
#include "cuda/master.h"

#include <pthread.h>
#include <sys/epoll.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

namespace penumbra::cuda {
namespace {

constexpr std::size_t kInbox = 4096;        ///< a power of two
constexpr std::size_t kMostWaiting = 1024;  ///< jobs that the master has taken and not launched
constexpr unsigned kIdleTurns = 2000;       ///< before it sleeps

}  // namespace

Master::Master(std::function<std::unique_ptr<Device>(unsigned)> open, MasterOptions options)
    : open_(std::move(open)),
      options_(options),
      epoll_(epoll_create1(EPOLL_CLOEXEC)),
      inbox_(kInbox),
      lanes_(options.streams) {
  if (!epoll_) throw std::system_error(errno, std::generic_category(), "cannot make an epoll set");
  doorbell_.join(epoll_);
  for (Lane& lane : lanes_) lane.jobs.reserve(kMostSegments);
}

Master::~Master() {
  stop_.store(true);
  doorbell_.ring();
  if (thread_.joinable()) thread_.join();
}

void Master::start() {
  if (thread_.joinable()) return;
  thread_ = std::thread([this] { run(); });
  ask([] {});
}

std::shared_ptr<SharedMemory> Master::share(std::shared_ptr<const HugeMemory> host, bool is_needed) {
  std::shared_ptr<SharedMemory> memory;
  ask([&] {
    const auto known = std::ranges::find(memories_, host, &SharedMemory::host);
    if (known != memories_.end()) {
      memory = *known;
      ++memory->users;
      return;
    }
    memory = memories_.emplace_back(std::make_shared<SharedMemory>(host, is_needed));
    try {
      if (device_ != nullptr) reach(*memory);
    } catch (const DeviceError& error) {
      lose(error);
    }
  });
  return memory;
}

void Master::unshare(const SharedMemory& memory) {
  ask([this, &memory] {
    const auto known = std::ranges::find(memories_, &memory, &std::shared_ptr<SharedMemory>::get);
    if (--(*known)->users > 0) return;
    if (device_ != nullptr) let_go(**known);
    memories_.erase(known);
  });
}

void Master::add(TableCopies& table) {
  ask([this, &table] {
    tables_.push_back(&table);
    try {
      if (device_ != nullptr) table.begin(*device_, options_.streams);
    } catch (const DeviceError& error) {
      lose(error);
    }
  });
}

/// Has the master do it, and waits until it has.
void Master::ask(std::function<void()> request) {
  if (!thread_.joinable()) return request();
  std::packaged_task<void()> task(std::move(request));
  std::future<void> answered = task.get_future();
  {
    const std::lock_guard lock(requests_mutex_);
    requests_.push_back(std::move(task));
  }
  asked_.store(true, std::memory_order_release);
  doorbell_.ring();
  answered.get();
}

bool Master::submit(Job& job) noexcept {
  if (!inbox_.put(&job)) return false;
  doorbell_.ring();
  return true;
}

void Master::run() {
  pthread_setname_np(pthread_self(), "cuda-master");
  open();
  unsigned idle_turns = 0;
  while (!stop_.load(std::memory_order_relaxed)) {
    bool worked = answer();
    try {
      worked = turn() || worked;
    } catch (const DeviceError& error) {
      lose(error);
    }
    if (worked) {
      idle_turns = 0;
    } else {
      rest(idle_turns);
    }
  }
  for (TableCopies* table : tables_) table->end();
  device_.reset();
}

bool Master::turn() {
  if (device_ == nullptr && !is_final_ && Clock::now() >= retry_at_) open();
  bool worked = take();
  if (device_ == nullptr) return worked;
  worked = finish() || worked;
  for (TableCopies* table : tables_) worked = table->advance() || worked;
  return launch() || worked;
}

bool Master::answer() {
  if (!asked_.exchange(false, std::memory_order_acquire)) return false;
  std::vector<std::packaged_task<void()>> requests;
  {
    const std::lock_guard lock(requests_mutex_);
    requests.swap(requests_);
  }
  for (auto& request : requests) request();
  return true;
}

bool Master::finish() {
  if (busy_ == 0) return false;
  bool finished = false;
  for (unsigned i = 0; i < lanes_.size(); ++i) {
    Lane& lane = lanes_[i];
    if (lane.jobs.empty()) continue;
    if (device_->reached(i)) {
      lane.table->leave(lane.copy);
      for (Job* job : lane.jobs) job->state.store(Job::State::done, std::memory_order_release);
      lane.jobs.clear();
      --busy_;
      finished = true;
    } else if (Clock::now() - lane.since > options_.patience) {
      throw DeviceError("a launch has not come to its end in " + std::to_string(options_.patience.count()) +
                            " ms; this program has to be started anew to use the GPU again",
                        true);
    }
  }
  return finished;
}

bool Master::take() {
  bool taken = false;
  while (waiting_ < kMostWaiting) {
    Job* const job = inbox_.take();
    if (job == nullptr) break;
    taken = true;
    TableCopies* const table = copies_of(*job->batch->table);
    if (device_ == nullptr || table == nullptr || !is_reached(*job)) {
      give_up(*job);
      continue;
    }
    Group& group = group_of(*job->batch->shader, *table);
    group.at(group.tail++) = {job, table->wanted()};
    ++waiting_;
  }
  return taken;
}

bool Master::launch() {
  bool launched = false;
  for (unsigned lane = 0; lane < lanes_.size() && waiting_ > 0; ++lane) {
    if (!lanes_[lane].jobs.empty()) continue;
    bool found = false;
    for (std::size_t i = 0; i < groups_.size() && !found; ++i) {
      found = launch(*groups_[next_group_++ % groups_.size()], lane);
    }
    if (!found) break;
    launched = true;
  }
  return launched;
}

/// Calls `copy` with each run of columns of one direction that stand side by side, as the GPU and as the host see it,
/// and its bytes. Jobs of one queue come in order, so that most runs are long.
template <class Copy>
void Master::for_each_run(const std::vector<Job*>& jobs, Places Job::* direction,
                          std::vector<std::size_t> Shader::* element_bytes, const Copy& copy) {
  const SharedMemory* memory = nullptr;
  std::byte* begin = nullptr;
  std::byte* end = nullptr;
  const auto finish = [&] {
    if (begin != end) copy(memory->seen(begin, false), begin, static_cast<std::size_t>(end - begin));
  };
  const auto add = [&](const SharedMemory* where, std::byte* from, std::size_t bytes) {
    if (where != memory || from != end) {
      finish();
      memory = where;
      begin = end = from;
    }
    end += bytes;
  };
  for (const Job* job : jobs) {
    const Places& places = job->*direction;
    if (places.staged != nullptr) {
      add(places.memory, places.staged, places.staged_bytes);
      continue;
    }
    const auto& bytes = job->batch->shader->*element_bytes;
    for (std::size_t i = 0; i < bytes.size(); ++i) add(places.memory, places.columns[i], bytes[i] * job->items);
  }
  finish();
}

/// As the GPU sees the job.
Segment Master::segment_of(const Job& job) const noexcept {
  Segment segment;
  segment.items = job.items;
  const Shader& shader = *job.batch->shader;
  for (std::size_t i = 0; i < shader.input_bytes.size(); ++i) {
    segment.inputs[i] = job.inputs.memory->seen(job.inputs.columns[i], options_.mapped);
  }
  for (std::size_t i = 0; i < shader.output_bytes.size(); ++i) {
    segment.outputs[i] = job.outputs.memory->seen(job.outputs.columns[i], options_.mapped);
  }
  return segment;
}

/// Launches the group's oldest jobs that the table is ready for; false if there are none.
bool Master::launch(Group& group, unsigned lane_index) {
  Lane& lane = lanes_[lane_index];
  std::size_t count = 0;
  while (count < options_.gather && group.head < group.tail && group.table->shows(group.at(group.head).state)) {
    Job* const job = group.at(group.head++).job;
    segments_[count++] = segment_of(*job);
    lane.jobs.push_back(job);
  }
  if (count == 0) return false;
  waiting_ -= count;
  ++busy_;
  lane.table = group.table;
  lane.copy = group.table->enter();
  lane.since = Clock::now();
  if (!options_.mapped) {
    for_each_run(lane.jobs, &Job::inputs, &Shader::input_bytes,
                 [&](std::byte* device, const std::byte* host, std::size_t bytes) {
                   device_->to_device(lane_index, device, host, bytes);
                 });
  }
  device_->launch(lane_index, {group.shader, group.table->view(lane.copy), {segments_.data(), count}});
  if (!options_.mapped) {
    for_each_run(lane.jobs, &Job::outputs, &Shader::output_bytes,
                 [&](const std::byte* device, std::byte* host, std::size_t bytes) {
                   device_->to_host(lane_index, host, device, bytes);
                 });
  }
  device_->mark(lane_index);
  launches_.fetch_add(1, std::memory_order_relaxed);
  batches_.fetch_add(count, std::memory_order_relaxed);
  return true;
}

bool Master::is_reached(const Job& job) noexcept {
  return job.inputs.memory->is_reached.load(std::memory_order_relaxed) &&
         job.outputs.memory->is_reached.load(std::memory_order_relaxed);
}

Master::Group& Master::group_of(const Shader& shader, TableCopies& table) {
  for (const auto& group : groups_) {
    if (group->shader == &shader && group->table == &table) return *group;
  }
  auto group = std::make_unique<Group>();
  group->shader = &shader;
  group->table = &table;
  group->ring.resize(kMostWaiting);
  return *groups_.emplace_back(std::move(group));
}

TableCopies* Master::copies_of(const Table& table) const {
  const auto found =
      std::ranges::find_if(tables_, [&table](const TableCopies* each) { return &each->table() == &table; });
  return found == tables_.end() ? nullptr : *found;
}

bool Master::has_nothing_to_do() const {
  return inbox_.empty() && waiting_ == 0 && busy_ == 0 && !asked_.load(std::memory_order_acquire) &&
         !stop_.load(std::memory_order_relaxed) &&
         std::ranges::none_of(tables_, [](const TableCopies* table) { return table->has_work(); });
}

void Master::rest(unsigned& idle_turns) {
  constexpr unsigned kSpins = 64;
  if (++idle_turns < kSpins) {
    __builtin_ia32_pause();
  } else if (idle_turns < kIdleTurns || !has_nothing_to_do()) {
    std::this_thread::yield();
  } else {
    doorbell_.listen();
    epoll_event event{};
    if (has_nothing_to_do()) epoll_wait(epoll_.get(), &event, 1, static_cast<int>(options_.retry_after.count()));
    doorbell_.ignore();
  }
}

std::vector<std::string> Master::notes() const {
  const std::lock_guard lock(words_mutex_);
  std::vector<std::string> lines;
  const std::uint64_t launches = launches_.load(std::memory_order_relaxed);
  const std::uint64_t batches = batches_.load(std::memory_order_relaxed);
  if (!name_.empty()) {
    lines.push_back(name_ + ": " + std::to_string(options_.streams) + " streams, up to " +
                    std::to_string(options_.gather) + " batches a launch, " +
                    (options_.mapped ? "on the host's memory" : "copied"));
  }
  if (launches > 0) lines.push_back(std::to_string(batches) + " batches in " + std::to_string(launches) + " launches");
  const std::uint64_t given_up = given_up_.load(std::memory_order_relaxed);
  if (given_up > 0) lines.push_back(std::to_string(given_up) + " batches came back from a lost GPU, for the CPU");
  if (!failure_.empty()) lines.push_back(failure_);
  return lines;
}

}  // namespace penumbra::cuda
