// SPDX-License-Identifier: Apache-2.0
#include "opportunistic/measuring.h"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <barrier>
#include <cstddef>
#include <cstring>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "opportunistic/payload_sample.h"
#include "penumbra/huge_memory.h"

namespace penumbra::opportunistic {
namespace {

constexpr std::uint64_t kDuration = 1'000'000;  ///< Duration of each measurement, ns.
constexpr std::uint64_t kSettling =
    5'000'000;                         ///< Time in which an engine finds its best variant for a batch length, ns.
constexpr int kTimes = 3;              ///< Repetitions; the best counts, because another program may have had the core.
constexpr std::size_t kSamples = 255;  ///< Most samples of a single batch; their median counts.
constexpr std::uint64_t kPatience = 1'000'000'000;  ///< Longest wait for the first answer of an accelerator, ns.
/// Bytes of input, so many that a table's cache lines are not reused soon.
constexpr std::size_t kPool = std::size_t{4} << 20;

/// Returns the random values from which all inputs are taken.
HugeMemory random_bytes() {
  HugeMemory memory(kPool);
  std::mt19937_64 random(1);
  for (std::size_t i = 0; i < kPool; i += sizeof(std::uint64_t)) {
    const std::uint64_t word = random();
    std::memcpy(memory.data() + i, &word, sizeof word);
  }
  return memory;
}

/// Measures on one worker's queue.
class Worker {
 public:
  Worker(const Measured& measured, EngineQueue& queue, const HugeMemory& pool, std::size_t first, Now now)
      : shader_(measured.shader), queue_(queue), pool_(pool), cursor_(first), now_(now) {
    const Shader& shader = shader_;
    std::size_t bytes = 0;
    for (const std::size_t each : shader.output_bytes) bytes += padded(each * kChunk);
    outputs_ = HugeMemory(std::max<std::size_t>(bytes * kMostInFlight, 1));
    std::byte* output = outputs_.data();
    for (Batch& batch : batches_) {
      batch.shader = &shader;
      batch.table = &measured.table;
      for (std::size_t i = 0; i < shader.output_bytes.size(); ++i) {
        batch.outputs[i] = output;
        output += padded(shader.output_bytes[i] * kChunk);
      }
    }
    if (shader.has_payload()) payload_.emplace(measured, pool, batches_);
  }
  /// Returns the memory of the payload, or null without payload.
  std::shared_ptr<const HugeMemory> payload() const { return payload_ ? payload_->memory() : nullptr; }

  /// Runs batches until the accelerator answers itself. Returns false if it does not within kPatience.
  bool wait_for_accelerator() {
    const std::uint64_t begin = now_();
    do {
      answered_at_once_ = false;
      ask(prepared(batches_[0], kChunk));
    } while (answered_at_once_ && now_() - begin < kPatience);
    return !answered_at_once_;
  }
  /// True if the worker's core computed any batch since wait_for_accelerator().
  bool answered_at_once() const { return answered_at_once_; }

  /// Measures `busy` and `period` with as many full chunks in flight as the queue takes.
  void measure_many(Costs& costs) {
    for (int i = 0; i < kTimes; ++i) {
      const auto [busy, period] = cost_of_many();
      if (i > 0 && period >= costs.period) continue;
      costs.busy = busy;
      costs.period = period;
    }
  }

  /// Runs batches of `items` items unmeasured, for an engine that tries several variants first.
  void settle(std::uint32_t items) {
    const std::uint64_t begin = now_();
    do {
      ask(prepared(batches_[0], items));
    } while (now_() - begin < kSettling);
  }

  /// Returns the median nanoseconds from submit to answer.
  double measure_alone(std::uint32_t items) {
    std::vector<std::uint64_t> samples;
    const std::uint64_t begin = now_();
    do {
      Batch& batch = prepared(batches_[0], items);
      const std::uint64_t before = now_();
      ask(batch);
      samples.push_back(std::max<std::uint64_t>(now_() - before, 1));
    } while (samples.size() < kSamples && now_() - begin < kDuration);
    const auto middle = samples.begin() + static_cast<std::ptrdiff_t>(samples.size() / 2);
    std::nth_element(samples.begin(), middle, samples.end());
    return static_cast<double>(*middle);
  }

 private:
  void ask(Batch& batch) {
    auto answer = queue_.submit(batch);
    while (answer == EngineQueue::Submitted::full) answer = queue_.submit(batch);
    answered_at_once_ |= answer == EngineQueue::Submitted::done;
    while (answer == EngineQueue::Submitted::queued && queue_.poll() == nullptr) __builtin_ia32_pause();
  }

