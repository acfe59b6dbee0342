// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "control/fpm/config.h"
#include "control/fpm/resync.h"
#include "control/fpm/server.h"
#include "control/netlink/links.h"
#include "control/netlink/message.h"
#include "control/netlink/subscription.h"

namespace penumbra::control::fpm {

/// Returns a frame's messages, or nothing if a message is malformed.
std::optional<std::vector<netlink::Message>> read_frame(std::span<const std::byte> netlink);

/// Applies the reports of an FPM client to subscriptions, each frame as a whole. One thread, except for status().
class Source final : private Client {
 public:
  using Log = std::function<void(const std::string& line)>;

  /// Starts to listen. The subscriptions must outlive the source. Throws like Server.
  Source(const Config& config, std::vector<netlink::Subscription*> subscriptions, Log log);

  /// Returns a descriptor that is readable when turn() has work. turn() may have other work as well.
  int descriptor() const { return server_.descriptor(); }
  /// Handles received data and withdraws routes that were not reported again in time.
  void turn(const netlink::Links& links);

  /// Returns the status for `show`. Any thread may call it.
  FeedSource status() const;

 private:
  using Clock = Resync::Clock;
  using Batches = std::vector<std::unique_ptr<netlink::Subscription::Batch>>;

  void connected(const std::string& address) override;
  std::string frame(std::span<const std::byte> netlink) override;
  void lost(std::string_view why, bool malformed) override;
  void refused(const std::string& address) override;

  Batches& batches();
  std::size_t stale() const;
  void withdraw(Resync::Due due);
  void note(const netlink::HopMessage& hop);
  bool interfaces_changed() const;

  const std::string listen_;
  std::vector<netlink::Subscription*> subscriptions_;
  Log log_;
  bool refusal_logged_ = false;  ///< For the current client.
  Server server_;
  Resync resync_;
  const netlink::Links* links_ = nullptr;  ///< Set during a turn.
  Batches batches_;                        ///< The batches of this turn; empty until there is work.
  /// The client's interfaces and their ports when the client named them.
  std::map<std::uint32_t, std::optional<std::uint16_t>> ports_;
  mutable std::mutex status_mutex_;
  FeedSource status_;
};

}  // namespace penumbra::control::fpm
