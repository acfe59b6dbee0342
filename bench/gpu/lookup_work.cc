// SPDX-License-Identifier: Apache-2.0
#include "gpu/lookup_work.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "on_engine.h"
#include "pin.h"

namespace penumbra::bench::gpu {
namespace {

constexpr std::size_t kParts = 16;          ///< Parts of the keys.
constexpr std::uint32_t kLongBatch = 4096;  ///< Items of a batch that takes a CPU engine considerable time.

}  // namespace

void LookupWork::check(std::size_t first, std::span<const std::byte> found) const {
  const std::byte* const right = right_ + first * answer_bytes_;
  if (std::memcmp(found.data(), right, found.size()) == 0) return;
  const auto wrong = std::ranges::mismatch(found, std::span(right, found.size())).in1 - found.begin();
  throw WrongAnswer(fmt::format("look-up {} of a batch of {} gives another answer than the oracle",
                                static_cast<std::size_t>(wrong) / answer_bytes_, found.size() / answer_bytes_));
}

void LookupWork::spoil(std::size_t first, std::span<std::byte> found) const {
  const std::byte* const right = right_ + first * answer_bytes_;
  for (std::size_t i = 0; i < found.size(); ++i) found[i] = ~right[i];
}

OpenedEngine open_engine(const std::string& choice, LookupWork& work) {
  Table& table = work.penumbra_table();
  try {
    auto engine = create_engine(choice);
    if (engine->find_shader(table.name()) == nullptr) return {nullptr, "it has no variant of " + table.name()};
    engine->use_table(table);
    return {std::move(engine), ""};
  } catch (const std::exception& error) {
    return {nullptr, error.what()};
  }
}

void report_notes(const std::string& choice, const Engine& engine, Report& report) {
  for (const std::string& line : engine.notes()) {
    report.note(fmt::format("{}: {}", choice, line));
    require_gpu(choice, line);
  }
}

LookupStream::LookupStream(Engine& engine, LookupWork& work, std::uint32_t items, std::uint32_t most_in_flight,
                           std::size_t place)
    : work_(work),
      found_(std::make_shared<HugeMemory>(std::size_t{most_in_flight} * items * work.answer_bytes())),
      batches_(most_in_flight),
      queue_(engine.open_queue_for(core(static_cast<unsigned>(place % core_count())))),
      next_(place % kParts * (work.size() / kParts)) {
  queue_->share(work.memory());
  queue_->share(found_);
  Table& table = work.penumbra_table();
  std::byte* found = found_->data();
  for (InFlightBatch& batch : batches_) {
    batch.found = {found, items * work.answer_bytes()};
    found += batch.found.size();
    batch.shader = engine.find_shader(table.name());
    batch.table = &table;
    batch.items = items;
    batch.outputs[0] = batch.found.data();
  }
}

void LookupStream::prepare(InFlightBatch& batch) {
  if (next_ + batch.items > work_.size()) next_ = 0;
  batch.first = next_;
  batch.inputs[0] = work_.key(next_);
  batch.is_back = false;
  next_ += batch.items;
}

template <bool kChecked>
LookupStream::Back LookupStream::go(std::uint64_t batches, std::uint32_t in_flight, double end) {
  std::uint64_t submitted = 0, back = 0;
  Back counted;
  bool is_prepared = false, is_over = false;
  InFlightBatch *next = batches_.data(), *oldest = batches_.data();
  while (back < submitted || (!is_over && submitted < batches)) {
    while (!is_over && submitted < batches && submitted - back < in_flight) {
      InFlightBatch& batch = *next;
      if (!is_prepared) {
        prepare(batch);
        if (kChecked) work_.spoil(batch.first, batch.found);
      }
      const auto taken = queue_->submit(batch);
      is_prepared = taken == EngineQueue::Submitted::full;
      if (is_prepared) break;
      batch.is_back = taken == EngineQueue::Submitted::done;
      ++submitted;
      next = next_of(next);
      if (batch.is_back && batch.items >= kLongBatch) break;  // The time may be over after a long batch.
    }
    if (Batch* batch = queue_->poll()) static_cast<InFlightBatch*>(batch)->is_back = true;
    for (; back < submitted && oldest->is_back; ++back, oldest = next_of(oldest)) {
      if constexpr (kChecked) work_.check(oldest->first, oldest->found);
    }
    if (is_over || end == kNoEnd) continue;
    const double at = now();
    if (at < end || counted.batches == 0) counted = {back, std::max(at, end)};
    is_over = at >= end && counted.batches > 0;
  }
  return counted;
}

template LookupStream::Back LookupStream::go<false>(std::uint64_t batches, std::uint32_t in_flight, double end);
template LookupStream::Back LookupStream::go<true>(std::uint64_t batches, std::uint32_t in_flight, double end);

}  // namespace penumbra::bench::gpu
