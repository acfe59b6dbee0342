// SPDX-License-Identifier: Apache-2.0
#include "cuda/staging.h"

#include <algorithm>
#include <cstring>

namespace penumbra::cuda {

std::size_t staged_bytes(const std::vector<std::size_t>& element_bytes, std::uint32_t items) noexcept {
  std::size_t sum = 0;
  for (const std::size_t bytes : element_bytes) sum += padded(bytes * items);
  return std::max(sum, kColumnAlignment);
}

void stage_inputs(const Job& job) noexcept {
  std::byte* to = job.inputs;
  const auto& element_bytes = job.batch->shader->input_bytes;
  for (std::size_t i = 0; i < element_bytes.size(); ++i) {
    const std::size_t bytes = element_bytes[i] * job.batch->items;
    std::memcpy(to, job.batch->inputs[i], bytes);
    to += padded(bytes);
  }
}

void unstage_outputs(const Job& job) noexcept {
  const std::byte* from = job.outputs;
  const auto& element_bytes = job.batch->shader->output_bytes;
  for (std::size_t i = 0; i < element_bytes.size(); ++i) {
    const std::size_t bytes = element_bytes[i] * job.batch->items;
    std::memcpy(job.batch->outputs[i], from, bytes);
    from += padded(bytes);
  }
}

}  // namespace penumbra::cuda
