// SPDX-License-Identifier: Apache-2.0
//
// Follows the kernel: reports everything to subscriptions once, then changes as they happen. After a possible loss of
// messages the follower asks for everything again, and withdraws vanished routes only then.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/file_descriptor.h"
#include "control/netlink/links.h"
#include "control/netlink/neighbours.h"
#include "control/netlink/sockets.h"
#include "control/netlink/subscription.h"

namespace penumbra::control::fpm {
class Source;
}

namespace penumbra::control::netlink {

class Follower {
 public:
  using Log = std::function<void(const std::string& line)>;

  /// Reports everything before it returns, then continues on its own thread. That thread also serves an FPM client, if
  /// `fpm` is not null. `twins` are those of Links. `log`, if any, gets messages about lost neighbours and about
  /// failures to follow the kernel. The subscriptions must outlive the follower. Throws std::system_error.
  Follower(std::vector<std::string> twins, std::vector<Subscription*> subscriptions, std::unique_ptr<fpm::Source> fpm,
           Log log = {});
  ~Follower();
  Follower(const Follower&) = delete;
  Follower& operator=(const Follower&) = delete;

  /// Replaces the names of the twins. Soon afterwards everything is reported again. Any thread may call it.
  void set_twins(std::vector<std::string> twins);
  /// Returns the neighbours. Any thread may call it.
  std::vector<FeedNeighbour> neighbours() const { return neighbours_.list(); }
  /// Returns the status of the kernel, then that of the FPM source if there is one.
  std::vector<FeedSource> sources() const;

 private:
  using Clock = std::chrono::steady_clock;
  using Batches = std::vector<std::unique_ptr<Subscription::Batch>>;

  void run();
  void follow();
  void synchronize();
  bool synchronize_all(Batches& batches);
  bool dump_everything(Batches& batches);
  bool receive();
  void apply(const Message& message, Batches& batches);
  void probe();
  void report_lost_neighbours();
  void take_twins();
  void set_problem(const std::string& problem);
  void ask_for_everything(Clock::duration delay);
  Batches open_batches();
  void notify(const std::function<void(RouteListener&)>& change);

  std::vector<std::string> twins_;  ///< By port.
  Log log_;
  std::vector<Subscription*> subscriptions_;
  Links links_;
  KernelNeighbours neighbours_;
  std::unique_ptr<EventSocket> events_;
  std::unique_ptr<DumpSocket> dumps_;
  std::unique_ptr<fpm::Source> fpm_;
  std::optional<Clock::time_point> next_synchronization_;
  Clock::time_point last_synchronization_;
  Clock::duration longest_synchronization_{0};
  Clock::time_point next_probe_;
  Clock::time_point next_report_;  ///< Next time to report lost neighbours.
  std::atomic<std::uint64_t> overflows_{0};
  std::atomic<bool> stop_{false};
  FileDescriptor wake_;  ///< An eventfd that signals stop_ or new_twins_.
  std::mutex twins_mutex_;
  std::optional<std::vector<std::string>> new_twins_;  ///< Names that the thread has not taken yet.
  mutable std::mutex problem_mutex_;
  std::string problem_;
  std::thread thread_;
};

}  // namespace penumbra::control::netlink
