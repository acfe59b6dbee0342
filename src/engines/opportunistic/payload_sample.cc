// SPDX-License-Identifier: Apache-2.0
#include "opportunistic/payload_sample.h"

#include <algorithm>
#include <cstring>

namespace penumbra::opportunistic {
namespace {

void fill_with(std::span<std::byte> bytes, const HugeMemory& random, std::size_t number) {
  std::size_t from = number * kColumnAlignment % random.bytes();
  for (std::byte& each : bytes) {
    each = random.data()[from];
    from = from + 1 == random.bytes() ? 0 : from + 1;
  }
}

}  // namespace

PayloadSample::PayloadSample(const Measured& measured, const HugeMemory& random, std::span<Batch> batches) {
  const std::size_t items = batches.size() * kChunk;
  const Shader& shader = measured.shader;
  room_ = measured.sample != nullptr ? measured.sample->room(measured.length) : measured.length;
  source_step_ = padded(measured.length);
  source_bytes_ = shader.source ? source_step_ * items : 0;
  memory_ = std::make_shared<HugeMemory>(source_bytes_ + (shader.destination ? padded(room_) * items : 0));
  const std::span sources(memory_->data(), source_bytes_);
  fill_with(sources, random, 0);
  if (measured.sample != nullptr) measured.sample->fill_source(sources);
  for (std::size_t i = 0; i < batches.size(); ++i) fill(measured, random, batches[i], i);
}

void PayloadSample::fill(const Measured& measured, const HugeMemory& random, Batch& batch, std::size_t number) {
  const Shader& shader = measured.shader;
  batch.source = memory_->data();
  batch.destination = memory_->data() + source_bytes_;
  const auto fill_payload = [&](const PayloadColumns& payload, std::size_t column, std::span<std::byte> bytes,
                                std::size_t step, std::uint32_t length) {
    for (std::size_t item = 0; item < kChunk; ++item) {
      const std::uint64_t position = (number * kChunk + item) * step;
      if (column == payload.positions) {
        std::memcpy(&bytes[item * sizeof position], &position, sizeof position);
      } else {
        std::memcpy(&bytes[item * sizeof length], &length, sizeof length);
      }
    }
  };
  const auto has = [](const auto& payload, std::size_t column) {
    return payload && (column == payload->positions || column == payload->positions + 1);
  };
  for (std::size_t i = 0; i < shader.input_bytes.size(); ++i) {
    auto& column = columns_.emplace_back(shader.input_bytes[i] * kChunk);
    batch.inputs[i] = column.data();
    if (has(shader.source, i)) {
      fill_payload(shader.source.value(), i, column, source_step_, measured.length);
    } else if (has(shader.destination, i)) {
      fill_payload(shader.destination.value(), i, column, padded(room_), static_cast<std::uint32_t>(room_));
    } else {
      fill_with(column, random, number);
      if (measured.sample != nullptr) measured.sample->fill_column(i, column);
    }
  }
}

}  // namespace penumbra::opportunistic
