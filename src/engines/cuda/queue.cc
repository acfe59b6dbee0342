// SPDX-License-Identifier: Apache-2.0
#include "cuda/queue.h"

#include <algorithm>
#include <thread>
#include <utility>

namespace penumbra::cuda {
CudaQueue::CudaQueue(LaunchThread& launch_thread, const Engine& cpu, std::unique_ptr<EngineQueue> cpu_queue)
    : launch_thread_(launch_thread),
      cpu_(cpu),
      cpu_queue_(std::move(cpu_queue)),
      staging_(launch_thread.share(std::make_shared<HugeMemory>(2 * kStagingHalf), true)) {}

CudaQueue::~CudaQueue() {
  for (; head_ != tail_; ++head_) {
    while (at(head_).state.load(std::memory_order_acquire) == Job::State::on_gpu) std::this_thread::yield();
  }
  for (const auto& memory : shared_) launch_thread_.unshare(*memory);
  launch_thread_.unshare(*staging_);
}

void CudaQueue::share(std::shared_ptr<const HugeMemory> memory) {
  shared_.push_back(launch_thread_.share(std::move(memory), false));
}

EngineQueue::Submitted CudaQueue::submit(Batch& batch) noexcept {
  if (!cut_all()) return Submitted::full;
  if (head_ == tail_ && !launch_thread_.accepts()) {
    run_on_cpu(batch);
    return Submitted::done;
  }
  begin_cut(batch);
  if (!cut_piece()) {
    cut_.batch = nullptr;
    return Submitted::full;
  }
  cut_all();
  return Submitted::queued;
}

void CudaQueue::begin_cut(Batch& batch) noexcept {
  const Shader& shader = *batch.shader;
  cut_ = {.batch = &batch, .most_items = batch.items};
  const std::size_t bytes = std::max(sum_of(shader.input_bytes), sum_of(shader.output_bytes));
  if (bytes * batch.items < kLeastInPlace) return;
  // Parts are whole cache lines, so that a part's column begins within a line only if the batch's column does.
  cut_.most_items = std::max(static_cast<std::uint32_t>(kPiece / bytes / kColumnAlignment * kColumnAlignment), 1U);
  cut_.inputs = memory_of(batch.inputs, shader.input_bytes, batch.items);
  cut_.outputs = memory_of(batch.outputs, shader.output_bytes, batch.items);
}

/// Hands the rest of the batch to the launch thread as far as there is room; returns true if nothing is left.
bool CudaQueue::cut_all() noexcept {
  while (cut_.batch != nullptr) {
    if (!cut_piece()) return false;
  }
  return true;
}

bool CudaQueue::cut_piece() noexcept {
  if (tail_ - head_ == kJobs) return false;
  Job& job = at(tail_);
  job.batch = cut_.batch;
  job.shader = job.batch->shader;
  job.table = job.batch->table;
  job.first = cut_.next;
  job.items = std::min(cut_.most_items, cut_.batch->items - cut_.next);
  job.is_hurried = job.items < job.batch->items;
  job.is_last = job.first + job.items == job.batch->items;
  job.inputs = job.outputs = {};
  if (launch_thread_.accepts()) {
    if (!place(job)) return false;
    copy_inputs(job);
    job.state.store(Job::State::on_gpu, std::memory_order_relaxed);
    if (!launch_thread_.submit(job)) {
      if (job.inputs.staged != nullptr) inputs_.undo();
      if (job.outputs.staged != nullptr) outputs_.undo();
      return false;
    }
  } else {
    job.state.store(Job::State::on_cpu, std::memory_order_relaxed);
  }
  ++tail_;
  cut_.next += job.items;
  if (job.is_last) cut_.batch = nullptr;
  return true;
}

/// Finds places for the columns of the part; returns false if there is no room now.
bool CudaQueue::place(Job& job) noexcept {
  job.inputs = {cut_.inputs, nullptr};
  job.outputs = {cut_.outputs, nullptr};
  if (cut_.inputs == nullptr) {
    job.staged_inputs = staged_bytes(job.shader->input_bytes, job.items);
    const std::size_t begin = inputs_.take(job.staged_inputs);
    if (begin == ByteRing::kNone) return false;
    job.inputs = {staging_.get(), staging_->host->data() + begin};
  }
  if (cut_.outputs == nullptr) {
    job.staged_outputs = staged_bytes(job.shader->output_bytes, job.items);
    const std::size_t begin = outputs_.take(job.staged_outputs);
    if (begin == ByteRing::kNone) {
      if (job.inputs.staged != nullptr) inputs_.undo();
      return false;
    }
    job.outputs = {staging_.get(), staging_->host->data() + kStagingHalf + begin};
  }
  return true;
}

void CudaQueue::take_places_back(Job& job) noexcept {
  std::byte* const inputs = staging_->host->data();
  std::byte* const outputs = inputs + kStagingHalf;
  if (job.inputs.staged != nullptr) {
    inputs_.give_back(static_cast<std::size_t>(job.inputs.staged - inputs), job.staged_inputs);
  }
  if (job.outputs.staged != nullptr) {
    outputs_.give_back(static_cast<std::size_t>(job.outputs.staged - outputs), job.staged_outputs);
  }
}

/// Returns the shared memory that holds all of the columns, if they are long enough to stay there; else null.
template <class Column>
SharedMemory* CudaQueue::memory_of(const std::array<Column*, kMaxColumns>& columns,
                                   const std::vector<std::size_t>& element_bytes, std::uint32_t items) const noexcept {
  for (const auto& memory : shared_) {
    if (!memory->is_reached.load(std::memory_order_relaxed)) continue;
    bool has_all = sum_of(element_bytes) * items >= kLeastInPlace;
    for (std::size_t i = 0; i < element_bytes.size(); ++i) {
      has_all = has_all && memory->has(static_cast<const std::byte*>(columns[i]), element_bytes[i] * items);
    }
    if (has_all) return memory.get();
  }
  return nullptr;
}

Batch* CudaQueue::poll() noexcept {
  cut_all();
  while (head_ != tail_) {
    Job& job = at(head_);
    const Job::State state = job.state.load(std::memory_order_acquire);
    if (state == Job::State::on_gpu) break;
    if (state == Job::State::done) {
      copy_outputs(job);
    } else {
      is_given_up_ = is_given_up_ || state == Job::State::lost;
      Batch piece = part_of(*job.batch, job.first, job.items);
      run_on_cpu(piece);
    }
    take_places_back(job);
    Batch* const batch = job.is_last ? job.batch : nullptr;
    if (batch != nullptr && std::exchange(is_given_up_, false)) launch_thread_.count_given_up();
    ++head_;
    cut_all();
    if (batch != nullptr) return batch;
  }
  return nullptr;
}

void CudaQueue::run_on_cpu(Batch& batch) noexcept {
  const Shader* const shader = batch.shader;
  batch.shader = cpu_.find_shader(shader->name);
  cpu_queue_->submit(batch);
  batch.shader = shader;
}

}  // namespace penumbra::cuda
