// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gpu/lookup_work.h"

namespace penumbra::bench::gpu {

/// How many lines a look-up of this work reads on the average: how often its shader says g_expensive().
double lines_a_lookup(LookupWork& work);

}  // namespace penumbra::bench::gpu
