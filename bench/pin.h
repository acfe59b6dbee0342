// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace penumbra::bench {

/// Return the first and the last core that this process could use when it first asked. Throw std::system_error.
unsigned first_core();
unsigned last_core();

/// Returns the number of cores that this process could use when it first asked. Throws std::system_error.
unsigned core_count();

/// Returns core number `index`, from 0, among those cores. Throws std::out_of_range.
unsigned core(unsigned index);

/// Pin the calling thread to a core, which `index` counts from 0. Throw std::system_error.
void pin_to_core(unsigned index);
void pin_to_first_core();
void pin_to_last_core();

}  // namespace penumbra::bench
