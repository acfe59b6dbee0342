// SPDX-License-Identifier: Apache-2.0
#include "cuda/staging.h"

#include <algorithm>
#include <cstring>

namespace penumbra::cuda {

Batch piece_of(const Job& job) noexcept {
  Batch piece = *job.batch;
  piece.items = job.items;
  const Shader& shader = *piece.shader;
  for (std::size_t i = 0; i < shader.input_bytes.size(); ++i) {
    piece.inputs[i] = item_of(piece.inputs[i], job.first, shader.input_bytes[i]);
  }
  for (std::size_t i = 0; i < shader.output_bytes.size(); ++i) {
    piece.outputs[i] = item_of(piece.outputs[i], job.first, shader.output_bytes[i]);
  }
  return piece;
}

std::size_t staged_bytes(const std::vector<std::size_t>& element_bytes, std::uint32_t items) noexcept {
  std::size_t sum = 0;
  for (const std::size_t bytes : element_bytes) sum += padded(bytes * items);
  return std::max(sum, kColumnAlignment);
}

void stage(Places& places, SharedMemory& memory, std::byte* begin, const std::vector<std::size_t>& element_bytes,
           std::uint32_t items) noexcept {
  places.memory = &memory;
  places.staged = begin;
  for (std::size_t i = 0; i < element_bytes.size(); ++i) {
    places.columns[i] = begin;
    begin += padded(element_bytes[i] * items);
  }
}

void copy_inputs(const Job& job) noexcept {
  if (job.inputs.staged == nullptr) return;
  const auto& element_bytes = job.batch->shader->input_bytes;
  for (std::size_t i = 0; i < element_bytes.size(); ++i) {
    std::memcpy(job.inputs.columns[i], item_of(job.batch->inputs[i], job.first, element_bytes[i]),
                element_bytes[i] * job.items);
  }
}

void copy_outputs(const Job& job) noexcept {
  if (job.outputs.staged == nullptr) return;
  const auto& element_bytes = job.batch->shader->output_bytes;
  for (std::size_t i = 0; i < element_bytes.size(); ++i) {
    std::memcpy(item_of(job.batch->outputs[i], job.first, element_bytes[i]), job.outputs.columns[i],
                element_bytes[i] * job.items);
  }
}

}  // namespace penumbra::cuda
