// SPDX-License-Identifier: Apache-2.0
#include "loaded_worker.h"

#include <algorithm>
#include <span>
#include <stdexcept>

#include "bench.h"
#include "percentile.h"

namespace penumbra::bench {
namespace {

constexpr double kSeconds = 0.2;
constexpr double kRing = 4096;        ///< Most look-ups that wait.
constexpr double kOtherWork = 25e-9;  ///< Seconds per look-up.

void work_until(double moment) {
  while (now() < moment) {
  }
}

}  // namespace

LoadedWorker::LoadedWorker(Engine& engine, gpu::LookupWork& work, unsigned core) : work_(work) {
  if (work.answer_bytes() > kMostAnswerBytes) throw std::logic_error("a worker has no room for such long answers");
  const Shader& shader = *engine.find_shader(work.penumbra_table().name());
  queue_ = engine.open_queue_for(core);
  for (InFlightBatch& batch : batches_) {
    batch.shader = &shader;
    batch.table = &work.penumbra_table();
    batch.outputs[0] = batch.found.data();
  }
  delays_.reserve(std::size_t{1} << 20);
}

void LoadedWorker::prepare(std::uint32_t items, double came, bool has_backlog) {
  InFlightBatch& batch = at(tail_++);
  if (next_ + items > work_.size()) next_ = 0;
  batch.first = next_;
  batch.inputs[0] = work_.key(next_);
  next_ += items;
  batch.items = items;
  batch.came = came;
  batch.has_backlog = has_backlog;
  batch.is_back = false;
}

void LoadedWorker::submit_waiting() {
  for (; unsubmitted_ != tail_; ++unsubmitted_) {
    InFlightBatch& batch = at(unsubmitted_);
    const auto taken = queue_->submit(batch);
    if (taken == EngineQueue::Submitted::full) return;
    batch.is_back = taken == EngineQueue::Submitted::done;
  }
}

template <bool kChecked>
LoadedWorker::Figures LoadedWorker::go(double rate) {
  delays_.clear();
  const double begin = now(), end = begin + kSeconds;
  double taken = 0, answered = 0, moment = begin;
  while (moment < end || head_ != tail_) {
    if (Batch* const batch = queue_->poll()) static_cast<InFlightBatch*>(batch)->is_back = true;
    if (moment < end && tail_ - head_ < kMostInFlight) {
      const double arrived = rate == kNoLimit ? taken + kRing : (moment - begin) * rate;
      taken = std::max(taken, arrived - kRing);  // The ring was full.
      const auto items = static_cast<std::uint32_t>(std::min(arrived - taken, static_cast<double>(kMost)));
      if (items > 0) {
        prepare(items, rate == kNoLimit ? moment : begin + taken / rate, items == kMost);
        if (kChecked) work_.spoil(at(tail_ - 1).first, answers_of(at(tail_ - 1)));
        taken += items;
        work_until(moment + items * kOtherWork);
      }
    }
    submit_waiting();
    moment = now();
    for (; head_ != unsubmitted_ && at(head_).is_back; ++head_) {
      if (kChecked) work_.check(at(head_).first, answers_of(at(head_)));
      if (moment < end) answered += at(head_).items;
      if (delays_.size() < delays_.capacity()) delays_.push_back(static_cast<float>(moment - at(head_).came));
    }
  }
  return {answered / kSeconds, percentile(delays_, 0.5), percentile(delays_, 0.99)};
}

template LoadedWorker::Figures LoadedWorker::go<false>(double rate);
template LoadedWorker::Figures LoadedWorker::go<true>(double rate);

}  // namespace penumbra::bench
