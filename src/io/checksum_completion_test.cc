// SPDX-License-Identifier: Apache-2.0
#include "io/checksum_completion.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace penumbra::io {
namespace {

using Bytes = std::vector<std::uint8_t>;

enum class Kind { tcp4, udp4, tcp6, udp6 };
constexpr std::array kKinds{Kind::tcp4, Kind::udp4, Kind::tcp6, Kind::udp6};

/// A frame and the offsets of its parts.
struct Made {
  Bytes frame;
  std::size_t addresses = 0, address_bytes = 0;
  std::size_t segment = 0, segment_bytes = 0;
  std::size_t field = 0;  ///< Offset of the checksum field.
  std::uint8_t protocol = 0;
};

void put16(Bytes& bytes, std::size_t at, std::size_t value) {
  bytes[at] = static_cast<std::uint8_t>(value >> 8);
  bytes[at + 1] = static_cast<std::uint8_t>(value);
}
std::uint32_t get16(const Bytes& bytes, std::size_t at) {
  return static_cast<std::uint32_t>(bytes[at] << 8 | bytes[at + 1]);
}

/// Returns a frame of random bytes under valid headers. With `options`, IPv6 gets 8 bytes of hop-by-hop options and
/// IPv4 gets 4 bytes of options.
Made make(std::mt19937& random, Kind kind, unsigned vlans, bool options, std::size_t payload, std::size_t trailer) {
  const bool ipv6 = kind == Kind::tcp6 || kind == Kind::udp6, tcp = kind == Kind::tcp4 || kind == Kind::tcp6;
  const std::size_t ip = 14 + 4 * std::size_t{vlans}, header = ipv6 ? 40 + 8 * options : 20 + 4 * options;
  Made made;
  made.protocol = tcp ? 6 : 17;
  made.segment = ip + header;
  made.segment_bytes = (tcp ? 20 : 8) + payload;
  made.field = made.segment + (tcp ? 16 : 6);
  made.addresses = ip + (ipv6 ? 8 : 12);
  made.address_bytes = ipv6 ? 32 : 8;
  made.frame.resize(made.segment + made.segment_bytes + trailer);
  for (auto& byte : made.frame) byte = static_cast<std::uint8_t>(random());
  for (unsigned tag = 0; tag < vlans; ++tag) put16(made.frame, 12 + 4 * std::size_t{tag}, tag == 0 ? 0x88A8 : 0x8100);
  put16(made.frame, ip - 2, ipv6 ? 0x86DD : 0x0800);
  if (ipv6) {
    made.frame[ip] = 0x60;
    put16(made.frame, ip + 4, made.segment_bytes + std::size_t{8} * options);
    made.frame[ip + 6] = options ? 0 : made.protocol;
    if (options) put16(made.frame, ip + 40, made.protocol << 8);
  } else {
    made.frame[ip] = static_cast<std::uint8_t>(0x45 + options);
    put16(made.frame, ip + 2, header + made.segment_bytes);
    put16(made.frame, ip + 6, 0x4000);
    made.frame[ip + 9] = made.protocol;
  }
  if (!tcp) put16(made.frame, made.segment + 4, made.segment_bytes);
  return made;
}

/// The reference: adds 16-bit words in network order and folds each carry immediately.
std::uint32_t add_words(std::uint32_t sum, const Bytes& bytes, std::size_t from, std::size_t count) {
  for (std::size_t i = 0; i < count; i += 2) {
    sum += i + 1 < count ? get16(bytes, from + i) : static_cast<std::uint32_t>(bytes[from + i] << 8);
    if (sum > 0xFFFF) sum -= 0xFFFF;
  }
  return sum;
}
std::uint32_t pseudo_header(const Made& made) {
  std::uint32_t sum = add_words(0, made.frame, made.addresses, made.address_bytes) + made.protocol;
  sum += static_cast<std::uint32_t>(made.segment_bytes);
  while (sum > 0xFFFF) sum -= 0xFFFF;
  return sum;
}
/// Returns the right checksum, without the rule for 0.
std::uint32_t checksum(Made made) {
  put16(made.frame, made.field, 0);
  return 0xFFFF - add_words(pseudo_header(made), made.frame, made.segment, made.segment_bytes);
}

/// Calls `check` for every kind of frame, many times.
template <class Check>
void for_frames(const Check& check) {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    for (const Kind kind : kKinds) {
      for (unsigned vlans = 0; vlans <= 2; ++vlans) {
        check(make(random, kind, vlans, random() % 2 == 0, random() % 1460, random() % 8), random);
      }
    }
  }
}

