// SPDX-License-Identifier: Apache-2.0
#include "gpu/loads.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "gpu/core_team.h"

namespace penumbra::bench::gpu {
namespace {

constexpr std::uint32_t kLeastBatches = 4, kMostBatches = 128;  ///< Batches in flight per thread.
constexpr std::size_t kBusItems = std::size_t{1} << 23;
constexpr unsigned kBusCopies = 16;
constexpr std::uint32_t kWarmUpItems = 1U << 17;  ///< Items per thread, enough for `gopt` to have tried its widths.

}  // namespace

Bus::Bus(std::size_t key_bytes, std::size_t answer_bytes)
    : in_(kBusItems * key_bytes), out_(kBusItems * answer_bytes), gpu_in_(in_.size()), gpu_out_(out_.size()) {}

double Bus::rate() const {
  const double begin = now();
  for (unsigned i = 0; i < kBusCopies; ++i) {
    there_.copy(gpu_in_.data(), in_.data(), in_.bytes());
    back_.copy(out_.data(), gpu_out_.data(), out_.bytes());
  }
  there_.wait();
  back_.wait();
  return kBusCopies * static_cast<double>(kBusItems) / (now() - begin) * 1e-6;
}

Load::Load(Engine& engine, LookupWork& work, const LoadShape& shape)
    : shape_(shape), in_flight_(std::clamp(shape.items_in_flight / shape.items, kLeastBatches, kMostBatches)) {
  for (unsigned thread = 0; thread < shape.threads; ++thread) {
    streams_.push_back(std::make_unique<LookupStream>(engine, work, shape.items, in_flight_, thread));
  }
}

void Load::check() {
  const std::uint64_t batches = std::max(3 * in_flight_, kWarmUpItems / shape_.items);
  run_team(shape_.threads, [&](unsigned thread) { streams_[thread]->check(batches, in_flight_); });
}

double Load::rate() {
  std::vector<LookupStream::Counted> counted(shape_.threads);
  run_team(shape_.threads,
           [&](unsigned thread) { counted[thread] = streams_[thread]->count_over(shape_.seconds, in_flight_); });
  double batches = 0, seconds = 0;
  for (const LookupStream::Counted& each : counted) {
    batches += static_cast<double>(each.batches);
    seconds = std::max(seconds, each.seconds);
  }
  return batches * shape_.items / seconds * 1e-6;
}

std::string Load::name() const {
  return fmt::format("batches of {}, {}", shape_.items, team());
}

std::string Load::team() const {
  return fmt::format("{} thread{}", shape_.threads, shape_.threads == 1 ? "" : "s");
}

}  // namespace penumbra::bench::gpu
