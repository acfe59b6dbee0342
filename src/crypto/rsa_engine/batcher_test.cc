// SPDX-License-Identifier: Apache-2.0
//
// The batcher with forms that only note what they are given.
#include "crypto/rsa_engine/batcher.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <map>
#include <semaphore>
#include <stdexcept>
#include <system_error>
#include <vector>

#include "crypto/rsa/ifma.h"
#include "crypto/rsa/openssl_key_testing.h"
#include "crypto/rsa_engine/expansions.h"
#include "crypto/rsa_engine/measure.h"

namespace penumbra::rsa_engine {
namespace {

using testing::ElementsAre;
using testing::SizeIs;

/// An expansion, which is counted as long as it exists.
using Counted = std::shared_ptr<std::atomic<unsigned>>;

/// Expands the keys of every batch, and waits until the test lets it go on.
class FakeForm final : public BatchForm {
 public:
  FakeForm(std::size_t most, std::atomic<unsigned>& expanded) : most_(most), expanded_(expanded) {}
  const char* name() const override { return "fake"; }
  std::size_t most() const override { return most_; }
  void run(std::span<Task* const> tasks) override {
    for (const Task* const task : tasks) {
      keys_.find(task->key, [this](const rsa_key&) {
        ++expanded_;
        return Counted(&expanded_, [](auto* expanded) { --*expanded; });
      });
    }
    begun.release();
    proceed.acquire();
    if (is_broken) throw std::runtime_error("the test breaks it");
    for (Task* const task : tasks) {
      task->output = task->input;
      task->status = RSA_DONE;
    }
    batches.push_back(tasks.size());
  }
  void forget_keys() override { keys_.forget(); }

  std::counting_semaphore<> begun{0}, proceed{0};
  std::atomic<bool> is_broken = false;
  std::vector<std::size_t> batches;

 private:
  std::size_t most_;
  std::atomic<unsigned>& expanded_;
  Expansions<Counted> keys_;
};

class FakeClient final : public Client {
 public:
  bool is_gone() const override { return is_away; }
  void answer(const Job& job, Verdict verdict) override {
    const std::scoped_lock lock(mutex);
    answers[job.tag] = verdict;
    order.push_back(job.tag);
    received.release();
  }
  std::atomic<bool> is_away = false;
  std::counting_semaphore<> received{0};
  std::mutex mutex;
  std::map<std::uint32_t, Verdict> answers;
  std::vector<std::uint32_t> order;
};

class BatcherTest : public testing::Test {
 protected:
  ~BatcherTest() override {
    batcher_.reset();
    EXPECT_EQ(counters_.taken, counters_.answered + counters_.failed + counters_.abandoned);
    EXPECT_EQ(counters_.in_flight, 0U);
  }
  /// Adds a form that takes no fewer than `least`.
  FakeForm& add_form(std::size_t most, std::size_t least) {
    auto form = std::make_unique<FakeForm>(most, expanded_);
    FakeForm& added = *form;
    forms_.push_back({.form = std::move(form), .is_gpu = least > 1, .least = {least, least, least}});
    return added;
  }
  void start() { batcher_ = std::make_unique<Batcher>(std::move(forms_), counters_); }
  std::shared_ptr<StoredKey> make_key(std::uint32_t bytes) {
    auto key = batcher_->make_key();
    key->key().words = bytes / 4;
    return key;
  }
  void submit(const std::shared_ptr<FakeClient>& client, std::uint32_t tag, std::uint32_t bytes = 256) {
    submit(client, tag, make_key(bytes));
  }
  void submit(const std::shared_ptr<FakeClient>& client, std::uint32_t tag, std::shared_ptr<const StoredKey> key) {
    auto job = std::make_unique<Job>();
    job->key = std::move(key);
    job->client = client;
    job->tag = tag;
    batcher_->submit(std::move(job));
  }

