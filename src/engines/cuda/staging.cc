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

void copy_inputs(const Job& job) noexcept {
  std::byte* to = job.inputs.staged;
  if (to == nullptr) return;
  const auto& element_bytes = job.shader->input_bytes;
  for (std::size_t i = 0; i < element_bytes.size(); ++i) {
    const std::size_t bytes = element_bytes[i] * job.items;
    std::memcpy(to, item_of(job.batch->inputs[i], job.first, element_bytes[i]), bytes);
    to += padded(bytes);
  }
}

void copy_outputs(const Job& job) noexcept {
  const std::byte* from = job.outputs.staged;
  if (from == nullptr) return;
  const auto& element_bytes = job.shader->output_bytes;
  for (std::size_t i = 0; i < element_bytes.size(); ++i) {
    const std::size_t bytes = element_bytes[i] * job.items;
    std::memcpy(item_of(job.batch->outputs[i], job.first, element_bytes[i]), from, bytes);
    from += padded(bytes);
  }
}

}  // namespace penumbra::cuda
