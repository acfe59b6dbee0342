// SPDX-License-Identifier: Apache-2.0
//
// A client of the engine for tests, which breaks the protocol where a test wants it.
#pragma once

#include <gtest/gtest.h>
#include <poll.h>

#include <array>
#include <chrono>
#include <filesystem>
#include <memory>
#include <span>
#include <vector>

#include "base/unix_socket.h"
#include "crypto/rsa_engine/message.h"
#include "crypto/rsa_engine/region.h"

namespace penumbra::rsa_engine {

class TestClient {
 public:
  explicit TestClient(const std::filesystem::path& path) : socket_(connect_to(path)) { EXPECT_TRUE(socket_); }

  void send(MessageKind kind, std::uint32_t number, std::span<const std::uint8_t> rest = {}) {
    EXPECT_TRUE(send_message(socket_.get(), {kind, number}, rest));
  }
  /// Waits for a message other than a wake-up. Returns its kind; `ask_counters` if the engine has ended the connection.
  MessageKind receive(FileDescriptor* passed = nullptr) {
    Message message{};
    Receipt receipt = Receipt::nothing;
    do {
      wait();
      receipt = receive_message(socket_.get(), room_, message, passed);
    } while (receipt == Receipt::nothing || (receipt == Receipt::message && message.head.kind == MessageKind::wake));
    rest_.assign(message.rest.begin(), message.rest.end());
    return receipt == Receipt::ended ? MessageKind::ask_counters : message.head.kind;
  }
  bool is_ended() { return receive() == MessageKind::ask_counters; }
  void wait() const {
    pollfd one{.fd = socket_.get(), .events = POLLIN, .revents = 0};
    EXPECT_GT(poll(&one, 1, 60'000), 0) << "the engine does not answer";
  }

  void open() {
    send(MessageKind::open, kProtocolVersion);
    FileDescriptor file;
    ASSERT_EQ(receive(&file), MessageKind::region);
    region_ = MappedRegion::of_peer(file);
    requests_ = std::make_unique<RingWriter>((*region_)->requests);
    answers_ = std::make_unique<RingReader>((*region_)->answers);
  }
  bool add_key(std::uint32_t number, const rsa::KeyParts& parts) {
    std::array<std::uint8_t, kMostMessage> room;
    const std::size_t bytes = write_key(room, parts);
    send(MessageKind::add_key, number, std::span(room).first(bytes));
    return receive() == MessageKind::key_added;
  }
  void request(std::uint32_t tag, std::uint32_t key, std::span<const std::uint8_t> input) {
    Entry entry{.tag = tag, .key = key, .bytes = static_cast<std::uint32_t>(input.size())};
    std::ranges::copy(input, entry.content.begin());
    write(entry);
  }
  void write(const Entry& entry) {
    requests_->write(entry);
    send_message(socket_.get(), {MessageKind::wake, 0});
  }
  /// Waits for an answer.
  Entry answer() {
    Entry entry;
    Message message{};
    while (answers_->read(entry) != Reading::entry) {
      if (!answers_->begin_sleep()) continue;
      wait();
      if (receive_message(socket_.get(), room_, message) == Receipt::ended) {
        ADD_FAILURE() << "the engine ended the connection";
        break;
      }
    }
    return entry;
  }

  int socket() const { return socket_.get(); }
  Region& region() { return **region_; }
  const std::vector<std::uint8_t>& rest() const { return rest_; }

 private:
  FileDescriptor socket_;
  std::array<std::uint8_t, kMostMessage> room_{};
  std::vector<std::uint8_t> rest_;
  std::unique_ptr<MappedRegion> region_;
  std::unique_ptr<RingWriter> requests_;
  std::unique_ptr<RingReader> answers_;
};

}  // namespace penumbra::rsa_engine