  /// Waits until the forms have no expansion.
  void wait_until_forgotten() const {
    const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(1);
    while (expanded_ != 0 && std::chrono::steady_clock::now() < end) std::this_thread::yield();
    EXPECT_EQ(expanded_, 0U);
  }

  Counters counters_{};
  std::atomic<unsigned> expanded_ = 0;  ///< Expansions of all forms.
  std::vector<FormOnThread> forms_;
  std::unique_ptr<Batcher> batcher_;
  std::shared_ptr<FakeClient> client_ = std::make_shared<FakeClient>(), other_ = std::make_shared<FakeClient>();
};

TEST_F(BatcherTest, CollectsWhatComesDuringABatchBySize) {
  FakeForm& form = add_form(8, 1);
  start();
  submit(client_, 0);
  form.begun.acquire();
  for (std::uint32_t i = 1; i <= 10; ++i) submit(client_, i);
  submit(client_, 11, 512);
  form.proceed.release(4);
  for (std::uint32_t i = 0; i < 12; ++i) client_->received.acquire();
  batcher_.reset();
  EXPECT_THAT(client_->answers, SizeIs(12));
}

TEST_F(BatcherTest, ServesClientsInTurn) {
  FakeForm& form = add_form(1, 1);
  start();
  submit(client_, 0);
  form.begun.acquire();
  for (std::uint32_t i = 1; i < 100; ++i) submit(client_, i);
  submit(other_, 0);
  form.proceed.release(3);
  other_->received.acquire();
  {
    const std::scoped_lock lock(client_->mutex);
    EXPECT_LE(client_->order.size(), 3U) << "one that floods has delayed the other";
  }
  form.proceed.release(98);
}

TEST_F(BatcherTest, LeavesManyToAnIdleGpu) {
  FakeForm &cpu = add_form(8, 1), &gpu = add_form(1000, 20);
  start();
  submit(client_, 0);
  cpu.begun.acquire();
  for (std::uint32_t i = 1; i < 20; ++i) submit(client_, i);
  EXPECT_FALSE(gpu.begun.try_acquire()) << "19 are too few";
  submit(client_, 20);
  gpu.begun.acquire();
  gpu.proceed.release();
  cpu.proceed.release();
  for (std::uint32_t i = 0; i <= 20; ++i) client_->received.acquire();
  batcher_.reset();
  EXPECT_EQ(counters_.batched_on_gpu, 20U);
  EXPECT_EQ(counters_.batched, 21U);
}

TEST_F(BatcherTest, AbandonsJobsOfClientsThatAreGone) {
  FakeForm& form = add_form(8, 1);
  start();
  submit(client_, 0);
  form.begun.acquire();
  for (std::uint32_t i = 1; i < 5; ++i) submit(client_, i);
  submit(other_, 0);
  client_->is_away = true;
  form.proceed.release(2);
  other_->received.acquire();
  batcher_.reset();
  EXPECT_THAT(client_->answers, SizeIs(0));
  EXPECT_EQ(counters_.abandoned, 5U);
  EXPECT_EQ(counters_.answered, 1U);
}

TEST_F(BatcherTest, FailsJobsWhenEveryFormIsLost) {
  FakeForm& form = add_form(2, 1);
  start();
  EXPECT_TRUE(batcher_->has_forms());
  submit(client_, 0);
  form.begun.acquire();
  for (std::uint32_t i = 1; i < 5; ++i) submit(client_, i);
  form.is_broken = true;
  form.proceed.release();
  for (std::uint32_t i = 0; i < 5; ++i) client_->received.acquire();
  EXPECT_FALSE(batcher_->has_forms());
  submit(client_, 5);
  client_->received.acquire();
  for (const auto& [tag, verdict] : client_->answers) EXPECT_EQ(verdict, Verdict::failed) << tag;
}

TEST_F(BatcherTest, GoesOnWithAnotherForm) {
  FakeForm &cpu = add_form(8, 1), &gpu = add_form(1000, 2);
  start();
  submit(client_, 0);
  cpu.begun.acquire();
  submit(client_, 1);
  submit(client_, 2);
  gpu.begun.acquire();
  gpu.is_broken = true;
  gpu.proceed.release();
  client_->received.acquire();
  client_->received.acquire();
  cpu.proceed.release(2);
  client_->received.acquire();
  submit(client_, 3);
  client_->received.acquire();
  EXPECT_TRUE(batcher_->has_forms());
  EXPECT_THAT(client_->answers, ElementsAre(std::pair(0U, Verdict::done), std::pair(1U, Verdict::failed),
                                            std::pair(2U, Verdict::failed), std::pair(3U, Verdict::done)));
}

TEST_F(BatcherTest, AGpuTakesAFewWhenTheCpusFormIsLost) {
  FakeForm &cpu = add_form(8, 1), &gpu = add_form(1000, 20), &other_gpu = add_form(1000, 20);
  start();
  submit(client_, 0);
  cpu.begun.acquire();
  submit(client_, 1);
  cpu.is_broken = true;
  gpu.proceed.release();
  other_gpu.proceed.release();
  cpu.proceed.release();
  client_->received.acquire();
  ASSERT_TRUE(client_->received.try_acquire_for(std::chrono::minutes(1)));
  EXPECT_THAT(client_->answers, ElementsAre(std::pair(0U, Verdict::failed), std::pair(1U, Verdict::done)));
}

TEST_F(BatcherTest, FailsWhatIsQueuedAtTheEnd) {
  FakeForm& form = add_form(1, 1);
  start();
  for (std::uint32_t i = 0; i < 5; ++i) submit(client_, i);
  form.begun.acquire();
  form.proceed.release();
  batcher_.reset();
  EXPECT_THAT(client_->answers, SizeIs(5));
}

TEST_F(BatcherTest, FormsForgetAKeyThatItsClientRemoves) {
  FakeForm& form = add_form(1, 1);
  form.proceed.release();
  start();
  auto key = make_key(256);
  submit(client_, 0, key);
  client_->received.acquire();
  EXPECT_EQ(expanded_, 1U);
  key.reset();
  wait_until_forgotten();
}

TEST_F(BatcherTest, FormsForgetTheKeyOfAClientThatLeavesInMidJob) {
  FakeForm &cpu = add_form(8, 1), &gpu = add_form(1000, 2);
  start();
  auto key = make_key(256);
  submit(client_, 0, key);
  cpu.begun.acquire();
  for (std::uint32_t i = 1; i < 3; ++i) submit(client_, i, key);
  gpu.begun.acquire();
  EXPECT_EQ(expanded_, 2U);
  client_->is_away = true;
  key.reset();
  cpu.proceed.release();
  while (counters_.abandoned != 1) std::this_thread::yield();
  EXPECT_EQ(expanded_, 2U) << "the GPU still computes with the key";
  gpu.proceed.release();
  wait_until_forgotten();
}

TEST_F(BatcherTest, FormsForgetTheKeyOfQueuedJobsOfAClientThatLeaves) {
  FakeForm& form = add_form(1, 1);
  form.proceed.release(2);
  start();
  auto key = make_key(256);
  submit(client_, 0, key);
  client_->received.acquire();
  submit(other_, 0);
  for (std::uint32_t i = 1; i < 5; ++i) submit(client_, i, key);
  client_->is_away = true;
  key.reset();
  other_->received.acquire();
  form.proceed.release(4);
  wait_until_forgotten();
}

TEST_F(BatcherTest, ALostFormForgetsItsKeys) {
  FakeForm& lost = add_form(1, 1);
  lost.is_broken = true;
  start();
  const auto key = make_key(256);
  submit(client_, 0, key);
  lost.begun.acquire();
  EXPECT_EQ(expanded_, 1U);
  lost.proceed.release();
  wait_until_forgotten();
}

TEST(ExpansionsTest, AreAbsentWithoutRoomAndPassOtherFailures) {
  Expansions<int> all;
  const auto key = std::make_shared<StoredKey>();
  EXPECT_EQ(all.find(key, [](const rsa_key&) -> int { throw std::length_error("full"); }), nullptr);
  EXPECT_EQ(all.find(key, [](const rsa_key&) -> int { throw std::system_error(ENOMEM, std::generic_category()); }),
            nullptr);
  EXPECT_THROW(all.find(key, [](const rsa_key&) -> int { throw std::runtime_error("the GPU is lost"); }),
               std::runtime_error);
  EXPECT_NE(all.find(key, [](const rsa_key&) { return 1; }), nullptr);
}

class FormTest : public testing::TestWithParam<std::size_t> {};
INSTANTIATE_TEST_SUITE_P(All, FormTest, testing::Values(0, 1, 2));

void expect_openssls_results(BatchForm& form, std::size_t size) {
  const auto& test = rsa::keys_of(static_cast<unsigned>(8 * bytes_of_size(size))).front();
  const auto input = rsa::inputs_of(test, 4).back(), right = test.oracle(input);
  for (unsigned round = 0; round < 2; ++round) {
    auto key = std::make_shared<StoredKey>();
    key->key() = rsa::expanded(test.parts());
    Task good{.key = key, .input = {}, .output = {}}, large{.key = key, .input = {}, .output = {}};
    std::ranges::copy(input, good.input.begin());
    std::ranges::copy(test.modulus, large.input.begin());
    for (Task* const each : {&good, &large}) form.run(std::span(&each, 1));
    EXPECT_EQ(good.status, RSA_DONE);
    EXPECT_TRUE(std::ranges::equal(right, std::span(good.output).first(right.size())));
    EXPECT_EQ(large.status, RSA_TOO_LARGE);
    key.reset();
    good.key = large.key = nullptr;
    form.forget_keys();
  }
}

TEST_P(FormTest, ThePlainFormEqualsOpenssl) {
  expect_openssls_results(*make_plain_form(), GetParam());
}

TEST_P(FormTest, TheIfmaFormEqualsOpenssl) {
  if (!rsa::has_ifma()) GTEST_SKIP() << "this CPU has no AVX512-IFMA";
  expect_openssls_results(*make_ifma_form(), GetParam());
}

TEST_P(FormTest, TheGpusFormEqualsOpenssl) {
  std::unique_ptr<BatchForm> form;
  try {
    form = make_cuda_form();
  } catch (const std::runtime_error& error) {
    GTEST_SKIP() << error.what();
  }
  expect_openssls_results(*form, GetParam());
}

TEST_P(FormTest, RandomNumbersTakeAsLongAsAKey) {
  const auto form = make_plain_form();
  EXPECT_GT(measure_batch(*form, GetParam(), 1), 1e-5);
}

TEST(Measure, FindsFromWhichNumberOnAFormIsFaster) {
  class Sleeper final : public BatchForm {
   public:
    Sleeper(std::size_t most, unsigned micros) : most_(most), micros_(micros) {}
    const char* name() const override { return "sleeper"; }
    std::size_t most() const override { return most_; }
    void run(std::span<Task* const> tasks) override {
      std::this_thread::sleep_for(std::chrono::microseconds(micros_ * (tasks.size() + most_ - 1) / most_));
    }
    void forget_keys() override {}

   private:
    std::size_t most_, micros_;
  };
  Sleeper cpu(8, 1'000), gpu(1024, 25'000), slow(16, 50'000);
  for (const std::size_t least : measure_least(gpu, cpu, 1)) {
    EXPECT_GE(least, 128U);
    EXPECT_LE(least, 512U);
  }
  for (const std::size_t least : measure_least(slow, cpu, 1)) EXPECT_GT(least, 16U);
}

}  // namespace
}  // namespace penumbra::rsa_engine
