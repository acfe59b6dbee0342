// SPDX-License-Identifier: Apache-2.0
#include "offload/payload.h"

#include <algorithm>
#include <cstring>

namespace penumbra::offload {
namespace {

std::size_t staged(std::uint32_t length) noexcept {
  return (std::size_t{length} + kItemAlignment - 1) / kItemAlignment * kItemAlignment;
}

PayloadItems items_of(const Batch& batch, const std::byte* base, const PayloadColumns& columns, std::uint32_t first,
                      std::uint32_t count) noexcept {
  return {base, static_cast<const std::uint64_t*>(batch.inputs[columns.positions]) + first,
          static_cast<const std::uint32_t*>(batch.inputs[columns.positions + 1]) + first, count};
}

}  // namespace

PayloadItems source_of(const Batch& batch, std::uint32_t first, std::uint32_t count) noexcept {
  return items_of(batch, batch.source, batch.shader->source.value(), first, count);
}

PayloadItems destination_of(const Batch& batch, std::uint32_t first, std::uint32_t count) noexcept {
  return items_of(batch, batch.destination, batch.shader->destination.value(), first, count);
}

bool lie_in(const PayloadItems& items, const HugeMemory& memory) noexcept {
  const std::uint64_t before =
      reinterpret_cast<std::uintptr_t>(items.base) - reinterpret_cast<std::uintptr_t>(memory.data());
  for (std::uint32_t i = 0; i < items.count; ++i) {
    const std::uint64_t begin = before + items.positions[i];
    if (begin > memory.bytes() || items.lengths[i] > memory.bytes() - begin) return false;
  }
  return true;
}

std::size_t staged_bytes(const PayloadItems& items) noexcept {
  std::size_t sum = 0;
  for (std::uint32_t i = 0; i < items.count; ++i) sum += staged(items.lengths[i]);
  return sum;
}

std::uint32_t items_within(const PayloadItems& items, std::size_t bytes) noexcept {
  std::size_t sum = 0;
  for (std::uint32_t i = 0; i < items.count; ++i) {
    sum += staged(items.lengths[i]);
    if (sum > bytes) return i;
  }
  return items.count;
}

void place(const PayloadItems& items, std::uint64_t first, std::uint64_t* positions) noexcept {
  std::uint64_t next = first;
  for (std::uint32_t i = 0; i < items.count; ++i) {
    positions[i] = next;
    next += staged(items.lengths[i]);
  }
}

void gather(const PayloadItems& items, std::byte* staged_items) noexcept {
  for (std::uint32_t i = 0; i < items.count; ++i) {
    if (items.lengths[i] > 0) std::memcpy(staged_items, items.at(i), items.lengths[i]);
    staged_items += staged(items.lengths[i]);
  }
}

void scatter(const std::byte* staged_items, const std::uint32_t* lengths, const PayloadItems& items) noexcept {
  for (std::uint32_t i = 0; i < items.count; ++i) {
    const std::uint32_t length = std::min(lengths[i], items.lengths[i]);
    if (length > 0) std::memcpy(const_cast<std::byte*>(items.at(i)), staged_items, length);
    staged_items += staged(items.lengths[i]);
  }
}

}  // namespace penumbra::offload
