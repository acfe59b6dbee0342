// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace penumbra::bench {

/// Returns how many AVX512-IFMA instructions of 512 bits this core runs in a second. Takes some milliseconds. The CPU
/// must have them.
double ifma_per_second();

}  // namespace penumbra::bench
