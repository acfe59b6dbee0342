// SPDX-License-Identifier: Apache-2.0
//
// Registers the measurements as unavailable if the build has no nvcc, or no gopt compiler for the CPU contenders.
#include <stdexcept>

#include "gpu/measurements.h"

namespace penumbra::bench::gpu {
namespace {

constexpr char kWhy[] =
    "this program was built without it: CMake found no nvcc or no Clang 19 libraries, or sanitizers were asked for";

[[noreturn]] void refuse() {
  throw std::logic_error(kWhy);
}

}  // namespace

void measure_copies(const Options& /*options*/, Report& /*report*/) {
  refuse();
}
void measure_launches(const Options& /*options*/, Report& /*report*/) {
  refuse();
}
void measure_exchanges(const Options& /*options*/, Report& /*report*/) {
  refuse();
}
void measure_buffers(const Options& /*options*/, Report& /*report*/) {
  refuse();
}
void measure_group_signals(const Options& /*options*/, Report& /*report*/) {
  refuse();
}
void measure_random_accesses(const Options& /*options*/, Report& /*report*/) {
  refuse();
}
void measure_offload(const Options& /*options*/, Report& /*report*/) {
  refuse();
}
void measure_classification(const Options& /*options*/, Report& /*report*/) {
  refuse();
}
void measure_knobs(const Options& /*options*/, Report& /*report*/) {
  refuse();
}
void measure_shaders(const Options& /*options*/, Report& /*report*/) {
  refuse();
}
void measure_delays(const Options& /*options*/, Report& /*report*/) {
  refuse();
}
void measure_exact_matches(const Options& /*options*/, Report& /*report*/) {
  refuse();
}
void measure_lookups(const Options& /*options*/, Report& /*report*/) {
  refuse();
}
void measure_latencies(const Options& /*options*/, Report& /*report*/) {
  refuse();
}
void measure_rsa(const Options& /*options*/, Report& /*report*/) {
  refuse();
}

Availability find_gpu() {
  return {false, kWhy};
}

}  // namespace penumbra::bench::gpu
