// SPDX-License-Identifier: Apache-2.0
#include "packet/reassembly_policy.h"

#include <gtest/gtest.h>

#include <string>

#include "packet/fragment_testing.h"

namespace penumbra {
namespace {

using namespace packet_testing;

TEST(OverlapPolicy, HasTheNamesOfSnortAndSuricata) {
  for (const std::string_view name : {"bsd", "bsd-right", "linux", "first", "last", "windows", "solaris", "drop"}) {
    const auto policy = parse_overlap_policy(name);
    ASSERT_TRUE(policy) << name;
    EXPECT_EQ(to_string(*policy), name);
  }
  EXPECT_FALSE(parse_overlap_policy("bsd_right"));
  EXPECT_FALSE(parse_overlap_policy(""));
}

/// Every way in which two ranges overlap. A row says how the new fragment begins and ends compared to the held one.
struct OverlapCase {
  FragmentRange added;  ///< The held fragment is [40, 80).
  const char* relation;
  /// One letter for each policy, in their order without `drop`: N if the new fragment wins.
  const char* winners;
};

TEST(OverlapPolicy, DecidesByBeginAndEnd) {
  const OverlapCase cases[] = {
      {{32, 72}, "begins before, ends before", "NHNHNHH"}, {{32, 80}, "begins before, ends with", "NHNHNHN"},
      {{32, 88}, "begins before, ends after", "NHNHNNN"},  {{40, 72}, "begins with, ends before", "HNNHNHH"},
      {{40, 80}, "begins with, ends with", "HNNHNHH"},     {{40, 88}, "begins with, ends after", "HNNHNHH"},
      {{48, 72}, "begins after, ends before", "HNHHNHH"},  {{48, 80}, "begins after, ends with", "HNHHNHH"},
      {{48, 88}, "begins after, ends after", "HNHHNHH"},
  };
  for (const OverlapCase& one : cases) {
    for (std::size_t policy = 0; policy < 7; ++policy) {
      EXPECT_EQ(new_fragment_wins(static_cast<OverlapPolicy>(policy), {40, 80}, one.added), one.winners[policy] == 'N')
          << kOverlapPolicies[policy] << ": the new fragment " << one.relation;
    }
  }
}

/// A fragment of the example; offset and size in units of 8 bytes.
struct ExampleFragment {
  char letter;
  std::size_t begin, size;
};

/// Returns the letter of each unit of the datagram.
std::string reassemble(OverlapPolicy policy, std::initializer_list<ExampleFragment> fragments) {
  ReassemblyTester tester;
  tester.policy = policy;
  for (const ExampleFragment& fragment : fragments) {
    const bool is_last = &fragment == std::prev(fragments.end());
    const auto added = tester.add(ipv4_fragment(Bytes(fragment.size * 8, static_cast<std::uint8_t>(fragment.letter)),
                                                fragment.begin * 8, is_last ? 0 : kMore));
    if (!added.is_completed()) continue;
    std::string letters;
    for (std::size_t at = 34; at < added.packet.size(); at += 8) letters += static_cast<char>(added.packet[at]);
    return letters;
  }
  return "incomplete";
}

/// The example of Shankar and Paxson (section 4.1), with their results for five policies.
TEST(OverlapPolicy, GivesTheResultsOfActiveMapping) {
  const std::initializer_list<ExampleFragment> example{{'1', 0, 3}, {'2', 4, 2}, {'3', 6, 3},
                                                       {'4', 1, 4}, {'5', 6, 3}, {'6', 9, 3}};
  EXPECT_EQ(reassemble(OverlapPolicy::bsd, example), "111442333666");
  EXPECT_EQ(reassemble(OverlapPolicy::bsd_right, example), "144422555666");
  EXPECT_EQ(reassemble(OverlapPolicy::linux_old, example), "111442555666");
  EXPECT_EQ(reassemble(OverlapPolicy::first, example), "111422333666");
  EXPECT_EQ(reassemble(OverlapPolicy::last, example), "144442555666");
  EXPECT_EQ(reassemble(OverlapPolicy::windows, example), "111422333666");
  EXPECT_EQ(reassemble(OverlapPolicy::solaris, example), "111422333666");
}

/// Novak (2005): Windows and Solaris let a new fragment win over one that it encloses.
TEST(OverlapPolicy, LetsAnEnclosingFragmentWin) {
  const std::initializer_list<ExampleFragment> encloses{{'1', 0, 1}, {'2', 2, 1}, {'3', 1, 3}, {'4', 4, 1}};
  EXPECT_EQ(reassemble(OverlapPolicy::windows, encloses), "13334");
  EXPECT_EQ(reassemble(OverlapPolicy::solaris, encloses), "13334");
  EXPECT_EQ(reassemble(OverlapPolicy::first, encloses), "13234");
  const std::initializer_list<ExampleFragment> ends_with{{'1', 0, 1}, {'2', 2, 1}, {'3', 1, 2}, {'4', 3, 1}};
  EXPECT_EQ(reassemble(OverlapPolicy::windows, ends_with), "1324");
  EXPECT_EQ(reassemble(OverlapPolicy::solaris, ends_with), "1334");
}

/// A BSD host cuts the begin of a fragment, whose offset is larger from then on (Suricata, issue 993).
TEST(OverlapPolicy, ComparesWithTheRangeThatIsLeft) {
  const std::initializer_list<ExampleFragment> example{{'1', 2, 4}, {'2', 0, 4}, {'3', 3, 3}, {'4', 6, 1}};
  EXPECT_EQ(reassemble(OverlapPolicy::bsd, example), "2222334");
  EXPECT_EQ(reassemble(OverlapPolicy::first, example), "2211114");
}

TEST(OverlapPolicy, SplitsFragments) {
  const std::initializer_list<ExampleFragment> inside{{'1', 0, 5}, {'2', 1, 1}, {'3', 3, 1}, {'4', 5, 1}};
  EXPECT_EQ(reassemble(OverlapPolicy::last, inside), "121314");
  EXPECT_EQ(reassemble(OverlapPolicy::bsd_right, inside), "121314");
  EXPECT_EQ(reassemble(OverlapPolicy::first, inside), "111114");
  const std::initializer_list<ExampleFragment> around{{'1', 1, 1}, {'2', 3, 1}, {'3', 0, 5}, {'4', 5, 1}};
  EXPECT_EQ(reassemble(OverlapPolicy::first, around), "313234");
  EXPECT_EQ(reassemble(OverlapPolicy::bsd_right, around), "313234");
  EXPECT_EQ(reassemble(OverlapPolicy::bsd, around), "333334");
}

}  // namespace
}  // namespace penumbra
