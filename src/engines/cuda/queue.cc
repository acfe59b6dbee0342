// SPDX-License-Identifier: Apache-2.0
#include "cuda/queue.h"

#include <thread>
#include <utility>

namespace penumbra::cuda {

CudaQueue::CudaQueue(Master& master, const Engine& cpu, std::unique_ptr<EngineQueue> cpu_queue)
    : master_(master), cpu_(cpu), cpu_queue_(std::move(cpu_queue)) {
  master_.add(staging_);
}

CudaQueue::~CudaQueue() {
  for (; head_ != tail_; ++head_) {
    while (at(head_).state.load(std::memory_order_acquire) == Job::State::on_gpu) std::this_thread::yield();
  }
  master_.remove(*staging_);
}

EngineQueue::Submitted CudaQueue::submit(Batch& batch) noexcept {
  if (tail_ - head_ == kJobs) return Submitted::full;
  Job& job = at(tail_);
  job.batch = &batch;
  job.staging = staging_.get();
  job.input_bytes = staged_bytes(batch.shader->input_bytes, batch.items);
  job.output_bytes = staged_bytes(batch.shader->output_bytes, batch.items);
  job.inputs = job.outputs = nullptr;
  const bool fits = job.input_bytes <= Staging::kHalf && job.output_bytes <= Staging::kHalf;
  if (!fits || !master_.accepts()) {
    if (head_ == tail_) {
      run_on_cpu(batch);
      return Submitted::done;
    }
    job.state.store(Job::State::on_cpu, std::memory_order_relaxed);
    ++tail_;
    return Submitted::queued;
  }
  if (!place(job)) return Submitted::full;
  stage_inputs(job);
  job.state.store(Job::State::on_gpu, std::memory_order_relaxed);
  if (!master_.submit(job)) {
    inputs_.undo();
    outputs_.undo();
    return Submitted::full;
  }
  ++tail_;
  return Submitted::queued;
}

bool CudaQueue::place(Job& job) noexcept {
  const std::size_t input = inputs_.take(job.input_bytes);
  if (input == ByteRing::kNone) return false;
  const std::size_t output = outputs_.take(job.output_bytes);
  if (output == ByteRing::kNone) {
    inputs_.undo();
    return false;
  }
  job.inputs = staging_->inputs() + input;
  job.outputs = staging_->outputs() + output;
  return true;
}

void CudaQueue::take_places_back(Job& job) noexcept {
  if (job.inputs == nullptr) return;
  inputs_.give_back(static_cast<std::size_t>(job.inputs - staging_->inputs()), job.input_bytes);
  outputs_.give_back(static_cast<std::size_t>(job.outputs - staging_->outputs()), job.output_bytes);
}

Batch* CudaQueue::poll() noexcept {
  if (head_ == tail_) return nullptr;
  Job& job = at(head_);
  switch (job.state.load(std::memory_order_acquire)) {
    case Job::State::on_gpu:
      return nullptr;
    case Job::State::done:
      unstage_outputs(job);
      break;
    case Job::State::on_cpu:
      run_on_cpu(*job.batch);
      break;
  }
  take_places_back(job);
  ++head_;
  return job.batch;
}

void CudaQueue::run_on_cpu(Batch& batch) noexcept {
  const Shader* const shader = batch.shader;
  batch.shader = cpu_.find_shader(shader->name);
  cpu_queue_->submit(batch);
  batch.shader = shader;
}

}  // namespace penumbra::cuda
