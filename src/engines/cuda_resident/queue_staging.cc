// SPDX-License-Identifier: Apache-2.0
//
// The places of a batch's columns and payload outside of the slots: in shared memory, or in the row's staging memory.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>

#include "batch_part.h"
#include "cuda_resident/queue.h"

namespace penumbra::cuda_resident {

/// Sets the addresses at which the GPU accesses the batch's columns, unless they are in a slot, and those of its
/// payload. What is in shared memory stays in place. The rest is in the staging memory, into which the function copies
/// inputs. Returns false if there is no room now.
bool ResidentQueue::find_places(const Batch& batch, bool is_in_slot, Addresses& addresses, Places& places) noexcept {
  const Shader& shader = *known_.shader;
  offload::PayloadItems source, destination;
  const SharedRange* source_range = nullptr;
  const SharedRange* destination_range = nullptr;
  std::size_t input_bytes = 0, output_bytes = 0;
  if (shader.source) {
    source = offload::source_of(batch, 0, batch.items);
    source_range = shared_.range_of(source);
    places.has_source = source_range == nullptr;
    if (places.has_source) input_bytes = offload::staged_bytes(source);
  }
  if (shader.destination) {
    destination = offload::destination_of(batch, 0, batch.items);
    destination_range = shared_.range_of(destination);
    places.has_destination = destination_range == nullptr;
    if (places.has_destination) output_bytes = offload::staged_bytes(destination);
  }
  const SharedRange* inputs = nullptr;
  const SharedRange* outputs = nullptr;
  if (!is_in_slot) {
    const bool has_other_positions = places.has_source || places.has_destination;
    if (!has_other_positions && !shader.input_bytes.empty()) {
      inputs = shared_.range_of(batch.inputs, shader.input_bytes, batch.items);
    }
    if (!places.has_destination && !shader.output_bytes.empty()) {
      outputs = shared_.range_of(batch.outputs, shader.output_bytes, batch.items);
    }
    if (inputs == nullptr) places.input_columns = cuda::staged_bytes(shader.input_bytes, batch.items);
    if (outputs == nullptr) places.output_columns = cuda::staged_bytes(shader.output_bytes, batch.items);
  }
  if (!take_staging(places, input_bytes, output_bytes)) return false;
  if (input_bytes + output_bytes > 0) thread_.count_copied(input_bytes + output_bytes);
  if (!is_in_slot) {
    std::byte* const seen = row_->range->seen.load(std::memory_order_relaxed);
    const auto set = [&](const auto& columns, const auto& element_bytes, const SharedRange* range,
                         const std::byte* staging, std::byte** to) {
      if (range != nullptr) return set_addresses(columns, element_bytes, *range, to);
      std::byte* place = seen + (staging - row_->range->host->data());
      for (const std::size_t each : element_bytes) {
        *to++ = place;
        place += padded(each * batch.items);
      }
    };
    set(batch.inputs, shader.input_bytes, inputs, row_->inputs() + places.inputs.begin, addresses.data());
    set(batch.outputs, shader.output_bytes, outputs, row_->outputs() + places.outputs.begin,
        addresses.data() + shader.input_bytes.size());
  }
  copy_in(batch, places);
  if (shader.has_payload()) set_bases(&source, source_range, &destination, destination_range);
  return true;
}

/// Takes the staging memory for the columns of `places` and for payload of so many bytes.
bool ResidentQueue::take_staging(Places& places, std::size_t input_bytes, std::size_t output_bytes) noexcept {
  const auto take = [&](cuda::ByteRing& ring, std::size_t bytes, Staged& staged) {
    if (bytes == 0) return true;
    const bool is_seen = row_->range->seen.load(std::memory_order_relaxed) != nullptr;
    const std::size_t begin = is_seen ? ring.take(bytes) : cuda::ByteRing::kNone;
    if (begin == cuda::ByteRing::kNone) return false;
    staged = {begin, bytes};
    return true;
  };
  if (!take(inputs_, places.input_columns + input_bytes, places.inputs)) return false;
  if (take(outputs_, places.output_columns + output_bytes, places.outputs)) return true;
  if (places.inputs.bytes > 0) inputs_.undo();
  return false;
}

/// Copies staged columns and a staged source into the staging memory.
void ResidentQueue::copy_in(const Batch& batch, const Places& places) noexcept {
  const Shader& shader = *known_.shader;
  std::byte* to = row_->inputs() + places.inputs.begin;
  const std::size_t source = places.inputs.begin + places.input_columns;
  for (std::size_t i = 0; i < shader.input_bytes.size() && places.input_columns > 0; ++i) {
    const std::size_t bytes = shader.input_bytes[i] * batch.items;
    if (places.has_source && i == shader.source.value().positions) {
      place(offload::source_of(batch, 0, batch.items), source, reinterpret_cast<std::uint64_t*>(to));
    } else if (places.has_destination && i == shader.destination.value().positions) {
      place(offload::destination_of(batch, 0, batch.items), places.outputs.begin + places.output_columns,
            reinterpret_cast<std::uint64_t*>(to));
    } else {
      std::memcpy(to, batch.inputs[i], bytes);
    }
    to += padded(bytes);
  }
  if (places.has_source) gather(offload::source_of(batch, 0, batch.items), row_->inputs() + source);
}

/// Sets the base addresses of the payload: of the batch in shared memory, otherwise of the staging memory.
void ResidentQueue::set_bases(const offload::PayloadItems* source, const SharedRange* source_range,
                              const offload::PayloadItems* destination, const SharedRange* destination_range) noexcept {
  const auto seen = [this](const offload::PayloadItems& items, const SharedRange* range, const std::byte* staging) {
    const SharedRange& its = range != nullptr ? *range : *row_->range;
    const std::byte* const base = range != nullptr ? items.base : staging;
    return its.seen.load(std::memory_order_relaxed) + (base - its.host->data());
  };
  const std::array<std::byte*, 2> bases{seen(*source, source_range, row_->inputs()),
                                        seen(*destination, destination_range, row_->outputs())};
  if (std::memcmp(view_.data(), static_cast<const void*>(bases.data()), sizeof bases) == 0) return;
  std::memcpy(view_.data(), static_cast<const void*>(bases.data()), sizeof bases);
  ++view_number_;
}

template <class Column>
void ResidentQueue::set_addresses(const std::array<Column*, kMaxColumns>& columns,
                                  const std::vector<std::size_t>& element_bytes, const SharedRange& range,
                                  std::byte** addresses) noexcept {
  std::byte* const seen = range.seen.load(std::memory_order_relaxed);
  for (std::size_t i = 0; i < element_bytes.size(); ++i) {
    *addresses++ = seen + (static_cast<const std::byte*>(columns[i]) - range.host->data());
  }
}

/// Copies the part's results from the staging memory, if they are there.
void ResidentQueue::take_staged(const Part& part) const noexcept {
  if (part.places.output_columns > 0) {
    const auto& element_bytes = part.batch->shader->output_bytes;
    const std::byte* from = row_->outputs() + part.places.outputs.begin;
    for (std::size_t i = 0; i < element_bytes.size(); ++i) {
      std::memcpy(item_of(part.batch->outputs[i], part.first, element_bytes[i]), from + part.first * element_bytes[i],
                  element_bytes[i] * part.items);
      from += padded(element_bytes[i] * part.batch->items);
    }
  }
  take_destination(part);
}

/// Copies the part's payload from the staging memory, if it is there.
void ResidentQueue::take_destination(const Part& part) const noexcept {
  if (!part.places.has_destination) return;
  const Batch& batch = *part.batch;
  const auto* const lengths =
      static_cast<const std::uint32_t*>(batch.outputs[batch.shader->destination.value().lengths]) + part.first;
  const std::byte* const staged = row_->outputs() + part.places.outputs.begin + part.places.output_columns +
                                  offload::staged_bytes(offload::destination_of(batch, 0, part.first));
  scatter(staged, lengths, offload::destination_of(batch, part.first, part.items));
}

}  // namespace penumbra::cuda_resident
