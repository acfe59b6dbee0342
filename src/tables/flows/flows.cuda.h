// SPDX-License-Identifier: Apache-2.0
//
// Flow lookups (flows.shader.h) for a GPU. A GPU needs no second loop for branch prediction. In one loop, a key is read
// from GPU memory once and stays in registers until its record is compared.
#pragma once

#include <cstdint>

#include "penumbra/cuda_form.h"
#include "tables/flows/flows.shader.h"

namespace penumbra::flows {

__device__ inline void lookup_in_one_loop(flows_view view, const flow_key* key, std::uint32_t* record,
                                          std::uint32_t n) {
  const std::uint32_t step = gridDim.x * blockDim.x;
  for (std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) {
    const flow_key wanted = key[i];
    const std::uint32_t found = cuckoo_table_find(&view.cuckoo, flows_digest(&view, &wanted));
    const bool is_there = flows_has_key(&view.record[found], &wanted) != 0;
    record[i] = is_there ? found : std::uint32_t{FLOWS_NO_RECORD};
  }
}

}  // namespace penumbra::flows
