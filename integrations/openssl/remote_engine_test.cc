// SPDX-License-Identifier: Apache-2.0
//
// The provider's client of `penumbra tls-engine`, with the engine and with others that lie, sleep and die.
#include "remote_engine.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "base/sanitizer_scale.h"
#include "engine.h"
#include "engine_testing.h"
#include "remote_engine_testing.h"

namespace penumbra::tls {
namespace {

using rsa_engine::Entry;

class RemoteEngineTest : public RequestTest {
 protected:
  ~RemoteEngineTest() override {
    EXPECT_EQ(counters_.sent, counters_.sent_answered + counters_.sent_lost);
    EXPECT_EQ(counters_.in_flight, 0U);
  }
  std::unique_ptr<Engine> engine(std::optional<uid_t> user = {}) {
    return std::make_unique<Engine>(library_, Settings{.engine_socket = path_, .engine_user = user}, counters_);
  }
  /// Submits until the other process has the key and takes requests.
  std::vector<std::shared_ptr<Request>> submit_until_sent(Engine& engine, Key& key, std::uint64_t more = 0) {
    std::vector<std::shared_ptr<Request>> all;
    const std::uint64_t wanted = counters_.sent + 1 + more;
    submit_until(engine, key, all, [&] { return counters_.sent >= wanted; });
    return all;
  }
  /// Submits requests, of which `all` gets the last. The others are waited for, because each has two descriptors.
  template <class Condition>
  void submit_until(Engine& engine, Key& key, std::vector<std::shared_ptr<Request>>& all, Condition condition) {
    constexpr std::size_t kMostOpen = 100;
    for (std::size_t number = 0; !condition(); ++number) {
      if (all.size() == kMostOpen) {
        expect_right({all.front()});
        all.erase(all.begin());
      }
      all.push_back(request(key, static_cast<std::uint8_t>(1 + number % 200)));
      while (!engine.submit(all.back())) std::this_thread::yield();
    }
  }
  void expect_right(const std::vector<std::shared_ptr<Request>>& all) {
    for (const auto& each : all) wait(*each);
    std::size_t wrong = 0;
    for (const auto& each : all) wrong += is_right(*each) ? 0 : 1;
    EXPECT_EQ(wrong, 0U) << "of " << all.size();
  }
  template <class Condition>
  static void wait_until(Condition condition) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(1);
    while (!condition() && std::chrono::steady_clock::now() < end) std::this_thread::yield();
    EXPECT_TRUE(condition());
  }

