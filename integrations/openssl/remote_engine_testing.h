// SPDX-License-Identifier: Apache-2.0
//
// Engines for tests of the client: `penumbra tls-engine`, and one that does not keep to the protocol.
#pragma once

#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/unix_socket.h"
#include "crypto/rsa_engine/server.h"

namespace penumbra::tls {

/// `penumbra tls-engine` in a thread.
class EngineProcess {
 public:
  explicit EngineProcess(const std::string& path, rsa_engine::OwnKeys keys = {}) {
    std::vector<rsa_engine::FormOnThread> forms;
    forms.push_back({.form = rsa_engine::make_plain_form(), .least = {1, 1, 1}});
    server_ = std::make_unique<rsa_engine::Server>(rsa_engine::ServerSettings{.socket = path, .group = {}},
                                                   std::move(forms), std::move(keys));
    thread_ = std::jthread([this] { server_->run(stop_.get()); });
  }
  ~EngineProcess() { eventfd_write(stop_.get(), 1); }
  const rsa_engine::Counters& counters() const { return server_->counters(); }

 private:
  FileDescriptor stop_{eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)};
  std::unique_ptr<rsa_engine::Server> server_;
  std::jthread thread_;
};

/// An engine that takes every key, and answers requests as a test wants it.
class HostileEngine {
 public:
  using Answer = std::function<void(rsa_engine::Ring&, rsa_engine::RingWriter&, const rsa_engine::Entry& request)>;
  /// `flooding_threads` send wake-ups without an end. `user` listens; only root can choose another than its own.
  HostileEngine(const std::string& path, Answer answer, unsigned flooding_threads = 0, uid_t user = geteuid())
      : path_(path), answer_(std::move(answer)), flooding_threads_(flooding_threads) {
    const uid_t own = geteuid();
    // The call, and not the function of the library, changes the user of this thread only.
    syscall(SYS_setresuid, -1, user, -1);
    listening_ = listen_at(path, 0600);
    syscall(SYS_setresuid, -1, own, -1);
    thread_ = std::jthread([this](const std::stop_token& stop) {
      while (!stop.stop_requested()) serve(stop);
    });
  }
  ~HostileEngine() {
    thread_ = {};
    unlink(path_.c_str());
  }

 private:
  void serve(const std::stop_token& stop) {
    const FileDescriptor socket(accept(listening_.get(), nullptr, nullptr));
    if (!socket) return std::this_thread::yield();
    std::vector<std::jthread> floods(flooding_threads_);
    for (auto& each : floods) {
      each = std::jthread([&socket](const std::stop_token& ending) {
        while (!ending.stop_requested()) rsa_engine::send_message(socket.get(), {rsa_engine::MessageKind::wake, 0});
      });
    }
    FileDescriptor file;
    const rsa_engine::MappedRegion region(file);
    rsa_engine::RingReader requests(region->requests);
    rsa_engine::RingWriter answers(region->answers);
    std::array<std::uint8_t, rsa_engine::kMostMessage> room;
    rsa_engine::Message message{};
    rsa_engine::Entry entry;
    while (!stop.stop_requested()) {
      const auto receipt = rsa_engine::receive_message(socket.get(), room, message);
      if (receipt == rsa_engine::Receipt::ended) return;
      if (receipt == rsa_engine::Receipt::message) reply(stop, socket.get(), message.head, file.get());
      if (requests.read(entry) != rsa_engine::Reading::entry) {
        std::this_thread::yield();
        continue;
      }
      answer_(region->answers, answers, entry);
      rsa_engine::send_message(socket.get(), {rsa_engine::MessageKind::wake, 0});
    }
  }
  /// Messages of a flood may fill the socket.
  static void reply(const std::stop_token& stop, int socket, rsa_engine::MessageHead head, int file) {
    const bool is_open = head.kind == rsa_engine::MessageKind::open;
    if (!is_open && head.kind != rsa_engine::MessageKind::add_key) return;
    const rsa_engine::MessageHead answer =
        is_open ? rsa_engine::MessageHead{rsa_engine::MessageKind::region, rsa_engine::kProtocolVersion}
                : rsa_engine::MessageHead{rsa_engine::MessageKind::key_added, head.number};
    while (!stop.stop_requested() && !rsa_engine::send_message(socket, answer, {}, is_open ? file : -1) &&
           errno == EAGAIN) {
    }
  }

  std::string path_;
  Answer answer_;
  unsigned flooding_threads_;
  FileDescriptor listening_;
  std::jthread thread_;
};

}  // namespace penumbra::tls
