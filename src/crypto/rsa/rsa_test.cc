// SPDX-License-Identifier: Apache-2.0
//
// The forms of RSA against OpenSSL, with generated keys: one of each size, or 100 if PENUMBRA_LONG is set.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/bn.h>
#include <openssl/evp.h>
#include <openssl/rsa.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "crypto/rsa/ifma.h"
#include "crypto/rsa/key.h"
#include "crypto/rsa/key_testing.h"
#include "crypto/rsa/openssl_key_testing.h"

namespace penumbra::rsa {
namespace {

Answer by_plain(const rsa_key& key, rsa_pair& pair, const Bytes& input) {
  std::uint32_t number[RSA_MOST_WORDS], result[RSA_MOST_WORDS];
  words_of(input, {number, key.words});
  Answer answer{rsa_private(result, number, &key, &pair), Bytes(input.size())};
  bytes_of({result, key.words}, answer.output);
  return answer;
}

std::unique_ptr<rsa_pair> pair_of(const rsa_key& key) {
  std::uint32_t random[RSA_MOST_WORDS];
  Bytes bytes = random_bytes(std::size_t{4} * key.words);
  bytes.front() &= 0x7F;
  words_of(bytes, {random, key.words});
  auto pair = std::make_unique<rsa_pair>();
  rsa_make_pair(pair.get(), random, &key);
  return pair;
}

/// Runs one batch. All inputs have one size.
std::vector<Answer> by_ifma(const std::vector<IfmaKey*>& keys, const std::vector<Bytes>& inputs) {
  static IfmaWorker worker;
  std::vector<Answer> answers;
  answers.reserve(inputs.size());
  for (const Bytes& input : inputs) answers.push_back({RSA_WRONG, Bytes(input.size(), 0xEE)});
  std::vector<Operation> operations;
  operations.reserve(inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    operations.push_back({.key = keys[i], .input = inputs[i].data(), .output = answers[i].output.data()});
  }
  worker.run(operations);
  for (std::size_t i = 0; i < inputs.size(); ++i) answers[i].status = operations[i].status;
  return answers;
}

class RsaSizes : public testing::TestWithParam<unsigned> {};
class RsaIfmaSizes : public RsaSizes {
 protected:
  void SetUp() override {
    if (!has_ifma()) GTEST_SKIP() << "this CPU has no AVX512-IFMA";
  }
};
INSTANTIATE_TEST_SUITE_P(All, RsaSizes, testing::Values(2048, 3072, 4096));
INSTANTIATE_TEST_SUITE_P(All, RsaIfmaSizes, testing::Values(2048, 3072, 4096));

TEST_P(RsaSizes, PlainEqualsOpenssl) {
  for (const TestKey& test : keys_of(GetParam())) {
    const rsa_key key = expanded(test.parts());
    const auto pair = pair_of(key);
    for (const Bytes& input : inputs_of(test, 5)) {
      EXPECT_EQ(by_plain(key, *pair, input), (Answer{RSA_DONE, test.oracle(input)}));
    }
    EXPECT_EQ(by_plain(key, *pair, test.modulus), (Answer{RSA_TOO_LARGE, Bytes(test.modulus.size())}));
  }
}

TEST_P(RsaIfmaSizes, EqualsOpensslForEveryNumberOfOperations) {
  for (const TestKey& test : keys_of(GetParam())) {
    IfmaKey key(expanded(test.parts()));
    for (std::size_t count = 1; count <= kMostTogether; ++count) {
      std::vector<Bytes> inputs = inputs_of(test, 3 + count);
      inputs.erase(inputs.begin(), inputs.begin() + static_cast<std::ptrdiff_t>(inputs.size() - count));
      const std::vector<Answer> answers = by_ifma(std::vector(count, &key), inputs);
      for (std::size_t i = 0; i < count; ++i) EXPECT_EQ(answers[i], (Answer{RSA_DONE, test.oracle(inputs[i])}));
    }
  }
}

TEST_P(RsaIfmaSizes, TakesExtremesAndRefusesWhatIsTooLarge) {
  for (const TestKey& test : keys_of(GetParam())) {
    IfmaKey key(expanded(test.parts()));
    std::vector<Bytes> inputs = inputs_of(test, 3);
    inputs.push_back(test.modulus);
    inputs.push_back(Bytes(test.modulus.size(), 0xFF));
    const std::vector<Answer> answers = by_ifma(std::vector(inputs.size(), &key), inputs);
    for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(answers[i], (Answer{RSA_DONE, test.oracle(inputs[i])}));
    for (std::size_t i = 3; i < 5; ++i) EXPECT_EQ(answers[i], (Answer{RSA_TOO_LARGE, Bytes(test.modulus.size())}));
  }
}

TEST_P(RsaIfmaSizes, MixesKeysAndRenewsPairs) {
  const TestKey other(Pkey(EVP_RSA_gen(GetParam())));
  const TestKey& test = keys_of(GetParam()).front();
  IfmaKey first(expanded(test.parts())), second(expanded(other.parts()));
  for (unsigned batch = 0; batch < 34; ++batch) {
    std::vector<IfmaKey*> keys;
    std::vector<Bytes> inputs, right;
    for (unsigned i = 0; i < 4; ++i) {
      const bool is_first = (batch >> i % 2 & 1) == 0;
      keys.push_back(is_first ? &first : &second);
      inputs.push_back(inputs_of(test, 4).back());
      right.push_back((is_first ? test : other).oracle(inputs.back()));
    }
    const std::vector<Answer> answers = by_ifma(keys, inputs);
    for (unsigned i = 0; i < 4; ++i) EXPECT_EQ(answers[i], (Answer{RSA_DONE, right[i]})) << batch << ' ' << i;
  }
}

TEST(RsaIfma, TakesOtherPublicExponentsInOneBatch) {
  if (!has_ifma()) GTEST_SKIP() << "this CPU has no AVX512-IFMA";
  BIGNUM* const exponent = BN_new();
  BN_set_word(exponent, 3);
  EVP_PKEY_CTX* const context = EVP_PKEY_CTX_new_from_name(nullptr, "RSA", nullptr);
  EVP_PKEY* made = nullptr;
  ASSERT_EQ(EVP_PKEY_keygen_init(context), 1);
  ASSERT_EQ(EVP_PKEY_CTX_set_rsa_keygen_bits(context, 2048), 1);
  ASSERT_EQ(EVP_PKEY_CTX_set1_rsa_keygen_pubexp(context, exponent), 1);
  ASSERT_EQ(EVP_PKEY_generate(context, &made), 1);
  EVP_PKEY_CTX_free(context);
  BN_free(exponent);
  const TestKey small{Pkey(made)};
  const TestKey& usual = keys_of(2048).front();
  IfmaKey first(expanded(small.parts())), second(expanded(usual.parts()));
  const std::vector<Bytes> inputs(2, inputs_of(usual, 4).back());
  const std::vector<Answer> answers = by_ifma({&first, &second}, inputs);
  EXPECT_EQ(answers[0], (Answer{RSA_DONE, small.oracle(inputs[0])}));
  EXPECT_EQ(answers[1], (Answer{RSA_DONE, usual.oracle(inputs[1])}));
}

/// A wrong result of any cause must not leave: it would reveal the factors of the modulus.
TEST(RsaFaults, PlainGivesNoSignature) {
  const rsa_key right = expanded(fixed_parts());
  const Bytes input(sizeof kModulus, 0x5C), zeros(sizeof kModulus);
  rsa_key faulty = right;
  const std::vector<std::uint32_t*> places{faulty.half[0].prime, faulty.half[0].exponent, faulty.half[0].cube,
                                           faulty.half[1].prime, faulty.half[1].exponent, faulty.half[1].cube,
                                           faulty.coefficient};
  for (std::uint32_t* const place : places) {
    faulty = right;
    place[7] ^= 0x100;
    EXPECT_EQ(by_plain(faulty, *pair_of(right), input), (Answer{RSA_WRONG, zeros})) << place - places.front();
  }
  const auto pair = pair_of(right);
  pair->after[3] ^= 1;
  EXPECT_EQ(by_plain(right, *pair, input), (Answer{RSA_WRONG, zeros}));
}

TEST(RsaFaults, IfmaGivesNoSignatureAndOtherLanesTheirs) {
  if (!has_ifma()) GTEST_SKIP() << "this CPU has no AVX512-IFMA";
  const rsa_key right = expanded(fixed_parts());
  const std::vector<Bytes> inputs(2, Bytes(sizeof kModulus, 0x5C));
  IfmaKey healthy(right);
  const Answer signature = by_ifma({&healthy}, {inputs[0]}).front();
  ASSERT_EQ(signature.status, RSA_DONE);
  for (unsigned place = 0; place < 8; ++place) {
    IfmaKey faulty(right);
    EXPECT_EQ(by_ifma({&faulty}, {inputs[0]}).front(), signature);  // makes a pair
    ifma::KeyDigits& digits = faulty.digits();
    const std::vector<std::uint64_t*> places{
        &digits.half[0].prime[7], &digits.half[0].exponent[7], &digits.half[0].cube[7], &digits.half[1].prime[7],
        &digits.half[1].cube[7],  &digits.half[1].exponent[7], &digits.coefficient[7],  &digits.pairs[0].after[3]};
    *places[place] ^= 0x100;
    EXPECT_THAT(by_ifma({&faulty, &healthy}, inputs),
                testing::ElementsAre(Answer{RSA_WRONG, Bytes(sizeof kModulus)}, signature))
        << place;
  }
}

TEST(RsaKey, RefusesWhatNoFormTakes) {
  const auto refuses = [](const KeyParts& parts, const std::string& reason) {
    rsa_key key;
    try {
      expand(parts, key);
      ADD_FAILURE() << "took a key although " << reason;
    } catch (const std::invalid_argument& error) {
      EXPECT_THAT(error.what(), testing::HasSubstr(reason));
    }
  };
  const auto with = [](auto member, std::span<const std::uint8_t> value) {
    KeyParts parts = fixed_parts();
    parts.*member = value;
    return parts;
  };
  const Bytes even{1, 0, 0}, large{1, 0, 0, 0, 1}, half(128, 0xFF), none;
  refuses(with(&KeyParts::modulus, half), "does not have 2048");
  refuses(with(&KeyParts::modulus, none), "does not have 2048");
  refuses(with(&KeyParts::public_exponent, even), "public exponent");
  refuses(with(&KeyParts::public_exponent, large), "public exponent");
  refuses(with(&KeyParts::prime1, kModulus), "half of the bits");
  refuses(with(&KeyParts::prime2, none), "half of the bits");
  refuses(with(&KeyParts::prime2, kPrime1), "do not make the modulus");
  refuses(with(&KeyParts::exponent1, half), "not less than its prime");
  refuses(with(&KeyParts::coefficient, half), "not less than its prime");
}

}  // namespace
}  // namespace penumbra::rsa
