// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "base/file_descriptor.h"
#include "penumbra/ip.h"

namespace penumbra::io {

/// A TAP interface of the host: what is written comes in there, what the host sends there is read. Gone with this
/// object, unless it was there before (`ip tuntap add NAME mode tap`).
class Tap {
 public:
  /// Creates it, or takes one over that nobody uses. Neither blocks nor offers offloads: frames are whole, not longer
  /// than the MTU, their checksums right. Throws std::runtime_error with what to do.
  Tap(const std::string& name, MacAddress mac, std::uint16_t mtu);
  Tap(const Tap&) = delete;
  Tap& operator=(const Tap&) = delete;

  const std::string& name() const { return name_; }
  int descriptor() const { return descriptor_.get(); }
  /// Gives it a MAC address and an MTU. Throws std::runtime_error.
  void set(MacAddress mac, std::uint16_t mtu);
  /// As `ip link set NAME up`: it is down at first. Throws std::runtime_error.
  void bring_up();
  /// What the host sees of the cable: `ip link` shows NO-CARRIER without.
  void set_carrier(bool up) noexcept;

  /// Whether the host took the frame: it does not while the interface is down, has no memory or is gone.
  bool write(std::span<const std::uint8_t> frame) noexcept;
  /// The bytes of a frame that the host sends, cut if it is longer than `room`. Nothing if there is none.
  std::optional<std::size_t> read(std::span<std::uint8_t> room) noexcept;
  /// The interface was deleted: nothing will ever go through here again.
  bool gone() const noexcept { return gone_; }

 private:
  void take();

  std::string name_;
  FileDescriptor descriptor_;
  bool carrier_ = true;
  bool gone_ = false;
};

}  // namespace penumbra::io
