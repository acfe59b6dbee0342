// SPDX-License-Identifier: Apache-2.0
//
// The process of the engine with honest and hostile clients.
#include "crypto/rsa_engine/server.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <random>
#include <string>
#include <system_error>
#include <thread>

#include "crypto/rsa_engine/server_testing.h"

namespace penumbra::rsa_engine {
namespace {

using rsa::Bytes;
using rsa::TestKey;

TEST_F(ServerTest, ServesKeysOfEverySize) {
  TestClient client(path_);
  client.open();
  std::uint32_t number = 0;
  for (const unsigned bits : {2048U, 3072U, 4096U}) {
    const TestKey& test = rsa::keys_of(bits).front();
    ASSERT_TRUE(client.add_key(number, test.parts()));
    expect_service(client, number, test, bits);
    ++number;
  }
  EXPECT_EQ(counters().keys, 3U);
  client.send(MessageKind::remove_key, 1);
  expect_service(client, 2, rsa::keys_of(4096).front(), 5);
  EXPECT_EQ(counters().keys, 2U);
}

TEST_F(ServerTest, ServesManyClientsAtOnce) {
  std::vector<std::jthread> threads;
  threads.reserve(4);
  for (std::uint32_t i = 0; i < 4; ++i) {
    threads.emplace_back([this, i] {
      TestClient client(path_);
      client.open();
      ASSERT_TRUE(client.add_key(i, test_.parts()));
      const Bytes input(256, static_cast<std::uint8_t>(i + 1)), right = test_.oracle(input);
      for (std::uint32_t tag = 0; tag < 10; ++tag) client.request(tag, i, input);
      for (std::uint32_t tag = 0; tag < 10; ++tag) {
        const Entry answer = client.answer();
        EXPECT_EQ(answer.verdict, Verdict::done);
        EXPECT_TRUE(std::ranges::equal(right, std::span(answer.content).first(256)));
      }
    });
  }
}

TEST_F(ServerTest, GivesNoResultOfAKeyWithAFault) {
  TestClient client(path_);
  client.open();
  TestKey faulty(rsa::Pkey(EVP_RSA_gen(2048)));
  faulty.exponent1.back() ^= 2;
  ASSERT_TRUE(client.add_key(0, faulty.parts()));
  client.request(1, 0, Bytes(256, 1));
  const Entry answer = client.answer();
  EXPECT_EQ(answer.verdict, Verdict::failed);
  EXPECT_EQ(answer.content, Entry{}.content);
}

TEST_F(ServerTest, RefusesKeysThatNoFormTakes) {
  TestClient client(path_);
  client.open();
  const TestKey other(rsa::Pkey(EVP_RSA_gen(2056)));
  EXPECT_FALSE(client.add_key(0, other.parts()));
  EXPECT_EQ(counters().refused_keys, 1U);
  EXPECT_TRUE(client.add_key(0, test_.parts()));
}

TEST_F(ServerTest, LimitsKeysAndClients) {
  stop();
  start({.socket = {}, .group = {}, .most_keys = 2, .most_clients = 2});
  TestClient first(path_), second(path_);
  first.open();
  second.open();
  EXPECT_TRUE(first.add_key(0, test_.parts()));
  EXPECT_TRUE(first.add_key(1, test_.parts()));
  EXPECT_FALSE(second.add_key(0, test_.parts()));
  first.send(MessageKind::remove_key, 0);
  wait_until([this] { return counters().keys == 1; });
  EXPECT_TRUE(second.add_key(0, test_.parts()));
  TestClient third(path_);
  EXPECT_TRUE(third.is_ended());
  EXPECT_EQ(counters().refused_clients, 1U);
}

TEST_F(ServerTest, TellsCounters) {
  expect_service();
  TestClient client(path_);
  client.send(MessageKind::ask_counters, 0);
  ASSERT_EQ(client.receive(), MessageKind::counters);
  const std::string text(client.rest().begin(), client.rest().end());
  EXPECT_TRUE(text.starts_with("taken 1\nanswered 1\n")) << text;
}

TEST_F(ServerTest, OnlyItsOwnerMayConnect) {
  struct stat status{};
  ASSERT_EQ(stat(path_.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600U);
  EXPECT_THROW(Server({.socket = path_, .group = {}}, {}), std::system_error) << "another process has it";
}

/// Each breaks the protocol in another way.
class HostileTest : public ServerTest, public testing::WithParamInterface<void (*)(TestClient&)> {
 protected:
  static Bytes key(const TestKey& test) {
    Bytes room(kMostMessage);
    room.resize(write_key(room, test.parts()));
    return room;
  }
};
INSTANTIATE_TEST_SUITE_P(
    All, HostileTest,
    testing::Values([](TestClient& client) { client.send(static_cast<MessageKind>(77), 0); },
                    [](TestClient& client) { client.send(MessageKind::region, 1); },
                    [](TestClient& client) { client.send(MessageKind::open, kProtocolVersion); },
                    [](TestClient& client) { ::send(client.socket(), "abc", 3, 0); },
                    [](TestClient& client) { client.send(MessageKind::add_key, kMostKeys, Bytes(100)); },
                    [](TestClient& client) { client.send(MessageKind::add_key, 1, Bytes(100, 0xFF)); },
                    [](TestClient& client) { client.send(MessageKind::add_key, 1); },
                    [](TestClient& client) { client.send(MessageKind::remove_key, 1); },
                    [](TestClient& client) { client.send(MessageKind::remove_key, 0xFFFFFFFF); },
                    [](TestClient& client) { client.request(1, 1, Bytes(256)); },
                    [](TestClient& client) { client.request(1, kMostKeys, Bytes(256)); },
                    [](TestClient& client) { client.request(1, 0xFFFFFFFF, Bytes(256)); },
                    [](TestClient& client) { client.request(1, 0, Bytes(255)); },
                    [](TestClient& client) { client.request(1, 0, Bytes(512)); },
                    [](TestClient& client) { client.write({.tag = 1, .key = 0, .bytes = 0xFFFFFFFF}); },
                    [](TestClient& client) { client.write({.tag = 1, .key = 0, .bytes = 0}); },
                    [](TestClient& client) {
                      client.region().requests.written = kSlots + 1;
                      client.send(MessageKind::wake, 0);
                    },
                    [](TestClient& client) {
                      client.region().requests.written = 0x80000000;
                      client.send(MessageKind::wake, 0);
                    },
                    [](TestClient& client) {
                      client.request(1, 0, Bytes(256, 1));
                      client.answer();
                      client.region().requests.written = 0;
                      client.send(MessageKind::wake, 0);
                    },
                    [](TestClient& client) {
                      for (std::uint32_t i = 0; i < 2 * kSlots + 100; ++i) {
                        client.request(i, 0, Bytes(256, 1));
                      }
                    }));

TEST_P(HostileTest, IsDisconnectedAndHarmsNobody) {
  TestClient honest(path_), hostile(path_);
  honest.open();
  ASSERT_TRUE(honest.add_key(0, test_.parts()));
  hostile.open();
  ASSERT_TRUE(hostile.add_key(0, test_.parts()));
  GetParam()(hostile);
  wait_until([this] { return counters().clients == 1; });
  expect_service(honest, 0, test_, 9);
  wait_until([this] { return counters().keys == 1; });
  expect_service();
}

TEST_F(ServerTest, KeysAndAnswersOfAClientAreItsOwn) {
  const TestKey other(rsa::Pkey(EVP_RSA_gen(2048)));
  TestClient first(path_), second(path_);
  first.open();
  second.open();
  ASSERT_TRUE(first.add_key(5, test_.parts()));
  ASSERT_TRUE(second.add_key(5, other.parts()));
  for (std::uint32_t tag = 0; tag < 5; ++tag) {
    expect_service(first, 5, test_, tag);
    expect_service(second, 5, other, tag);
  }
  EXPECT_EQ(first.region().answers.written, 5U);
  EXPECT_EQ(second.region().answers.written, 5U);
  const TestKey third(rsa::Pkey(EVP_RSA_gen(2048)));
  ASSERT_TRUE(first.add_key(6, third.parts()));
  second.request(7, 6, Bytes(256, 1));
  EXPECT_TRUE(second.is_ended()) << "the key of another client";
  EXPECT_EQ(counters().taken, 10U);
}

TEST_F(ServerTest, GarbageInTheWholeRegionHarmsNobody) {
  std::mt19937 random(1);
  for (unsigned round = 0; round < 20; ++round) {
    TestClient hostile(path_);
    hostile.open();
    ASSERT_TRUE(hostile.add_key(0, test_.parts()));
    auto* const words = reinterpret_cast<std::atomic<std::uint32_t>*>(&hostile.region());
    for (std::size_t i = 0; i < sizeof(Region) / 4; ++i) words[i] = random();
    send_message(hostile.socket(), {MessageKind::wake, 0});
    EXPECT_TRUE(hostile.is_ended());
  }
  expect_service();
  EXPECT_EQ(counters().broken_clients, 20U);
}

TEST_F(ServerTest, WritesDuringUseHarmNobody) {
  TestClient hostile(path_);
  hostile.open();
  ASSERT_TRUE(hostile.add_key(0, test_.parts()));
  std::atomic<bool> is_ending = false;
  const std::jthread writer([&] {
    std::mt19937 random(2);
    while (!is_ending)
      hostile.region().requests.entries[random() % kSlots].store(
          {.tag = static_cast<std::uint32_t>(random()), .bytes = 256});
  });
  const Bytes input(256, 1);
  for (std::uint32_t i = 0; i < 20; ++i) hostile.request(i, 0, input);
  expect_service();
  is_ending = true;
}

TEST_F(ServerTest, ClientsThatEndInMidJobAreAbandoned) {
  for (unsigned round = 0; round < 10; ++round) {
    TestClient client(path_);
    client.open();
    ASSERT_TRUE(client.add_key(0, test_.parts()));
    for (std::uint32_t tag = 0; tag < 20; ++tag) client.request(tag, 0, Bytes(256, 1));
  }
  expect_service();
  wait_until([this] { return counters().clients == 0 && counters().in_flight == 0; });
  EXPECT_EQ(counters().keys, 0U);
}

TEST_F(ServerTest, FloodsOfMessagesDelayNobody) {
  TestClient hostile(path_);
  hostile.open();
  std::atomic<bool> is_ending = false;
  const std::jthread flood([&] {
    while (!is_ending) send_message(hostile.socket(), {MessageKind::wake, 0});
  });
  for (unsigned i = 0; i < 5; ++i) expect_service();
  is_ending = true;
}

TEST_F(ServerTest, ClientsThatReadNothingDelayNobody) {
  TestClient deaf(path_);
  deaf.open();
  ASSERT_TRUE(deaf.add_key(0, test_.parts()));
  // The socket blocks now, and the engine must not care.
  fcntl(deaf.socket(), F_SETFL, 0);
  for (std::uint32_t tag = 0; tag < 100; ++tag) {
    deaf.region().answers.reader_sleeps = 1;
    deaf.request(tag, 0, Bytes(256, 1));
  }
  expect_service();
  wait_until([&] { return deaf.region().answers.written == 100; });
}

}  // namespace
}  // namespace penumbra::rsa_engine
