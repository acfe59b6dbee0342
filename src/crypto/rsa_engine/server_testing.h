// SPDX-License-Identifier: Apache-2.0
//
// The process of the engine as a thread of a test.
#pragma once

#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "crypto/rsa/openssl_key_testing.h"
#include "crypto/rsa_engine/client_testing.h"
#include "crypto/rsa_engine/server.h"

namespace penumbra::rsa_engine {

class ServerTest : public testing::Test {
 protected:
  ServerTest() { start({}); }
  ~ServerTest() override { stop(); }

  void start(ServerSettings settings, OwnKeys own_keys = {}) {
    settings.socket = path_;
    std::vector<FormOnThread> forms;
    forms.reserve(2);
    for (unsigned i = 0; i < 2; ++i) forms.push_back({.form = make_plain_form(), .least = {1, 1, 1}});
    server_ = std::make_unique<Server>(settings, std::move(forms), std::move(own_keys));
    thread_ = std::jthread([this] { server_->run(stop_.get()); });
  }
  void stop() {
    if (server_ == nullptr) return;
    eventfd_write(stop_.get(), 1);
    thread_ = {};
    eventfd_t value = 0;
    eventfd_read(stop_.get(), &value);
    const Counters& counters = server_->counters();
    wait_until([&] { return counters.in_flight == 0; });
    EXPECT_EQ(counters.taken, counters.answered + counters.failed + counters.abandoned);
    server_.reset();
  }
  template <class Condition>
  static void wait_until(Condition condition) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(1);
    while (!condition() && std::chrono::steady_clock::now() < end) std::this_thread::yield();
    EXPECT_TRUE(condition());
  }
  /// Has a client sign, and compares with OpenSSL.
  static void expect_service(TestClient& client, std::uint32_t key, const rsa::TestKey& test, std::uint32_t tag) {
    const rsa::Bytes input = rsa::inputs_of(test, 4).back();
    client.request(tag, key, input);
    const Entry answer = client.answer();
    EXPECT_EQ(answer.tag, tag);
    EXPECT_EQ(answer.verdict, Verdict::done);
    ASSERT_EQ(answer.bytes, input.size());
    EXPECT_TRUE(std::ranges::equal(test.oracle(input), std::span(answer.content).first(answer.bytes)));
  }
  void expect_service() {
    TestClient client(path_);
    client.open();
    ASSERT_TRUE(client.add_key(3, test_.parts()));
    expect_service(client, 3, test_, 77);
  }
  const Counters& counters() const { return server_->counters(); }

  const rsa::TestKey& test_ = rsa::keys_of(2048).front();
  const std::string path_ = testing::TempDir() + "rsa_engine_" + std::to_string(getpid()) + ".sock";
  const FileDescriptor stop_{eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)};
  std::unique_ptr<Server> server_;
  std::jthread thread_;
};

}  // namespace penumbra::rsa_engine
