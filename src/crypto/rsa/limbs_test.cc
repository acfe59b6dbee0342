// SPDX-License-Identifier: Apache-2.0
//
// The arithmetic of the GPU's form against the plain form. One thread runs all lanes in turn, and the carry flag is
// emulated, so this needs no GPU.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <random>
#include <vector>

#include "crypto/rsa/key.h"
#include "crypto/rsa/key_testing.h"
#include "crypto/rsa/lane_team_testing.h"
#include "crypto/rsa/operation.cuh"

namespace penumbra::rsa::gpu {
namespace {

using Words = std::vector<std::uint32_t>;

Words random_words(unsigned count) {
  static std::mt19937 engine(1);
  Words words(count);
  for (auto& word : words) word = static_cast<std::uint32_t>(engine());
  return words;
}

/// Returns numbers whose products have many carries, and random ones.
std::vector<Words> numbers_of(unsigned count) {
  Words one(count), high(count), alternating(count, 0xFFFFFFFF);
  one[0] = 1;
  high.back() = 0x80000000;
  for (unsigned i = 0; i < count; i += 2) alternating[i] = 0;
  return {Words(count), one, high, Words(count, 0xFFFFFFFF), alternating, random_words(count), random_words(count)};
}
std::vector<Words> moduli_of(unsigned count) {
  Words least(count), most(count, 0xFFFFFFFF), random = random_words(count);
  least[0] = 1;
  least.back() = 0x80000000;
  random[0] |= 1;
  random.back() |= 0x80000000;
  return {least, most, random};
}

/// Returns number mod modulus. The number is less than twice the modulus.
Words reduced(Words number, const Words& modulus) {
  words_subtract_once(number.data(), 0, modulus.data(), static_cast<std::uint32_t>(modulus.size()));
  return number;
}
Words plain_product(const Words& a, const Words& b, const Words& modulus) {
  Words result(modulus.size());
  montgomery_multiply(result.data(), reduced(a, modulus).data(), reduced(b, modulus).data(), modulus.data(),
                      word_negative_inverse(modulus[0]), static_cast<std::uint32_t>(modulus.size()));
  return result;
}

template <unsigned kLanes, unsigned kWords>
struct Shape {
  static constexpr unsigned kAll = kLanes * kWords;

  static void take(std::uint32_t (&to)[kWords], const Words& from, unsigned lane) {
    std::copy_n(from.begin() + std::ptrdiff_t{lane} * kWords, kWords, to);
  }
  static Modulus<kWords> part(const Words& modulus, unsigned lane) {
    Modulus<kWords> result{};
    take(result.words, modulus, lane);
    result.inverse = word_negative_inverse(modulus[0]);
    return result;
  }
  /// Calls function(lane, its part of the result, its part of the modulus) by all lanes, and returns the result.
  template <class Function>
  static Words run(const Words& modulus, const Function& function) {
    Words all(kAll);
    LaneTeam::run(kLanes, [&](const LaneTeam::Lane& lane) {
      std::uint32_t result[kWords] = {};
      function(lane, result, part(modulus, lane.index()));
      std::copy_n(result, kWords, all.begin() + std::ptrdiff_t{lane.index()} * kWords);
    });
    return all;
  }
  static Words product(const Words& a, const Words& b, const Words& modulus) {
    return run(modulus, [&](const LaneTeam::Lane& lane, auto& result, const auto& own) {
      std::uint32_t factor[kWords];
      take(factor, a, lane.index());
      multiply<kLanes>(lane, result, factor, [&b](unsigned i) { return b[i]; }, own);
    });
  }
  static Words square(const Words& a, const Words& modulus) {
    Words shared(kAll);
    return run(modulus, [&](const LaneTeam::Lane& lane, auto& result, const auto& own) {
      std::uint32_t factor[kWords];
      take(factor, a, lane.index());
      gpu::square<kLanes>(lane, result, factor, Column{shared.data(), 1}, own);
    });
  }
  static Words least(const Words& a, const Words& modulus) {
    return run(modulus, [&](const LaneTeam::Lane& lane, auto& result, const auto& own) {
      take(result, a, lane.index());
      subtract_once<kLanes>(lane, result, own.words);
    });
  }
  template <unsigned kWindow>
  static Words power(const Words& base, const Words& exponent, const Words& modulus) {
    using PowerTable = Table<kLanes, kWords, kWindow>;
    Words shared(PowerTable::kColumns * kAll);
    return run(modulus, [&](const LaneTeam::Lane& lane, auto& result, const auto& own) {
      std::uint32_t number[kWords];
      take(number, base, lane.index());
      gpu::power(lane, result, number, exponent.data(), PowerTable{shared.data(), 1, 0}, own);
    });
  }
};

template <class Type>
class RsaLimbs : public testing::Test {};
using Shapes = testing::Types<Shape<1, 32>, Shape<2, 32>, Shape<4, 2>, Shape<4, 4>, Shape<4, 8>, Shape<4, 12>,
                              Shape<4, 16>, Shape<8, 6>, Shape<16, 2>, Shape<16, 4>, Shape<32, 2>>;
TYPED_TEST_SUITE(RsaLimbs, Shapes);

TYPED_TEST(RsaLimbs, ProductsEqualThePlainOnes) {
  for (const Words& modulus : moduli_of(TypeParam::kAll)) {
    for (const Words& a : numbers_of(TypeParam::kAll)) {
      for (const Words& b : {Words(TypeParam::kAll, 0xFFFFFFFF), random_words(TypeParam::kAll)}) {
        ASSERT_EQ(reduced(TypeParam::product(a, b, modulus), modulus), plain_product(a, b, modulus));
      }
    }
  }
}

TYPED_TEST(RsaLimbs, SquaresEqualThePlainProducts) {
  for (const Words& modulus : moduli_of(TypeParam::kAll)) {
    for (const Words& a : numbers_of(TypeParam::kAll)) {
      ASSERT_EQ(reduced(TypeParam::square(a, modulus), modulus), plain_product(a, a, modulus));
    }
  }
}

TYPED_TEST(RsaLimbs, SubtractsTheModulusOnce) {
  for (const Words& modulus : moduli_of(TypeParam::kAll)) {
    for (const Words& a : numbers_of(TypeParam::kAll)) ASSERT_EQ(TypeParam::least(a, modulus), reduced(a, modulus));
    EXPECT_EQ(TypeParam::least(modulus, modulus), Words(TypeParam::kAll));
  }
}

template <class Small, unsigned kWindow>
void check_powers() {
  constexpr unsigned kAll = Small::kAll;
  for (const Words& modulus : moduli_of(kAll)) {
    const Words base = random_words(kAll);
    for (const Words& exponent : numbers_of(kAll)) {
      Words right(kAll), result = Small::template power<kWindow>(base, exponent, modulus);
      const Words zero(kAll);
      words_subtract(right.data(), zero.data(), modulus.data(), kAll);
      for (unsigned bit = 32 * kAll; bit-- > 0;) {
        right = plain_product(right, right, modulus);
        if ((exponent[bit / 32] >> bit % 32 & 1) != 0) right = plain_product(right, base, modulus);
      }
      ASSERT_EQ(reduced(result, modulus), right);
    }
  }
}

TEST(RsaLimbs, PowersEqualThoseBySquareAndMultiply) {
  check_powers<Shape<1, 8>, 3>();
  check_powers<Shape<1, 8>, 4>();
  check_powers<Shape<2, 4>, 3>();
  check_powers<Shape<4, 2>, 4>();
}

/// Runs operations with the fixed key, one after the other.
class OperationTest : public testing::Test {
 protected:
  static constexpr unsigned kWindow = 3;
  using PowerTable = Table<1, 32, kWindow>;

