// SPDX-License-Identifier: Apache-2.0
#include "gpu/chain_table.h"

#include <fmt/format.h>

#include <bit>
#include <stdexcept>

#include "base/random.h"
#include "bench.h"
#include "gpu/core_team.h"
#include "pin.h"

namespace penumbra::bench::gpu {
namespace {

std::uint32_t lines_of(std::size_t bytes) {
  if (!std::has_single_bit(bytes)) throw std::invalid_argument("a table of chains has a power of two of bytes");
  return static_cast<std::uint32_t>(bytes / sizeof(chase_line));
}

}  // namespace

Permutation chain_permutation(std::size_t bytes, std::uint64_t seed) {
  return {static_cast<unsigned>(std::countr_zero(lines_of(bytes))), seed};
}

HostChains::HostChains(std::size_t bytes, std::uint64_t seed) : lines_(lines_of(bytes)) {
  const Permutation next = chain_permutation(bytes, seed);
  const std::size_t lines = lines_.size(), members = core_count();
  run_team(core_count(), [&](unsigned member) {
    for (std::size_t line = lines * member / members; line < lines * (member + 1) / members; ++line) {
      lines_[line].next = next(static_cast<std::uint32_t>(line));
    }
  });
}

GpuChains::GpuChains(std::size_t bytes, std::uint64_t seed) : lines_(lines_of(bytes)) {
  const Stream stream;
  check(launch_fill_chains(lines_.data(), lines_of(bytes), chain_permutation(bytes, seed), stream.get()),
        "filling a table");
  stream.wait();
}

std::vector<std::uint32_t> chain_starts(std::size_t bytes, std::uint32_t count, std::uint64_t seed) {
  Random random(seed + 1);
  std::vector<std::uint32_t> starts(count);
  for (std::uint32_t& start : starts) start = random.below(lines_of(bytes));
  return starts;
}

void check_ends(const std::string& way, const Permutation& next, std::span<const std::uint32_t> starts,
                std::span<const std::uint32_t> ends, std::uint32_t steps) {
  for (std::size_t i = 0; i < ends.size(); ++i) {
    if (ends[i] == next.follow(starts[i], steps)) continue;
    throw WrongAnswer(fmt::format("{}: chain {} of {} steps ends in line {}", way, i, steps, ends[i]));
  }
}

}  // namespace penumbra::bench::gpu