TEST(ChecksumCompletion, CompletesWhatIsPartial) {
  for_frames([](Made made, std::mt19937& /*random*/) {
    put16(made.frame, made.field, pseudo_header(made));
    Made expected = made;
    const std::uint32_t right = checksum(made);
    put16(expected.frame, made.field, right == 0 ? 0xFFFF : right);
    EXPECT_TRUE(complete_checksum(made.frame));
    EXPECT_EQ(made.frame, expected.frame);
    EXPECT_FALSE(complete_checksum(made.frame)) << "completed twice";
  });
}

TEST(ChecksumCompletion, LeavesRightAndWrongOnesAlone) {
  for_frames([](Made made, std::mt19937& random) {
    const std::uint32_t right = checksum(made);
    for (const std::uint32_t value : {right, std::uint32_t{0}, static_cast<std::uint32_t>(random() & 0xFFFF)}) {
      if (value == pseudo_header(made)) continue;
      put16(made.frame, made.field, value);
      const Bytes before = made.frame;
      EXPECT_FALSE(complete_checksum(made.frame));
      EXPECT_EQ(made.frame, before);
    }
  });
}

/// A right checksum that equals the pseudo header's sum stays unchanged.
TEST(ChecksumCompletion, LeavesARightOneThatLooksPartial) {
  for_frames([](Made made, std::mt19937& /*random*/) {
    if (made.segment_bytes < 30) return;
    // Two payload bytes at an even offset are chosen to make both equal.
    const std::size_t chosen = made.segment + 28;
    put16(made.frame, chosen, 0);
    put16(made.frame, made.field, 0);
    const std::uint32_t target = 0xFFFF - pseudo_header(made);
    const std::uint32_t sum = add_words(pseudo_header(made), made.frame, made.segment, made.segment_bytes);
    put16(made.frame, chosen, (target + 0xFFFF - sum) % 0xFFFF);
    put16(made.frame, made.field, pseudo_header(made));
    ASSERT_EQ(checksum(made) % 0xFFFF, pseudo_header(made) % 0xFFFF);
    const Bytes before = made.frame;
    EXPECT_FALSE(complete_checksum(made.frame));
    EXPECT_EQ(made.frame, before);
  });
}

/// RFC 768: a checksum of 0 is sent as all ones.
TEST(ChecksumCompletion, SendsZeroAsAllOnes) {
  int seen = 0;
  for_frames([&seen](Made made, std::mt19937& /*random*/) {
    if (made.segment_bytes < 30) return;
    const std::size_t chosen = made.segment + 28;
    put16(made.frame, chosen, 0);
    put16(made.frame, chosen, checksum(made));
    ASSERT_EQ(checksum(made) % 0xFFFF, 0U);
    put16(made.frame, made.field, pseudo_header(made));
    ASSERT_TRUE(complete_checksum(made.frame));
    EXPECT_EQ(get16(made.frame, made.field), 0xFFFFU);
    ++seen;
  });
  EXPECT_GT(seen, 1000);
}

TEST(ChecksumCompletion, LeavesFragmentsAlone) {
  for_frames([](Made made, std::mt19937& /*random*/) {
    const std::size_t ip = made.addresses - (made.address_bytes == 8 ? 12 : 8);
    if (made.address_bytes == 8) {
      for (const std::uint32_t fragment : {0x2000U, 0x0001U, 0x2010U}) {
        put16(made.frame, ip + 6, fragment);
        put16(made.frame, made.field, pseudo_header(made));
        EXPECT_FALSE(complete_checksum(made.frame)) << fragment;
      }
    } else {
      made.frame[ip + 6] = 44;
      put16(made.frame, made.field, pseudo_header(made));
      EXPECT_FALSE(complete_checksum(made.frame));
    }
  });
}

/// Frames are cut at any length, or any header byte is changed. The function must not read past the end (sanitizers
/// check) and must not change bytes outside the checksum field.
TEST(ChecksumCompletion, TakesAnyBytes) {
  for_frames([](const Made& made, std::mt19937& random) {
    Made partial = made;
    put16(partial.frame, made.field, pseudo_header(made));
    const Bytes cut(partial.frame.begin(), partial.frame.begin() + static_cast<long>(random() % (made.segment + 30)));
    Bytes given = cut;
    if (given.size() < made.segment + made.segment_bytes) {
      EXPECT_FALSE(complete_checksum(given));
      EXPECT_EQ(given, cut);
    }
    Bytes changed = partial.frame;
    changed[12 + random() % (made.segment - 12)] = static_cast<std::uint8_t>(random());
    const Bytes before = changed;
    const bool completed = complete_checksum(changed);
    int differences = 0;
    for (std::size_t i = 0; i < changed.size(); ++i) differences += changed[i] != before[i] ? 1 : 0;
    EXPECT_LE(differences, completed ? 2 : 0);
  });
}

}  // namespace
}  // namespace penumbra::io
