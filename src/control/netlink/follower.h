// SPDX-License-Identifier: Apache-2.0
//
// Follows the kernel: tells subscriptions of everything once, then of changes as they come. Whenever it may have missed
// something it asks for everything again, and what is not there any more is withdrawn only then.
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

  /// Tells all there is before it returns, then goes on on a thread of its own, on which an FPM client is heard, too,
  /// if `fpm` is not null. `twins` as Links'. `log`, if any, is told of neighbours that are lost and of times when the
  /// kernel cannot be followed. The subscriptions outlive it. Throws std::system_error.
  Follower(std::vector<std::string> twins, std::vector<Subscription*> subscriptions, std::unique_ptr<fpm::Source> fpm,
           Log log = {});
  ~Follower();
  Follower(const Follower&) = delete;
  Follower& operator=(const Follower&) = delete;

  /// Other interfaces stand for the ports: soon everything is told again. Any thread.
  void set_twins(std::vector<std::string> twins);
  /// Any thread.
  std::vector<FeedNeighbour> neighbours() const { return neighbours_.list(); }
  /// The kernel, then the FPM client if one is heard.
  std::vector<FeedSource> sources() const;

 private:
  using Clock = std::chrono::steady_clock;
  using Batches = std::vector<std::unique_ptr<Subscription::Batch>>;

  void run();
  void follow();
  void synchronize();
  bool tell_everything(Batches& batches);
  bool dump_everything(Batches& batches);
  bool receive();
  void apply(const Message& message, Batches& batches);
  void probe();
  void report_lost_neighbours();
  void take_twins();
  void set_problem(const std::string& problem);
  void ask_for_everything(Clock::duration delay);
  Batches open_batches();
  void tell(const std::function<void(RouteListener&)>& word);

  std::vector<std::string> twins_;  ///< by port
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
  Clock::time_point next_report_;  ///< of lost neighbours
  std::atomic<std::uint64_t> overflows_{0};
  std::atomic<bool> stop_{false};
  FileDescriptor wake_;  ///< an eventfd: stop_ or new_twins_ has been set
  std::mutex twins_mutex_;
  std::optional<std::vector<std::string>> new_twins_;  ///< that the thread has not taken over yet
  mutable std::mutex problem_mutex_;
  std::string problem_;
  std::thread thread_;
};

}  // namespace penumbra::control::netlink
