// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace penumbra::bench {

/// The first and the last core that this process could use when it first asked. Throw std::system_error.
unsigned first_core();
unsigned last_core();

/// How many cores that were. Throws std::system_error.
unsigned core_count();

/// The `index`-th of them, from 0. Throws std::out_of_range.
unsigned core(unsigned index);

/// Keep the calling thread on that core, the `index`-th of them from 0. Throw std::system_error.
void pin_to_core(unsigned index);
void pin_to_first_core();
void pin_to_last_core();

}  // namespace penumbra::bench
