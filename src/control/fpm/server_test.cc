// SPDX-License-Identifier: Apache-2.0
#include "control/fpm/server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "penumbra/errors.h"
#include "testing/message_of.h"

namespace penumbra::control::fpm {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr int kPatience = 10'000;  // Milliseconds.

/// Returns an address with port 0, which means any free port.
ListenAddress somewhere() {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr = {htonl(INADDR_LOOPBACK)};
  ListenAddress at;
  at.text = "127.0.0.1:0";
  std::memcpy(&at.endpoint.address, &address, sizeof address);
  at.endpoint.bytes = sizeof address;
  return at;
}

class Heard final : public Client {
 public:
  void connected(const std::string& /*address*/) override { log.emplace_back("connected"); }
  std::string frame(std::span<const std::byte> netlink) override {
    log.emplace_back(reinterpret_cast<const char*>(netlink.data()), netlink.size());
    return log.back() == "nonsense" ? "it is nonsense" : "";
  }
  void lost(std::string_view why, bool malformed) override {
    log.push_back((malformed ? "malformed: " : "lost: ") + std::string(why));
  }
  void refused(const std::string& /*address*/) override { log.emplace_back("refused"); }

  std::vector<std::string> log;
};

/// No descriptor can be opened during the lifetime of this object.
class NoMoreDescriptors {
 public:
  NoMoreDescriptors() {
    const FileDescriptor next(dup(STDIN_FILENO));
    getrlimit(RLIMIT_NOFILE, &before_);
    const rlimit limit{.rlim_cur = static_cast<rlim_t>(next.get()), .rlim_max = before_.rlim_max};
    setrlimit(RLIMIT_NOFILE, &limit);
  }
  NoMoreDescriptors(const NoMoreDescriptors&) = delete;
  NoMoreDescriptors& operator=(const NoMoreDescriptors&) = delete;
  ~NoMoreDescriptors() { setrlimit(RLIMIT_NOFILE, &before_); }

 private:
  rlimit before_{};
};

class ServerTest : public testing::Test {
 protected:
  FileDescriptor connect() const {
    FileDescriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const Endpoint to = server_.address();
    EXPECT_EQ(::connect(socket.get(), to.get(), to.bytes), 0);
    return socket;
  }
  static void send(const FileDescriptor& socket, const std::string& bytes) {
    EXPECT_EQ(::send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL), static_cast<ssize_t>(bytes.size()));
  }
  static std::string frame_of(const std::string& payload) {
    return std::string{'\1', '\1', '\0', static_cast<char>(payload.size() + 4)} + payload;
  }
  /// Handles events until the log has `count` entries, and returns the log.
  const std::vector<std::string>& happened(std::size_t count) {
    while (heard_.log.size() < count) {
      pollfd ready{.fd = server_.descriptor(), .events = POLLIN, .revents = 0};
      if (poll(&ready, 1, kPatience) != 1) break;
      server_.receive(heard_);
    }
    return heard_.log;
  }
  /// Returns true if the server has closed the connection.
  static bool is_closed(const FileDescriptor& socket) {
    pollfd ready{.fd = socket.get(), .events = POLLIN, .revents = 0};
    char byte = 0;
    return poll(&ready, 1, kPatience) == 1 && recv(socket.get(), &byte, 1, 0) <= 0;
  }

  Server server_{somewhere()};
  Heard heard_;
};

TEST_F(ServerTest, HearsAByteAtATime) {
  const auto client = connect();
  happened(1);
  for (const char byte : frame_of("first") + frame_of("") + frame_of("second")) {
    send(client, {byte});
    server_.receive(heard_);
  }
  EXPECT_THAT(happened(4), ElementsAre("connected", "first", "", "second"));
}

TEST_F(ServerTest, RefusesASecondClientAndTakesOneAfterTheFirst) {
  auto first = connect();
  happened(1);
  const auto second = connect();
  EXPECT_THAT(happened(2), ElementsAre("connected", "refused"));
  EXPECT_TRUE(is_closed(second));
  // All data that the first client sent is handled, and then the next client is accepted at once.
  send(first, frame_of("last"));
  first = FileDescriptor();
  const auto third = connect();
  send(third, frame_of("new"));
  EXPECT_THAT(happened(6),
              ElementsAre("connected", "refused", "last", "lost: it closed the connection", "connected", "new"));
}

TEST_F(ServerTest, GivesUpAClientThatMakesNoSense) {
  for (const auto& [bytes, why] : std::vector<std::pair<std::string, std::string>>{
           {std::string("\7\1\0\4", 4), "malformed: a frame of version 7, not 1"},
           {std::string("\1\1\0\1", 4), "malformed: a frame of 1 bytes"},
           {frame_of("nonsense"), "malformed: it is nonsense"}}) {
    heard_.log.clear();
    const auto client = connect();
    send(client, frame_of("good") + bytes + frame_of("after"));
    const bool seen = bytes == frame_of("nonsense");
    const auto log = happened(seen ? 4 : 3);
    EXPECT_EQ(log.back(), why);
    EXPECT_THAT(log, testing::Not(testing::Contains("after")));
    EXPECT_TRUE(is_closed(client));
  }
}

TEST_F(ServerTest, AnEndWithinAFrameIsToldApart) {
  {
    const auto client = connect();
    send(client, frame_of("payload").substr(0, 7));
  }
  EXPECT_THAT(happened(2), ElementsAre("connected", "malformed: it ended within a frame"));
}

TEST_F(ServerTest, ADroppedClientMayComeAgain) {
  const auto client = connect();
  happened(1);
  server_.drop("no more", heard_);
  server_.drop("there is none", heard_);
  EXPECT_TRUE(is_closed(client));
  const auto again = connect();
  EXPECT_THAT(happened(3), ElementsAre("connected", "lost: no more", "connected"));
}

TEST_F(ServerTest, WhereThereIsNoDescriptorForAClientItIsTriedAgainLater) {
  const auto client = connect();
  pollfd ready{.fd = server_.descriptor(), .events = POLLIN, .revents = 0};
  ASSERT_EQ(poll(&ready, 1, kPatience), 1);
  {
    const NoMoreDescriptors none;
    server_.receive(heard_);
    EXPECT_EQ(poll(&ready, 1, 0), 0) << "who waits for it would be kept busy";
    EXPECT_THAT(heard_.log, ElementsAre());
  }
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(kPatience);
  while (heard_.log.empty() && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    server_.receive(heard_);
  }
  EXPECT_THAT(heard_.log, ElementsAre("connected"));
  send(client, frame_of("first"));
  EXPECT_THAT(happened(2), ElementsAre("connected", "first"));
}

TEST_F(ServerTest, SaysWhereItCannotListen) {
  ListenAddress taken = somewhere();
  taken.endpoint = server_.address();
  taken.text = "that one";
  EXPECT_THAT(message_of([&] { const Server second(taken); }),
              HasSubstr("fpm: cannot listen on that one: Address already in use"));
}

}  // namespace
}  // namespace penumbra::control::fpm
