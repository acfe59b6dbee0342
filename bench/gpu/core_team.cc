// SPDX-License-Identifier: Apache-2.0
#include "gpu/core_team.h"

#include <algorithm>
#include <barrier>
#include <exception>
#include <mutex>
#include <numeric>
#include <thread>

#include "bench.h"
#include "pin.h"

namespace penumbra::bench {

void run_team(unsigned members, const std::function<void(unsigned member)>& work) {
  std::exception_ptr failure;
  std::mutex mutex;
  std::barrier begin(members);
  {
    std::vector<std::jthread> threads;
    threads.reserve(members);
    for (unsigned member = 0; member < members; ++member) {
      threads.emplace_back([&, member] {
        begin.arrive_and_wait();
        try {
          pin_to_core(member);
          work(member);
        } catch (...) {
          const std::lock_guard lock(mutex);
          failure = std::current_exception();
        }
      });
    }
  }
  if (failure) std::rethrow_exception(failure);
}

double team_rate(unsigned members, double seconds, const std::function<std::uint64_t(unsigned member)>& pass) {
  std::vector<double> rates(members);
  run_team(members, [&](unsigned member) {
    std::uint64_t items = 0;
    const double begin = now();
    double end = begin;
    do {
      items += pass(member);
      end = now();
    } while (end - begin < seconds);
    rates[member] = static_cast<double>(items) / (end - begin) * 1e-6;
  });
  return std::accumulate(rates.begin(), rates.end(), 0.0);
}

std::vector<unsigned> team_sizes(const std::vector<unsigned>& wanted, unsigned most) {
  std::vector<unsigned> sizes{1};
  for (const unsigned size : wanted) {
    if (size > 1 && size <= most) sizes.push_back(size);
  }
  std::ranges::sort(sizes);
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
  return sizes;
}

std::vector<unsigned> worker_counts() {
  const unsigned most = std::max(core_count(), 2U) - 1;
  return team_sizes({4, most}, most);
}

std::string workers_in_words(unsigned count) {
  return std::to_string(count) + (count == 1 ? " worker" : " workers");
}

}  // namespace penumbra::bench