  OperationTest() {
    expand({kModulus, kPublicExponent, kPrime1, kPrime2, kExponent1, kExponent2, kCoefficient}, key_);
    run(std::vector<std::uint8_t>(sizeof kModulus, 0x3A), true);
  }
  void run(const std::vector<std::uint8_t>& input, bool makes_pairs = false) {
    const std::uint32_t zero = 0;
    output_.assign(input.size(), 0xEE);
    const Tasks tasks{&key_, &zero, &pair_, &zero, input.data(), output_.data(), &status_, 1, makes_pairs};
    Words shared(std::size_t{PowerTable::kColumns} * 32 * 2);
    LaneTeam::run(2, [&](const LaneTeam::Lane& lane) {
      run_operation(lane, tasks, 0, true, PowerTable{shared.data(), 2, lane.index()});
    });
  }
  /// Returns the result of the plain form.
  std::vector<std::uint8_t> plain(const std::vector<std::uint8_t>& input) const {
    std::uint32_t number[RSA_MOST_WORDS], result[RSA_MOST_WORDS];
    words_of(input, {number, key_.words});
    rsa_power(result, number, &key_, 0);
    std::vector<std::uint8_t> output(input.size());
    bytes_of({result, key_.words}, output);
    return output;
  }

  rsa_key key_{};
  rsa_pair pair_{};
  std::vector<std::uint8_t> output_;
  std::uint32_t status_ = RSA_WRONG;
};

TEST_F(OperationTest, EqualsThePlainForm) {
  const std::vector<std::uint8_t> input(sizeof kModulus, 0x5C);
  const rsa_pair before = pair_;
  run(input);
  EXPECT_EQ(status_, RSA_DONE);
  EXPECT_EQ(output_, plain(input));
  EXPECT_FALSE(std::ranges::equal(pair_.before, before.before));
  run(input);
  EXPECT_EQ(status_, RSA_DONE) << "with the squares of the pair";
  EXPECT_EQ(output_, plain(input));
}

TEST_F(OperationTest, RefusesWhatIsTooLarge) {
  run({std::begin(kModulus), std::end(kModulus)});
  EXPECT_EQ(status_, RSA_TOO_LARGE);
  EXPECT_EQ(output_, std::vector<std::uint8_t>(sizeof kModulus));
}

TEST_F(OperationTest, GivesNoSignatureAfterAFault) {
  const std::vector<std::uint8_t> input(sizeof kModulus, 0x5C);
  for (std::uint32_t* const place : {key_.half[0].exponent, key_.half[1].prime, key_.coefficient, pair_.after}) {
    place[7] ^= 0x100;
    run(input);
    EXPECT_EQ(status_, RSA_WRONG);
    EXPECT_EQ(output_, std::vector<std::uint8_t>(sizeof kModulus));
    place[7] ^= 0x100;
  }
}

}  // namespace
}  // namespace penumbra::rsa::gpu
