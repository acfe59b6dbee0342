// SPDX-License-Identifier: Apache-2.0
//
// Follows the SAs and policies of the kernel (`penumbra xfrm run --follow-kernel`).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "control/xfrm/kernel_link.h"
#include "control/xfrm/manager.h"
#include "control/xfrm/takeover.h"

namespace penumbra::control::xfrm {

/// Repeats to a manager what the kernel's SAD and SPD are and become. After a loss of notifications, everything is
/// compared with complete dumps. One thread uses it.
class KernelFollower {
 public:
  /// The link and the manager must outlive the follower. The manager then refuses changes by its clients.
  KernelFollower(KernelLink& link, Manager& manager, Takeover::HasOffload has_offload = &kernel_has_offload);

  /// Makes the manager's SAs and policies those of the kernel. Throws std::system_error.
  void synchronize(Outcome& outcome);
  /// Handles notifications that wait, some thousands at most. Throws std::system_error.
  void receive(Outcome& outcome);
  /// Passes to the kernel what the manager asks of a daemon: expiries of SAs, and SAs for packets without one.
  void forward(const std::vector<Notification>& notifications);

 private:
  /// The answer to a request that was repeated to the manager.
  struct Answer {
    int error = 0;
    std::string reason;
  };

  /// A policy of the kernel as the manager gets it.
  struct Wanted {
    Buffer request;
    std::string reason;        ///< Why it differs from the kernel's policy; empty: it does not.
    bool is_left_out = false;  ///< The manager gets none.
  };

  /// Handles at most `most` datagrams. Returns true if none is left.
  bool read(int most, Outcome& outcome);
  void take(std::span<const std::uint8_t> message, Outcome& outcome);
  void take_pending(Outcome& outcome);
  void put_policy(std::span<const std::uint8_t> message, Outcome& outcome);
  void remove_policy(std::span<const std::uint8_t> message, Outcome& outcome);
  void migrate(std::span<const std::uint8_t> message, Outcome& outcome);
  Answer repeat(Buffer request, Outcome& outcome);
  /// Repeats what removes an SA or a policy. If it is refused for another reason than that there is none, everything is
  /// compared soon.
  void repeat_removal(Buffer request, Outcome& outcome);
  std::vector<Buffer> dump(std::uint16_t type);
  void put_defaults(Outcome& outcome);
  void put_sas(Outcome& outcome);
  void put_policies(Outcome& outcome);
  static Wanted want(const xfrm_userpolicy_info& raw, std::span<const std::uint8_t> message);
  bool has_in_kernel(const Policy& policy);

  KernelLink& link_;
  Manager& manager_;
  Takeover takeover_;
  std::vector<std::pair<SaId, Mark>> pending_;  ///< SAs that have changed.
  bool needs_synchronization_ = false;
  bool was_synchronized_ = false;
};

}  // namespace penumbra::control::xfrm
