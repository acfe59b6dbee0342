// SPDX-License-Identifier: Apache-2.0
//
// Chains through a table of cache lines, on the host and on the GPU. Both use the same permutation, so that they have
// the same answers.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "gpu/cuda_call.h"
#include "gpu/kernels.h"
#include "penumbra/huge_memory.h"

namespace penumbra::bench::gpu {

/// A table of `bytes` bytes, a power of two, in lines of 64 bytes.
class HostChains {
 public:
  /// Fills the table on all cores.
  HostChains(std::size_t bytes, std::uint64_t seed);
  chase_view view(std::uint32_t steps) const { return {lines_.data(), steps, 0}; }
  std::span<const std::byte> bytes() const { return std::as_bytes(std::span(lines_.data(), lines_.size())); }

 private:
  HugeArray<chase_line> lines_;
};

class GpuChains {
 public:
  GpuChains(std::size_t bytes, std::uint64_t seed);
  chase_view view(std::uint32_t steps) const { return {lines_.data(), steps, 0}; }

 private:
  DeviceArray<chase_line> lines_;
};

/// Returns the permutation of a table of `bytes` bytes.
Permutation chain_permutation(std::size_t bytes, std::uint64_t seed);
/// Returns `count` lines of a table of `bytes` bytes, drawn uniformly.
std::vector<std::uint32_t> chain_starts(std::size_t bytes, std::uint32_t count, std::uint64_t seed);

/// Throws WrongAnswer unless each end follows its start by `steps` steps of the permutation.
void check_ends(const std::string& way, const Permutation& next, std::span<const std::uint32_t> starts,
                std::span<const std::uint32_t> ends, std::uint32_t steps);

/// Runs chase(), compiled by gopt, with `in_flight` chains in flight on the calling core.
void chase_on_core(chase_view view, const std::uint32_t* start, std::uint32_t* end, std::uint32_t items,
                   std::uint32_t in_flight);

/// Chains that one core follows continuously, so that no pass finds in a cache what the last one has read.
class CoreChains {
 public:
  explicit CoreChains(std::span<const std::uint32_t> starts) : at_(starts.begin(), starts.end()), next_(at_.size()) {}

  /// Follows all chains by view.steps steps. Returns the number of accesses.
  std::uint64_t pass(chase_view view, std::uint32_t in_flight) {
    chase_on_core(view, at_.data(), next_.data(), static_cast<std::uint32_t>(at_.size()), in_flight);
    at_.swap(next_);
    return std::uint64_t{view.steps} * at_.size();
  }
  /// Return the present lines of the chains, and those before the last pass.
  std::span<const std::uint32_t> at() const { return at_; }
  std::span<const std::uint32_t> before() const { return next_; }

 private:
  std::vector<std::uint32_t> at_, next_;
};

}  // namespace penumbra::bench::gpu
