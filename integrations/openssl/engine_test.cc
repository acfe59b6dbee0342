// SPDX-License-Identifier: Apache-2.0
//
// The engine in the process of the provider.
#include "engine.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "engine_testing.h"

namespace penumbra::tls {
namespace {

class EngineTest : public RequestTest {
 protected:
  void SetUp() override {
    if (!rsa::has_ifma()) GTEST_SKIP() << "this CPU has no AVX512-IFMA";
  }
};

TEST_F(EngineTest, ServesManyThreads) {
  Key &first = add_key(), &second = add_key();
  Engine engine(library_, {.threads = 2}, counters_);
  const auto work = [&](std::uint8_t thread) {
    for (std::uint8_t round = 0; round < 10; ++round) {
      std::vector<std::shared_ptr<Request>> all;
      for (std::uint8_t i = 0; i < 8; ++i) all.push_back(request(i % 2 == 0 ? first : second, thread + i + 1));
      for (const auto& each : all) {
        while (!engine.submit(each)) std::this_thread::yield();
      }
      all[round % 8]->is_abandoned.store(true, std::memory_order_release);
      all.erase(all.begin() + round % 8);
      for (const auto& each : all) {
        wait(*each);
        EXPECT_TRUE(is_right(*each));
      }
    }
  };
  {
    std::vector<std::jthread> threads;
    for (std::uint8_t i = 0; i < 4; ++i) threads.emplace_back(work, static_cast<std::uint8_t>(10 * i));
  }
  while (counters_.in_flight != 0) std::this_thread::yield();
  EXPECT_GT(counters_.batched, 0U);
}

TEST_F(EngineTest, FinishesWhatIsQueued) {
  Key& key = add_key();
  std::vector<std::shared_ptr<Request>> all;
  {
    Engine engine(library_, {}, counters_);
    for (std::uint8_t i = 0; i < 40; ++i) {
      all.push_back(request(key, i + 1));
      EXPECT_TRUE(engine.submit(all.back()));
    }
  }
  for (const auto& each : all) EXPECT_TRUE(is_right(*each));
  EXPECT_EQ(counters_.in_flight, 0U);
}

/// The file of the counters. OpenSSL's own code signs on a CPU without AVX512-IFMA.
class EngineCountersTest : public RequestTest {
 protected:
  void SetUp() override { std::filesystem::remove(file_); }
  ~EngineCountersTest() override { std::filesystem::remove(file_); }

  long in_file(const std::string& name) const {
    std::ifstream in(file_);
    std::string each;
    long value = -1;
    while (in >> each >> value) {
      if (each == name) return value;
    }
    return -1;
  }
  /// Waits, for half a minute, until the file has a value.
  void expect_in_file(const std::string& name, long value) const {
    for (unsigned i = 0; i < 300 && in_file(name) != value; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    EXPECT_EQ(in_file(name), value) << name;
  }

  const std::string name_ = testing::TempDir() + "engine_counters", file_ = name_ + "." + std::to_string(getpid());
};

TEST_F(EngineCountersTest, AreWrittenAsLongAsAJobIsPaused) {
  Engine engine(library_, {.counters_file = name_}, counters_);
  const auto one = request(add_key(), 1);
  ASSERT_TRUE(engine.submit(one));
  wait(*one);
  // The application is busy, and serves the connection only after the engine has written the counters.
  expect_in_file("answered", 0);
  std::this_thread::sleep_for(std::chrono::milliseconds(2'500));
  count(counters_.answered);
  expect_in_file("answered", 1);
}

TEST_F(EngineCountersTest, AreWrittenWhicheverThreadWorked) {
  Engine engine(library_, {.threads = 2, .counters_file = name_}, counters_);
  Key& key = add_key();
  for (std::uint8_t i = 1; i <= 3; ++i) {
    const auto one = request(key, i);
    ASSERT_TRUE(engine.submit(one));
    wait(*one);
    count(counters_.answered);
    expect_in_file("answered", i);
    std::this_thread::sleep_for(std::chrono::milliseconds(2'500));  // Until the engine writes no more.
  }
}

}  // namespace
}  // namespace penumbra::tls
