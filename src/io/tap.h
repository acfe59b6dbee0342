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

/// A TAP interface of the host. Frames written to it arrive at the host; frames that the host sends on it can be read.
/// The interface disappears with this object, unless it existed before (`ip tuntap add NAME mode tap`).
class Tap {
 public:
  /// Creates the interface, or takes over an unused existing one. Reads and writes never block. No offloads are
  /// offered, so frames are whole, within the MTU, and have right checksums. Throws std::runtime_error with advice.
  Tap(const std::string& name, MacAddress mac, std::uint16_t mtu);
  Tap(const Tap&) = delete;
  Tap& operator=(const Tap&) = delete;

  const std::string& name() const { return name_; }
  int descriptor() const { return descriptor_.get(); }
  /// Sets the MAC address and the MTU. Throws std::runtime_error.
  void set(MacAddress mac, std::uint16_t mtu);
  /// Brings the interface up, like `ip link set NAME up`; it is down at first. Throws std::runtime_error.
  void bring_up();
  /// Sets the carrier that the host sees; `ip link` shows NO-CARRIER without it.
  void set_carrier(bool up) noexcept;

  /// Returns true if the host accepted the frame. The host refuses it if the interface is down or deleted, or if memory
  /// is short.
  bool write(std::span<const std::uint8_t> frame) noexcept;
  /// Reads a frame that the host sent and returns its size, truncated to the size of `room`. Returns nothing if there
  /// is no frame.
  std::optional<std::size_t> read(std::span<std::uint8_t> room) noexcept;
  /// Returns true if the interface was deleted; it never works again.
  bool gone() const noexcept { return gone_; }

 private:
  void take();

  std::string name_;
  FileDescriptor descriptor_;
  bool carrier_ = true;
  bool gone_ = false;
};

}  // namespace penumbra::io
