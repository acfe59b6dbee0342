// SPDX-License-Identifier: Apache-2.0
//
// Connects the data plane to the keeper (control/xfrm/protocol.h): gets SAs and policies, borrows sequence numbers, and
// reports usage.
#pragma once

#include <cstdint>
#include <deque>
#include <filesystem>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/file_descriptor.h"
#include "control/xfrm/attributes.h"
#include "control/xfrm/buffer.h"
#include "control/xfrm/model.h"
#include "crypto/secret_memory.h"
#include "functions/ipsec/events.h"
#include "functions/ipsec/sa_table.h"

struct nlmsghdr;
struct penumbra_xfrm_lend;
struct xfrm_usersa_info;

namespace penumbra::ipsec {

/// One thread uses it.
class KeeperClient {
 public:
  /// `socket` is the keeper's. Nothing is connected yet.
  KeeperClient(std::filesystem::path socket, SaTable& table);

  /// Connects if there is no connection and a second has passed, and reads all that came. The caller holds the table's
  /// lock. `now_ms` is a steady clock.
  void step(std::uint64_t now_ms);
  /// Returns the socket, or -1.
  int descriptor() const { return socket_.get(); }
  bool is_connected() const { return static_cast<bool>(socket_); }
  /// True once the table has had all policies of a keeper, also if the connection was lost since.
  bool knows_policies() const { return knows_policies_; }
  std::uint64_t connections() const { return connections_; }
  /// Returns how many blocks of sequence numbers SAs got.
  std::uint64_t blocks() const { return blocks_; }
  /// Returns how many blocks no SA could use.
  std::uint64_t blocks_refused() const { return blocks_refused_; }

  /// Sends what the functions below, and step(), asked for. What the socket has no room for waits for the next call.
  void flush();
  /// Asks for sequence numbers, which step() adds later.
  void lend(DataSa& sa, std::uint64_t count);
  /// Reports what an SA has done since the last report.
  void report(DataSa& sa, std::uint64_t use_time);
  void acquire(const control::xfrm::Policy& policy, const Flow& flow);
  void mapping(const DataSa& sa, const Flow& from);

 private:
  enum class Stage : std::uint8_t { closed, sas, policies, settling, ready };

  void connect(std::uint64_t now_ms);
  void close(const std::string& why);
  void begin_sync();
  void end_sync();
  void read_datagram(std::span<const std::uint8_t> datagram, std::uint64_t now_ms);
  void take(const nlmsghdr& head, std::span<const std::uint8_t> message, std::uint64_t now_ms);
  void change(std::span<const std::uint8_t> message);
  control::xfrm::Sa read_sa(const xfrm_usersa_info& raw, const control::xfrm::Attributes& attributes);
  void remove(const control::xfrm::SaId& id);
  void remove_leaving();
  /// Takes the answer to the request of a number.
  void take_lent(std::uint32_t sequence, std::span<const std::uint8_t> payload);
  /// Takes the numbers that came with an SA.
  void take_first_numbers(std::span<const std::uint8_t> payload);
  /// Returns false, and adds nothing, if a block is for another SA or for another key, or was given before.
  bool add_block(const penumbra_xfrm_lend& block, DataSa& sa);
  void take_error(std::span<const std::uint8_t> payload);
  void request_dump(std::uint16_t type);
  /// Appends a message to the datagrams for flush().
  void send(const control::xfrm::Buffer& message);

  std::filesystem::path path_;
  SaTable& table_;
  FileDescriptor socket_;
  SecretMemory room_;  ///< For one datagram.
  Stage stage_ = Stage::closed;
  bool knows_policies_ = false;
  std::uint64_t connections_ = 0, blocks_ = 0, blocks_refused_ = 0, next_try_ms_ = 0, settled_at_ms_ = 0,
                settle_end_ms_ = 0;
  std::string last_problem_;  ///< Logged once.
  std::uint32_t sequence_ = 0;
  /// An SA that was deleted, and seals on until its successor has sequence numbers.
  struct Leaving {
    std::uint64_t number = 0;
    std::uint64_t grace_ms = 0;  ///< Until then a successor may come.
    std::uint64_t until_ms = 0;  ///< Until then a successor may wait for numbers.
  };
  std::uint64_t now_ms_ = 0;
  std::vector<Leaving> leaving_;
  std::vector<control::xfrm::Sa> dumped_sas_;
  std::vector<control::xfrm::Policy> dumped_policies_;
  std::deque<control::xfrm::Buffer> outgoing_;                    ///< Datagrams of several messages.
  std::vector<control::xfrm::Buffer> later_;                      ///< Changes that came during a dump.
  std::vector<std::pair<std::uint32_t, std::uint64_t>> lending_;  ///< Sequence of a request, and its SA's number.
};

}  // namespace penumbra::ipsec
