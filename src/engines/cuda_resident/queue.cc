// SPDX-License-Identifier: Apache-2.0
#include "cuda_resident/queue.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <thread>
#include <utility>

#include "batch_part.h"
#include "cuda_resident/numbered_block.h"
#include "penumbra/prefetch.h"

namespace penumbra::cuda_resident {
namespace {

std::uint32_t column_blocks(const std::vector<std::size_t>& element_bytes, std::uint64_t items) noexcept {
  std::uint64_t blocks = 0;
  for (const std::size_t bytes : element_bytes) blocks += (bytes * items + kBlockBytes - 1) / kBlockBytes;
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(blocks, UINT32_MAX));
}

void count(std::atomic<std::uint64_t>& counter) noexcept {
  counter.store(counter.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

}  // namespace

ResidentQueue::ResidentQueue(ResidentThread& thread, std::shared_ptr<SlotRow> row, const Engine& cpu,
                             std::unique_ptr<EngineQueue> cpu_queue)
    : thread_(thread),
      cpu_(cpu),
      cpu_queue_(std::move(cpu_queue)),
      row_(std::move(row)),
      count_(row_->count),
      slots_(row_->slots()),
      free_(count_),
      parts_(count_),
      shared_(thread, *row_->range),
      view_numbers_(count_) {
  thread.settle(*row_);
}

ResidentQueue::~ResidentQueue() {
  for (; in_flight_ > 0; --in_flight_, head_ = behind(head_)) {
    const auto is_at_it = [this, &part = parts_[head_]] {
      return part.place != Place::cpu && row_->is_served.load(std::memory_order_acquire) &&
             number_in(slots_[part.slot].out[0]) != row_->lines[part.slot].number.load(std::memory_order_relaxed);
    };
    while (is_at_it()) std::this_thread::yield();
  }
  thread_.remove(*row_);
}

void ResidentQueue::share(std::shared_ptr<const HugeMemory> memory) {
  shared_.add(std::move(memory));
}

void ResidentQueue::unshare(const HugeMemory& memory) {
  shared_.remove(memory);
}

void ResidentQueue::know(const Shader& shader) noexcept {
  known_.shader = &shader;
  taken_ = {};
  known_.index = static_cast<std::uint8_t>(thread_.backend().index_of(shader));
  known_.bases_bytes = shader.has_payload() ? 2 * sizeof(std::byte*) : 0;
  known_.view_bytes = known_.bases_bytes + shader.view_bytes;
  known_.head_blocks = blocks_for(static_cast<std::uint32_t>(sizeof(Head) + known_.view_bytes));
  know_size(0);
  known_.columns = shader.input_bytes.size() + shader.output_bytes.size();
  std::ranges::copy(shader.output_bytes, std::ranges::copy(shader.input_bytes, known_.element_bytes.begin()).out);
}

void ResidentQueue::know_size(std::uint32_t items) noexcept {
  known_.items = items;
  known_.input_blocks = column_blocks(known_.shader->input_bytes, items);
  known_.output_blocks = column_blocks(known_.shader->output_bytes, items);
}

/// Returns true if groups serve the slots. After the start of a new generation, clears the slots for it once no batch
/// is in flight.
bool ResidentQueue::is_served() noexcept {
  if (row_->is_served.load(std::memory_order_acquire)) return true;
  const std::uint32_t generation = thread_.generation();
  if (in_flight_ == 0 && row_->fresh_for.load(std::memory_order_relaxed) != generation) {
    std::memset(static_cast<void*>(slots_), 0, count_ * sizeof(Slot));
    for (SlotLine& line : row_->lines) line.number.store(0, std::memory_order_relaxed);
    std::ranges::fill(view_numbers_, 0);
    taken_ = {};
    row_->fresh_for.store(generation, std::memory_order_release);
    thread_.ring();
  }
  return false;
}

EngineQueue::Submitted ResidentQueue::submit(Batch& batch) noexcept {
  if (in_flight_ == count_) return Submitted::full;
  batch.is_still_written = false;
  if (batch.shader != known_.shader) know(*batch.shader);
  if (lease_ == nullptr || &lease_->table() != batch.table) {
    lease_ = thread_.tables().find(*batch.table);
    taken_ = {};
  }
  const bool can_go = lease_ != nullptr && batch.items > 0 && known_.view_bytes <= view_.size();
  if (!can_go || !is_served()) return submit_to_cpu(batch);
  const Submitting submitting(row_->is_submitting);
  if (!take_copy()) return submit_to_cpu(batch);
  return fits_in_slot(batch) ? submit_in_slot(batch) : submit_elsewhere(batch);
}

/// Takes the table's current copy and its view. Returns false if the GPU lacks the last commit.
bool ResidentQueue::take_copy() noexcept {
  const ResidentTable::Taken taken = lease_->take();
  if (taken.view == nullptr) return false;
  if (taken.state != taken_.state || taken.view != taken_.view) {
    std::memcpy(view_.data() + known_.bases_bytes, taken.view, known_.shader->view_bytes);
    taken_ = taken;
    ++view_number_;
  }
  return true;
}

/// Assigns the slot to a batch and returns the batch's number. When numbers wrap around, clears the blocks, which may
/// still hold the same numbers.
std::uint32_t ResidentQueue::begin(std::uint32_t slot) noexcept {
  SlotLine& line = row_->lines[slot];
  const std::uint32_t number = next_number(line.number.load(std::memory_order_relaxed));
  if (number == 1) [[unlikely]] {
    for (NumberedBlock& block : slots_[slot].in) store_block(block, _mm_setzero_si128());
    for (NumberedBlock& block : slots_[slot].out) store_block(block, _mm_setzero_si128());
  }
  line.number.store(number, std::memory_order_relaxed);
  line.reads.store(taken_.id, std::memory_order_release);
  return number;
}

/// Packs the part of `data` that does not fit into the slot's first line, which write_head() writes last. Returns the
/// block for further data.
NumberedBlock* ResidentQueue::pack_behind_first_line(std::uint32_t slot, std::span<const std::byte> data,
                                                     std::uint32_t number) const noexcept {
  NumberedBlock* const first = slots_[slot].in + 1;
  if (data.size() <= kDataBehindFirst) return first + blocks_for(static_cast<std::uint32_t>(data.size()));
  return way_.pack(first + (kLinePieces - 1), data.data() + kDataBehindFirst, data.size() - kDataBehindFirst, number);
}

/// Writes the view to Slot::view, for a group that starts after this batch. Returns the part of the view that is not in
/// the head's block.
std::span<const std::byte> ResidentQueue::bring_view(std::uint32_t slot) noexcept {
  constexpr std::size_t kBeside = kBlockBytes - sizeof(Head);  // Bytes of the view in the head's block.
  const std::span<const std::byte> view = std::span(view_).first(known_.view_bytes);
  view_numbers_[slot] = view_number_;
  std::memcpy(slots_[slot].view, view.data(), view.size());
  std::atomic_signal_fence(std::memory_order_release);  // A group that reads the view has seen the head.
  return view.subspan(std::min(kBeside, view.size()));
}

/// Writes the slot's first line: the head and the start of `data`. The batch, whose blocks end at `end`, then belongs
/// to the group.
void ResidentQueue::write_head(std::uint32_t slot, Form form, std::uint32_t items, const NumberedBlock* end,
                               std::span<const std::byte> data, std::uint32_t number) noexcept {
  NumberedBlock* const line = slots_[slot].in;
  std::uint32_t view_begin = 0;
  std::memcpy(&view_begin, view_.data(), sizeof view_begin);
  const auto blocks = static_cast<std::uint8_t>(end - line);
  const Head head{items, known_.index, form, blocks, in_flight_ < kMany ? blocks : std::uint8_t{1}};
  const __m128i first = _mm_set_epi64x(static_cast<long long>(std::uint64_t{number} << 32 | view_begin),
                                       static_cast<long long>(std::bit_cast<std::uint64_t>(head)));
  way_.put_first_line(line, first, data.data(), std::min<std::size_t>(data.size(), kDataBehindFirst), number);
}

/// Returns the entry for the next batch or part in flight.
ResidentQueue::Part& ResidentQueue::next_part() noexcept {
  ++in_flight_;
  return parts_[std::exchange(tail_, behind(tail_))];
}

bool ResidentQueue::fits_in_slot(const Batch& batch) noexcept {
  if (batch.items != known_.items) know_size(batch.items);
  return known_.input_blocks <= kSlotPieces - known_.head_blocks && known_.output_blocks <= kSlotPieces;
}

EngineQueue::Submitted ResidentQueue::submit_in_slot(Batch& batch) noexcept {
  Places places;
  std::array<const void*, kMaxColumns> inputs = batch.inputs;
  std::array<std::array<std::uint64_t, kMostPositions>, 2> positions;
  const Shader& shader = *known_.shader;
  if (shader.has_payload()) {
    Addresses addresses;
    if (!find_places(batch, true, addresses, places)) return refuse(batch);
    if (places.has_source) {
      place(offload::source_of(batch, 0, batch.items), places.inputs.begin, positions[0].data());
      inputs[shader.source.value().positions] = positions[0].data();
    }
    if (places.has_destination) {
      place(offload::destination_of(batch, 0, batch.items), places.outputs.begin, positions[1].data());
      inputs[shader.destination.value().positions] = positions[1].data();
    }
  }
  const std::uint32_t slot = free_.take();
  const std::uint32_t number = begin(slot);
  const auto& element_bytes = shader.input_bytes;
  const auto column = [&](std::size_t i) {
    return std::span(static_cast<const std::byte*>(inputs[i]), element_bytes[i] * batch.items);
  };
  const Form form = has_view(slot) && !element_bytes.empty() ? Form::columns_only : Form::columns;
  std::size_t next = 0;
  const std::span<const std::byte> data = form == Form::columns_only ? column(next++) : bring_view(slot);
  NumberedBlock* to = pack_behind_first_line(slot, data, number);
  for (; next < element_bytes.size(); ++next) {
    const std::span<const std::byte> each = column(next);
    to = way_.pack(to, each.data(), each.size(), number);
  }
  std::atomic_signal_fence(std::memory_order_release);  // Staged payload must be written before the head.
  write_head(slot, form, batch.items, to, data, number);
  next_part() = {&batch, 0, batch.items, slot, Place::slot, true, places};
  return Submitted::queued;
}

EngineQueue::Submitted ResidentQueue::submit_elsewhere(Batch& batch) noexcept {
  constexpr std::uint32_t kEven =
      64;  // Part sizes are a multiple of this number of items, so that aligned columns are aligned in every part.
  const std::uint32_t share = (batch.items - 1) / count_ + 1;
  const std::uint32_t least = known_.shader->has_payload() ? kEven : kLeastPart;
  const std::uint32_t part_items = std::max((share + kEven - 1) / kEven * kEven, least);
  const std::uint32_t parts = (batch.items - 1) / part_items + 1;
  if (count_ - in_flight_ < parts) return Submitted::full;
  Addresses addresses{};
  Places places;
  if (!find_places(batch, false, addresses, places)) return refuse(batch);
  const auto bytes = static_cast<std::uint32_t>(known_.columns * sizeof addresses[0]);
  std::atomic_signal_fence(
      std::memory_order_release);  // Staged columns must be written before the slots that name them.
  for (std::uint32_t part = 0; part < parts; ++part) {
    const std::uint32_t slot = free_.take();
    const std::uint32_t first = part * part_items;
    const std::uint32_t items = std::min(part_items, batch.items - first);
    Addresses from = addresses;
    for (std::size_t i = 0; i < known_.columns; ++i) from[i] += first * known_.element_bytes[i];
    const std::uint32_t number = begin(slot);
    const std::span<const std::byte> view = bring_view(slot);
    NumberedBlock* const to = pack_behind_first_line(slot, view, number);
    const NumberedBlock* const end = way_.pack(to, static_cast<const void*>(from.data()), bytes, number);
    write_head(slot, Form::addresses, items, end, view, number);
    next_part() = {&batch, first, items, slot, Place::elsewhere, part + 1 == parts, places};
  }
  return Submitted::queued;
}

/// Handles a batch for which there is no room in the staging memory. With no batch in flight, all of the room is free,
/// so it is too small.
EngineQueue::Submitted ResidentQueue::refuse(Batch& batch) noexcept {
  return in_flight_ == 0 ? submit_to_cpu(batch) : Submitted::full;
}

EngineQueue::Submitted ResidentQueue::submit_to_cpu(Batch& batch) noexcept {
  const Part part{&batch, 0, batch.items, 0, Place::cpu, true, {}};
  if (in_flight_ == 0) {
    count(row_->by_cpu);
    run_on_cpu(part);
    return Submitted::done;
  }
  next_part() = part;
  return Submitted::queued;
}

Batch* ResidentQueue::poll() noexcept {
  while (in_flight_ > 0) {
    const Part& part = parts_[head_];
    if (part.place == Place::cpu) {
      count(row_->by_cpu);
      run_on_cpu(part);
    } else {
      if (!take_answer(part)) {
        if (row_->is_served.load(std::memory_order_acquire)) return nullptr;
        is_given_up_ = true;
        if (part.batch->shader->destination && !part.places.has_destination) part.batch->is_still_written = true;
        run_on_cpu(part);
      }
      if (part.is_last) count(std::exchange(is_given_up_, false) ? row_->given_up : row_->by_gpu);
    }
    end(part);
    head_ = behind(head_);
    --in_flight_;
    if (part.is_last) return part.batch;
  }
  return nullptr;
}

/// No thread of the host learns of an answer, so the resident thread looks for it.
int ResidentQueue::wake_descriptor() {
  if (in_flight_ == 0) return -1;
  const int descriptor = row_->wakeup.arm();
  const Part& oldest = parts_[head_];
  if (oldest.place == Place::cpu) {
    row_->wakeup.signal();
  } else {
    row_->awaited.store(oldest.slot, std::memory_order_release);
    thread_.ring();
  }
  return descriptor;
}

/// Returns true if all results have arrived; the batch then has them.
bool ResidentQueue::take_answer(const Part& part) const noexcept {
  const std::uint32_t number = row_->lines[part.slot].number.load(std::memory_order_relaxed);
  const NumberedBlock* from = slots_[part.slot].out;
  if (number_in(*from) != number) return false;
  if (part.place == Place::elsewhere) {
    std::atomic_signal_fence(std::memory_order_acquire);
    take_staged(part);
    return true;
  }
  const auto& element_bytes = part.batch->shader->output_bytes;
  for (std::size_t i = 0; i < element_bytes.size(); ++i) {
    if (!way_.unpack(from, part.batch->outputs[i], element_bytes[i] * part.items, number)) return false;
  }
  take_destination(part);
  if (const std::uint32_t parts = parts_ahead(); in_flight_ > parts) {
    fetch(slots_[part_ahead(parts).slot].out, static_cast<std::uint32_t>(from - slots_[part.slot].out),
          [](const NumberedBlock* block) { __builtin_prefetch(block); });
    if (!slots_lie_aside()) fetch(slots_[part_ahead(kInputsAhead).slot].in, blocks_of_next(), prefetch_to_write);
  }
  return true;
}

/// Prefetches `count` blocks, which the GPU accessed last.
template <class Fetch>
void ResidentQueue::fetch(const NumberedBlock* blocks, std::uint32_t count, Fetch line) noexcept {
  for (std::uint32_t i = 0; i < count; i += kLinePieces) line(blocks + i);
}

/// Frees the part's slot, and with the last part the batch's staging memory.
void ResidentQueue::end(const Part& part) noexcept {
  if (part.place != Place::cpu) {
    row_->lines[part.slot].reads.store(0, std::memory_order_release);
    if (part.place == Place::slot && slots_lie_aside())
      fetch(slots_[part.slot].in, blocks_of_next(), prefetch_to_write);
    free_.give_back(part.slot);
  }
  if (!part.is_last) return;
  const Staged& inputs = part.places.inputs;
  const Staged& outputs = part.places.outputs;
  if (inputs.bytes > 0) inputs_.give_back(inputs.begin, inputs.bytes);
  if (outputs.bytes > 0) outputs_.give_back(outputs.begin, outputs.bytes);
}

void ResidentQueue::run_on_cpu(const Part& part) noexcept {
  Batch batch = part_of(*part.batch, part.first, part.items);
  batch.shader = cpu_.find_shader(batch.shader->name);
  cpu_queue_->submit(batch);
}

}  // namespace penumbra::cuda_resident
