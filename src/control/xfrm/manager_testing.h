// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <vector>

#include "base/scratch_folder.h"
#include "control/xfrm/manager.h"
#include "control/xfrm/message_testing.h"

namespace penumbra::control::xfrm::testing {

inline constexpr uid_t kDaemon = 1000, kStranger = 2000, kOwner = 3000;

/// A manager with an empty SAD and SPD, whose answers and notifications tests read.
class ManagerTest : public ::testing::Test {
 protected:
  ManagerTest() { manager_.set_has_data_plane(true); }

  Outcome ask(const Message& message, uid_t user = kDaemon) {
    Sender sender{.user = user, .port = 42, .groups = 0, .wants_text = false};
    Outcome outcome;
    manager_.handle(sender, message.bytes(), outcome);
    return outcome;
  }
  /// Returns the errno of an answer; -1 if the first reply is none.
  int error(const Message& message, uid_t user = kDaemon) { return error_in(ask(message, user)); }
  static int error_in(const Outcome& outcome) {
    if (outcome.replies.empty()) return -1;
    const Buffer& reply = outcome.replies.back();
    nlmsghdr head;
    std::memcpy(&head, reply.data(), sizeof head);
    if (head.nlmsg_type != NLMSG_ERROR) return -1;
    std::int32_t code = 0;
    std::memcpy(&code, &reply[sizeof head], sizeof code);
    return -code;
  }
  static std::uint16_t type_of(const Buffer& message) {
    nlmsghdr head;
    std::memcpy(&head, message.data(), sizeof head);
    return head.nlmsg_type;
  }
  template <class Fixed>
  static Fixed fixed_of(const Buffer& message) {
    Fixed fixed;
    std::memcpy(&fixed, &message[sizeof(nlmsghdr)], sizeof fixed);
    return fixed;
  }
  static bool has_key(const Buffer& message) {
    const std::uint8_t key[] = {1, 2, 3, 4, 5, 6, 7, 8};
    return std::search(message.begin(), message.end(), std::begin(key), std::end(key)) != message.end();
  }
  static std::vector<const Buffer*> to_group(const Outcome& outcome, unsigned group) {
    std::vector<const Buffer*> found;
    for (const Notification& one : outcome.notifications) {
      if (one.group == group) found.push_back(&one.message);
    }
    return found;
  }
  Message lend(std::uint32_t spi, std::uint32_t count) const {
    penumbra_xfrm_lend raw{};
    raw.id = id_of(esp_sa(spi));
    raw.count = count;
    return {PENUMBRA_XFRM_LEND, raw};
  }
  Message remove(std::uint32_t spi) const { return {XFRM_MSG_DELSA, id_of(esp_sa(spi))}; }
  Message get(std::uint32_t spi) const { return {XFRM_MSG_GETSA, id_of(esp_sa(spi)), NLM_F_REQUEST}; }

  ScratchFolder folder_;
  HighWaterMarks marks_{folder_ / "marks", folder_ / "witness"};
  std::uint64_t now_ = 1'000'000;
  Manager manager_{marks_, [this] { return now_; }, kOwner};
};

}  // namespace penumbra::control::xfrm::testing
