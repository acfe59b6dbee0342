// SPDX-License-Identifier: Apache-2.0
#include "name_hash.h"

#include <gtest/gtest.h>

#include <memory>
#include <set>

#include "name_bytes.h"
#include "name_oracle.h"

namespace penumbra::ndn {
namespace {

using testing_support::any_name;
using testing_support::bytes_of;
using testing_support::Components;
using testing_support::encoded;

/// SipHash-1-3 of whole words as in the paper.
std::uint64_t reference(NameKey key, const std::vector<std::uint64_t>& words) {
  std::uint64_t v[4] = {key.low ^ 0x736f6d6570736575, key.high ^ 0x646f72616e646f6d, key.low ^ 0x6c7967656e657261,
                        key.high ^ 0x7465646279746573};
  const auto rotate = [](std::uint64_t& x, int by) { x = x << by | x >> (64 - by); };
  const auto round = [&v, rotate] {
    v[0] += v[1], rotate(v[1], 13), v[1] ^= v[0], rotate(v[0], 32);
    v[2] += v[3], rotate(v[3], 16), v[3] ^= v[2];
    v[0] += v[3], rotate(v[3], 21), v[3] ^= v[0];
    v[2] += v[1], rotate(v[1], 17), v[1] ^= v[2], rotate(v[2], 32);
  };
  for (const std::uint64_t word : words) v[3] ^= word, round(), v[0] ^= word;
  v[2] ^= 0xFF;
  round(), round(), round();
  return v[0] ^ v[1] ^ v[2] ^ v[3];
}

TEST(NameHash, IsSipHashOfTypeLengthAndValueOfEachComponent) {
  constexpr NameKey kKey{0x0706050403020100, 0x0F0E0D0C0B0A0908};
  Random random(3);
  for (std::size_t length = 0; length < 40; ++length) {
    // The memory is exactly as long as the value, so that a sanitizer finds reads past its end.
    const auto value = std::make_unique<std::uint8_t[]>(length);
    std::vector<std::uint64_t> words{std::uint64_t{length} << 32 | kGenericType};
    for (std::size_t i = 0; i < length; ++i) {
      value[i] = static_cast<std::uint8_t>(random.next());
      if (i % 8 == 0) words.push_back(0);
      words.back() |= std::uint64_t{value[i]} << (i % 8 * 8);
    }
    NameHash hash(kKey);
    hash.add({kGenericType, {value.get(), length}});
    EXPECT_EQ(hash.digest(), reference(kKey, words)) << length;
    EXPECT_EQ(hash.digest(), hash.digest()) << "asking changes nothing";
  }
}

TEST(NameDigests, AreThoseOfThePrefixes) {
  const NameDigests digests{{1, 2}};
  Random random(4);
  for (int i = 0; i < 1000; ++i) {
    const Components name = any_name(random, 30);
    ndn_names_key key;
    digests.fill(bytes_of(encoded(name)), NDN_NAMES_COMPONENTS, key);
    ASSERT_EQ(key.components, std::min<std::size_t>(name.size(), NDN_NAMES_COMPONENTS));
    for (std::uint32_t count = 1; count <= key.components; ++count) {
      ndn_names_key shorter;
      digests.fill(bytes_of(encoded(name, count)), NDN_NAMES_COMPONENTS, shorter);
      ASSERT_EQ(shorter.components, count);
      ASSERT_EQ(shorter.digest[count - 1], key.digest[count - 1]);
      ASSERT_EQ(key.digest[count - 1] >> NDN_NAMES_DIGEST_BITS, 0U);
    }
  }
}

TEST(NameDigests, TellHowBytesAreDividedAndWhatTheyAre) {
  const std::vector<Components> names{{{8, "ab"}, {8, "c"}},
                                      {{8, "a"}, {8, "bc"}},
                                      {{8, "abc"}},
                                      {{8, "abc"}, {8, ""}},
                                      {{8, ""}, {8, "abc"}},
                                      {{9, "abc"}},
                                      {{8, "abd"}},
                                      {{264, "abc"}},
                                      {{8, std::string("abc\0", 4)}},
                                      {{8, std::string(8, 'a')}},
                                      {{8, std::string(9, 'a')}}};
  std::set<std::uint64_t> seen;
  for (const Components& name : names) {
    ndn_names_key key;
    NameDigests{{5, 6}}.fill(bytes_of(encoded(name)), NDN_NAMES_COMPONENTS, key);
    seen.insert(key.digest[key.components - 1]);
    NameDigests{{5, 7}}.fill(bytes_of(encoded(name)), NDN_NAMES_COMPONENTS, key);
    seen.insert(key.digest[key.components - 1]);
  }
  EXPECT_EQ(seen.size(), 2 * names.size());
}

TEST(NameTlv, TakesNumbersWrittenInTheShortestWayOnly) {
  const auto take = [](std::vector<std::uint8_t> bytes) -> std::optional<std::uint64_t> {
    Bytes rest(bytes);
    std::uint64_t number = 0;
    if (!take_number(rest, number)) return std::nullopt;
    EXPECT_EQ(bytes.size() - rest.size(), number_bytes(number));
    return number;
  };
  EXPECT_EQ(take({0}), 0U);
  EXPECT_EQ(take({252, 1}), 252U);
  EXPECT_EQ(take({253, 0, 253}), 253U);
  EXPECT_EQ(take({253, 255, 255}), 65535U);
  EXPECT_EQ(take({254, 0, 1, 0, 0}), 65536U);
  EXPECT_EQ(take({255, 0, 0, 0, 1, 0, 0, 0, 0}), std::uint64_t{1} << 32);
  for (const auto& bytes : std::vector<std::vector<std::uint8_t>>{{},
                                                                  {253},
                                                                  {253, 1},
                                                                  {253, 0, 252},
                                                                  {254, 0, 0, 255},
                                                                  {254, 0, 0, 255, 255},
                                                                  {255, 0, 0, 0, 0, 255, 255, 255, 255},
                                                                  {255, 0, 0, 0, 1, 0, 0, 0}}) {
    EXPECT_EQ(take(bytes), std::nullopt) << testing::PrintToString(bytes);
  }
}

TEST(NameTlv, RefusesWhatIsNoComponent) {
  const auto take = [](const std::string& bytes) {
    Bytes rest = bytes_of(bytes);
    Element component;
    return take_component(rest, component);
  };
  EXPECT_TRUE(take(std::string("\x08\x00", 2)));
  EXPECT_TRUE(take("\x01\x20" + std::string(32, 'x')));
  EXPECT_FALSE(take(std::string("\x00\x00", 2))) << "type 0";
  EXPECT_FALSE(take("\x08\x02x")) << "ends before its value does";
  EXPECT_FALSE(take("\x01\x1F" + std::string(31, 'x'))) << "no SHA-256";
  EXPECT_FALSE(take("\x02\x21" + std::string(33, 'x')));
  EXPECT_FALSE(take(std::string("\xFE\x00\x01\x00\x00\x00", 6))) << "type 65536";
}

TEST(NameBytes, KeepsBytesAndReusesThem) {
  NameBytes memory;
  const std::string text(1000, 'n');
  std::vector<const std::uint8_t*> pieces;
  pieces.reserve(text.size());
  for (std::size_t size = 0; size < text.size(); ++size) {
    pieces.push_back(memory.take(bytes_of(text).data(), size, 2));
  }
  const std::size_t used = memory.memory_bytes();
  for (std::size_t size = 0; size < text.size(); ++size) {
    EXPECT_EQ(std::string(reinterpret_cast<const char*>(pieces[size]), size), text.substr(0, size));
    memory.release(pieces[size]);
  }
  memory.take(bytes_of(text).data(), 500, 1);
  EXPECT_GT(memory.memory_bytes(), used) << "all of them are still needed by one";
  for (const std::uint8_t* piece : pieces) memory.release(piece);
  const std::size_t all = memory.memory_bytes();
  for (std::size_t size = 0; size < text.size(); ++size) memory.take(bytes_of(text).data(), size, 1);
  EXPECT_EQ(memory.memory_bytes(), all);
  EXPECT_THROW(memory.take(nullptr, NameBytes::kMost + 1, 1), std::invalid_argument);
}

}  // namespace
}  // namespace penumbra::ndn
