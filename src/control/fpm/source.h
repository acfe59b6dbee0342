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

/// A frame's messages, if all of it makes sense.
std::optional<std::vector<netlink::Message>> read_frame(std::span<const std::byte> netlink);

/// Puts what an FPM client tells into subscriptions, each frame as a whole. One thread, but for status().
class Source final : private Client {
 public:
  using Log = std::function<void(const std::string& line)>;

  /// Listens. The subscriptions outlive it. Throws as Server.
  Source(const Config& config, std::vector<netlink::Subscription*> subscriptions, Log log);

  /// Readable when turn() has something to do; it may have without, too.
  int descriptor() const { return server_.descriptor(); }
  /// Takes over what has come in, and withdraws what has not been told again in time.
  void turn(const netlink::Links& links);

  /// For `show`. Any thread.
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
  bool refusal_logged_ = false;  ///< while the present client is there
  Server server_;
  Resync resync_;
  const netlink::Links* links_ = nullptr;  ///< during a turn
  Batches batches_;                        ///< of this turn; empty until there is something to do
  /// What the client's interfaces stood for when it named them.
  std::map<std::uint32_t, std::optional<std::uint16_t>> ports_;
  mutable std::mutex status_mutex_;
  FeedSource status_;
};

}  // namespace penumbra::control::fpm
