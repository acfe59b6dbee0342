// SPDX-License-Identifier: Apache-2.0
//
// The provider's client of `penumbra tls-engine`, with the engine and with others that lie, sleep and die.
#include "remote_engine.h"

#include <gtest/gtest.h>
#include <openssl/pem.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "base/sanitizer_scale.h"
#include "crypto/rsa/private_key.h"
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

/// Keys, and references to keys that nobody has.
class RemoteEngineWithReferencesTest : public RemoteEngineTest {
 protected:
  Key& add_reference() {
    const Pkey from = generate(2048);
    OSSL_PARAM* params = nullptr;
    EXPECT_EQ(EVP_PKEY_todata(from.get(), EVP_PKEY_PUBLIC_KEY, &params), 1);
    const Parameters owned(params);
    BIGNUM *n = nullptr, *e = nullptr;
    EXPECT_EQ(OSSL_PARAM_get_BN(OSSL_PARAM_locate(params, OSSL_PKEY_PARAM_RSA_N), &n), 1);
    EXPECT_EQ(OSSL_PARAM_get_BN(OSSL_PARAM_locate(params, OSSL_PKEY_PARAM_RSA_E), &e), 1);
    Bytes modulus(256), exponent(3);
    BN_bn2binpad(n, modulus.data(), 256);
    BN_bn2binpad(e, exponent.data(), 3);
    BN_free(n);
    BN_free(e);
    rsa::KeyParts parts;
    parts.modulus = modulus;
    parts.public_exponent = exponent;
    const std::string pem = rsa::write_reference(parts);
    BIO* const in = BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size()));
    keys_of_engine_.push_back(
        new Key(Pkey(PEM_read_bio_PrivateKey_ex(in, nullptr, nullptr, nullptr, library_, kDefault))));
    BIO_free(in);
    EXPECT_TRUE(keys_of_engine_.back()->is_reference());
    return *keys_of_engine_.back();
  }
  static void wait_for_end(const Request& request) {
    EXPECT_TRUE(request.wait(std::chrono::minutes(1)));
    EXPECT_FALSE(request.is_right);
  }
};

TEST_F(RemoteEngineWithReferencesTest, AWaitEndsWithoutAnEngine) {
  const auto lost = request(add_key(), 1);
  EXPECT_FALSE(lost->wait(std::chrono::milliseconds(20)));
  lost->wakeup->signal();
  EXPECT_FALSE(lost->wait(std::chrono::milliseconds(20))) << "a signal alone";
}

TEST_F(RemoteEngineWithReferencesTest, AreSentInOrder) {
  constexpr std::uint32_t kRequests = 2 * rsa_engine::kSlots + 200;
  std::atomic<bool> is_answering = false;
  std::vector<std::uint32_t> arrived;
  std::vector<Entry> unanswered;
  const auto number_of = [](const auto& bytes) { return bytes[2] * 256U + bytes[3]; };
  const auto ours = engine();
  const std::shared_ptr<Wakeup> wakeup = Wakeup::make();
  Key& reference = add_reference();
  std::vector<std::shared_ptr<Request>> all;
  {
    const HostileEngine late(path_, [&](auto&, auto& writer, const Entry& request) {
      arrived.push_back(number_of(request.content));
      unanswered.push_back(request);
      if (!is_answering) return;
      for (const Entry& each : unanswered) writer.write({.tag = each.tag, .bytes = 256});
      unanswered.clear();
    });
    for (std::uint32_t i = 0; i < kRequests; ++i) {
      all.push_back(std::make_shared<Request>(reference, wakeup));
      all.back()->input.fill(0);
      all.back()->input[1] = 1;
      all.back()->input[2] = static_cast<std::uint8_t>(i >> 8);
      all.back()->input[3] = static_cast<std::uint8_t>(i);
      ASSERT_TRUE(ours->submit(all.back()));
      if (i == rsa_engine::kSlots - 10) is_answering = true;
    }
    for (const auto& each : all) {
      wait_until([&each] { return each->is_done.load(); });
      EXPECT_FALSE(each->is_right);
      EXPECT_EQ(each->loss, Loss::wrong);
    }
  }
  EXPECT_EQ(arrived.size(), kRequests);
  EXPECT_TRUE(std::ranges::is_sorted(arrived));
}

TEST_F(RemoteEngineWithReferencesTest, KeysDoNotShortenTheirTime) {
  const HostileEngine silent(path_, [](auto&, auto&, const Entry&) {});
  const auto ours = engine();
  Key &reference = add_reference(), &key = add_key();
  expect_right(submit_until_sent(*ours, key));
  const auto begin = std::chrono::steady_clock::now();
  const std::uint64_t sent = counters_.sent;
  const auto late = request(reference, 1);
  ASSERT_TRUE(ours->submit(late));
  wait_until([&] { return counters_.sent > sent; });
  const auto all = submit_until_sent(*ours, key);
  wait_for_end(*late);
  EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::seconds(4));
  expect_right(all);
}

TEST_F(RemoteEngineWithReferencesTest, SurvivesTheRemovalOfManyKeys) {
  constexpr std::size_t kKeys = 900;
  const EngineProcess process(path_);
  const auto ours = engine();
  const Pkey pkey = generate(2048);
  std::vector<Key*> keys;
  std::vector<std::shared_ptr<Request>> all;
  for (std::size_t i = 0; i < kKeys; ++i) {
    ASSERT_EQ(EVP_PKEY_up_ref(pkey.get()), 1);
    keys.push_back(new Key(Pkey(pkey.get())));
  }
  expect_right(submit_until_sent(*ours, *keys.front()));
  for (Key* const key : keys) {
    std::vector<std::shared_ptr<Request>> some;
    some.push_back(request(*key, 1));
    some.push_back(request(*key, 2));
    for (const auto& each : some) {
      while (!ours->submit(each)) std::this_thread::yield();
    }
    expect_right(some);
  }
  for (Key* const key : keys) key->release();
  wait_until([&] { return process.counters().keys == 0; });
  EXPECT_EQ(process.counters().clients, 1U);
}

}  // namespace
}  // namespace penumbra::tls
