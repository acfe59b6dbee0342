// SPDX-License-Identifier: Apache-2.0
//
// Takes SAs over from the kernel, so that only Penumbra seals with their keys.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "control/xfrm/kernel_link.h"
#include "control/xfrm/manager.h"

namespace penumbra::control::xfrm {

/// Before the manager gets an SA that it may seal with, the kernel's last outbound sequence number is set to the end of
/// its range (XFRM_MSG_NEWAE). From then on the kernel refuses each packet with an overflow. The SA is read again after
/// that, and its count of packets says whether the kernel has sealed before. If so, the key of a counter mode is spent:
/// nothing is ever sealed with it, not even after the SA was added again. The key's mark is on the disk before the
/// kernel's number is set, so that a later process knows who set a number that it finds. One thread uses it.
class Takeover {
 public:
  /// Returns true if the kernel's ESP of a family has a code path for offloads, whose numbers cannot be locked with
  /// extended sequence numbers.
  using HasOffload = std::function<bool(std::uint16_t family)>;

  Takeover(KernelLink& link, Manager& manager, HasOffload has_offload);

  /// Takes over SAs of which the kernel has told something, each once. An SA that is gone is removed.
  void take_changed(std::vector<std::pair<SaId, Mark>> ids, Outcome& outcome);
  /// Takes over SAs from the messages of a dump, oldest first.
  void take_dumped(const std::vector<Buffer>& messages, Outcome& outcome);
  /// Notes the key of an SA that the kernel has deleted, if the kernel has sealed with it.
  void note_deleted(std::span<const std::uint8_t> message);
  /// Returns true, once, if the kernel lacked memory for an answer, so that everything must be compared.
  bool take_incomplete() { return std::exchange(is_incomplete_, false); }
  /// Logs once that an SA or a policy is not used as the kernel does. Returns false if that was logged before.
  bool warn(const std::string& text);

 private:
  std::optional<Sa> read(std::span<const std::uint8_t> message, Outcome& outcome);
  /// Returns the SA of a message that it was deleted, or nothing if the SA cannot be used here.
  std::optional<Sa> read_deleted(std::span<const std::uint8_t> message);
  std::optional<Sa> get(const SaId& id, const Mark& mark, Outcome& outcome);
  std::string why_unsealed(const Sa& sa) const;
  /// Stores marks, and returns why that failed, or an empty text.
  std::string store_marks(const std::vector<const Sa*>& sas);
  void take(std::vector<Sa> told, Outcome& outcome);
  /// Locks an SA and gives it to the manager.
  void lock(const Sa& told, Outcome& outcome);
  void give(Sa sa, Outcome& outcome);
  void refuse(const SaId& id, const Mark& mark, const std::string& why, Outcome& outcome);

  KernelLink& link_;
  Manager& manager_;
  HasOffload has_offload_;
  std::set<std::string> warned_;
  bool is_incomplete_ = false;
};

/// Returns true if this kernel has a module for offloads of ESP.
bool kernel_has_offload(std::uint16_t family);

}  // namespace penumbra::control::xfrm
