// SPDX-License-Identifier: Apache-2.0
//
// Tests the look-ups of `penumbra-bench run gopt`: every way of each workload, in batches of all sizes, against the
// oracle.
#include "gopt/workload.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <span>

#include "base/sanitizer_scale.h"
#include "gopt/counters.h"
#include "gopt/instructions.h"
#include "gopt/measure.h"

namespace penumbra::bench {
namespace {

constexpr std::size_t kKiB = 1024;
constexpr bool kIsSanitized = kSanitizerScale > 1;

std::unique_ptr<Workload> small_ipv4() {
  InputTable routes;
  for (std::uint32_t i = 0; i < 2000; ++i) {
    // Every fourth prefix is longer than 24 bits, and has a second level.
    const unsigned length = i % 4 == 0 ? 28 : 20;
    const Ipv4Prefix place{{(i * 0x9E3779B1U) & (~0U << (32 - length))}, static_cast<std::uint8_t>(length)};
    routes.entries.push_back({place, static_cast<std::uint16_t>(i % 100)});
  }
  std::ranges::sort(routes.entries, {}, [](const Dir24_8::Entry& entry) { return entry.prefix.length; });
  return make_ipv4(routes, prefix_addresses(routes, 4096, 3));
}

struct Named {
  const char* name;
  std::function<std::unique_ptr<Workload>()> make;
};

class Workloads : public testing::TestWithParam<Named> {};
/// One workload for each of gopt's functions, with cheap items.
class Kernels : public Workloads {};

TEST_P(Workloads, AnswerLikeTheOracleInEachWay) {
  const auto workload = GetParam().make();
  const std::size_t bytes = workload->right.size() / workload->items;
  std::vector<std::byte> wrong = workload->right;
  for (std::byte& each : wrong) each = ~each;
  EXPECT_GE(workload->ways.size(), 2U);
  for (const Way& way : workload->ways) {
    std::vector<std::uint32_t> sizes = way.sizes;
    if (way.name == "gopt") sizes = {0, 1, 2, 7, 16, 64, 256, 300};
    for (const std::uint32_t size : sizes) {
      for (const std::uint32_t n : {0, 1, 2, 3, 7, 8, 15, 16, 17, 63, 64, 65, 100, 255, 256, 257, 600}) {
        const std::uint32_t first = 3 * n;
        workload->found = wrong;
        way.run(first, n, size);
        std::vector<std::byte> expected = wrong;
        std::memcpy(&expected[first * bytes], &workload->right[first * bytes], n * bytes);
        ASSERT_EQ(std::memcmp(workload->found.data(), expected.data(), expected.size()), 0)
            << way.name << ", " << size << " at a time, " << n << " items, byte "
            << std::ranges::mismatch(workload->found, expected).in1 - workload->found.begin();
      }
    }
  }
}

/// Runs gopt's code with each number of items: a ring that never fills, that just fills, that empties at any place.
TEST_P(Kernels, AnswerLikeTheOracleForEveryNumberOfItems) {
  constexpr std::uint32_t kStep = kIsSanitized ? 5 : 1;  // Coprime to the widths.
  const auto workload = GetParam().make();
  const std::size_t bytes = workload->right.size() / workload->items;
  for (const std::uint32_t width : {1, 2, 7, 16, 64, 256}) {
    for (std::uint32_t n = 0; n <= 1000; n += kStep) {
      const std::size_t end = n * bytes;
      std::ranges::transform(std::span(workload->right).first(end + bytes), workload->found.begin(),
                             [](std::byte right) { return ~right; });
      workload->ways[1].run(0, n, width);
      ASSERT_EQ(std::memcmp(workload->found.data(), workload->right.data(), end), 0) << width << ", " << n;
      ASSERT_EQ(workload->found[end], ~workload->right[end]) << width << ", " << n;
    }
  }
}

TEST_P(Workloads, HaveAnswersThatDiffer) {
  const auto workload = GetParam().make();
  EXPECT_NE(std::ranges::count(workload->right, workload->right.front()),
            static_cast<std::ptrdiff_t>(workload->right.size()));
  EXPECT_GE(workload->accesses, 1);
  EXPECT_FALSE(workload->input.empty());
}

std::vector<Named> kernels() {
  return {{"chase", [] { return make_chase(64 * kKiB, 6, 4096, 1); }},
          {"chase_of_one", [] { return make_chase(64 * kKiB, 1, 4096, 1); }},
          {"chase_and_work", [] { return make_chase_and_work(64 * kKiB, 6, 5, 4096, 1); }},
          {"cuckoo", [] { return make_cuckoo(64 * kKiB, 4096, 1); }},
          {"small_trie6", [] { return make_trie6(64 * kKiB, 4096, 1); }},
          {"trie6", [] { return make_trie6(4096 * kKiB, 4096, 1); }},
          {"names", [] { return make_names(64 * kKiB, 4096, 1); }},
          {"memcached", [] { return make_memcached(64 * kKiB, 4096, 1); }},
          {"aho_corasick", [] { return make_aho_corasick(1024 * kKiB, 4096, 1); }},
          {"ipv4", &small_ipv4}};
}

constexpr auto kName = [](const auto& named) { return std::string(named.param.name); };

INSTANTIATE_TEST_SUITE_P(All, Kernels, testing::ValuesIn(kernels()), kName);
INSTANTIATE_TEST_SUITE_P(All, Workloads, testing::ValuesIn(kernels()), kName);
INSTANTIATE_TEST_SUITE_P(Large, Workloads,
                         testing::Values(Named{"inspection", [] { return make_inspection(1024 * kKiB, 4, 2560, 1); }}),
                         kName);

TEST(Instructions, AreAsManyForTheSameWorkAndMoreForMore) {
  const auto workload = make_chase(64 * kKiB, 6, 4096, 1);
  const auto count = [&](std::uint32_t n) { return instructions([&] { workload->ways[0].run(0, n, 1); }); };
  constexpr std::uint32_t kFew = kIsSanitized ? 10 : 40, kMany = 3 * kFew;
  const std::optional<std::uint64_t> few = count(kFew);
  if (!few) GTEST_SKIP() << "no child may be traced here";
  const std::optional<std::uint64_t> again = count(kFew);
  ASSERT_TRUE(again);
  const auto expected = static_cast<double>(*few);
  EXPECT_NEAR(static_cast<double>(*again), expected, expected / 50) << "a sanitizer's own may differ by a few";
  const std::optional<std::uint64_t> more = count(kMany);
  ASSERT_TRUE(more);
  EXPECT_GE(*more - *few, (kMany - kFew) * 6 * 2) << "at least a load and a branch for each access";
}

TEST(Counters, SayWhatCountingOneByOneSays) {
  const auto workload = make_chase(64 * kKiB, 6, 4096, 1);
  const auto work = [&](std::uint32_t n) { return [&workload, n] { workload->ways[0].run(0, n, 1); }; };
  const auto few = counted(work(100)), more = counted(work(300));
  if (!few || !more) GTEST_SKIP() << "this machine has no counters for us";
  EXPECT_GT(few->cycles, 0U);
  const auto fewer_steps = instructions(work(100)), steps = instructions(work(300));
  if (!fewer_steps || !steps) GTEST_SKIP() << "no child may be traced here";
  const auto expected = static_cast<double>(*steps - *fewer_steps);
  EXPECT_NEAR(static_cast<double>(more->instructions - few->instructions), expected, expected / 20);
}

TEST(CheckAndTune, RefusesAWrongAnswer) {
  const auto workload = make_chase(64 * kKiB, 6, 4096, 1);
  EXPECT_EQ(check_and_tune(*workload).size(), workload->ways.size());
  workload->right[100] ^= std::byte{1};
  EXPECT_THROW(check_and_tune(*workload), WrongAnswer);
}

TEST(Calibrated, ChoosesAWidth) {
  const auto workload = make_chase(64 * kKiB, 6, kBatch, 1);
  Calibrated calibrated(*workload);
  const auto& widths = gopt::WidthChoice::kWidths;
  EXPECT_NE(std::ranges::find(widths, calibrated.width()), widths.end());
  std::ranges::fill(workload->found, std::byte{0xAA});
  calibrated.run(0);
  EXPECT_EQ(workload->found, workload->right);
}

}  // namespace
}  // namespace penumbra::bench
