// SPDX-License-Identifier: Apache-2.0
//
// Clients of the socket, and the counts that they get.
#include "functions/megaflows/server.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/scratch_folder.h"
#include "testing/function_fixture.h"
#include "testing/message_of.h"

namespace penumbra::megaflows {
namespace {

FileDescriptor connected(const std::filesystem::path& path) {
  FileDescriptor socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.native().copy(address.sun_path, sizeof address.sun_path - 1);
  EXPECT_EQ(::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  return socket;
}

class MegaflowServer : public testing::Test {
 protected:
  MegaflowServer() { serve(); }

  void serve() {
    server_.reset();
    server_ = std::make_unique<Server>(path_, table_, counters_);
  }
  static megaflows_reply answer(const FileDescriptor& socket) {
    std::array<std::byte, 4096> message{};
    megaflows_reply reply{};
    if (::recv(socket.get(), message.data(), message.size(), 0) < static_cast<ssize_t>(sizeof reply)) {
      reply.error = ECONNRESET;
      return reply;
    }
    std::memcpy(&reply, message.data(), sizeof reply);
    return reply;
  }
  static void send(const FileDescriptor& socket, const Request& request) {
    const auto message = write_request(request);
    ASSERT_EQ(::send(socket.get(), message.data(), message.size(), MSG_NOSIGNAL), static_cast<ssize_t>(message.size()));
  }
  static megaflows_reply ask(const FileDescriptor& socket, const Request& request) {
    send(socket, request);
    return answer(socket);
  }
  static Request add(std::uint64_t name, std::uint64_t in_port, const char* actions = "output:2") {
    Request request{.type = MEGAFLOWS_ADD, .id = 1, .ufid = {7, name}};
    set(request.match.mask, Field::in_port, {0, 0xFFFF});
    set(request.match.value, Field::in_port, {0, in_port});
    request.actions = parse_actions(actions);
    return request;
  }
  static Request of(std::uint8_t type, std::uint64_t name) { return {.type = type, .id = 2, .ufid = {7, name}}; }
  void wait_for_size(std::size_t size) const {
    for (int i = 0; i < 5'000 && table_.size() != size; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    EXPECT_EQ(table_.size(), size);
  }
  /// Counts packets in the part of a worker.
  void count(const SparseMatch& match, std::size_t worker, int packets) {
    for (std::uint32_t number = 1; number < 100; ++number) {
      const auto flow = table_.find(number);
      if (!flow || flow->match != match) continue;
      for (int i = 0; i < packets; ++i) table_.count(worker, number, 60, 5);
    }
  }

  ScratchFolder folder_;
  const std::filesystem::path path_ = folder_.path() / "megaflows.sock";
  NoReaders no_readers_;
  std::vector<PortInfo> ports_ = function_testing::numbered_ports(3);
  FlowTable table_{TupleRules::Search::bloom, 100, ports_, no_readers_, 2};
  ServerCounters counters_;
  std::unique_ptr<Server> server_;
};

TEST_F(MegaflowServer, AddsCountsAndDeletes) {
  const FileDescriptor client = connected(path_);
  EXPECT_EQ(ask(client, add(1, 1)).error, 0U);
  EXPECT_EQ(table_.size(), 1U);
  count(add(1, 1).match, 0, 3);
  count(add(1, 1).match, 1, 4);
  megaflows_reply reply = ask(client, of(MEGAFLOWS_COUNTS, 1));
  EXPECT_EQ(reply.header.id, 2U);
  EXPECT_EQ(reply.packets, 7U) << "the sum over the workers";
  EXPECT_EQ(reply.bytes, 420U);
  EXPECT_EQ(reply.used_ms, 5U);
  EXPECT_EQ(ask(client, add(1, 1, "output:3,set:nw_ttl=3")).error, 0U) << "other actions";
  EXPECT_EQ(ask(client, of(MEGAFLOWS_COUNTS, 1)).packets, 7U) << "the counts go on";
  reply = ask(client, of(MEGAFLOWS_DELETE, 1));
  EXPECT_EQ(reply.error, 0U);
  EXPECT_EQ(reply.packets, 7U) << "the last counts";
  EXPECT_EQ(ask(client, of(MEGAFLOWS_DELETE, 1)).error, static_cast<std::uint32_t>(ENOENT));
  EXPECT_EQ(ask(client, of(MEGAFLOWS_COUNTS, 1)).error, static_cast<std::uint32_t>(ENOENT));
  EXPECT_EQ(ask(client, add(2, 1)).error, 0U);
  EXPECT_EQ(ask(client, of(MEGAFLOWS_COUNTS, 2)).packets, 0U) << "a number that was used before begins at 0";
}

TEST_F(MegaflowServer, RefusesWhatCannotBe) {
  const FileDescriptor client = connected(path_);
  EXPECT_EQ(ask(client, add(1, 1)).error, 0U);
  EXPECT_EQ(ask(client, add(2, 1)).error, static_cast<std::uint32_t>(EEXIST)) << "the match of another megaflow";
  EXPECT_EQ(ask(client, add(1, 2)).error, static_cast<std::uint32_t>(EEXIST)) << "the ufid with another match";
  EXPECT_EQ(ask(client, add(3, 3, "output:9")).error, static_cast<std::uint32_t>(EOPNOTSUPP));
  for (std::uint64_t i = 10; i < 109; ++i) ASSERT_EQ(ask(client, add(i, i)).error, 0U);
  EXPECT_EQ(ask(client, add(200, 200)).error, static_cast<std::uint32_t>(ENOSPC));
  EXPECT_EQ(counters_.refused, 4U);
}

/// Many requests without waiting for replies are answered in order.
TEST_F(MegaflowServer, AnswersInOrder) {
  const FileDescriptor client = connected(path_);
  for (std::uint32_t i = 1; i <= 90; ++i) {
    Request request = add(i, i);
    request.id = i;
    send(client, request);
  }
  for (std::uint32_t i = 1; i <= 90; ++i) {
    const megaflows_reply reply = answer(client);
    ASSERT_EQ(reply.header.id, i);
    ASSERT_EQ(reply.error, 0U);
  }
}

TEST_F(MegaflowServer, RemovesTheMegaflowsOfAClientThatLeaves) {
  const FileDescriptor stays = connected(path_);
  {
    const FileDescriptor leaves = connected(path_);
    EXPECT_EQ(ask(leaves, add(1, 1)).error, 0U);
    EXPECT_EQ(ask(stays, add(2, 2)).error, 0U);
  }
  wait_for_size(1);
  EXPECT_EQ(ask(stays, of(MEGAFLOWS_COUNTS, 2)).error, 0U);
  EXPECT_EQ(ask(stays, of(MEGAFLOWS_FLUSH, 0)).error, 0U);
  EXPECT_EQ(table_.size(), 0U);
}

TEST_F(MegaflowServer, DisconnectsAClientThatSpeaksAnotherProtocol) {
  const FileDescriptor client = connected(path_);
  ASSERT_EQ(::send(client.get(), "hello", 5, 0), 5);
  EXPECT_EQ(answer(client).error, static_cast<std::uint32_t>(ECONNRESET));
  EXPECT_EQ(counters_.dropped, 1U);
}

TEST_F(MegaflowServer, ReplacesTheSocketOfARouterThatIsGoneAndNoOther) {
  EXPECT_NE(message_of<std::runtime_error>([this] {
              Server other(path_, table_, counters_);
            }).find("another process listens on this megaflow socket"),
            std::string::npos);
  server_.reset();
  EXPECT_FALSE(std::filesystem::exists(path_));
  {
    const FileDescriptor stale(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path_.native().copy(address.sun_path, sizeof address.sun_path - 1);
    ASSERT_EQ(::bind(stale.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  }
  serve();
  EXPECT_EQ(ask(connected(path_), of(MEGAFLOWS_PORTS, 0)).error, 0U);
}

}  // namespace
}  // namespace penumbra::megaflows
