// SPDX-License-Identifier: Apache-2.0
//
// The same work on several cores at once.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace penumbra::bench {

/// Runs `work(member)` for every member below `members` at the same time, each on a thread that keeps to a core of its
/// own, the member-th of this process'; returns when all have ended. Throws what one of them threw.
void run_team(unsigned members, const std::function<void(unsigned member)>& work);

/// Million items a second of all members together. Each calls `pass`, which does some items and says how many, again
/// and again for about `seconds`.
double team_rate(unsigned members, double seconds, const std::function<std::uint64_t(unsigned member)>& pass);

/// 1 and those of `wanted` that are at most `most`.
std::vector<unsigned> team_sizes(const std::vector<unsigned>& wanted, unsigned most);

/// How many workers whole routers are measured with: 1, 4, and all cores but one, which the main thread and an engine's
/// own need.
std::vector<unsigned> worker_counts();
/// "1 worker", "4 workers".
std::string workers_in_words(unsigned count);

}  // namespace penumbra::bench
