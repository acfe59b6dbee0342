// SPDX-License-Identifier: Apache-2.0
//
// Compares Reassembly with an oracle that decides every byte on its own, on random fragments with overlaps.
#include <gtest/gtest.h>

#include <optional>
#include <vector>

#include "base/random.h"
#include "base/sanitizer_scale.h"
#include "packet/fragment_testing.h"

namespace penumbra {
namespace {

using namespace packet_testing;
using Reason = ReassemblyReason;

struct RandomFragment {
  std::size_t begin = 0;
  Bytes payload;
  bool more = false;
  std::size_t end() const { return begin + payload.size(); }
};

/// A datagram as an array of bytes. Each byte knows the number of its part. A part is a range of a fragment that no
/// other fragment interrupts.
class DatagramOracle {
 public:
  explicit DatagramOracle(OverlapPolicy policy) : policy_(policy) {}

  /// Returns the reason for which the fragment is refused, or none.
  Reason add(const RandomFragment& fragment) {
    const FragmentRange added{static_cast<std::uint32_t>(fragment.begin), static_cast<std::uint32_t>(fragment.end())};
    if (dropped_ != Reason::none) return dropped_;
    if (contradicts_end(fragment)) return dropped_ = Reason::end_conflict;
    const std::vector<Byte> before = bytes_;
    if (bytes_.size() < added.end) bytes_.resize(added.end);
    bool is_in_use = false, is_overlap = false, is_equal = true;
    for (std::size_t at = added.begin; at < added.end; ++at) {
      const FragmentRange held = at < before.size() ? part_at(before, at) : FragmentRange{};
      const bool is_held = held.size() > 0;
      is_overlap |= is_held;
      if (is_held) is_equal &= bytes_[at].value == fragment.payload[at - added.begin];
      if (is_held && policy_ != OverlapPolicy::drop && !new_fragment_wins(policy_, held, added)) continue;
      if (is_held && policy_ == OverlapPolicy::drop) continue;
      is_in_use = true;
      bytes_[at] = {fragment.payload[at - added.begin], next_part_};
    }
    ++next_part_;
    const bool is_same_range = is_overlap && part_at(before, added.begin) == added;
    if (is_same_range && (is_equal || policy_ == OverlapPolicy::drop)) {
      bytes_ = before;
      return Reason::duplicate;
    }
    if (is_overlap && policy_ == OverlapPolicy::drop) return dropped_ = Reason::overlap;
    if (!is_in_use) return Reason::overlapped;
    number_parts();
    if (!fragment.more) size_ = fragment.end();
    return Reason::none;
  }

  /// Returns the payload if the datagram has all bytes.
  std::optional<Bytes> whole() const {
    if (!size_ || bytes_.size() != *size_) return std::nullopt;
    Bytes values;
    for (const Byte& byte : bytes_) {
      if (byte.part == 0) return std::nullopt;
      values.push_back(byte.value);
    }
    return values;
  }

 private:
  struct Byte {
    std::uint8_t value = 0;
    std::size_t part = 0;  ///< 0 for a byte that nobody sent.
  };

  bool contradicts_end(const RandomFragment& fragment) const {
    if (size_) return fragment.more ? fragment.end() > *size_ : fragment.end() != *size_;
    return !fragment.more && fragment.end() < bytes_.size();
  }
  static FragmentRange part_at(const std::vector<Byte>& bytes, std::size_t at) {
    if (bytes[at].part == 0) return {};
    std::size_t begin = at, end = at;
    while (begin > 0 && bytes[begin - 1].part == bytes[at].part) --begin;
    while (end < bytes.size() && bytes[end].part == bytes[at].part) ++end;
    return {static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(end)};
  }
  /// Gives each range its own number, because a new fragment may have interrupted a part.
  void number_parts() {
    std::vector<Byte> numbered = bytes_;
    for (std::size_t at = 0; at < bytes_.size(); ++at) {
      if (bytes_[at].part == 0) continue;
      const bool continues = at > 0 && bytes_[at - 1].part == bytes_[at].part;
      numbered[at].part = continues ? numbered[at - 1].part : next_part_++;
    }
    bytes_ = std::move(numbered);
  }

