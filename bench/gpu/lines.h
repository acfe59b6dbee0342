// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gpu/lookup_work.h"

namespace penumbra::bench::gpu {

/// Returns the average number of cache lines that a look-up of this work reads: the calls of g_expensive() by its
/// shader.
double lines_a_lookup(LookupWork& work);

}  // namespace penumbra::bench::gpu
