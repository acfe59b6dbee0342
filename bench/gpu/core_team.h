// SPDX-License-Identifier: Apache-2.0
//
// Runs the same work on several cores at the same time.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace penumbra::bench {

/// Runs `work(member)` for all members below `members` concurrently, each on a thread pinned to core number `member` of
/// this process. Returns when all have ended. Throws an exception of one of them.
void run_team(unsigned members, const std::function<void(unsigned member)>& work);

/// Returns the million items per second of all members together. Each member calls `pass` repeatedly for about
/// `seconds`; `pass` returns the number of items it processed.
double team_rate(unsigned members, double seconds, const std::function<std::uint64_t(unsigned member)>& pass);

/// Returns 1 and the elements of `wanted` that are at most `most`.
std::vector<unsigned> team_sizes(const std::vector<unsigned>& wanted, unsigned most);

/// Returns the numbers of workers for measurements of whole routers: 1, 4, and all cores but one. The main thread and
/// an engine's own thread need the last core.
std::vector<unsigned> worker_counts();
/// Returns "1 worker", "4 workers".
std::string workers_in_words(unsigned count);

}  // namespace penumbra::bench