  const std::string path_ = testing::TempDir() + "remote_engine_" + std::to_string(getpid()) + ".sock";
};

TEST_F(RemoteEngineTest, TakesResultsOfTheOtherProcess) {
  const EngineProcess process(path_);
  const auto ours = engine();
  expect_right(submit_until_sent(*ours, add_key(), 10));
  // On a slow machine a result may come after the patience of a second.
  EXPECT_GT(counters_.sent_answered, 0U);
  EXPECT_GE(process.counters().answered, counters_.sent_answered);
}

TEST_F(RemoteEngineTest, ComputesALoneRequestItself) {
  const EngineProcess process(path_);
  const auto ours = engine();
  Key& key = add_key();
  expect_right(submit_until_sent(*ours, key));
  const std::uint64_t sent = counters_.sent;
  for (std::uint8_t i = 1; i < 5; ++i) {
    const auto one = request(key, i);
    ASSERT_TRUE(ours->submit(one));
    expect_right({one});
    wait_until([this] { return counters_.in_flight == 0; });
  }
  EXPECT_EQ(counters_.sent, sent);
}

TEST_F(RemoteEngineTest, RemovesKeysThatTheApplicationHasFreed) {
  const EngineProcess process(path_);
  const auto ours = engine();
  Key* const key = new Key(generate(2048));
  expect_right(submit_until_sent(*ours, *key));
  EXPECT_EQ(process.counters().keys, 1U);
  key->release();
  wait_until([&] { return process.counters().keys == 0; });
}

TEST_F(RemoteEngineTest, ComputesItselfWithoutAnotherProcess) {
  const auto ours = engine();
  Key& key = add_key();
  std::vector<std::shared_ptr<Request>> all;
  for (std::uint8_t i = 1; i <= 20; ++i) {
    all.push_back(request(key, i));
    ASSERT_TRUE(ours->submit(all.back()));
  }
  expect_right(all);
  EXPECT_EQ(counters_.sent, 0U);
}

TEST_F(RemoteEngineTest, AnEngineThatCannotStartThrows) {
  if (kSanitizerScale != 1) GTEST_SKIP() << "UndefinedBehaviorSanitizer needs descriptors to check objects";
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit none{.rlim_cur = 0, .rlim_max = before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  EXPECT_THROW(engine(), std::system_error) << "there is no descriptor";
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
}

TEST_F(RemoteEngineTest, LosesNothingWhenTheOtherProcessEndsAndTakesUpTheNext) {
  const auto ours = engine();
  Key& key = add_key();
  for (unsigned round = 0; round < 3; ++round) {
    auto process = std::make_unique<EngineProcess>(path_);
    const auto all = submit_until_sent(*ours, key, 30);
    process.reset();
    expect_right(all);
  }
}

TEST_F(RemoteEngineTest, ComputesItselfAfterASecondWithoutAnAnswer) {
  const HostileEngine silent(path_, [](auto&, auto&, const Entry&) {});
  const auto ours = engine();
  expect_right(submit_until_sent(*ours, add_key(), 10));
  EXPECT_EQ(counters_.sent_answered, 0U);
}

TEST_F(RemoteEngineTest, ComputesItselfWhileMessagesComeWithoutAnEnd) {
  const HostileEngine silent(path_, [](auto&, auto&, const Entry&) {}, 4);
  const auto ours = engine();
  expect_right(submit_until_sent(*ours, add_key(), 10));
  EXPECT_EQ(counters_.sent_answered, 0U);
}

TEST_F(RemoteEngineTest, OnlyTrustedUsersGetKeys) {
  if (geteuid() != 0) GTEST_SKIP() << "listens as other users, as root";
  constexpr uid_t kStranger = 65'533, kTrusted = 65'534;
  Key& key = add_key();
  {
    const HostileEngine thief(path_, [](auto&, auto&, const Entry&) {}, 0, kStranger);
    const auto ours = engine(kTrusted);
    std::vector<std::shared_ptr<Request>> all;
    submit_until(*ours, key, all, [this] { return counters_.untrusted_engines >= 2; });
    expect_right(all);
    EXPECT_EQ(counters_.sent, 0U);
  }
  const std::uint64_t untrusted = counters_.untrusted_engines;
  const HostileEngine silent(path_, [](auto&, auto&, const Entry&) {}, 0, kTrusted);
  const auto ours = engine(kTrusted);
  expect_right(submit_until_sent(*ours, key));
  EXPECT_EQ(counters_.untrusted_engines, untrusted);
}

TEST_F(RemoteEngineTest, ResultsAreCheckedAndCopied) {
  const auto ours = engine();
  Key& key = add_key();
  const std::vector<HostileEngine::Answer> lies{
      // Zeros, and more or fewer bytes than a result has.
      [](auto&, auto& writer, const Entry& request) {
        const std::array<std::uint32_t, 3> lengths{256, 0xFFFFFFFF, 0};
        writer.write({.tag = request.tag, .bytes = lengths[request.tag % lengths.size()]});
      },
      // The answer to no request.
      [](auto&, auto& writer, const Entry& request) { writer.write({.tag = request.tag + 1, .bytes = 256}); },
      // An impossible number of answers.
      [](auto& ring, auto&, const Entry&) { ring.written = 0xFFFFFFFF; },
      // The same answer again and again.
      [](auto& ring, auto&, const Entry& request) {
        for (auto& each : ring.entries) each.store({.tag = request.tag, .bytes = 256});
        ring.written = rsa_engine::kSlots;
      },
  };
  for (const auto& lie : lies) {
    const HostileEngine liar(path_, lie);
    expect_right(submit_until_sent(*ours, key, 10));
  }
  EXPECT_EQ(counters_.sent_answered, 0U);
}

}  // namespace
}  // namespace penumbra::tls
