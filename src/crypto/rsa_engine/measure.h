// SPDX-License-Identifier: Apache-2.0
//
// Finds the number of pending requests from which on a GPU is faster than the CPU.
#pragma once

#include <array>
#include <cstddef>

#include "crypto/rsa_engine/form.h"

namespace penumbra::rsa_engine {

/// Returns the shortest of some times of a batch of `count` tasks, in seconds. The keys are random numbers and no keys,
/// because no form's time depends on the numbers. Throws as the form does.
double measure_batch(BatchForm& form, std::size_t size, std::size_t count);

/// Returns, for each size of keys, the least number of tasks that the GPU ends no later than `threads` threads of the
/// CPU's form; more than most() if it never does.
std::array<std::size_t, kSizes> measure_least(BatchForm& gpu, BatchForm& cpu, unsigned threads);

}  // namespace penumbra::rsa_engine