  OverlapPolicy policy_;
  std::vector<Byte> bytes_;
  std::optional<std::size_t> size_;
  std::size_t next_part_ = 1;
  Reason dropped_ = Reason::none;
};

RandomFragment random_fragment(Random& random, std::size_t units, std::size_t tail) {
  const std::size_t size = units * 8 + tail;
  RandomFragment fragment;
  const auto last_unit = static_cast<std::uint32_t>(tail == 0 ? units - 1 : units);
  fragment.begin = random.below(last_unit + 1) * std::size_t{8};
  const std::size_t end = fragment.begin + 8 + random.below(random.below(4) == 0 ? 12 : 4) * std::size_t{8};
  fragment.more = end < size;
  if (random.below(40) == 0) fragment.more = !fragment.more;  // a wrong end
  fragment.payload.resize(std::min(end, fragment.more ? end : size) - fragment.begin);
  for (std::uint8_t& byte : fragment.payload) byte = static_cast<std::uint8_t>(random.next());
  return fragment;
}

class ReassemblyOfRandomFragments : public testing::TestWithParam<std::tuple<OverlapPolicy, bool>> {};

TEST_P(ReassemblyOfRandomFragments, GivesTheBytesOfTheOracle) {
  const auto [policy, is_ipv4] = GetParam();
  Random random(static_cast<std::uint64_t>(policy) * 2 + (is_ipv4 ? 1 : 0));
  ReassemblyTester tester({.timeout = 1'000'000}, 2048, 256);
  tester.policy = policy;
  std::size_t completed = 0;
  const std::size_t rounds = 2000 / kSanitizerScale;
  for (std::size_t round = 0; round < rounds; ++round) {
    DatagramOracle oracle(is_ipv4 ? policy : OverlapPolicy::drop);
    const std::size_t units = 1 + random.below(16), tail = random.below(8);
    std::vector<RandomFragment> sent;
    for (unsigned i = 0; i < 40; ++i) {
      const bool repeats = !sent.empty() && random.below(8) == 0;
      const RandomFragment fragment =
          repeats ? sent[random.below(static_cast<std::uint32_t>(sent.size()))] : random_fragment(random, units, tail);
      sent.push_back(fragment);
      if (fragment.begin == 0 && !fragment.more) continue;  // no fragment
      if (fragment.more && fragment.payload.size() % 8 != 0) continue;
      const Bytes frame = is_ipv4 ? ipv4_fragment(fragment.payload, fragment.begin, fragment.more ? kMore : 0)
                                  : ipv6_fragment(fragment.payload, fragment.begin, fragment.more);
      const auto added = tester.add(frame + Bytes(random.below(3)), 20 + random.below(100));
      const Reason reason = oracle.add(fragment);
      ASSERT_EQ(to_string(added.reason()), to_string(reason));
      if (reason == Reason::overlap || reason == Reason::end_conflict) break;
      if (reason != Reason::none) continue;
      const std::optional<Bytes> whole = oracle.whole();
      ASSERT_EQ(added.is_completed(), whole.has_value());
      if (!whole) continue;
      ASSERT_EQ(slice(added.packet, is_ipv4 ? 34 : 54, added.packet.size()), *whole);
      ++completed;
      break;
    }
    for (const auto& fragment : tester.take_handed_back()) {
      ASSERT_TRUE(fragment.reason == Reason::overlapped || fragment.reason == Reason::overlap ||
                  fragment.reason == Reason::end_conflict);
    }
    tester.flush();
    tester.take_handed_back();
  }
  EXPECT_GT(completed, rounds / 40);
}

INSTANTIATE_TEST_SUITE_P(Policies, ReassemblyOfRandomFragments,
                         testing::Combine(testing::Values(OverlapPolicy::bsd, OverlapPolicy::bsd_right,
                                                          OverlapPolicy::linux_old, OverlapPolicy::first,
                                                          OverlapPolicy::last, OverlapPolicy::windows,
                                                          OverlapPolicy::solaris, OverlapPolicy::drop),
                                          testing::Bool()));

}  // namespace
}  // namespace penumbra
