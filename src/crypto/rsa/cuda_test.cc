// SPDX-License-Identifier: Apache-2.0
//
// The GPU's form of RSA against OpenSSL, with generated keys. Without a GPU the tests are skipped.
#include "crypto/rsa/cuda.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>
#include <vector>

#include "crypto/rsa/openssl_key_testing.h"
#include "cuda/runtime.h"

namespace penumbra::rsa {
namespace {

constexpr std::uint32_t kMost = 700;

class CudaRsa : public testing::TestWithParam<unsigned> {
 protected:
  void SetUp() override {
    const Availability gpu = cuda::probe_gpu();
    if (!gpu.available) GTEST_SKIP() << gpu.reason;
  }
};
INSTANTIATE_TEST_SUITE_P(All, CudaRsa, testing::Values(2048, 3072, 4096));

/// Runs a batch with one input for each key.
std::vector<Answer> answers_of(CudaBatch& batch, const std::vector<std::uint32_t>& keys,
                               const std::vector<Bytes>& inputs) {
  std::ranges::copy(keys, batch.keys().begin());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    std::ranges::copy(inputs[i], batch.inputs().subspan(i * batch.bytes()).begin());
  }
  batch.run(static_cast<std::uint32_t>(inputs.size()));
  std::vector<Answer> answers;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const auto output = batch.outputs().subspan(i * batch.bytes(), batch.bytes());
    answers.push_back({batch.statuses()[i], Bytes(output.begin(), output.end())});
  }
  return answers;
}

TEST_P(CudaRsa, EveryFormEqualsOpensslWithMixedKeys) {
  const TestKey other(Pkey(EVP_RSA_gen(GetParam())));
  const TestKey& test = keys_of(GetParam()).front();
  CudaBatch batch(GetParam(), 2, kMost);
  const std::uint32_t first = batch.add_key(expanded(test.parts())), second = batch.add_key(expanded(other.parts()));
  for (const unsigned lanes : batch.lanes()) {
    batch.set_lanes(lanes);
    for (const std::size_t count : {1U, 2U, 17U, 300U}) {
      std::vector<std::uint32_t> keys;
      keys.reserve(count);
      for (std::size_t i = 0; i < count; ++i) keys.push_back(i % 3 == 0 ? second : first);
      std::vector<Bytes> inputs = inputs_of(test, count + 3);
      inputs.erase(inputs.begin(), inputs.begin() + 3);
      const std::vector<Answer> answers = answers_of(batch, keys, inputs);
      for (std::size_t i = 0; i < count; ++i) {
        const Answer right{RSA_DONE, (keys[i] == first ? test : other).oracle(inputs[i])};
        ASSERT_EQ(answers[i], right) << lanes << " lanes, " << i << " of " << count;
      }
    }
  }
}

TEST_P(CudaRsa, EqualsOpensslForEveryKey) {
  const std::vector<TestKey>& tests = keys_of(GetParam());
  CudaBatch batch(GetParam(), static_cast<std::uint32_t>(tests.size()), kMost);
  for (const TestKey& test : tests) batch.add_key(expanded(test.parts()));
  std::vector<std::uint32_t> keys;
  std::vector<Bytes> inputs;
  for (std::uint32_t i = 0; i < tests.size(); ++i) {
    for (const Bytes& input : inputs_of(tests[i], 6)) {
      keys.push_back(i);
      inputs.push_back(input);
    }
  }
  const std::vector<Answer> answers = answers_of(batch, keys, inputs);
  for (std::size_t i = 0; i < keys.size(); ++i) {
    ASSERT_EQ(answers[i], (Answer{RSA_DONE, tests[keys[i]].oracle(inputs[i])})) << i;
  }
}

TEST_P(CudaRsa, ChoosesFormsByTheSizeOfTheBatchAndRenewsPairs) {
  const TestKey& test = keys_of(GetParam()).front();
  CudaBatch batch(GetParam(), 1, kMost);
  batch.add_key(expanded(test.parts()));
  const Bytes input = inputs_of(test, 4).back();
  const Answer right{RSA_DONE, test.oracle(input)};
  for (unsigned i = 0; i < 40; ++i) {
    const std::size_t count = i % 4 == 0 ? kMost : i;
    const std::vector<Answer> answers =
        answers_of(batch, std::vector<std::uint32_t>(count), std::vector<Bytes>(count, input));
    ASSERT_THAT(answers, testing::Each(right)) << i;
  }
}

TEST_P(CudaRsa, RefusesWhatIsTooLargeAndGivesNoSignatureAfterAFault) {
  const TestKey& test = keys_of(GetParam()).front();
  const rsa_key right = expanded(test.parts());
  std::vector<rsa_key> faulty(6, right);
  faulty[0].half[0].prime[7] ^= 0x100;
  faulty[1].half[1].prime[9] ^= 0x100;
  faulty[2].half[0].exponent[3] ^= 1;
  faulty[3].half[1].exponent[30] ^= 0x80;
  faulty[4].half[1].negative[0] ^= 2;
  faulty[5].coefficient[31] ^= 0x100;
  CudaBatch batch(GetParam(), 8, kMost);
  const std::uint32_t healthy = batch.add_key(right);
  for (const rsa_key& key : faulty) batch.add_key(key);
  const Bytes input = inputs_of(test, 4).back(), zeros(input.size());
  const Answer signature{RSA_DONE, test.oracle(input)};
  for (const unsigned lanes : batch.lanes()) {
    batch.set_lanes(lanes);
    const std::vector<Answer> answers =
        answers_of(batch, {healthy, 1, 2, 3, healthy, 4, 5, 6, healthy, healthy},
                   {input, input, input, input, test.modulus, input, input, input, input, Bytes(input.size(), 0xFF)});
    for (const std::size_t i : {0, 8}) EXPECT_EQ(answers[i], signature) << lanes;
    for (const std::size_t i : {1, 2, 3, 5, 6, 7})
      EXPECT_EQ(answers[i], (Answer{RSA_WRONG, zeros})) << lanes << ' ' << i;
    for (const std::size_t i : {4, 9}) EXPECT_EQ(answers[i], (Answer{RSA_TOO_LARGE, zeros})) << lanes;
  }
}

TEST_P(CudaRsa, HasRoomForTheStatedNumberOfKeys) {
  const rsa_key key = expanded(keys_of(GetParam()).front().parts());
  CudaBatch batch(GetParam(), 1, 1);
  EXPECT_EQ(batch.add_key(key), 0U);
  EXPECT_THROW(batch.add_key(key), std::length_error);
}

TEST_P(CudaRsa, GivesTheIndexOfARemovedKeyToAnother) {
  const TestKey other(Pkey(EVP_RSA_gen(GetParam())));
  const TestKey& test = keys_of(GetParam()).front();
  CudaBatch batch(GetParam(), 1, kMost);
  const Bytes input = inputs_of(test, 4).back();
  for (const TestKey* const each : {&test, &other, &test}) {
    const std::uint32_t index = batch.add_key(expanded(each->parts()));
    EXPECT_EQ(index, 0U);
    EXPECT_EQ(answers_of(batch, {index}, {input}).front(), (Answer{RSA_DONE, each->oracle(input)}));
    batch.remove_key(index);
  }
}

}  // namespace
}  // namespace penumbra::rsa
