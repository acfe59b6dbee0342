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
      staging_(launch_thread.share(std::make_shared<HugeMemory>(2 * kStagingHalf), true)),
      shared_(launch_thread, *staging_) {}

CudaQueue::~CudaQueue() {
  for (; head_ != tail_; ++head_) {
    while (at(head_).state.load(std::memory_order_acquire) == Job::State::on_gpu) std::this_thread::yield();
  }
  launch_thread_.unshare(*staging_);
}

void CudaQueue::share(std::shared_ptr<const HugeMemory> memory) {
  shared_.add(std::move(memory));
}

void CudaQueue::unshare(const HugeMemory& memory) {
  shared_.remove(memory);
}

EngineQueue::Submitted CudaQueue::submit(Batch& batch) noexcept {
  if (!cut_all()) return Submitted::full;
  batch.is_still_written = false;
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
  const std::size_t input_bytes = sum_of(shader.input_bytes), output_bytes = sum_of(shader.output_bytes);
  const std::size_t bytes = std::max(input_bytes, output_bytes);
  if (bytes * batch.items >= kLeastInPlace) {
    // Parts are whole cache lines, so that a part's column begins within a line only if the batch's column does.
    cut_.most_items = std::max(static_cast<std::uint32_t>(kPiece / bytes / kColumnAlignment * kColumnAlignment), 1U);
    if (input_bytes * batch.items >= kLeastInPlace) {
      cut_.inputs = shared_.range_of(batch.inputs, shader.input_bytes, batch.items);
    }
    if (output_bytes * batch.items >= kLeastInPlace) {
      cut_.outputs = shared_.range_of(batch.outputs, shader.output_bytes, batch.items);
    }
  }
  if (shader.source) cut_.source = shared_.range_of(offload::source_of(batch, 0, batch.items));
  if (shader.destination) cut_.destination = shared_.range_of(offload::destination_of(batch, 0, batch.items));
  // Staged payload has other positions than the batch, and follows the columns of its direction.
  if ((shader.source && cut_.source == nullptr) || (shader.destination && cut_.destination == nullptr)) {
    cut_.inputs = nullptr;
  }
  if (shader.destination && cut_.destination == nullptr) cut_.outputs = nullptr;
}

/// Returns the items of the next part: as many as fit, or none if the next item's payload alone is too long for that.
std::uint32_t CudaQueue::items_of_piece() const noexcept {
  const Batch& batch = *cut_.batch;
  const std::uint32_t first = cut_.next;
  std::uint32_t items = std::min(cut_.most_items, batch.items - first);
  if (batch.shader->source && cut_.source == nullptr) {
    items = std::min(items, offload::items_within(offload::source_of(batch, first, items), kPiece));
  }
  if (batch.shader->destination && cut_.destination == nullptr) {
    items = std::min(items, offload::items_within(offload::destination_of(batch, first, items), kPiece));
  }
  return items;
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
  const std::uint32_t fitting = items_of_piece();
  job.items = std::max(fitting, 1U);
  job.is_hurried = job.items < job.batch->items;
  job.is_last = job.first + job.items == job.batch->items;
  job.inputs = job.outputs = {};
  job.source = job.destination = {};
  job.staged_payload = 0;
  job.wakeup = wakeup_.get();
  if (launch_thread_.accepts() && fitting > 0) {
    if (!place(job)) return false;
    copy_inputs(job);
    job.state.store(Job::State::on_gpu, std::memory_order_relaxed);
    if (!launch_thread_.submit(job)) {
      if (job.inputs.staged != nullptr) inputs_.undo();
      if (job.outputs.staged != nullptr) outputs_.undo();
      return false;
    }
    if (job.staged_payload > 0) launch_thread_.count_copied(job.staged_payload);
  } else {
    job.state.store(Job::State::on_cpu, std::memory_order_relaxed);
  }
  ++tail_;
  cut_.next += job.items;
  if (job.is_last) cut_.batch = nullptr;
  return true;
}

/// Finds places for the columns and the payload of the part; returns false if there is no room now.
bool CudaQueue::place(Job& job) noexcept {
  const Shader& shader = *job.shader;
  job.inputs = {cut_.inputs, nullptr};
  job.outputs = {cut_.outputs, nullptr};
  if (shader.source) job.source = {cut_.source, const_cast<std::byte*>(job.batch->source), cut_.source == nullptr};
  if (shader.destination) job.destination = {cut_.destination, job.batch->destination, cut_.destination == nullptr};
  if (cut_.inputs == nullptr) {
    const std::size_t columns = staged_bytes(shader.input_bytes, job.items);
    job.staged_inputs = columns;
    if (job.source.is_staged) {
      const std::size_t bytes = offload::staged_bytes(offload::source_of(*job.batch, job.first, job.items));
      job.staged_inputs += bytes;
      job.staged_payload += bytes;
    }
    const std::size_t begin = inputs_.take(job.staged_inputs);
    if (begin == ByteRing::kNone) return false;
    job.inputs = {staging_.get(), staging_->host->data() + begin};
    if (job.source.is_staged) job.source = {staging_.get(), job.inputs.staged + columns, true};
  }
  if (cut_.outputs == nullptr) {
    const std::size_t columns = staged_bytes(shader.output_bytes, job.items);
    job.staged_outputs = columns;
    if (job.destination.is_staged) {
      const std::size_t bytes = offload::staged_bytes(offload::destination_of(*job.batch, job.first, job.items));
      job.staged_outputs += bytes;
      job.staged_payload += bytes;
    }
    const std::size_t begin = outputs_.take(job.staged_outputs);
    if (begin == ByteRing::kNone) {
      if (job.inputs.staged != nullptr) inputs_.undo();
      return false;
    }
    job.outputs = {staging_.get(), staging_->host->data() + kStagingHalf + begin};
    if (job.destination.is_staged) job.destination = {staging_.get(), job.outputs.staged + columns, true};
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
      const bool is_in_place = job.destination.memory != nullptr && !job.destination.is_staged;
      if (state == Job::State::lost && is_in_place) job.batch->is_still_written = true;
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

int CudaQueue::wake_descriptor() {
  if (head_ == tail_) return -1;
  if (wakeup_ == nullptr) {
    wakeup_ = std::make_unique<offload::Wakeup>();
    std::vector<Job*> jobs;
    for (std::size_t position = head_; position != tail_; ++position) jobs.push_back(&at(position));
    launch_thread_.wake_by(*wakeup_, jobs);
  }
  return wakeup_->arm();
}

void CudaQueue::run_on_cpu(Batch& batch) noexcept {
  const Shader* const shader = batch.shader;
  batch.shader = cpu_.find_shader(shader->name);
  cpu_queue_->submit(batch);
  batch.shader = shader;
}

}  // namespace penumbra::cuda
