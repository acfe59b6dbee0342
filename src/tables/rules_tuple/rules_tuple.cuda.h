// SPDX-License-Identifier: Apache-2.0
//
// Tuple search (rules_tuple.shader.h) for a GPU, which may read its keys over the bus (docs/cuda.md). A key is read
// once and stays in registers, while the compiled shader reads it again for each group of subtables. The loop of
// rules_tuple_find() is repeated here for such keys.
#pragma once

#include <cstdint>

#include "penumbra/cuda_form.h"
#include "tables/rules_tuple/rules_tuple.shader.h"

namespace penumbra::rules_tuple {

template <std::uint32_t kWords, class Key>
__device__ void classify_once_read(const rules_tuple_view& view, const Key* keys, std::uint32_t* rules,
                                   std::uint32_t n) {
  const std::uint32_t step = gridDim.x * blockDim.x;
  for (std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) {
    const Key key = keys[i];
    rules_walk walk = rules_walk_begin(&view);
    for (; rules_walk_goes_on(&view, &walk) != 0; walk.at += RULES_TUPLE_GROUP) {
      std::uint64_t digest[RULES_TUPLE_GROUP];
      rules_tuple_digests(&view, &walk, key.word, kWords, digest);
      walk.may_have = rules_tuple_may_have(&view, &walk, digest);
      for (; walk.may_have != 0; walk.may_have &= walk.may_have - 1) {
        std::uint32_t rule = cuckoo_table_find(&view.cuckoo, rules_walk_digest(&view, &walk, key.word, kWords));
        while (rule != RULES_NONE) rule = rules_walk_take(&view, &walk, rule, key.word, kWords);
      }
    }
    rules[i] = walk.best;
  }
}

__device__ inline void narrow_once_read(rules_tuple_view view, const rules_narrow_key* key, std::uint32_t* rule,
                                        std::uint32_t n) {
  classify_once_read<RULES_NARROW_WORDS>(view, key, rule, n);
}

__device__ inline void wide_once_read(rules_tuple_view view, const rules_key* key, std::uint32_t* rule,
                                      std::uint32_t n) {
  classify_once_read<RULES_WORDS>(view, key, rule, n);
}

}  // namespace penumbra::rules_tuple
