// SPDX-License-Identifier: Apache-2.0
//
// Ports that check each packet that is sent.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "io/port.h"

namespace penumbra::bench {

/// Returns true if a frame may leave by port number `port`. All workers call it concurrently.
using MayLeave = std::function<bool(std::uint16_t port, std::span<const std::uint8_t> frame)>;

/// Results for the packets that workers sent. Read them after the workers have ended.
class CheckedPackets {
 public:
  explicit CheckedPackets(MayLeave may_leave) : may_leave_(std::move(may_leave)) {}

  void check(std::uint16_t port, std::span<const std::uint8_t> frame);
  std::uint64_t checked() const { return checked_; }
  /// Returns the number of wrong packets and the begin of the first, as text; none if no packet was wrong.
  std::optional<std::string> wrong_in_words() const;

 private:
  static constexpr std::size_t kShown = 64;

  const MayLeave may_leave_;
  std::atomic<std::uint64_t> checked_{0}, wrong_{0};
  std::uint16_t first_port_ = 0;
  std::vector<std::uint8_t> first_wrong_;
};

/// Opens ports as io::open_ports does; every transmit queue checks its packets.
std::vector<std::unique_ptr<io::Port>> open_checking_ports(std::span<const control::PortConfig> configs,
                                                           std::uint16_t workers, CheckedPackets& packets);

}  // namespace penumbra::bench
