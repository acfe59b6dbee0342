// SPDX-License-Identifier: Apache-2.0
#include "cuda/staging.h"

#include <algorithm>
#include <cstring>
#include <numeric>

namespace penumbra::cuda {

std::size_t sum_of(const std::vector<std::size_t>& element_bytes) noexcept {
  return std::accumulate(element_bytes.begin(), element_bytes.end(), std::size_t{0});
}

std::size_t staged_bytes(const std::vector<std::size_t>& element_bytes, std::uint32_t items) noexcept {
  std::size_t sum = 0;
  for (const std::size_t bytes : element_bytes) sum += padded(bytes * items);
  return std::max(sum, kColumnAlignment);
}

namespace {

/// Returns the address of a staged column.
std::byte* staged_column(std::byte* staged, const std::vector<std::size_t>& element_bytes, std::uint32_t items,
                         std::size_t index) noexcept {
  for (std::size_t i = 0; i < index; ++i) staged += padded(element_bytes[i] * items);
  return staged;
}

}  // namespace

void copy_inputs(const Job& job) noexcept {
  if (job.inputs.staged == nullptr) return;
  const Shader& shader = *job.shader;
  const auto positions = [&](const PayloadColumns& columns) {
    return reinterpret_cast<std::uint64_t*>(
        staged_column(job.inputs.staged, shader.input_bytes, job.items, columns.positions));
  };
  std::byte* to = job.inputs.staged;
  for (std::size_t i = 0; i < shader.input_bytes.size(); ++i) {
    const std::size_t bytes = shader.input_bytes[i] * job.items;
    std::memcpy(to, item_of(job.batch->inputs[i], job.first, shader.input_bytes[i]), bytes);
    to += padded(bytes);
  }
  if (job.source.is_staged) {
    const offload::PayloadItems items = offload::source_of(*job.batch, job.first, job.items);
    offload::place(items, 0, positions(shader.source.value()));
    offload::gather(items, job.source.base);
  }
  if (job.destination.is_staged) {
    offload::place(offload::destination_of(*job.batch, job.first, job.items), 0, positions(shader.destination.value()));
  }
}

void copy_outputs(const Job& job) noexcept {
  const std::byte* from = job.outputs.staged;
  if (from == nullptr) return;
  const Shader& shader = *job.shader;
  for (std::size_t i = 0; i < shader.output_bytes.size(); ++i) {
    const std::size_t bytes = shader.output_bytes[i] * job.items;
    std::memcpy(item_of(job.batch->outputs[i], job.first, shader.output_bytes[i]), from, bytes);
    from += padded(bytes);
  }
  if (!job.destination.is_staged) return;
  const auto* const lengths = reinterpret_cast<const std::uint32_t*>(
      staged_column(job.outputs.staged, shader.output_bytes, job.items, shader.destination.value().lengths));
  offload::scatter(job.destination.base, lengths, offload::destination_of(*job.batch, job.first, job.items));
}

}  // namespace penumbra::cuda
