// SPDX-License-Identifier: Apache-2.0
//
// Compiled as a separate unit, because other code in a unit affects how a loop is compiled.
#include "chase.gopt.h"
#include "gpu/chain_table.h"

namespace penumbra::bench::gpu {

void chase_on_core(chase_view view, const std::uint32_t* start, std::uint32_t* end, std::uint32_t items,
                   std::uint32_t in_flight) {
  chase_gopt(view, start, end, items, in_flight);
}

}  // namespace penumbra::bench::gpu