  std::pair<double, double> cost_of_many() {
    const std::uint64_t begin = now_();
    std::uint64_t busy = 0, taken = 0;
    std::size_t in_flight = 0;
    for (bool is_over = false; !is_over || in_flight > 0;) {
      const std::uint64_t before = now_();
      is_over = before - begin >= kDuration && taken > 0;
      if (!is_over && in_flight < kMostInFlight) {
        const auto answer = queue_.submit(prepared(batches_[taken % kMostInFlight], kChunk));
        if (answer != EngineQueue::Submitted::full) {
          busy += now_() - before;
          ++taken;
          const bool is_done = answer == EngineQueue::Submitted::done;
          answered_at_once_ |= is_done;
          in_flight += is_done ? 0 : 1;
          continue;
        }
      }
      const std::uint64_t asked = now_();
      if (queue_.poll() != nullptr) {
        busy += now_() - asked;
        --in_flight;
      }
    }
    const auto of_each = [taken](std::uint64_t time) {
      return static_cast<double>(std::max<std::uint64_t>(time, 1)) / static_cast<double>(taken);
    };
    return {of_each(busy), of_each(now_() - begin)};
  }

  /// Prepares a batch. Columns without payload differ from the last batch's; each batch has its own payload.
  Batch& prepared(Batch& batch, std::uint32_t items) {
    batch.items = items;
    if (payload_) return batch;
    for (std::size_t i = 0; i < shader_.input_bytes.size(); ++i) {
      const std::size_t bytes = padded(shader_.input_bytes[i] * items);
      if (cursor_ + bytes > pool_.bytes()) cursor_ = 0;
      batch.inputs[i] = pool_.data() + cursor_;
      cursor_ += bytes;
    }
    return batch;
  }

  const Shader& shader_;
  EngineQueue& queue_;
  const HugeMemory& pool_;
  std::size_t cursor_;
  const Now now_;
  HugeMemory outputs_;
  std::optional<PayloadSample> payload_;
  std::array<Batch, kMostInFlight> batches_;
  bool answered_at_once_ = false;
};

/// Pins the calling thread. Does nothing if the process may not use the core; the worker reports that.
void run_on(unsigned core) {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  CPU_SET(core, &cores);
  if (core < CPU_SETSIZE) pthread_setaffinity_np(pthread_self(), sizeof cores, &cores);
}

}  // namespace

std::optional<Costs> measure(const Measured& measured, std::span<const WorkersQueue> queues, bool is_synchronous,
                             Now now) {
  const HugeMemory pool = random_bytes();
  std::vector<Costs> found(queues.size());
  std::atomic<bool> is_engines_own{true};
  std::barrier together(static_cast<std::ptrdiff_t>(queues.size()));
  const auto work = [&](std::size_t index) {
    if (queues[index].core) run_on(*queues[index].core);
    Worker worker(measured, *queues[index].queue, pool, padded(kPool / queues.size() * index), now);
    // A router's packets are in shared memory, too.
    if (auto payload = worker.payload(); payload != nullptr && !is_synchronous) {
      queues[index].queue->share(std::move(payload));
    }
    Costs& costs = found[index];
    if (!is_synchronous && !worker.wait_for_accelerator()) is_engines_own = false;
    together.arrive_and_wait();
    if (!is_engines_own) return;
    if (is_synchronous) {
      worker.settle(kFew);
      worker.settle(kChunk);
    }
    worker.measure_many(costs);  // This run is discarded: the engine may have to calibrate first.
    together.arrive_and_wait();
    worker.measure_many(costs);
    together.arrive_and_wait();
    costs.chunk = worker.measure_alone(kChunk);
    together.arrive_and_wait();
    costs.few = worker.measure_alone(kFew);
    if (!is_synchronous && worker.answered_at_once()) is_engines_own = false;
  };
  {
    std::vector<std::jthread> threads;
    threads.reserve(queues.size());
    for (std::size_t i = 0; i < queues.size(); ++i) threads.emplace_back(work, i);
  }
  if (!is_engines_own) return std::nullopt;
  Costs mean{};
  const auto count = static_cast<double>(queues.size());
  for (const Costs& each : found) {
    mean.few += each.few / count;
    mean.chunk += each.chunk / count;
    mean.busy += each.busy / count;
    mean.period += each.period / count;
  }
  return mean;
}

}  // namespace penumbra::opportunistic
