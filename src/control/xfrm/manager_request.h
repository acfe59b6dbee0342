// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <linux/netlink.h>

#include <cstdint>
#include <span>

#include "control/xfrm/attributes.h"
#include "control/xfrm/manager.h"
#include "control/xfrm/read_message.h"

namespace penumbra::control::xfrm {

/// A request whose fixed part is complete.
struct Manager::Request {
  Sender& sender;
  nlmsghdr head;
  std::span<const std::uint8_t> payload;  ///< The fixed part and the attributes.
  const Attributes& attributes;
  Outcome& outcome;

  template <class Fixed>
  Fixed fixed() const {
    return fixed_part<Fixed>(payload);
  }
  ReplyTo to() const { return {head.nlmsg_seq, sender.port}; }
  /// Returns a new reply to write to.
  Buffer& reply() const { return outcome.replies.emplace_back(); }
  /// Returns a new message to all listeners of a group.
  Buffer& notify(unsigned group) const { return outcome.notifications.emplace_back(Notification{group, {}}).message; }
};

}  // namespace penumbra::control::xfrm
