// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <filesystem>
#include <memory>
#include <vector>

#include "base/file_descriptor.h"
#include "control/xfrm/kernel_follower.h"
#include "control/xfrm/kernel_link.h"
#include "control/xfrm/manager.h"
#include "crypto/secret_memory.h"

namespace penumbra::control::xfrm {

struct KeeperFiles {
  std::filesystem::path socket;   ///< Unix socket of type SOCK_SEQPACKET; only its owner and root may connect.
  std::filesystem::path marks;    ///< High-water marks, beyond a start of the machine.
  std::filesystem::path witness;  ///< HighWaterMarks, until a start of the machine.
};

/// Serves XFRM messages on a unix socket: each datagram is what a netlink socket would carry. The sender of a datagram
/// is the user who connected (SO_PEERCRED). One thread uses it.
class SaKeeper {
 public:
  /// Listens. With a link, SAs and policies come from the kernel, and not from clients. Throws std::system_error, also
  /// if another process has the socket.
  explicit SaKeeper(const KeeperFiles& files, std::unique_ptr<KernelLink> kernel = nullptr);
  SaKeeper(const SaKeeper&) = delete;
  SaKeeper& operator=(const SaKeeper&) = delete;
  /// Removes the socket.
  ~SaKeeper();

  HighWaterMarks& marks() { return marks_; }
  /// Serves until `stop` is readable. Throws std::system_error if the kernel cannot be followed.
  void run(int stop);

 private:
  struct Client {
    FileDescriptor socket;
    Sender sender;
    std::deque<Buffer> queue;  ///< Messages that the socket has no room for.
    std::unique_ptr<Dump> dump;
    bool is_gone = false;
  };

  /// True unless descriptors are scarce. Connections then wait in the backlog of the socket.
  bool can_accept() const { return clients_.size() < most_clients_ && !lacks_descriptors_; }
  void accept_clients();
  void receive(Client& client);
  void send(Client& client);
  void queue(Client& client, Outcome& outcome);
  void notify(const std::vector<Notification>& notifications);
  /// Notifies, and asks the kernel for what only a daemon can do.
  void tell(const Outcome& outcome);
  void follow(void (KernelFollower::*step)(Outcome&));
  void look_for_data_plane();
  static bool listens(const Client& client, unsigned group);

  std::filesystem::path path_;
  FileDescriptor lock_;  ///< Precedes the marks, which have one writer.
  HighWaterMarks marks_;
  Manager manager_;
  std::unique_ptr<KernelLink> kernel_;
  std::unique_ptr<KernelFollower> follower_;  ///< Null if SAs and policies come from clients.
  SecretMemory room_;                         ///< For one datagram.
  FileDescriptor listening_;
  std::vector<std::unique_ptr<Client>> clients_;
  std::size_t most_clients_;
  bool lacks_descriptors_ = false;  ///< A connection could not be accepted. Another one is tried every second.
};

/// Keeps keys out of swap space, core dumps and debuggers: locks all memory of the process, now and later. Returns
/// false if the memory cannot be locked (RLIMIT_MEMLOCK).
bool protect_process();

}  // namespace penumbra::control::xfrm
