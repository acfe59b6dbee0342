// SPDX-License-Identifier: Apache-2.0
#include "functions/ids/streams/stream_policy.h"

#include <gtest/gtest.h>

#include <string>

#include "functions/ids/streams/stream_testing.h"

namespace penumbra::ids {
namespace {

TEST(StreamPolicy, HasTheNamesOfSnortAndSuricata) {
  for (const std::string_view name : {"first", "last", "bsd", "linux", "old-linux", "windows", "solaris"}) {
    const auto policy = parse_stream_policy(name);
    ASSERT_TRUE(policy) << name;
    EXPECT_EQ(to_string(*policy), name);
  }
  EXPECT_FALSE(parse_stream_policy("old_linux"));
  EXPECT_FALSE(parse_stream_policy(""));
}

/// Every way in which two segments overlap. A row says how the new segment begins and ends compared to the held one.
struct OverlapCase {
  StreamRange added;  ///< The held segment is [40, 80).
  const char* relation;
  const char* winners;  ///< One letter for each policy, in their order: N if the new segment wins.
};

constexpr OverlapCase kCases[] = {
    {{30, 70}, "begins before, ends before", "HNNNNNH"}, {{30, 80}, "begins before, ends with", "HNNNNNN"},
    {{30, 90}, "begins before, ends after", "HNNNNNN"},  {{40, 70}, "begins with, ends before", "HNHHHHH"},
    {{40, 80}, "begins with, ends with", "HNHHNHN"},     {{40, 90}, "begins with, ends after", "HNHNNHN"},
    {{50, 70}, "begins after, ends before", "HNHHHHH"},  {{50, 80}, "begins after, ends with", "HNHHHHH"},
    {{50, 90}, "begins after, ends after", "HNHHHHN"},
};

TEST(StreamPolicy, DecidesByBeginAndEnd) {
  for (const OverlapCase& one : kCases) {
    for (std::size_t policy = 0; policy < kStreamPolicies.size(); ++policy) {
      EXPECT_EQ(new_segment_wins(static_cast<StreamPolicy>(policy), {40, 80}, one.added), one.winners[policy] == 'N')
          << kStreamPolicies[policy] << ": the new segment " << one.relation;
    }
  }
}

TEST(StreamPolicy, DecidesWhatTheBufferHolds) {
  for (const OverlapCase& one : kCases) {
    for (std::size_t policy = 0; policy < kStreamPolicies.size(); ++policy) {
      StreamMemory memory(1 << 20);
      StreamBuffer buffer;
      const auto insert = [&](StreamRange range, char letter, StreamPolicy by) {
        const std::string bytes(range.end - range.begin, letter);
        return buffer.insert(memory, range.begin, bytes_of(bytes), by, 4096, 31);
      };
      EXPECT_FALSE(insert({40, 80}, 'H', StreamPolicy::first).overlap);
      EXPECT_TRUE(insert(one.added, 'N', static_cast<StreamPolicy>(policy)).conflict);
      insert({0, 100}, '.', StreamPolicy::first);
      std::string expected(100, '.');
      for (std::size_t at = 0; at < expected.size(); ++at) {
        const bool is_held = at >= 40 && at < 80, is_new = at >= one.added.begin && at < one.added.end;
        if (is_held && is_new) expected[at] = one.winners[policy];
        if (is_held != is_new) expected[at] = is_held ? 'H' : 'N';
      }
      EXPECT_EQ(text_of(buffer.ready(100, 31).fresh_bytes()), expected)
          << kStreamPolicies[policy] << ": the new segment " << one.relation;
      buffer.release(memory);
      EXPECT_EQ(memory.used(), 0U);
    }
  }
}

}  // namespace
}  // namespace penumbra::ids
