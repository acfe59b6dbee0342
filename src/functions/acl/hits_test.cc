// SPDX-License-Identifier: Apache-2.0
#include "functions/rule_list/hits.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cstddef>
#include <cstdint>

namespace penumbra::rule_list {
namespace {

constexpr std::uint32_t kMost = 300'000;

/// Returns the number of page faults while a worker counts for some numbers.
long faults_while_counting(HitCounters& hits, std::size_t worker, std::uint32_t last) {
  rusage before{}, after{};
  getrusage(RUSAGE_THREAD, &before);
  for (std::uint32_t number = 1; number <= last; number += 100) hits.count(worker, number, 60, 1);
  getrusage(RUSAGE_THREAD, &after);
  return after.ru_minflt - before.ru_minflt;
}

TEST(HitCounters, OfAPreparedWorkerWaitForNoPage) {
  HitCounters hits(2);
  EXPECT_GT(faults_while_counting(hits, 0, kMost), 0) << "the test sees what it is for";
  hits.prepare(1, kMost);
  EXPECT_EQ(faults_while_counting(hits, 1, kMost), 0);
  EXPECT_EQ(hits.of(1).packets, 2U);
  EXPECT_EQ(hits.of(kMost).packets, 0U);
}

TEST(HitCounters, AreThereForEntriesThatComeLater) {
  HitCounters hits(18);
  hits.prepare(17, 1);
  for (std::uint32_t number = 2; number <= kMost; ++number) hits.clear(number);
  EXPECT_EQ(faults_while_counting(hits, 17, kMost), 0);
}

}  // namespace
}  // namespace penumbra::rule_list
